# SPDX-License-Identifier: Apache-2.0
"""One box between two ports: an ESP gateway by scapy, with the SAs and policies that the stub
sallyctl was given, and counters that it reads."""

import json
import shlex
import sys
from ipaddress import ip_address
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[5]))

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, IPSecIntegrityError, SecurityAssociation
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw, raw
from scapy.utils import RawPcapReader

from tests.support import scapy_suites  # noqa: F401 - teaches scapy SM4 and SM3

CRYPT = {
    "rfc4106(gcm(aes))": "AES-GCM",
    "rfc4106(gcm(sm4))": "SM4-GCM",
    "rfc3686(ctr(aes))": "AES-CTR",
    "cbc(aes)": "AES-CBC",
    "cbc(sm4)": "SM4-CBC",
    "ecb(cipher_null)": "NULL",
    "rfc7539esp(chacha20,poly1305)": "CHACHA20-POLY1305",
}
AUTH = {"hmac(sha256)": "SHA2-256-128", "hmac(sha1)": "HMAC-SHA1-96", "hmac(sm3)": "HMAC-SM3-128"}
WINDOW = 1024


class Gateway:
    """`encrypt` and `decrypt` take a frame and give the one that comes out of the other port."""

    def __init__(self, world):
        self._world, self._text = world, ""
        self._out, self._in, self._flows, self._counts = {}, {}, {}, {}

    def _refresh(self):
        text = Path(self._world.sas).read_text() if Path(self._world.sas).exists() else ""
        if text == self._text:
            return
        self._text = text
        self._out, self._in, self._flows = {}, {}, {}
        for line in text.splitlines():
            words = shlex.split(line)
            if words[:3] == ["xfrm", "state", "add"]:
                self._state(words)
            elif words[:3] == ["xfrm", "policy", "add"] and words[words.index("dir") + 1] == "out":
                self._flows[words[4], words[6]] = words[words.index("reqid") + 1]

    def _state(self, words):
        named = {name: words[words.index(name) + 1] for name in ("src", "dst", "spi", "reqid", "mode")}
        spi = int(named["spi"], 16)
        kind = words.index("aead") if "aead" in words else words.index("enc")
        crypt, key = words[kind + 1 : kind + 3]
        auth, auth_key = None, b""
        if "auth-trunc" in words:
            at = words.index("auth-trunc")
            auth, auth_key = AUTH[words[at + 1]], bytes.fromhex(words[at + 2][2:])
        version = IP if ip_address(named["src"]).version == 4 else IPv6
        tunnel = {"tunnel_header": version(src=named["src"], dst=named["dst"])} if named["mode"] == "tunnel" else {}
        natt = {"nat_t_header": UDP(sport=4500, dport=4500)} if "encap" in words else {}
        made = SecurityAssociation(
            ESP, spi=spi, crypt_algo=CRYPT[crypt], crypt_key=bytes.fromhex(key[2:]), auth_algo=auth, auth_key=auth_key,
            esn_en="esn" in words, **tunnel, **natt,
        )  # fmt: skip
        self._out[named["reqid"], named["src"]] = made
        self._in[spi, named["dst"]] = [made, 0, set()]

    def _count(self, name):
        self._counts[name] = self._counts.get(name, 0) + 1
        Path(self._world.sas).with_suffix(".counters").write_text(json.dumps(self._counts))

    def read(self, file):
        """The frames of a capture file."""
        with RawPcapReader(str(file)) as frames:
            return [data for data, _ in frames]

    def summed(self, data):
        """An IPv6 packet with the checksum of its UDP datagram."""
        packet = IPv6(data)
        del packet[UDP].chksum
        return raw(packet)

    def encrypt(self, data):
        self._refresh()
        near, far = self._world.ports
        frame = Ether(data)
        packet = frame[IP] if IP in frame else frame[IPv6]
        bits = 32 if IP in frame else 128
        reqid = self._flows.get((f"{packet.src}/{bits}", f"{packet.dst}/{bits}"))
        found = [sa for (number, _), sa in self._out.items() if number == reqid]
        if frame.dst != near.box_mac or not found:
            self._count("inner.drop_policy")
            return None
        routed(packet)
        sa = found[0]
        if self._world.wrong == "key":
            sa.crypt_key = bytes(len(sa.crypt_key))
        number = sa.seq_num
        sealed = sa.encrypt(type(packet)(raw(packet)), seq_num=number, esn=0)
        sa.seq_num = number if self._world.wrong == "number" else number + 1
        return raw(tagged(Ether(src=far.box_mac, dst=far.mac), self._world.vlan) / sealed)

    def decrypt(self, data):
        self._refresh()
        near, far = self._world.ports
        frame = Ether(data)
        packet = frame.getlayer(IP) or frame.getlayer(IPv6)
        if packet is None or frame.dst != far.box_mac or ESP not in frame:
            self._count("outer.drop_policy")
            return None
        esp = frame[ESP]
        found = self._in.get((esp.spi, packet.dst))
        if not found:
            self._count("outer.punt_unknown_spi")
            return None
        sa, top, seen = found
        try:
            clear = sa.decrypt(type(packet)(raw(packet)), esn=0)
        except IPSecIntegrityError:
            self._count("crypto.drop_dec_icv")
            return None
        if esp.seq in seen or esp.seq + WINDOW <= top:
            self._count("inner.drop_replayed")
            return None
        seen.add(esp.seq)
        found[1] = max(top, esp.seq)
        if self._world.wrong == "clear":
            clear[UDP].payload = Raw(b"\1" + raw(clear[UDP].payload)[1:])
        routed(clear)
        return raw(Ether(src=near.box_mac, dst=near.mac) / clear)


def routed(packet):
    """What a router does to a packet."""
    if IP in packet:
        packet.ttl -= 1
        del packet.chksum
    else:
        packet.hlim -= 1


def tagged(ether, vlan):
    return ether / Dot1Q(vlan=vlan) if vlan else ether
