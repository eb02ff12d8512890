"""Two boxes with the same SAs on two switches: the one that holds the tunnel is killed under traffic, and the other carries on
(docs/decisions/0008)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from daemon import Client, Daemon
from namespaces import PREFIX, WAIT_S, Live, hosts, live, skip_without_taps
from reference import FAR, NEAR, Tunnel, esp_payload, forwarded
from scapy.layers.inet import IP, UDP
from scapy.layers.ipsec import ESP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from switch import Switch

TUNNEL = Tunnel(esn=True, spi_out=0x1001, spi_in=0x2002)
RED_IP, RED_MAC, BLACK_MAC = "10.1.0.1", "02:72:0a:01:00:01", "02:62:c0:00:02:01"  # of both boxes
HOST, HOST_MAC, PEER_MAC = "10.1.0.2", "02:00:00:00:01:02", "02:00:00:00:02:02"
FAR_HOST = "10.2.0.2"
CONFIGURATION = f"""addr add {RED_IP}/24 dev red
addr add {NEAR}/24 dev black
neigh add {HOST} lladdr {HOST_MAC} dev red
neigh add {FAR} lladdr {PEER_MAC} dev black
{TUNNEL.lines("10.1.0.0/24", "10.2.0.0/24", "10.2.0.0/24")}"""
RATE = 100  # packets/s of an SA, as both daemons are told; what is sent here is far below
INTERVAL_S, DEAD_S = 2, 8
PORT = 19790  # of side a, at which b asks
SPACING_S = 0.1
PACKETS = 25  # before the box is killed, and again behind the take-over


def pair(side: str) -> str:
    """The daemon's configuration beside what each has."""
    own, other = (PORT, PORT + 1) if side == "a" else (PORT + 1, PORT)
    return (
        f'[events]\npoll = "2s"\n[peer]\nside = "{side}"\nlisten = "127.0.0.1:{own}"\nconnect = "127.0.0.1:{other}"\n'
        f'interval = "{INTERVAL_S}s"\ndead_after = "{DEAD_S}s"\npackets_per_second = {RATE}\n'
    )


@contextmanager
def boxes(folder: Path) -> Iterator[tuple[list[Live], list[Daemon], Switch, Switch]]:
    """Box 0 is side a. Red ports are at one switch, black ones at the other."""
    skip_without_taps()
    nothing = folder / "nothing.xfrm"
    nothing.write_text("# The daemons configure the boxes.\n")
    taps = {colour: [f"{PREFIX}{colour[0]}{box}" for box in (0, 1)] for colour in ("red", "black")}
    with ExitStack() as stack:
        spaces = stack.enter_context(hosts("red", "black"))
        runs, daemons = [], []
        for box, side in enumerate("ab"):
            own = folder / side
            own.mkdir()
            words = ("--crypto", "model", "--threads", 1, "--xfrm", nothing, "--socket-dir", own)
            runs.append(
                stack.enter_context(live(*words, "--red-tap", taps["red"][box], "--black-tap", taps["black"][box]))
            )
            daemons.append(Daemon(own / "box0.sock", own / "daemon", box, pair(side)))
            stack.callback(daemons[-1].kill)
        switches = [Switch(space, taps[colour]) for space, colour in zip(spaces, taps, strict=True)]
        for switch in switches:
            stack.callback(switch.close)
        for daemon in daemons:
            daemon.start()
        yield runs, daemons, switches[0], switches[1]


def die(run: Live, daemon: Daemon) -> None:
    """Everything of a box at once."""
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    daemon.kill()
    run.kill()


def wait_for_log(daemon: Daemon, text: str) -> None:
    end = time.monotonic() + WAIT_S
    while text not in daemon.log():
        assert time.monotonic() < end, daemon.log()
        time.sleep(0.1)


class Sender(threading.Thread):
    """A host that sends numbered datagrams to the box all the time."""

    def __init__(self, switch: Switch) -> None:
        super().__init__()
        self.switch, self.sent, self.ended = switch, 0, threading.Event()

    @staticmethod
    def packet(number: int) -> Packet:
        return IP(src=HOST, dst=FAR_HOST, id=number) / UDP(sport=7, dport=9) / Raw(number.to_bytes(4, "big") * 20)

    def run(self) -> None:
        while not self.ended.wait(SPACING_S):
            self.switch.send(bytes(Ether(dst=RED_MAC, src=HOST_MAC) / self.packet(self.sent)))
            self.sent += 1


def of(kind: type, seen: list[tuple[int, bytes]], box: int) -> list[bytes]:
    return [frame for port, frame in seen if port == box and kind in Ether(frame)]


def test_the_other_box_carries_on(tmp_path: Path) -> None:
    with boxes(tmp_path) as (runs, daemons, red, black):
        wait_for_log(daemons[0], "this box of the pair is active now")
        for daemon in daemons:
            client = Client(daemon.control)
            client.get("batch", lines=CONFIGURATION.splitlines())
            client.close()
        sender = Sender(red)
        sender.start()
        try:
            peer = TUNNEL.peer_sender()
            back = [
                bytes(
                    Ether(dst=BLACK_MAC, src=PEER_MAC)
                    / peer.encrypt(IP(src=FAR_HOST, dst=HOST, id=n) / UDP() / Raw(bytes(n)))
                )
                for n in range(1, 11)
            ]
            for frame in back:
                black.send(frame)
            red.wait_for(lambda seen: len(of(UDP, seen, 0)) == len(back), WAIT_S)
            black.wait_for(lambda seen: len(of(ESP, seen, 0)) >= PACKETS, WAIT_S)
            assert not [frame for port, frame in red.seen + black.seen if port == 1], "the box that stands by is silent"

            die(runs[0], daemons[0])
            black.wait_for(lambda seen: len(of(ESP, seen, 1)) >= PACKETS, WAIT_S)
        finally:
            sender.ended.set()
            sender.join()
        received = windows(daemons[1])

        # What the peer sent to the dead box is old for the living one; what it sends above the jump is taken.
        came = len(of(UDP, red.seen, 1))
        assert came == 0 and received > RATE * DEAD_S
        peer.seq_num = received + 1
        after = IP(src=FAR_HOST, dst=HOST, id=99) / UDP() / Raw(b"after")
        for frame in (*back, bytes(Ether(dst=BLACK_MAC, src=PEER_MAC) / peer.encrypt(after))):
            black.send(frame)
        red.wait_for(lambda seen: len(of(UDP, seen, 1)) == 1, WAIT_S)
        counters = Client(daemons[1].control)
        inner = counters.get("counters")["chips"]["inner"]
        counters.close()
        assert of(UDP, red.seen, 1)[0][14:].startswith(forwarded(bytes(after)))
        assert inner["drop_replayed"] + inner["drop_too_old"] == len(back)

    judge(sender.sent, [frame for _, frame in black.seen if ESP in Ether(frame)], of(ESP, black.seen, 0))
    for switch, address in ((red, RED_IP), (black, NEAR)):
        told = [Ether(frame) for frame in of(ARP, switch.seen, 1)]
        assert told and {(frame[ARP].psrc, frame[ARP].pdst, frame.dst) for frame in told} == {
            (address, address, "ff:ff:ff:ff:ff:ff")
        }


def windows(daemon: Daemon) -> int:
    """The highest number that counts as received."""
    client = Client(daemon.control)
    number = client.get("query-state", src=FAR, dst=NEAR, proto="esp", spi=TUNNEL.spi_in)["seq"]
    client.close()
    return number


def judge(sent: int, frames: list[bytes], first_box: list[bytes]) -> None:
    """No number and no IV twice, by scapy; what is lost is one run of packets, of the time between the boxes."""
    opener = TUNNEL.peer_receiver()
    numbers, ivs, ids = [], [], []
    for frame in frames:
        outer = esp_payload(frame)
        numbers.append(outer[ESP].seq)
        ivs.append(bytes(outer[ESP].data[:8]))
        inner = opener.decrypt(outer)
        assert bytes(inner) == forwarded(bytes(Sender.packet(inner.id)))
        ids.append(inner.id)
    assert len(set(numbers)) == len(numbers) and numbers == sorted(numbers)
    assert len(set(ivs)) == len(ivs)
    last = len(first_box)
    assert numbers[:last] == list(range(1, last + 1)) == [int.from_bytes(iv, "big") for iv in ivs[:last]]
    jump = numbers[last]
    assert jump > last + RATE * DEAD_S
    assert numbers[last:] == list(range(jump, jump + len(numbers) - last))
    assert [int.from_bytes(iv, "big") for iv in ivs[last:]] == [number | 1 << 63 for number in numbers[last:]]
    assert ids[last - 1] - ids[0] == last - 1 and ids[-1] - ids[last] == len(ids) - last - 1
    lost = ids[last] - ids[last - 1] - 1
    print(
        f"{sent} packets sent: {last} by the first box, {len(ids) - last} by the other, {lost} lost between; "
        f"numbers jumped from {last} to {jump}"
    )
