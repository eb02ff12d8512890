# SPDX-License-Identifier: Apache-2.0
"""The connections of a stateful trial as a profile of TRex's ASTF mode: what both sides say, who
they are, and how TCP cuts it."""

from __future__ import annotations

import base64
from fractions import Fraction

from sallyport import tunnels
from sallyport.stateful import Wire

PORT = 80
HOSTS = 254  # of each side; TRex wants one for each of its cores at least


def hosts(way: int) -> list[str]:
    """First and last of the IPv4 hosts behind box `way`: hosts 1 to 254 of its red network."""
    first = tunnels.RED_NET[4][way]
    return [str(first + 1), str(first + HOSTS)]


def make(wire: Wire, way: int, fps: Fraction) -> dict:
    """The profile (client.py) in which clients behind box `way` begin so many connections that they
    come to `fps` full frames a second."""
    application, size = wire.application, wire.setup.object_bytes
    whole = application.answer_bytes(size)
    request = _bytes(application.request)
    answer = {"buf": _bytes(application.header(size) or b"*"), "size": whole, "fill": _bytes(b"*")}
    client = [("connect", {})]
    server = [("accept", {})]
    for _ in range(application.transactions):
        client += [("send", {"buf": request}), ("recv", {"bytes": whole})]
        server += [("recv", {"bytes": len(application.request)}), ("send", answer)]
    server.append(("wait_for_peer_close", {}))
    addresses = _object(
        "ASTFIPGen",
        glob=_object("ASTFIPGenGlobal", ip_offset="0.0.0.0"),  # the same at any pair of ports
        dist_client=_object("ASTFIPGenDist", ip_range=hosts(way)),
        dist_server=_object("ASTFIPGenDist", ip_range=hosts(1 - way)),
    )
    template = _object(
        "ASTFTemplate",
        client_template=_object(
            "ASTFTCPClientTemplate",
            program=_program(client),
            ip_gen=addresses,
            port=PORT,
            cps=float(wire.connections(fps)),
        ),
        server_template=_object(
            "ASTFTCPServerTemplate", program=_program(server), assoc=_object("ASTFAssociationRule", port=PORT)
        ),
    )
    return _object(
        "ASTFProfile",
        default_ip_gen=addresses,
        templates=template,
        default_c_glob_info=_info(wire, way),
        default_s_glob_info=_info(wire, way),
    )


def _info(wire: Wire, way: int) -> dict:
    parts: dict[str, dict[str, object]] = {"tcp": {"mss": wire.mss}}
    if wire.setup.ip == 6:
        # TRex puts the IPv4 address into the last 32 bits.
        here, there = (str(tunnels.RED_NET[6][box]) for box in (way, 1 - way))
        parts["ipv6"] = {"enable": 1, "src_msb": here, "dst_msb": there}
    return {**_object("ASTFGlobalInfo"), "set": parts}


def _program(steps: list[tuple[str, dict]]) -> dict:
    return {**_object("ASTFProgram"), "calls": [{"call": name, "args": arguments} for name, arguments in steps]}


def _object(name: str, /, **arguments: object) -> dict:
    """An object of TRex's API (client.py)."""
    return {"class": name, "args": arguments}


def _bytes(data: bytes) -> dict:
    return {"bytes": base64.b64encode(data).decode()}
