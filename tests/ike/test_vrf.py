# SPDX-License-Identifier: Apache-2.0
"""Two customers of one address range behind each of two boxes, under IKE: each has a VLAN of red, a
VRF, an XFRM interface in that and a CHILD_SA of its `if_id`. The selectors are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.ike.charons import Charon, agree
from tests.support.frames import read_frames, write_frames

CUSTOMERS = {"blue": 10, "green": 20}  # by VRF the ID of its VLAN, its table and its if_id
FRAMES = {"blue": 3, "green": 5}

CONNECTION = """
{name} {{ version = 2
  local_addrs = {me}
  remote_addrs = {other}
  proposals = aes256gcm16-prfsha256-curve25519
  mobike = no
  local {{ auth = psk
    id = {name}@{me} }}
  remote {{ auth = psk
    id = {name}@{other} }}
  children {{ {name} {{ local_ts = {near}
    remote_ts = {far}
    if_id_in = {if_id}
    if_id_out = {if_id}
    esp_proposals = aes256gcm16 {more} }} }} }}
"""
SECRET = 'secrets { ike-1 { secret = "correct horse battery staple" } }\n'


def net(box: int) -> str:
    return f"10.{box + 1}.0.0/16"


def host(box: int) -> str:
    return f"10.{box + 1}.0.9"


def mac(box: int, vlan: int) -> str:
    return f"02:00:00:00:{box:02x}:{vlan:02x}"


def lines(box: int, name: str, vlan: int) -> list[str]:
    """The network of a customer at a box, with one host and the route to the other box's."""
    return [
        f"link add link red name red.{vlan} type vlan id {vlan}",
        f"link add {name} type vrf table {vlan}",
        f"link set red.{vlan} master {name}",
        f"addr add 10.{box + 1}.0.1/16 dev red.{vlan}",
        f"neigh add {host(box)} lladdr {mac(box, vlan)} dev red.{vlan}",
        f"link add ipsec{vlan} type xfrm dev black if_id {vlan}",
        f"link set ipsec{vlan} master {name}",
        f"route add {net(1 - box)} dev ipsec{vlan}",
    ]


def gone(box: int, name: str, vlan: int) -> list[str]:
    return [
        f"route delete {net(1 - box)} dev ipsec{vlan}",
        f"neigh delete {host(box)} dev red.{vlan}",
        f"addr delete 10.{box + 1}.0.1/16 dev red.{vlan}",
        *(f"link set {dev}{vlan} nomaster" for dev in ("red.", "ipsec")),
        *(f"link delete {dev}" for dev in (f"red.{vlan}", f"ipsec{vlan}", name)),
    ]


@pytest.fixture
def customers(charons: tuple[Charon, Charon]) -> Iterator[tuple[Charon, Charon]]:
    """Both in each box. A customer has an IKE_SA of its own: by equal selectors alone the other end
    could not tell their children apart."""
    for n, charon in enumerate(charons):
        charon.box.ask("batch", lines=[line for one in CUSTOMERS.items() for line in lines(n, *one)])
        charon.box.forward()
        charon.mark()
    yield charons
    for charon in charons:
        for name in CUSTOMERS:
            charon.swanctl("--terminate", "--ike", name, "--timeout", "20", check=False)
        charon.load("")
    for n, charon in enumerate(charons):
        charon.box.wait_until_empty()
        charon.box.ask("batch", lines=[line for one in CUSTOMERS.items() for line in gone(n, *one)])


def load(charon: Charon, box: int, more: str = "") -> None:
    ends = {"me": charon.me, "other": charon.other, "near": net(box), "far": net(1 - box), "more": more}
    words = [CONNECTION.format(name=name, if_id=vlan, **ends) for name, vlan in CUSTOMERS.items()]
    path = charon.folder / "swanctl.conf"
    path.write_text(f"connections {{ {''.join(words)} }}\n{SECRET}")
    charon.swanctl("--load-all", "--clear", "--file", str(path))


def packet(way: int, text: str) -> Packet:
    return IP(src=host(way), dst=host(1 - way)) / UDP(sport=7, dport=9) / Raw(text.encode().ljust(64, b"."))


def tagged(way: int, vlan: int | None, text: str) -> Packet:
    ethernet = Ether(dst="02:00:00:00:00:01", src=mac(way, vlan or 0))
    return ethernet / packet(way, text) if vlan is None else ethernet / Dot1Q(vlan=vlan) / packet(way, text)


def carry(both: tuple[Charon, Charon], way: int, folder: Path, name: str) -> list[tuple[str, int, bytes]]:
    """Frames of both customers, and such as are of no VRF, from the hosts behind box `way`; those
    out of the other box, by the station and the VLAN that they go to."""
    sim = both[0].box.sim
    frames = [tagged(way, vlan, "of no VRF") for vlan in (None, 30)]
    for customer, vlan in CUSTOMERS.items():
        frames += [tagged(way, vlan, f"{customer} {n}") for n in range(FRAMES[customer])]
    source, seen = folder / f"{name}{way}-in.pcap", folder / f"{name}{way}-out.pcapng"
    write_frames(source, frames)
    port = f"box{1 - way}.red"
    sim.command("capture", port=port, direction="out", file=str(seen))
    inputs = [{"port": f"box{way}.red", "file": str(source), "pacing": "line-rate"}]
    assert sim.command("replay", inputs=inputs, quiet_cycles=20000)["quiescent"]
    sim.command("capture", port=port, direction="out")
    out = [Ether(frame) for frame in read_frames(seen)]
    return [(frame.dst, frame[Dot1Q].vlan, bytes(frame[Raw].load).rstrip(b".\0")) for frame in out]


def packets(charon: Charon, way: str) -> dict[str, int]:
    return {sa["name"]: int(sa[f"packets-{way}"]) for sa in charon.children()}


def wanted(way: int) -> list[tuple[str, int, bytes]]:
    return [
        (mac(1 - way, vlan), vlan, f"{name} {n}".encode())
        for name, vlan in CUSTOMERS.items()
        for n in range(FRAMES[name])
    ]


def check_names(box, condition: Callable[[], object]) -> None:
    """Each policy is in the VRF of its if_id, and each SA has its policies' if_id."""
    box.wait(condition)
    vrfs = {if_id: name for name, if_id in CUSTOMERS.items()}
    assert sorted((p.if_id, p.dir) for p in box.policies) == [(n, way) for n in (10, 20) for way in ("in", "out")]
    assert all(p.selector.endswith(f" dev {vrfs[p.if_id]}") for p in box.policies)
    assert sorted((s.if_id, s.dir) for s in box.states) == [(n, way) for n in (10, 20) for way in ("in", "out")]


def test_two_customers_of_one_address(customers: tuple[Charon, Charon], tmp_path: Path) -> None:
    """Each customer's packets come out in its own VLAN at the other box alone, both ways, before
    and behind a rekey; charon deletes what it installed, one customer's tunnel without the
    other's."""
    a, b = customers
    for n, charon in enumerate(customers):
        load(charon, n)
    for name in CUSTOMERS:
        a.initiate(name)
    boxes = a.box, b.box

    def all_carry(name: str) -> None:
        for box in boxes:
            check_names(box, lambda box=box: len(box.states) == 4 and len(box.policies) == 4)
        agree(*boxes)
        for way in (0, 1):
            assert carry(customers, way, tmp_path, name) == wanted(way)
        for charon in customers:
            assert packets(charon, "out") == packets(charon, "in") == FRAMES

    all_carry("first")
    assert len({s.reqid for s in a.box.states}) == 2
    old = a.box.spis()
    for name in CUSTOMERS:
        b.swanctl("--rekey", "--child", name)
    for box in boxes:
        box.wait(lambda box=box: len(box.spis()) == 4 and not box.spis() & old)
    all_carry("rekeyed")
    b.swanctl("--terminate", "--child", "green")
    for box in boxes:
        box.wait(lambda box=box: len(box.states) == 2 and len(box.policies) == 2)
        assert {s.if_id for s in box.states} == {p.if_id for p in box.policies} == {CUSTOMERS["blue"]}
    blue = [row for row in wanted(0) if row[1] == CUSTOMERS["blue"]]
    assert carry(customers, 0, tmp_path, "blue") == blue


def test_a_daemon_that_is_killed_keeps_the_vrfs(customers: tuple[Charon, Charon], tmp_path: Path) -> None:
    """A sallyportd that is killed and started again has each policy in its VRF: packets go on, and
    charon deletes what it installed before."""
    a, b = customers
    for n, charon in enumerate(customers):
        load(charon, n)
    for name in CUSTOMERS:
        a.initiate(name)
    boxes = a.box, b.box
    for box in boxes:
        check_names(box, lambda box=box: len(box.states) == 4 and len(box.policies) == 4)
    a.box.stop()
    a.box.start()
    check_names(a.box, lambda: len(a.box.states) == 4)
    for way in (0, 1):
        assert carry(customers, way, tmp_path, "again") == wanted(way)
    a.swanctl("--terminate", "--child", "green")
    for box in boxes:
        box.wait(lambda box=box: len(box.states) == 2 and len(box.policies) == 2)
        assert {p.if_id for p in box.policies} == {CUSTOMERS["blue"]}


def test_an_acquire_makes_the_sa_of_its_vrf(customers: tuple[Charon, Charon], tmp_path: Path) -> None:
    """Traps of both VRFs have equal selectors; what the daemon tells of a packet that one caught
    makes the CHILD_SA of that VRF alone."""
    a, b = customers
    load(a, 0, "\n start_action = trap")
    load(b, 1)
    check = lambda: len(a.box.policies) == 4  # noqa: E731
    a.box.wait(check)
    assert not a.box.states
    (trap,) = [p for p in a.box.policies if p.if_id == CUSTOMERS["green"] and p.dir == "out"]
    reqid = int(trap.tmpl.split()[7])
    a.box.emit(event="acquire", src=host(0), dst=host(1), proto=17, policy=trap.selector, reqid=reqid)
    for box in (a.box, b.box):
        box.wait(lambda box=box: len(box.states) == 2)
        assert {s.if_id for s in box.states} == {CUSTOMERS["green"]}
    green = [row for row in wanted(0) if row[1] == CUSTOMERS["green"]]
    assert carry(customers, 0, tmp_path, "trap") == green
