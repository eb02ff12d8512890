# SPDX-License-Identifier: Apache-2.0
"""What the charons and boxes of both stub hosts have: a file that their programs share."""

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path

WORLD, HOST = json.loads(os.environ["STUB_SSH"]), os.environ["STUB_HOST"]
FOLDER = Path(WORLD.get("charons", "/nowhere"))
PEER = next((each for each in WORLD["hosts"] if each != HOST), "")
NEW = {"connections": {}, "children": {}, "traps": {}, "ids": []}


@contextmanager
def hosts():
    """The state by host, which may be changed, while no other program has it."""
    file = FOLDER / "state.json"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        both = json.loads(file.read_text()) if file.exists() else {each: dict(NEW) for each in (HOST, PEER)}
        yield both
        # At once, for a program that is hung up may end here.
        (new := FOLDER / "state.new").write_text(json.dumps(both))
        new.replace(file)


def log(host, *lines):
    """Charon of a host says something."""
    with (FOLDER / f"{host}.log").open("a") as file:
        file.write("".join(f"07[IKE] {line}\n" for line in lines))


def establish(both, host, name):
    """A tunnel between the hosts, if the other one has the same connection the other way round;
    anew if there is one."""
    mine, peer = both[host], next(each for each in both if each != host)
    wanted = both[peer]["connections"].get(name)
    own = mine["connections"][name]
    if wanted is None or (wanted["local_ts"], wanted["remote_ts"]) != (own["remote_ts"], own["local_ts"]):
        log(host, "received TS_UNACCEPTABLE notify, no CHILD_SA built")
        return
    first = both.setdefault("spi", 0x1000)
    both["spi"] = first + 2
    for each, spis in ((host, [first, first + 1]), (peer, [first + 1, first])):
        both[each]["children"][name] = spis
        both[each]["ids"] = sorted({*both[each]["ids"], first})
        log(each, f"CHILD_SA {name}{{1}} established with SPIs {spis[0]:08x}_i {spis[1]:08x}_o and TS 0 === 0")
