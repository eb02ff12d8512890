# SPDX-License-Identifier: Apache-2.0
"""`client.py SOCKET` or `client.py HOST:PORT NAME CERTIFICATE KEY TRUST`: a client of the API that
shares nothing with the project: gRPC by grpcio, HPKE by cryptography, and messages put together
here. It installs an SA, sealed, and prints the SPIs that the daemon lists."""

import re
import sys
from pathlib import Path

import grpc
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey


def varint(number: int) -> bytes:
    """A number in protobuf."""
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number: int, value: bytes) -> bytes:
    """A field of text or bytes."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message: bytes) -> dict[int, bytes]:
    """The fields of text or bytes in a message, by their numbers; of several the last."""
    found, at = {}, 0

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte, at = message[at], at + 1
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag, value = number(), number()
        if tag & 7 == 2:
            found[tag >> 3], at = message[at : at + value], at + value
    return found


def channel_to(place: str, *tls: str) -> grpc.Channel:
    """A channel to a Unix socket, or by mutual TLS to an address."""
    if not tls:
        return grpc.insecure_channel(f"unix:{place}")
    name, *files = tls
    certificate, key, trust = (Path(file).read_bytes() for file in files)
    credentials = grpc.ssl_channel_credentials(trust, key, certificate)
    return grpc.secure_channel(place, credentials, [("grpc.ssl_target_name_override", name)])


def main(*place: str) -> None:
    """Speaks to the daemon."""
    with channel_to(*place) as channel:

        def call(method: str, request: bytes = b"") -> bytes:
            return channel.unary_unary(f"/sallyport.v1.BoxService/{method}")(request, timeout=20)

        assert fields(call("GetVersion"))[1] == b"1.1"
        key = fields(call("GetSealingKey"))
        suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
        line = b"xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x777 reqid 9 mode tunnel dir in "
        line += b"aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0fa0a1a2a4 128\n"
        sealed = suite.encrypt(line, X25519PublicKey.from_public_bytes(key[2]), b"sallyport.v1/Batch")
        call("Batch", field(2, field(1, key[1]) + field(2, sealed)))
        for spi in re.findall(rb"spi (0x[0-9a-f]+)", call("List", field(1, b"state"))):
            print(spi.decode())
        try:
            call("List", field(1, b"nothing"))
        except grpc.RpcError as error:
            print(error.code().name, error.details())
        try:
            channel.unary_unary("/sallyport.v2.BoxService/GetVersion")(b"", timeout=20)
        except grpc.RpcError as error:
            print(error.code().name, error.details())


main(*sys.argv[1:])
