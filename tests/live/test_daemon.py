# SPDX-License-Identifier: Apache-2.0
"""Linux as the host behind a live box, through `sallyportd`: it answers ARP and ping for the box,
hears its IKE, finds its next hops."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from sallyport.simulator import program, simulation
from tests.support.daemon import Client, Daemon
from tests.support.live_box import BATCH, BLACK_TAP, BOX, IKE, PEER, PEER_MAC, RED_HOST, RED_HOST_MAC, RED_TAP, live_box
from tests.support.managed import DEVICES, TAPS, managed
from tests.support.namespaces import WAIT_S, Host, hosts
from tests.support.senders import HEAR, PING, SEND

# Answers one datagram to UDP port 500 of an address.
CHARON = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind((sys.argv[1], 500))
    print("ready", flush=True)
    data, where = udp.recvfrom(2000)
    udp.sendto(b"yes: " + data, where)
"""


def test_linux_answers_for_the_box(tmp_path: Path) -> None:
    with live_box(tmp_path) as (run, red, black), hosts("box") as (box,):
        with managed(box, tmp_path) as daemon:
            # The peer finds the box by ARP and pings its black address: both are punted, and the
            # kernel answers.
            assert black.python(PING, BOX[1][0], 5) == "5\n"
            assert f"lladdr {BOX[1][1]}" in black.run("ip", "neigh", "show", BOX[1][0])
            assert f"dev sp-black lladdr {PEER_MAC}" in box.run("ip", "neigh", "show", PEER)
            # The red host finds it, too, and pings the peer through it.
            assert red.python(PING, PEER, 5) == "5\n"
            assert f"lladdr {BOX[0][1]}" in red.run("ip", "neigh", "show", BOX[0][0])
            assert f"dev sp-red lladdr {RED_HOST_MAC}" in box.run("ip", "neigh", "show", RED_HOST)
            with box.serving(sys.executable, "-c", CHARON, BOX[1][0]) as charon:
                assert charon.stdout is not None and charon.stdout.readline() == "ready\n"
                assert black.python(IKE, BOX[1][0]) == f"yes: are you there {BOX[1][0]} 500\n"
            client = Client(daemon.control)
            counters = client.get("counters")["chips"]
            # A port's new address is its device's.
            client.get("batch", lines=["link set dev black address 02:00:00:00:00:99"])
            client.close()
            assert "link/ether 02:00:00:00:00:99 " in box.run("ip", "link", "show", "sp-black")
        status, said = run.stop(signal.SIGTERM)
    assert status == 0 and "conservation: " in said and "drop_" not in said, said
    outer = counters["outer"]
    assert (outer["punt_icmp"], outer["punt_ike_init"]) == (5, 1)
    # Echo replies, the answer of IKE, and ARP.
    assert outer["inject_frames"] >= 5 + 1 + 1
    assert counters["inner"]["punt_arp"] >= 1 and counters["inner"]["inject_frames"] >= 1


# Datagrams whose frames, with 42 bytes in front, end at different bytes of a beat with the punt
# header and without, and long ones.
LENGTHS = (18, 19, 21, 22, 23, 69, 70, 71, 72, 85, 86, 87, 1471, 1472)
# Sends back each datagram to UDP port 500 of an address.
ECHO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind((sys.argv[1], 500))
    print("ready", flush=True)
    while True:
        udp.sendto(*udp.recvfrom(2000))
"""
# Sends datagrams of these lengths there, one after the other, and prints how many come back as
# they were.
ASK = """
import random, socket, sys
back = 0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind(("", 500))
    udp.settimeout(60)
    for length in map(int, sys.argv[2:]):
        data = random.Random(length).randbytes(length)
        udp.sendto(data, (sys.argv[1], 500))
        back += udp.recv(2000) == data
print(back)
"""


def test_linux_answers_by_the_mailboxes_of_cards(tmp_path: Path) -> None:
    """Of simulated cards, as of real ones, the daemon takes the frames out of the shells'
    registers, and puts its own in."""
    simulation(None, "shell", "standard")
    with live_box(tmp_path, "--chips", "shell") as (run, red, black), hosts("box") as (box,):
        with managed(box, tmp_path) as daemon:
            assert black.python(PING, BOX[1][0], 3) == "3\n"
            assert red.python(PING, PEER, 3) == "3\n"
            with box.serving(sys.executable, "-c", ECHO, BOX[1][0]) as echo:
                assert echo.stdout is not None and echo.stdout.readline() == "ready\n"
                assert black.python(ASK, BOX[1][0], *LENGTHS) == f"{len(LENGTHS)}\n"
            client = Client(daemon.control)
            counters = client.get("counters")["chips"]
            cards = client.get("cards")["cards"]
            client.close()
            assert "is lost" not in daemon.log()
        status, said = run.stop(signal.SIGTERM)
    assert status == 0 and "conservation: " in said and "drop_" not in said, said
    asked = sum(counters["outer"][f"punt_ike{of}"] for of in ("", "_cookie", "_init"))
    assert (counters["outer"]["punt_icmp"], asked) == (3, len(LENGTHS))
    assert counters["outer"]["inject_frames"] >= 3 + len(LENGTHS)
    assert counters["inner"]["punt_arp"] >= 1 and counters["inner"]["inject_frames"] >= 1
    assert [card["access_errors"] for card in cards.values()] == [0, 0, 0]


def test_devices_that_cannot_be(tmp_path: Path) -> None:
    """One sentence, and nothing is left behind."""
    with live_box(tmp_path), hosts("box") as (box,):
        box.run("ip", "tuntap", "add", "dev", DEVICES[1], "mode", "tun")
        daemon = Daemon(tmp_path / "box0.sock", tmp_path / "daemon", more=TAPS, inside=box)
        done = subprocess.run(
            box.command(program("sallyportd"), "--config", daemon.config), capture_output=True, text=True, check=False
        )
        last = done.stderr.splitlines()[-1]
        assert (done.returncode, last) == (
            1,
            f"TAP {DEVICES[1]}: a device of this name exists and is no TAP of one queue",
        )
        assert DEVICES[0] not in box.run("ip", "link", "show")
        assert not daemon.control.exists()


BEHIND = "198.51.100.7"  # of the peer, behind the gateway that the peer is
WITHOUT_NEIGHBOURS = f"""addr add {BOX[0][0]}/24 dev red
addr add {BOX[1][0]}/24 dev black
route add 198.51.100.0/24 via {PEER} dev black
xfrm policy add src 10.1.0.0/24 dst 198.51.100.0/24 dir out action allow
xfrm policy add src 198.51.100.0/24 dst {RED_HOST} dir in action allow
xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out tmpl src {BOX[1][0]} dst {PEER} proto esp reqid 7 mode tunnel
"""


def test_next_hops_are_learned_and_sas_asked_for(tmp_path: Path) -> None:
    """The test writes no MAC address: Linux finds a gateway and a host for the chips. A packet
    without an SA becomes an event."""
    with live_box(tmp_path, lines=WITHOUT_NEIGHBOURS) as (run, red, black), hosts("box") as (box,):
        black.run("ip", "addr", "add", f"{BEHIND}/32", "dev", BLACK_TAP)
        with managed(box, tmp_path) as daemon:
            learned = {
                f"{PEER} dev black lladdr {PEER_MAC} nud reachable",
                f"{RED_HOST} dev red lladdr {RED_HOST_MAC} nud reachable",
            }
            end = time.monotonic() + WAIT_S
            while set(daemon.sallyctl("neigh", "show").stdout.splitlines()) != learned:
                assert time.monotonic() < end, daemon.log()
                time.sleep(0.1)
            assert red.python(PING, BEHIND, 5) == "5\n"
            monitor = Client(daemon.control)
            monitor.get("monitor")
            red.python(SEND, "10.2.0.9")
            event = monitor.next()
            monitor.close()
            client = Client(daemon.control)
            inner = client.get("counters")["chips"]["inner"]
            client.close()
            received = int(box.run("cat", f"/sys/class/net/{DEVICES[0]}/statistics/rx_packets"))
            # Traffic goes on without a daemon, and the next one knows the learned addresses.
            daemon.kill()
            assert red.python(PING, BEHIND, 5) == "5\n"
            daemon.start()
            assert set(daemon.sallyctl("neigh", "show").stdout.splitlines()) == learned
        status, said = run.stop(signal.SIGTERM)
    assert event == {
        "event": "acquire",
        "src": RED_HOST,
        "dst": "10.2.0.9",
        "proto": 17,
        "sport": 40000,
        "dport": 9,
        "policy": "src 10.1.0.0/24 dst 10.2.0.0/24",
        "reqid": 7,
    }
    assert inner["punt_policy"] == 3
    assert received == sum(count for name, count in inner.items() if name.startswith("punt_")) - inner["punt_policy"]
    assert status == 0 and "conservation: " in said, said


SECOND_HOST = "10.1.0.3"
UNKNOWN_HOSTS = "".join(
    line for line in BATCH.splitlines(keepends=True) if not line.endswith("dev red\n") or line.startswith("addr")
)
# Sends echo requests until one is answered, and prints how many were sent.
REACH = """
import socket, struct, sys
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(0.5)
for number in range(1, 200):
    total = 0x800 + 77 + number
    raw.sendto(struct.pack("!BBHHH", 8, 0, ~total & 0xFFFF, 77, number), (sys.argv[1], 0))
    try:
        while raw.recv(2000)[20:26:5] != bytes([0, 77]):
            pass
    except TimeoutError:
        continue
    print(number)
    break
"""


def test_hosts_are_found_as_packets_go_to_them(tmp_path: Path) -> None:
    """No line names the hosts on red: the first packet to each has Linux look for it, and waits.
    One that changes its MAC address is followed."""
    with live_box(tmp_path, lines=UNKNOWN_HOSTS) as (run, red, black), hosts("box") as (box,):
        red.run("ip", "addr", "add", f"{SECOND_HOST}/24", "dev", RED_TAP)
        with managed(box, tmp_path) as daemon:
            for host in (RED_HOST, SECOND_HOST):
                assert int(black.python(REACH, host)) > 0
                assert black.python(PING, host, 3) == "3\n"
            end = time.monotonic() + WAIT_S
            while daemon.sallyctl("neigh", "show").stdout.count("dev red") < 2:
                assert time.monotonic() < end, daemon.log()
                time.sleep(0.1)
            assert sorted(daemon.sallyctl("neigh", "show").stdout.splitlines()) == [
                *(f"{host} dev red lladdr {RED_HOST_MAC} nud reachable" for host in (RED_HOST, SECOND_HOST)),
                f"{PEER} dev black lladdr {PEER_MAC}",
            ]
            red.run("ip", "link", "set", RED_TAP, "address", "02:00:00:00:01:99")
            # It asks for the box again, so that Linux behind red hears its new address.
            red.run("ip", "neigh", "flush", "dev", RED_TAP)
            assert int(red.python(REACH, PEER)) > 0
            assert int(black.python(REACH, RED_HOST)) > 0
            client = Client(daemon.control)
            inner = client.get("counters")["chips"]["inner"]
            client.close()
        status, said = run.stop(signal.SIGTERM)
    assert inner["punt_clear_host"] >= 2 and inner["drop_unresolved"] == inner["drop_no_next_hop"] == 0
    assert status == 0 and "conservation: " in said, said


SILENT_PEER = "192.0.2.77"
SECOND_PEER, FAR_NETWORK, FAR_HOST = "192.0.2.3", "198.51.100.0/24", "198.51.100.9"
UNKNOWN_PEERS = (
    BATCH.replace(f"neigh add {PEER} lladdr {PEER_MAC} dev black\n", "")
    + f"xfrm policy add src 10.1.0.0/24 dst {FAR_NETWORK} dir out action allow\n"
    + f"xfrm policy add src {FAR_NETWORK} dst 10.1.0.0/24 dir in action allow\n"
)


def test_hosts_and_routes_of_black_lead_clear_packets(tmp_path: Path) -> None:
    """No line names the hosts on black: they are found as those on red are, and packets wait for
    them. A route of Linux leads to a network behind one of them. Senders hear of a silent host, and
    of a network without a route."""
    with live_box(tmp_path, lines=UNKNOWN_PEERS) as (run, red, black), hosts("box") as (box,):
        black.run("ip", "addr", "add", f"{SECOND_PEER}/24", "dev", BLACK_TAP)
        black.run("ip", "addr", "add", f"{FAR_HOST}/32", "dev", BLACK_TAP)
        with managed(box, tmp_path) as daemon:
            for host in (PEER, SECOND_PEER):
                assert int(red.python(REACH, host)) > 0
                assert red.python(PING, host, 3) == "3\n"  # as many as may wait
            assert red.python(HEAR, SILENT_PEER, 64) == f"3 1 {BOX[0][0]}\n"
            assert red.python(HEAR, FAR_HOST, 64) == f"3 0 {BOX[0][0]}\n"
            assert set(daemon.sallyctl("neigh", "show").stdout.splitlines()) == {
                f"{RED_HOST} dev red lladdr {RED_HOST_MAC}",
                *(f"{host} dev black lladdr {PEER_MAC} nud reachable" for host in (PEER, SECOND_PEER)),
            }
            box.run("ip", "route", "add", FAR_NETWORK, "via", SECOND_PEER)
            assert int(red.python(REACH, FAR_HOST)) > 0
            assert red.python(PING, FAR_HOST, 5) == "5\n"
            box.run("ip", "route", "replace", "prohibit", FAR_NETWORK)
            end = time.monotonic() + WAIT_S
            while red.python(HEAR, FAR_HOST, 64) != f"3 13 {BOX[0][0]}\n":
                assert time.monotonic() < end, daemon.log()
            box.run("ip", "route", "replace", FAR_NETWORK, "via", SECOND_PEER)
            assert int(red.python(REACH, FAR_HOST)) > 0
            assert f"{FAR_NETWORK} via {SECOND_PEER} dev black proto boot\n" in daemon.sallyctl("route", "show").stdout
            client = Client(daemon.control)
            outer = client.get("counters")["chips"]["outer"]
            client.close()
        status, said = run.stop(signal.SIGTERM)
    assert outer["punt_clear_host"] >= 3 and outer["punt_clear_route"] >= 1
    assert outer["drop_unresolved"] == outer["drop_no_next_hop"] == outer["drop_prefix_upset"] == 0
    assert status == 0 and "conservation: " in said, said


# of 1440 on black: less 20, 8, 8 and 16, which is a multiple of 4, less the trailer's 2
TUNNEL_MTU = 1386
TOO_LONG = f"""addr add {BOX[0][0]}/24 dev red
addr add 2001:db8:1::1/64 dev red
addr add {BOX[1][0]}/24 dev black
link set dev black mtu 1440
neigh add {PEER} lladdr {PEER_MAC} dev black
xfrm state add src {BOX[1][0]} dst {PEER} proto esp spi 0x1001 reqid 7 mode tunnel aead "rfc4106(gcm(aes))" 0x{bytes(range(20)).hex()} 128
xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out tmpl src {BOX[1][0]} dst {PEER} proto esp reqid 7 mode tunnel
xfrm policy add src 2001:db8:1::/64 dst 2001:db8:2::/64 dir out tmpl src {BOX[1][0]} dst {PEER} proto esp reqid 7 mode tunnel
"""
# Sends datagrams that must not be cut until the kernel knows how long they may be; prints that
# length, and sends one that is just as long.
GROW = """
import socket, sys, time
v6 = ":" in sys.argv[1]
with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as udp:
    level, discover, do, mtu = (41, 23, 2, 24) if v6 else (0, 10, 2, 14)
    udp.setsockopt(level, discover, do)
    udp.connect((sys.argv[1], 9))
    while (path := udp.getsockopt(level, mtu)) == 1500:
        try:
            udp.send(bytes(1500 - 8 - (40 if v6 else 20)))
        except OSError:
            continue
        time.sleep(0.1)
    print(path)
    udp.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # clears what the ICMP left
    udp.send(bytes(path - 8 - (40 if v6 else 20)))
"""


def test_senders_learn_the_path_mtu(tmp_path: Path) -> None:
    """Linux behind the box believes the MTU that the daemon tells it, over IPv4 and IPv6, and
    packets of that length pass."""
    with live_box(tmp_path, lines=TOO_LONG) as (_, red, _), hosts("box") as (box,), managed(box, tmp_path) as daemon:
        behind(red)
        for there in ("10.2.0.9", "2001:db8:2::9"):
            assert red.python(GROW, there) == f"{TUNNEL_MTU}\n"
            assert f"mtu {TUNNEL_MTU}" in red.run("ip", "route", "get", there)
        client = Client(daemon.control)
        inner = client.get("counters")["chips"]["inner"]
        client.close()
    assert inner["tx_protect"] == 2 <= inner["punt_mtu"]


EXPIRING = f"""addr add {BOX[0][0]}/24 dev red
addr add 2001:db8:1::1/64 dev red
addr add {BOX[1][0]}/24 dev black
neigh add {PEER} lladdr {PEER_MAC} dev black
route add 10.3.0.0/24 via {PEER} dev black
xfrm state add src {BOX[1][0]} dst {PEER} proto esp spi 0x1001 reqid 7 mode tunnel aead "rfc4106(gcm(aes))" 0x{bytes(range(20)).hex()} 128
xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out tmpl src {BOX[1][0]} dst {PEER} proto esp reqid 7 mode tunnel
xfrm policy add src 2001:db8:1::/64 dst 2001:db8:2::/64 dir out tmpl src {BOX[1][0]} dst {PEER} proto esp reqid 7 mode tunnel
xfrm policy add src 10.1.0.0/24 dst 10.3.0.0/24 dir out action allow
"""
# Sends an empty datagram with a TTL, as traceroute does; prints what the kernel's error queue says
# of it: type and code of the ICMP, and who sent that.
PROBE = """
import socket, struct, sys, time
v6 = ":" in sys.argv[1]
with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as udp:
    level, ttl, errors = (41, 16, 25) if v6 else (0, 2, 11)
    udp.setsockopt(level, ttl, int(sys.argv[2]))
    udp.setsockopt(level, errors, 1)
    udp.connect((sys.argv[1], 33434))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            udp.send(b"")
        except OSError:
            pass
        time.sleep(0.2)
        try:
            _, ((_, _, data),), _, _ = udp.recvmsg(100, 1000, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            continue
        kind, code = struct.unpack_from("=BB", data, 5)
        who = socket.inet_ntop(socket.AF_INET6, data[24:40]) if v6 else socket.inet_ntop(socket.AF_INET, data[20:24])
        print(kind, code, who)
        break
"""

REJECTING = """xfrm policy add src 10.1.0.0/24 dst 10.4.0.0/24 dir out action reject
xfrm policy add src 2001:db8:1::/64 dst 2001:db8:4::/64 dir out action reject
"""


def behind(red: Host) -> None:
    """Gives the red host IPv6 and the box as its router."""
    for setting in ("all", "default", RED_TAP):
        red.run("sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{setting}/disable_ipv6")
    red.run("ip", "-6", "addr", "add", "2001:db8:1::2/64", "dev", RED_TAP, "nodad")
    red.run("ip", "-6", "neigh", "add", "2001:db8:1::1", "lladdr", BOX[0][1], "dev", RED_TAP)
    red.run("ip", "-6", "route", "add", "default", "via", "2001:db8:1::1")


def test_traceroute_shows_the_box(tmp_path: Path) -> None:
    """Linux behind the box hears from the red port that its TTL is over, for a tunnel and for clear
    traffic; the packet goes no further."""
    with live_box(tmp_path, lines=EXPIRING) as (_, red, _), hosts("box") as (box,), managed(box, tmp_path) as daemon:
        behind(red)
        assert red.python(PROBE, "10.2.0.9", 1) == red.python(PROBE, "10.3.0.9", 1) == f"11 0 {BOX[0][0]}\n"
        assert red.python(PROBE, "2001:db8:2::9", 1) == "3 0 2001:db8:1::1\n"
        client = Client(daemon.control)
        inner = client.get("counters")["chips"]["inner"]
        client.close()
    assert inner["punt_ttl"] >= 3 and inner["drop_ttl_expired"] == inner["tx_protect"] == inner["tx_bypass"] == 0


def test_senders_hear_of_a_policy_that_rejects(tmp_path: Path) -> None:
    """Linux behind the box hears that its packets are prohibited, and nothing of them leaves."""
    with (
        live_box(tmp_path, lines=EXPIRING + REJECTING) as (_, red, _),
        hosts("box") as (box,),
        managed(box, tmp_path) as daemon,
    ):
        behind(red)
        assert red.python(PROBE, "10.4.0.9", 64) == f"3 13 {BOX[0][0]}\n"
        assert red.python(PROBE, "2001:db8:4::9", 64) == "1 1 2001:db8:1::1\n"
        client = Client(daemon.control)
        inner = client.get("counters")["chips"]["inner"]
        client.close()
    assert inner["punt_policy"] >= 2 and inner["tx_protect"] == inner["tx_bypass"] == 0


# Sends ICMP type 3 code 4 to the box about ESP packets of its own: each three words are an SPI, a
# number and an MTU.
TOLD = """
import socket, struct, sys
box, peer, words = *sys.argv[1:3], sys.argv[3:]
def mended(data, at):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return data[:at] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + data[at + 2:]
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
    for spi, number, mtu in zip(words[::3], words[1::3], words[2::3]):
        ends = socket.inet_aton(box) + socket.inet_aton(peer)
        header = mended(struct.pack("!BBHHHBBH", 0x45, 0, 1438, 7, 0x4000, 60, 50, 0) + ends, 10)
        about = header + struct.pack("!II", int(spi, 16), int(number))
        raw.sendto(mended(struct.pack("!BBHHH", 3, 4, 0, 0, int(mtu)) + about, 2), (box, 0))
"""


def test_a_tunnel_learns_its_path_mtu(tmp_path: Path) -> None:
    """A router on the black side tells the box of a path of 1300 bytes, amid forged messages with
    other SPIs and impossible numbers; Linux behind the box hears how much ESP leaves of that."""
    mtus = [0, 68, 575, 1439, 9000]
    forged = ["0x1002", 1, 600, *(word for mtu in mtus for word in ("0x1001", 1, mtu))]
    unsent = ["0x1001", 0, 1300, "0x1001", 2, 1300, "0x1001", 0xFFFFFFFF, 1300]
    with (
        live_box(tmp_path, lines=TOO_LONG) as (_, red, black),
        hosts("box") as (box,),
        managed(box, tmp_path) as daemon,
    ):
        assert red.python(GROW, "10.2.0.9") == f"{TUNNEL_MTU}\n"
        black.python(TOLD, BOX[1][0], PEER, *forged, *unsent)
        time.sleep(3)
        assert "path MTU of an SA has changed" not in daemon.log()
        black.python(TOLD, BOX[1][0], PEER, *forged, "0x1001", 1, 1300, *forged)
        end = time.monotonic() + WAIT_S
        while "path MTU of an SA has changed" not in daemon.log():
            assert time.monotonic() < end, daemon.log()
            time.sleep(0.1)
        # Less 20, 8, 8 and 16, which is a multiple of 4, less the trailer's 2.
        assert red.python(GROW, "10.2.0.8") == "1246\n"
