# SPDX-License-Identifier: Apache-2.0
"""Certificates for charons, as swanctl finds them in a folder: an authority that all trust, and a
key of one's own."""

from __future__ import annotations

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certify(folders: dict[str, Path]) -> None:
    """Gives each address a certificate and its key, in the folder that is swanctl's there."""
    root = ec.generate_private_key(ec.SECP384R1())
    now = datetime.datetime.now(datetime.UTC)

    def signed(subject: str, key: ec.EllipticCurvePublicKey, authority: bool, *names: x509.GeneralName) -> bytes:
        number, day = x509.random_serial_number(), datetime.timedelta(days=1)
        made = x509.CertificateBuilder(_name("authority"), _name(subject), key, number, now - day, now + day)
        made = made.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(root, hashes.SHA384()).public_bytes(serialization.Encoding.PEM)

    trusted = signed("authority", root.public_key(), True)
    for address, folder in folders.items():
        key = ec.generate_private_key(ec.SECP384R1())
        own = signed(address, key.public_key(), False, x509.IPAddress(ip_address(address)))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        for name, text in (("x509ca", trusted), ("x509", own), ("ecdsa", private)):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "own.pem").write_bytes(text)
