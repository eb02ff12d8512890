# SPDX-License-Identifier: Apache-2.0
"""What two charons of mgmt/strongswan-sm send, worked out once more by scapy, OpenSSL and the
cryptography package: from the messages and the Diffie-Hellman secret, which alone is taken from
charon, come the keys of the IKE SA, the signatures and the keys the box is told."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scapy.contrib.ikev2 import IKEv2, IKEv2_KE, IKEv2_Nonce, IKEv2_Notify, IKEv2_Transform

from tests.ike.sm_charons import ADDRESSES, NUMBERS, PACKAGE, SmCharon, skip_unless_built, two_sm_charons

# Prints the datagrams from or to port 500, without the headers below IKE.
CAPTURE = """
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind((sys.argv[1], 0))
print("ready", flush=True)
for _ in range(4):
    frame = b""
    while not (frame[12:14] == b"\\x08\\x00" and frame[23:24] == b"\\x11" and frame[36:38] == b"\\x01\\xf4"):
        frame = raw.recv(4000)
    print(frame[42:].hex(), flush=True)
"""
LOUD = "filelog { f { ike = 4 } }"
ENCRYPTION, PRF, INTEGRITY, KEY_EXCHANGE = 1, 2, 3, 4
SIGNATURE_HASH_ALGORITHMS = 16431
SM2_WITH_SM3 = bytes.fromhex("300a06082a811ccf55018375")  # 1.2.156.10197.1.501, no parameters


def prf(key: bytes, data: bytes) -> bytes:
    made = hmac.HMAC(key, hashes.SM3())
    made.update(data)
    return made.finalize()


def prf_plus(key: bytes, seed: bytes, length: int) -> bytes:
    """RFC 7296, 2.13."""
    made = last = b""
    for n in range(1, length // 32 + 2):
        last = prf(key, last + seed + bytes([n]))
        made += last
    return made[:length]


def dumped(log: str, name: str) -> bytes:
    """The bytes that charon prints below a name."""
    lines = log[log.index(f"{name} => ") :].splitlines()[1:]
    made = b""
    for line in lines:
        row = re.match(r"\d+\[IKE\] +\d+: ((?:[0-9A-F]{2} )+)", line)
        if not row:
            break
        made += bytes.fromhex(row[1])
    return made


def payloads(kind: int, data: bytes) -> dict[int, bytes]:
    """The bodies of a chain of payloads, by their types."""
    found = {}
    while kind:
        length = int.from_bytes(data[2:4], "big")
        found[kind] = data[4:length]
        kind, data = data[0], data[length:]
    return found


def opened(message: bytes, key: bytes, integrity_key: bytes) -> dict[int, bytes]:
    """The payloads in an encrypted one, which must be authentic (RFC 7296, 3.14; RFC 5282)."""
    assert message[16] == 46  # nothing is in front of it
    sealed = message[32:]
    if integrity_key:
        assert prf(integrity_key, message[:-16])[:16] == message[-16:]
        cipher = Cipher(algorithms.SM4(key), modes.CBC(sealed[:16])).decryptor()
        plain = cipher.update(sealed[16:-16]) + cipher.finalize()
    else:
        cipher = Cipher(algorithms.SM4(key[:16]), modes.GCM(key[16:] + sealed[:8], sealed[-16:])).decryptor()
        cipher.authenticate_additional_data(message[:32])
        plain = cipher.update(sealed[8:-16]) + cipher.finalize()
    return payloads(message[28], plain[: -1 - plain[-1]])


def openssl_verifies(certificate: Path, data: bytes, signature: bytes, folder: Path) -> bool:
    (folder / "data").write_bytes(data)
    (folder / "signature").write_bytes(signature)
    key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], capture_output=True, check=True)
    (folder / "key").write_bytes(key.stdout)
    words = ["-pubin", "-inkey", "key", "-rawin", "-digest", "sm3", "-pkeyopt", "distid:1234567812345678"]
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", *words, "-in", "data", "-sigfile", "signature"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def exchange(two: tuple[SmCharon, SmCharon], ike: str, esp: str, certificates: Path) -> list[bytes]:
    """The messages of IKE_SA_INIT and IKE_AUTH."""
    for charon in two:
        charon.configure(ike, esp, "pubkey", certificates)
    device = re.findall(r"\d+: (\w+)@", two[0].space.run("ip", "-o", "link", "show", "type", "veth"))[0]
    with two[0].space.serving("python3", "-c", CAPTURE, device) as capture:
        assert capture.stdout and capture.stdout.readline() == "ready\n"
        two[0].initiate("net")
        return [bytes.fromhex(capture.stdout.readline()) for _ in range(4)]


@pytest.mark.parametrize("gcm", [False, True], ids=["sm4-sm3", "sm4gcm16"])
@pytest.mark.parametrize("configured", [False, True], ids=["default", "configured"])
def test_exchange(tmp_path: Path, gcm: bool, configured: bool) -> None:
    skip_unless_built()
    tool = PACKAGE / "sm2-certificates"
    certificates = tmp_path / "certificates"
    subprocess.run([tool, "ca", certificates, "/O=Sallyport/CN=CA"], check=True)
    for n, address in enumerate(ADDRESSES):
        subprocess.run([tool, "issue", certificates, str(n), f"/O=Sallyport/CN=box {n}", f"IP:{address}"], check=True)
    settings = f"{LOUD}\n{NUMBERS if configured else ''}"
    ike, esp = ("sm4gcm16-prfsm3-curvesm2", "sm4gcm16") if gcm else ("sm4-sm3-curvesm2", "sm4-sm3")
    with two_sm_charons(tmp_path, settings, settings) as two:
        messages = exchange(two, ike, esp, certificates)
        box = two[0].box
        box.wait(lambda: len(box.states) == 2)
        told = [box.only("out").keys, box.only("in").keys]
        secret = dumped(two[0].log(), "shared Diffie Hellman secret")
    init, answer = (IKEv2(message) for message in messages[:2])

    # Numbers of transforms and the hash, and no Key Length, in the proposal and in the choice.
    numbers = {"sm4": 1100, "sm4gcm16": 1101, "sm3": 1100, "prfsm3": 1100, "curvesm2": 1100, "signature_sm3": 1100}
    if configured:
        numbers = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", NUMBERS)}
    wanted = {PRF: numbers["prfsm3"], KEY_EXCHANGE: numbers["curvesm2"]}
    wanted |= {ENCRYPTION: numbers["sm4gcm16"]} if gcm else {ENCRYPTION: numbers["sm4"], INTEGRITY: numbers["sm3"]}
    for message in (init, answer):
        sent, transform = {}, message[IKEv2_Transform]
        while isinstance(transform, IKEv2_Transform):
            assert transform.length == 8
            sent[transform.transform_type] = transform.transform_id
            transform = transform.payload
        assert sent == wanted
        assert message[IKEv2_KE].group == numbers["curvesm2"] and len(message[IKEv2_KE].ke) == 64
        hash_numbers = b""
        for n in range(1, 20):
            notify = message.getlayer(IKEv2_Notify, n)
            if notify is not None and notify.type == SIGNATURE_HASH_ALGORITHMS:
                hash_numbers = bytes(notify.notify)
        assert numbers["signature_sm3"].to_bytes(2, "big") in [
            hash_numbers[n : n + 2] for n in range(0, len(hash_numbers), 2)
        ]

    # RFC 7296, 2.14: SK_d, SK_ai, SK_ar, SK_ei, SK_er, SK_pi, SK_pr.
    nonces = bytes(init[IKEv2_Nonce].nonce) + bytes(answer[IKEv2_Nonce].nonce)
    a, e = (0, 20) if gcm else (32, 16)
    sizes = [32, a, a, e, e, 32, 32]
    keys = prf_plus(prf(nonces, secret), nonces + messages[1][:16], sum(sizes))
    sk_d, sk_ai, sk_ar, sk_ei, sk_er, sk_pi, sk_pr = (keys[sum(sizes[:n]) : sum(sizes[: n + 1])] for n in range(7))
    assert len(secret) == 32

    # RFC 7296, 2.15 and RFC 7427, 3: either signs its own first message, the other's nonce and
    # its identity.
    initiator, responder = opened(messages[2], sk_ei, sk_ai), opened(messages[3], sk_er, sk_ar)
    ends = [(initiator, 35, messages[0], bytes(answer[IKEv2_Nonce].nonce), sk_pi)]
    ends += [(responder, 36, messages[1], bytes(init[IKEv2_Nonce].nonce), sk_pr)]
    for n, (inner, identity, first, nonce, key) in enumerate(ends):
        auth = inner[39]
        assert auth[0] == 14 and auth[4:17] == bytes([12]) + SM2_WITH_SM3
        octets = first + nonce + prf(key, inner[identity])
        assert openssl_verifies(certificates / f"{n}.pem", octets, auth[17:], tmp_path)
        assert not openssl_verifies(certificates / f"{n}.pem", octets + b"x", auth[17:], tmp_path)

    # RFC 7296, 2.17: the keys of the SAs, initiator to responder first, encryption
    # before integrity.
    lengths = [20] if gcm else [16, 32]
    keymat = prf_plus(sk_d, nonces, 2 * sum(lengths)).hex()
    assert "".join(key for keys in told for key in keys) == keymat
