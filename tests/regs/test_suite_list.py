# SPDX-License-Identifier: Apache-2.0
"""The list of suites: its facts about a suite, and the sentence for each mistake."""

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from suite_list.model import read
from suite_list.shape import ListError
from tests.regs.elaboration import REGS

TREE = yaml.safe_load((REGS / "suites.yaml").read_text())
Change = Callable[[dict[str, Any]], Any]


def suite(name: str, tree: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in tree["suites"] if row["name"] == name)


def set_in(name: str, /, **fields: Any) -> Change:
    return lambda tree: suite(name, tree).update(fields)


def add(**fields: Any) -> Change:
    return lambda tree: tree["suites"].append(fields)


def test_a_suite_has_the_sizes_of_its_mode_and_hash() -> None:
    suites = {each.name: each for each in read(REGS / "suites.yaml")}
    sm3, gcm = suites["sm4-sm3"], suites["aes192gcm16"]
    assert (sm3.crypt, sm3.mode.iv, sm3.mode.align, sm3.icv) == ("cbc(sm4)", 16, 16, [16, 12, 32])
    assert (gcm.crypt, gcm.key, gcm.mode.salt, gcm.mode.align, gcm.icv) == ("rfc4106(gcm(aes))", 24, 4, 4, [16])


MISTAKES: dict[str, tuple[Change, str]] = {
    "unknown cipher": (
        set_in("aes128gcm16", cipher="aez"),
        "suite aes128gcm16: cipher aez is unknown: use aes, sm4, chacha20 or none",
    ),
    "unknown mode": (
        set_in("aes128gcm16", mode="ocb"),
        "suite aes128gcm16: mode ocb is unknown: use gcm, gmac, poly1305, ctr, cbc or plain",
    ),
    "unknown hash": (
        set_in("aes256-sha1", hash="md5"),
        "suite aes256-sha1: hash md5 is unknown: use sha256, sha1 or sm3",
    ),
    "a mode that has not this cipher": (
        set_in("sm4gcm16", mode="gmac"),
        "suite sm4gcm16: mode gmac has no cipher sm4, only aes",
    ),
    "a key that the hardware has not": (
        set_in("aes256-sha1", key=24),
        "suite aes256-sha1: aes in mode cbc has no key of 24 bytes, only of 16 or 32",
    ),
    "a hash beside an AEAD": (
        set_in("aes128gcm16", hash="sha256"),
        "suite aes128gcm16: mode gcm makes its own ICV, so take the hash out",
    ),
    "encryption without an ICV": (
        lambda tree: suite("aes256-sha1", tree).pop("hash"),
        "suite aes256-sha1: mode cbc makes no ICV, so name a hash: sha256, sha1 or sm3",
    ),
    "two suites of one number": (
        set_in("sm4gcm16", number=10),
        "suites chacha20poly1305 and sm4gcm16 both have the number 10",
    ),
    "two suites of one name": (
        set_in("sm4ctr-sm3", name="sm4-sm3"),
        "two suites are named sm4-sm3: give one of them another name",
    ),
    "one suite twice": (
        add(number=31, name="aes256gcm", cipher="aes", key=32, mode="gcm"),
        "suites aes256gcm16 and aes256gcm are the same: take one out",
    ),
    "the number of no suite": (
        set_in("aes128gcm16", number=0),
        "suite aes128gcm16: number 0, but they go from 1 to 31",
    ),
    "a number beyond the capability register": (
        set_in("aes128gcm16", number=32),
        "suite aes128gcm16: number 32, but they go from 1 to 31",
    ),
    "a number that is none": (
        set_in("aes128gcm16", number="one"),
        "suite aes128gcm16, number: write a number from 0 up, not 'one'",
    ),
    "a name that strongSwan could not have": (
        set_in("aes128gcm16", name="AES GCM"),
        "suite AES GCM: write the name as strongSwan does, in small letters and digits with '-' between",
    ),
    "no name": (lambda tree: suite("sm4-sm3", tree).pop("name"), "a suite's name: write text, not None"),
    "a row without its cipher": (
        lambda tree: suite("sm4-sm3", tree).pop("cipher"),
        "suite sm4-sm3: cipher is missing",
    ),
    "a key that nothing reads": (
        set_in("sm4-sm3", icv=12),
        "suite sm4-sm3: icv is unknown; the keys are number, name, cipher, key, mode, hash",
    ),
    "no row": (lambda tree: tree.update(suites=[]), "suites: write a list of at least one suite"),
    "no modes": (lambda tree: tree.pop("modes"), "the file: modes is missing"),
    "an ICV that key rows cannot ask for": (
        lambda tree: tree["hashes"]["sha256"].update(icv=[24]),
        "hash sha256: an ICV of 24 bytes, but a key row can ask for 12, 16 or 32",
    ),
    "padding that lanes do not have": (
        lambda tree: tree["modes"]["cbc"].update(align=8),
        "mode cbc: align is 8, but the lanes pad to 4 or to 16 bytes",
    ),
    "charon's name for a cipher that the mode has not": (
        lambda tree: tree["modes"]["gmac"]["charon"].update(sm4="ENCR_SM4"),
        "mode gmac, charon: sm4 is unknown: use aes",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(tmp_path: Path, mistake: str) -> None:
    change, sentence = MISTAKES[mistake]
    tree = copy.deepcopy(TREE)
    change(tree)
    path = tmp_path / "suites.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    with pytest.raises(ListError) as caught:
        read(path)
    assert str(caught.value) == f"suites.yaml: {sentence}"


def generate(source: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "suite_list", str(source), str(folder)]
    done = subprocess.run(command, cwd=REGS, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_mode_that_no_language_knows_is_refused(tmp_path: Path) -> None:
    tree = copy.deepcopy(TREE)
    tree["modes"]["ccm"] = {**tree["modes"]["gcm"], "linux": "rfc4309(ccm({cipher}))"}
    tree["suites"].append({"number": 31, "name": "aes128ccm16", "cipher": "aes", "key": 16, "mode": "ccm"})
    (tmp_path / "suites.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))
    sentence = "regs: ccm has no name in Scala: add it in suite_list/languages.py, and its hardware first\n"
    assert generate(tmp_path / "suites.yaml", tmp_path / "out") == (2, sentence)


def test_a_wrong_list_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "suites.yaml").write_text("modes: {gcm: [")
    status, said = generate(tmp_path / "suites.yaml", tmp_path / "out")
    assert status == 2 and said.startswith("regs: suites.yaml is not YAML: ") and said.count("\n") == 1
    assert not (tmp_path / "out").exists()
