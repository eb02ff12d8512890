# SPDX-License-Identifier: Apache-2.0
"""Keys and words that reach sallyportd are those of the peer's ESP: the peer is strongSwan's own
data plane (libipsec), the box scapy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw

from tests.ike.charons import Charon, child, two_charons
from tests.ike.words import State

CIPHERS = {"rfc4106(gcm(aes))": "AES-GCM", "cbc(aes)": "AES-CBC", "rfc3686(ctr(aes))": "AES-CTR"}

# Sends one datagram from port 4500 as the box would, if there is any, and prints the ESP that comes
# out of the peer then or by itself.
BOX = """
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x800))
raw.bind((sys.argv[1], 0))
raw.settimeout(20)
if len(sys.argv) > 2:
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    packet = bytes.fromhex(sys.argv[2])
    out.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
else:
    print("ready", flush=True)
while True:
    frame = raw.recv(2000)
    packet = frame[14:]
    peer, udp = frame[6:12] != raw.getsockname()[4], packet[9] == 17 and packet[20:22] == b"\\x11\\x94"
    if peer and udp and len(packet) > 40 and packet[28:32] != bytes(4):  # neither keepalive nor IKE
        print(packet.hex())
        break
"""
# One datagram.
PING = """
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.bind((sys.argv[1], 7))
out.sendto(b"from the peer", (sys.argv[2], 7))
"""


def association(sa: State) -> SecurityAssociation:
    """The SA as scapy has it, from nothing but the words."""
    integrity = {}
    if sa.suite[0] == "enc":
        integrity = {"auth_algo": "SHA2-256-128", "auth_key": bytes.fromhex(sa.keys[1])}
    assert sa.encap
    return SecurityAssociation(
        ESP,
        spi=sa.spi,
        seq_num=1,
        crypt_algo=CIPHERS[sa.suite[1]],
        crypt_key=bytes.fromhex(sa.keys[0]),
        tunnel_header=IP(src=sa.src, dst=sa.dst),
        nat_t_header=UDP(sport=sa.encap[0], dport=sa.encap[1]),
        **integrity,
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory):
    if not Path("/dev/net/tun").exists():
        pytest.skip("strongSwan's libipsec needs /dev/net/tun")
    with two_charons(tmp_path_factory.mktemp("esp"), libipsec=True, tag="e") as pair:
        yield pair


@pytest.mark.parametrize("suite", ["aes256gcm16", "aes128gcm16", "aes256-sha256"])
def test_esp_of_libipsec(both: tuple[Charon, Charon], suite: str) -> None:
    a, b = both
    a.load(child("net", 1, 2, f"esp_proposals = {suite}-noesn"), "encap = yes")
    b.load(child("net", 2, 1, f"esp_proposals = {suite}-noesn"), "encap = yes")
    a.initiate("net")
    into, out = a.box.only("in"), a.box.only("out")
    device = a.space.run("sh", "-c", "ls /sys/class/net | grep -v lo").strip()

    # The peer's ESP opens under what the plugin says of the inbound SA.
    with a.space.serving(sys.executable, "-c", BOX, device) as box:
        assert box.stdout and box.stdout.readline() == "ready\n"
        b.space.python(PING, "10.2.0.1", "10.1.0.1")
        packet = IP(bytes.fromhex(box.stdout.readline()))
    inner = association(into).decrypt(packet)
    assert (inner[IP].src, inner[IP].dst, bytes(inner[UDP].payload)) == ("10.2.0.1", "10.1.0.1", b"from the peer")

    # And the peer opens packets sent under the outbound SA: its answer is the proof.
    request = IP(src="10.1.0.1", dst="10.2.0.1") / ICMP(id=1, seq=2) / Raw(b"from the box")
    answer = IP(bytes.fromhex(a.space.python(BOX, device, bytes(association(out).encrypt(request)).hex()).strip()))
    inner = association(into).decrypt(answer)
    assert (inner[ICMP].type, inner[ICMP].seq, bytes(inner[Raw])) == (0, 2, b"from the box")
    a.terminate()
    a.box.wait(lambda: not a.box.states)
