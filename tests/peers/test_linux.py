# SPDX-License-Identifier: Apache-2.0
"""A Linux kernel in QEMU as the ESP peer of a live box: pings in every suite and family that both
have, and files."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest

from tests.peers.host_programs import FETCH, SERVE
from tests.peers.kernel_cases import BOX_V6, PEER_V6, RED_BOX_V6, RED_HOST_V6, Case, box_file, cases
from tests.peers.linux_network import PINGS, Network, network
from tests.support.live_box import BOX, PEER, RED_HOST, RED_TAP

FILE_BYTES = 4 * 1024 * 1024
FILE_S = 3600  # for what takes a minute on a machine with nothing else to do
PATH_MTU = 1300  # of the hosts' routes, so that no tunnel's packet is cut
FAMILIES = ("aes256gcm16", "IPv4 in IPv6", "IPv6 in IPv4", "IPv6 in IPv6")
CASES = {case.name: case for case in cases()}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A box with all tunnels at once."""
    with network(tmp_path_factory.mktemp("gateway"), box_file(list(CASES.values()))) as made:
        made.red.run("ip", "addr", "add", f"{RED_HOST}/24", "dev", RED_TAP)
        made.red.run("ip", "addr", "add", f"{RED_HOST_V6}/64", "dev", RED_TAP, "nodad")
        for address in (BOX[0][0], RED_BOX_V6):
            made.red.run("ip", "neigh", "add", address, "lladdr", BOX[0][1], "dev", RED_TAP)
            made.red.run("ip", "route", "add", "default", "via", address, "mtu", PATH_MTU)
        made.linux.run(f"""
            /bin/ip addr add {PEER}/24 dev eth0
            /bin/ip addr add {PEER_V6}/64 dev eth0 nodad
            /bin/ip neigh add {BOX[1][0]} lladdr {BOX[1][1]} dev eth0
            /bin/ip neigh add {BOX_V6} lladdr {BOX[1][1]} dev eth0
            /bin/ip route add 10.1.0.0/24 via {BOX[1][0]} mtu {PATH_MTU}
            /bin/ip route add 2001:db8:1::/64 via {BOX_V6} mtu {PATH_MTU}
        """)
        made.linux.run("\n".join(f"/bin/ip addr add {case.far} dev lo" for case in CASES.values()))
        yield made


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_ping_crosses(gateway: Network, case: Case) -> None:
    spis = (case.tunnel.spi_out, case.tunnel.spi_in)
    before = [gateway.packets(spi) for spi in spis]
    assert gateway.pings_answered(case.far, case.size) == PINGS
    assert [gateway.packets(spi) for spi in spis] == [count + PINGS for count in before]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_file_crosses_both_ways(gateway: Network, name: str) -> None:
    """Linux gets it by HTTP from the host and the host gets it back: 4 MB each way. The bytes that
    come back are those that went."""
    case = CASES[name]
    there, here = (f"[{address}]" if ":" in address else address for address in (case.far, case.near))
    data = random.Random(name).randbytes(FILE_BYTES)
    (gateway.folder / "there").write_bytes(data)
    red, black = (RED_HOST, BOX[1][0]) if case.inner == 4 else (RED_HOST_V6, BOX_V6)
    # wget asks from the tunnel's own address, which alone its policy has.
    gateway.linux.run(f"/bin/ip route add {red} via {black} src {case.far} mtu {PATH_MTU}; mkdir -p /srv")
    with gateway.red.serving(sys.executable, "-c", SERVE, gateway.folder) as server:
        assert server.stdout is not None and server.stdout.readline() == "ready\n"
        gateway.linux.run(f"wget -q -O /srv/file http://{here}:8000/there", FILE_S)
    gateway.linux.run("httpd -p 80 -h /srv")
    with gateway.red.serving(sys.executable, "-c", FETCH, f"http://{there}/file", gateway.folder / "back") as fetch:
        assert fetch.wait(FILE_S) == 0
    gateway.linux.run(f"killall httpd; rm /srv/file; /bin/ip route del {red}")
    assert (gateway.folder / "back").read_bytes() == data
