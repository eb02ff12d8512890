# SPDX-License-Identifier: Apache-2.0
"""The only code that touches TRex's client, and a program of its own: `python client.py FOLDER
MODE`, with the package `trex` in FOLDER and the mode of its server, stl or astf.

The client is under the GPL, so it is neither part of this tree nor loaded into the process of
`sallyport`. This program calls the client's public API by name and knows nothing of tests. One JSON
object a line. In: {"id", "call", "args"}, where an argument {"class", "args"} is an object of that
class of the API and {"bytes"} is base64. An object may have "set", values of its parts by name, and
"calls", methods that are called on it. Out: {"id", "result"} or {"id", "error", "kind"}. `kind` is
"refused" (TRex said no), "lost" (its server went away) or "import". The end of the input stops
traffic and gives the ports back.
"""

import base64
import importlib
import json
import os
import re
import sys
import traceback

NAMES = re.compile(r"(STL|ASTF)\w+|[a-z]\w*")  # nothing that begins with an underscore
CLIENTS = ("STLClient", "ASTFClient")  # of stateless and of stateful servers


def plain(value):
    """What JSON has no word for; bytes are base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


def build(api, value):
    """An argument, with the objects of the API that it asks for."""
    if isinstance(value, list):
        return [build(api, each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"bytes"}:
        return base64.b64decode(value["bytes"])
    made = named(api, value["class"])(**arguments_of(api, value))
    for part, values in value.get("set", {}).items():
        for name, each in values.items():
            setattr(named(made, part), name, each)
    for step in value.get("calls", []):
        named(made, step["call"])(**arguments_of(api, step))
    return made


def arguments_of(api, value):
    return {name: build(api, each) for name, each in value.get("args", {}).items()}


def named(owner, name):
    if not NAMES.fullmatch(name):
        raise ValueError(f"{name!r} is no name of the API")
    return getattr(owner, name)


def answer(api, clients, request):
    """Do one request; `clients` keeps the client, once there is one."""
    call = request["call"]
    arguments = arguments_of(api, request)
    if call in CLIENTS:
        clients.append(named(api, call)(**arguments))
        return None
    result = named(clients[-1], call)(**arguments)
    # Captured packets come in a list that the caller gives.
    return arguments["output"] if isinstance(arguments.get("output"), list) else result


def serve(api, say):
    clients = []
    connected = False
    try:
        while True:
            line = sys.stdin.readline()
            if not line:
                return
            request = json.loads(line)
            try:
                result = answer(api, clients, request)
                connected = bool(clients) and clients[-1].is_connected()
                say({"id": request["id"], "result": result})
            except (Exception, KeyboardInterrupt) as error:
                # TRex's own thread interrupts calls when its server goes
                lost = connected and not clients[-1].is_connected()
                text = str(error) or type(error).__name__
                say({"id": request["id"], "error": text, "kind": "lost" if lost else "refused"})
    finally:
        for client in clients:
            if client.is_connected():
                client.disconnect(stop_traffic=True, release_ports=True)


def main(folder, mode):
    # TRex's client prints; its text must not get between the lines.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message):
        out.write(json.dumps(message, default=plain, skipkeys=True) + "\n")
        out.flush()

    sys.path[0] = folder
    try:
        api = importlib.import_module(f"trex.{mode}.api")
    except (Exception, KeyboardInterrupt) as error:
        say({"id": 0, "error": f"{type(error).__name__}: {error}", "kind": "import"})
        return
    say({"id": 0, "result": list(sys.version_info[:2])})
    serve(api, say)


if __name__ == "__main__":
    status = 0
    try:
        main(*sys.argv[1:3])
    except BaseException:
        traceback.print_exc()
        status = 1
    # not by way of the interpreter's end, where TRex's sockets wait for a server that is not there
    os._exit(status)
