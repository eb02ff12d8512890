# SPDX-License-Identifier: Apache-2.0
"""What swanctl.conf says of the tunnels: a connection of its own, with one CHILD_SA, for each."""

from __future__ import annotations

import secrets

from sallyport.backend import Setup
from sallyport.tunnels import BLACK, Tunnels

# Each end of each tunnel has an identity of its own, by which the responder finds the connection.
# And a reqid of its own: where tunnels restart together, charon 5.9.8 may give two of them one, and
# then the packets of one go by the SA of the other (docs/how-to/ike.md).
_CONNECTION = """  t{number} {{
    version = 2
    local_addrs = {near}
    remote_addrs = {far}
    proposals = aes256gcm16-prfsha256-curve25519
    mobike = no
    unique = never
    keyingtries = 0
    encap = {encap}
    {options}
    local {{ auth = psk
      id = {own}-{number} }}
    remote {{ auth = psk
      id = {other}-{number} }}
    children {{ t{number} {{
      local_ts = {local}/32
      remote_ts = {remote}/32
      esp_proposals = {suite}-esn
      replay_window = 1024
      reqid = {reqid}
      rekey_time = 0
      {words} }} }}
  }}
"""
# Of this process alone: where a box keeps it, as after a kill, no stranger knows it.
SECRET = f'secrets {{\n  ike-all {{ secret = "{secrets.token_hex(32)}" }}\n}}\n'


def connections(setup: Setup, side: int, words: str = "", options: str = "", peer: str = "") -> str:
    """The file of gateway `side`, 0 or 1. `words` are lines of each child, `options` of each
    connection. `peer` are addresses that it takes requests from, if not the other's alone."""
    tunnels, black = Tunnels(setup), BLACK[setup.ip]
    made = [
        _CONNECTION.format(
            number=number,
            reqid=number + 1,
            near=black[side],
            far=peer or black[1 - side],
            own="ab"[side],
            other="ba"[side],
            encap="yes" if setup.nat_t else "no",
            local=tunnels.flow(side, number).src,
            remote=tunnels.flow(side, number).dst,
            suite=setup.suites[number % len(setup.suites)].name,
            options=options,
            words=words,
        )
        for number in range(setup.sas)
    ]
    return "connections {\n" + "".join(made) + "}\n" + SECRET
