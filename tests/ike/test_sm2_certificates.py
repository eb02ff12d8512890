# SPDX-License-Identifier: Apache-2.0
"""mgmt/strongswan-sm/sm2-certificates: openssl verifies the files that it makes, and a failure
leaves no file behind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TOOL = ROOT / "mgmt" / "strongswan-sm" / "sm2-certificates"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, check=False)


def openssl(*words: object) -> str:
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    folder = tmp_path / "ca"
    assert run("ca", folder, "/O=Example/CN=CA").returncode == 0
    return folder


def test_certificates(authority: Path) -> None:
    assert run("issue", authority, "gw", "/O=Example/CN=gw", "DNS:gw.example.org").returncode == 0
    words = ["-x509_strict", "-vfyopt", "distid:1234567812345678", "-CAfile", authority / "ca.pem"]
    assert openssl("verify", *words, authority / "gw.pem").endswith("gw.pem: OK\n")
    text = openssl("x509", "-in", authority / "gw.pem", "-noout", "-text")
    for line in ("Signature Algorithm: SM2-with-SM3", "ASN1 OID: SM2", "DNS:gw.example.org", "Digital Signature"):
        assert line in text
    assert {path.name for path in authority.iterdir()} == {"ca.key", "ca.pem", "gw.key", "gw.pem"}
    for key in authority.glob("*.key"):
        assert key.stat().st_mode & 0o777 == 0o600 and "BEGIN PRIVATE KEY" in key.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ca", "{}", "/CN=again"), "ca.key is there already"),
        (("issue", "{}/none", "gw", "/CN=gw", "DNS:gw"), "has no ca.key: make the CA first"),
        (("issue", "{}", "gw", "/CN=gw", "IP:192.0.2.256"), "openssl: "),
        (("issue", "{}", "gw", "no subject", "IP:192.0.2.1"), "openssl: "),
    ],
)
def test_refusals(authority: Path, words: tuple[str, ...], sentence: str) -> None:
    before = {path: path.read_bytes() for path in authority.iterdir()}
    done = run(*(word.format(authority) for word in words))
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in authority.iterdir()} == before and not (authority / "none").exists()


def test_usage() -> None:
    done = run("renew")
    assert done.returncode == 2 and done.stderr.splitlines()[0].startswith("sm2-certificates ca FOLDER SUBJECT")
