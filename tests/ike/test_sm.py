# SPDX-License-Identifier: Apache-2.0
"""IKE with SM2, SM3 and SM4 between two charons of mgmt/strongswan-sm: what their boxes hold is
what they negotiated."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ike.box import IkeBox
from tests.ike.charons import agree, wait_until_replaced
from tests.ike.curve_sm2 import USER_B, times
from tests.ike.sm_charons import (
    ADDRESSES,
    BUILD,
    HOME,
    NUMBERS,
    PACKAGE,
    SmCharon,
    openssl_certificates,
    skip_unless_built,
    two_sm_charons,
)
from tests.ike.test_traffic import stream, trial

Two = tuple[SmCharon, SmCharon]
SM_IKE = "sm4-sm3-curvesm2"
SM_ESP = "sm4-sm3"
CBC = ("enc", "cbc(sm4)", "auth-trunc", "hmac(sm3)")
GCM = ("aead", "rfc4106(gcm(sm4))")


@pytest.fixture(scope="module")
def charons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    skip_unless_built()
    with two_sm_charons(tmp_path_factory.mktemp("sm")) as made:
        yield made


@pytest.fixture
def fresh(charons: Two) -> Iterator[Two]:
    """The same without an IKE_SA."""
    yield charons
    for charon in charons:
        charon.terminate()
        charon.box.wait_until_empty()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA and a certificate for each of the two, of SM2, by our tool."""
    folder = tmp_path_factory.mktemp("sm2")
    tool = PACKAGE / "sm2-certificates"
    subprocess.run([tool, "ca", folder, "/O=Sallyport/CN=CA"], check=True)
    for n, address in enumerate(ADDRESSES):
        subprocess.run([tool, "issue", folder, str(n), f"/O=Sallyport/CN=box {n}", f"IP:{address}"], check=True)
    return folder


def connected(
    two: Two, ike: str, esp: str, auth: str = "psk", certificates: Path | None = None
) -> tuple[IkeBox, IkeBox]:
    """One tunnel between them."""
    for charon in two:
        charon.configure(ike, esp, auth, certificates)
    two[0].initiate("net")
    both = two[0].box, two[1].box
    for one in both:
        one.wait(lambda one=one: len(one.states) == 2 and len(one.policies) == 2)
    agree(*both)
    return both


def ike_sa(charon: SmCharon) -> dict[str, str]:
    return dict(re.findall(r"([\w-]+)=(\S*)", charon.swanctl("--list-sas", "--raw").partition("child-sas")[0]))


def test_algorithms() -> None:
    """Each against the vectors of its standard, in the process of strongSwan's own self-test."""
    if not (BUILD / ".built").exists():
        pytest.skip("strongSwan with the ShangMi algorithms is not built: make strongswan-sm, which takes a minute")
    done = subprocess.run(["make", "-C", PACKAGE, "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "FAILED" not in done.stdout, done.stdout + done.stderr
    assert len(re.findall(r"^ok ", done.stdout, re.M)) == 12, done.stdout
    (key, secret) = re.findall(r"^curveSM2 ([0-9a-f:]+) ([0-9a-f:]+)$", done.stdout, re.M)[0]
    point = bytes.fromhex(key.replace(":", ""))
    shared = times(USER_B, (int.from_bytes(point[:32], "big"), int.from_bytes(point[32:], "big")))
    assert shared and secret.replace(":", "") == f"{shared[0]:064x}"


@pytest.mark.parametrize(
    ("ike", "esp", "suite", "bits"),
    [
        ("sm4-sm3-curvesm2", "sm4-sm3", CBC, 128),
        ("sm4-sm3_256-prfsm3-curvesm2", "sm4-sm3_256-curvesm2-esn", CBC, 256),
        ("sm4gcm16-prfsm3-curvesm2", "sm4gcm16", GCM, 128),
        ("sm4gcm16-prfsm3-ecp256", "sm4gcm16-esn", GCM, 128),
        ("aes256gcm16-prfsha256-ecp256", "sm4gcm16", GCM, 128),
    ],
)
def test_psk(fresh: Two, ike: str, esp: str, suite: tuple[str, ...], bits: int) -> None:
    both = connected(fresh, ike, esp)
    sa = ike_sa(fresh[1])
    if ike.startswith("sm4"):
        assert sa["prf-alg"] == "PRF_HMAC_SM3" and "encr-keysize" not in sa
        assert sa["encr-alg"] == ("SM4_GCM_16" if "gcm" in ike else "SM4_CBC")
        assert sa.get("integ-alg") == (None if "gcm" in ike else "HMAC_SM3_256" if "256" in ike else "HMAC_SM3_128")
        assert sa["dh-group"] == ("CURVE_SM2" if "curvesm2" in ike else "ECP_256")
    for one in both:
        for state in one.states:
            assert state.suite == suite and [len(k) // 2 for k in state.keys] == ([20] if suite == GCM else [16, 32])
        assert all(line.endswith(f" {bits}") for line in one.lines[-8:] if line.startswith("xfrm state add"))


@pytest.mark.parametrize("esp", ["sm4-sm3", "sm4gcm16"])
@pytest.mark.parametrize("auth", ["pubkey", "sm2", "ike:sm2"])
def test_sm2_certificates(fresh: Two, certificates: Path, esp: str, auth: str) -> None:
    marks = [len(charon.log()) for charon in fresh]
    connected(fresh, SM_IKE, esp, auth, certificates)
    for charon, mark in zip(fresh, marks, strict=True):
        said = charon.log()[mark:]
        assert f"authentication of '{charon.other}' with SM2_WITH_SM3 successful" in said
        assert f"authentication of '{charon.me}' (myself) with SM2_WITH_SM3 successful" in said


def test_encrypted_key(fresh: Two, certificates: Path) -> None:
    """swanctl decrypts an SM2 key with its password and hands it to charon."""
    a, b = fresh
    for charon in fresh:
        charon.configure(SM_IKE, SM_ESP, "sm2", certificates)
    a.swanctl("--load-creds", "--clear", "--noprompt")
    home = a.folder / "swanctl"
    words = ["-in", certificates / "0.key", "-out", home / "private" / "0.key", "-passout", "pass:correct horse"]
    subprocess.run(["openssl", "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", *words], check=True)
    with (home / "swanctl.conf").open("a") as conf:
        conf.write('secrets { private-1 { file = 0.key\n secret = "correct horse" } }\n')
    said = a.swanctl("--load-all", "--clear", "--noprompt", "--file", str(home / "swanctl.conf"))
    assert f"loaded SM2 key from '{home}/private/0.key'" in said, said
    a.initiate("net")
    agree(a.box, b.box)


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        (["-algorithm", "EC", "-pkeyopt", "group:P-256"], "ECDSA_WITH_SHA256_DER"),
        (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "RSA_EMSA_PKCS1_SHA2_256"),
    ],
    ids=["ecdsa", "rsa"],
)
def test_other_certificates(fresh: Two, tmp_path: Path, kind: list[str], scheme: str) -> None:
    """They authenticate SM4 as they do any other cipher."""
    mark = len(fresh[0].log())
    connected(fresh, SM_IKE, SM_ESP, "pubkey", openssl_certificates(tmp_path, kind))
    assert f"authentication of '{fresh[0].other}' with {scheme} successful" in fresh[0].log()[mark:]


def test_sm2_refuses(fresh: Two, certificates: Path, tmp_path: Path) -> None:
    """A certificate of another CA, and one that is not of SM2 where SM2 is asked for."""
    a, b = fresh
    tool = PACKAGE / "sm2-certificates"
    subprocess.run([tool, "ca", tmp_path, "/O=Sallyport/CN=CA"], check=True)
    subprocess.run([tool, "issue", tmp_path, "0", "/O=Sallyport/CN=box 0", f"IP:{ADDRESSES[0]}"], check=True)
    a.configure(SM_IKE, SM_ESP, "pubkey", tmp_path)
    b.configure(SM_IKE, SM_ESP, "pubkey", certificates)
    assert "AUTHENTICATION_FAILED" in a.initiate("net", check=False)
    other = tmp_path / "ecdsa"
    other.mkdir()
    openssl_certificates(other, ["-algorithm", "EC", "-pkeyopt", "group:P-256"])
    a.configure(SM_IKE, SM_ESP, "pubkey", other)
    b.configure(SM_IKE, SM_ESP, "sm2", other)
    assert "AUTHENTICATION_FAILED" in a.initiate("net", check=False)
    assert not a.box.states and not b.box.states


@pytest.mark.parametrize("esp", ["sm4-sm3", "sm4gcm16-curvesm2"])
def test_rekeys(fresh: Two, certificates: Path, esp: str) -> None:
    """The new SAs are there before the old ones go, and with them the same algorithms; so is the
    new IKE_SA's key material."""
    both = connected(fresh, SM_IKE, esp, "pubkey", certificates)
    for who in (0, 1):
        marks = [len(one.lines) for one in both]
        old = both[0].spis()
        suite = both[0].only("in").suite
        fresh[who].mark()
        fresh[who].swanctl("--rekey", "--child", "net")
        wait_until_replaced(old, *both)
        for one, mark in zip(both, marks, strict=True):
            verbs = [line.split()[2] for line in one.lines[mark:] if line.startswith("xfrm state ")]
            assert verbs == ["add", "add", "deleteall", "deleteall"], verbs
        agree(*both)
        assert both[0].only("in").suite == suite
    for charon in fresh:
        charon.mark()
    fresh[0].swanctl("--rekey", "--ike", "t")
    for charon in fresh:
        charon.wait_for_log(r"IKE_SA t\[\d+\] rekeyed between")
        assert ike_sa(charon)["dh-group"] == "CURVE_SM2"


@pytest.mark.parametrize("esp", ["sm4-sm3", "sm4gcm16-esn"])
def test_traffic(fresh: Two, certificates: Path, esp: str) -> None:
    """The boxes carry packets under the negotiated SAs, both ways and through a rekey: none is
    lost, and either SA counts its own."""
    both = connected(fresh, SM_IKE, esp, "sm2", certificates)

    def carried() -> None:
        sent = trial(both, stream(0), stream(1))
        for box, count in zip(both, sent, strict=True):
            sa = box.only("out")
            assert box.ask("query-state", dst=sa.dst, proto="esp", spi=sa.spi)["packets"] == count > 0

    carried()
    old = both[0].spis()
    fresh[1].swanctl("--rekey", "--child", "net")
    wait_until_replaced(old, *both)
    carried()


def test_private_numbers_are_not_accepted_unasked(tmp_path: Path) -> None:
    skip_unless_built()
    with two_sm_charons(tmp_path, "", "accept_private_algs = no") as two:
        for charon in two:
            charon.configure(SM_IKE, SM_ESP)
        assert "NO_PROPOSAL_CHOSEN" in two[0].initiate("net", check=False)


def test_configured_numbers(tmp_path: Path, certificates: Path) -> None:
    """Two that agree on other numbers negotiate; one whose peer has the default ones does not."""
    skip_unless_built()
    with two_sm_charons(tmp_path / "alike", NUMBERS, NUMBERS) as two:
        connected(two, SM_IKE, "sm4gcm16-curvesm2", "pubkey", certificates)
        # A proposal with a group that the peer prefers to another: the number in INVALID_KE_PAYLOAD
        # is translated as well.
        two[0].terminate()
        two[0].configure("sm4-sm3-ecp256-curvesm2", SM_ESP)
        two[1].configure(SM_IKE, SM_ESP)
        two[0].initiate("net")
        assert "peer didn't accept DH group ECP_256, it requested CURVE_SM2" in two[0].log()
    with two_sm_charons(tmp_path / "other", NUMBERS, "") as two:
        for charon in two:
            charon.configure(SM_IKE, SM_ESP)
        assert "NO_PROPOSAL_CHOSEN" in two[0].initiate("net", check=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sm4 = 70000", "transform_ids.sm4 of strongswan.conf is '70000': give a number from 1 to 65534"),
        ("sm4 = twelve", "transform_ids.sm4 of strongswan.conf is 'twelve': give a number from 1 to 65534"),
        (
            "sm4 = 12",
            "transform_ids.sm4 of strongswan.conf is 12, which is AES_CBC: give a number that nothing else has",
        ),
        ("sm4gcm16 = 1100", "transform_ids.sm4gcm16 of strongswan.conf is 1100, as another algorithm's is"),
    ],
)
def test_ambiguous_numbers_are_refused(tmp_path: Path, words: str, sentence: str) -> None:
    """charon comes up without the algorithms, and says why."""
    skip_unless_built()
    with two_sm_charons(tmp_path, f"transform_ids {{ {words} }}", "") as two:
        assert sentence in two[0].log()
        path = two[0].folder / "swanctl.conf"
        path.write_text(f"connections {{ t {{ proposals = {SM_IKE} }} }}")
        assert "invalid value for: proposals" in two[0].swanctl("--load-conns", "--file", str(path), check=False)


def test_the_package_is_of_its_own() -> None:
    """Nothing of it goes where the distribution's strongSwan is."""
    if not (BUILD / ".built").exists():
        pytest.skip("strongSwan with the ShangMi algorithms is not built: make strongswan-sm, which takes a minute")
    files = {path.relative_to(BUILD / "root") for path in (BUILD / "root").rglob("*") if not path.is_dir()}
    homes = {HOME.relative_to("/"), Path("etc") / HOME.name}
    assert {path for path in files if not any(home in path.parents for home in homes)} == set()
