# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of the management (`make packages`): the contents of each, and what dpkg
makes of the one for this machine."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()
# As ELF numbers them: EM_X86_64, EM_AARCH64, EM_LOONGARCH.
MACHINES = {"amd64": 62, "arm64": 183, "loong64": 258}
UNIT = "usr/lib/systemd/system/sallyportd.service"
DOC = "usr/share/doc/sallyport-mgmt"
PAGES = ["api", "control-socket"]
PAGES += ["sallyportd", *(f"sallyportd-{part}" for part in ("taps", "pair", "monitoring"))]
PAGES += [
    "sallyctl",
    *(f"sallyctl-{part}" for part in ("states", "policies", "network", "limits", "config", "events", "card")),
]
# The commands of sallyctl, as its man pages are named.
COMMANDS = [
    "",
    "addr",
    "audit",
    "card",
    "card-drp",
    "config",
    "config-confirm",
    "config-diff",
    "config-load",
    "config-save",
]
COMMANDS += ["config-show", "counters", "events", "id", "link", "monitor", "neigh", "next-hop", "pair", "pair-maintain"]
COMMANDS += ["pair-resume", "pair-status", "pair-switch", "punt", "qos", "reassembly", "route", "selftest"]
COMMANDS += ["selftest-run", "skip-headers", "vrf", "xfrm"]
COMMANDS += ["yang", "yang-delete", "yang-load", "yang-monitor", "yang-show"]
FILES = {
    "usr/sbin/sallyportd": 0o755,
    "usr/bin/sallyctl": 0o755,
    UNIT: 0o644,
    "usr/lib/systemd/system/strongswan.service.d/sallyport.conf": 0o644,
    "usr/lib/sysusers.d/sallyport.conf": 0o644,
    "usr/share/sallyport/sallyctl.schema.json": 0o644,
    "usr/share/sallyport/sallyport/v1/sallyport.proto": 0o644,
    f"{DOC}/examples/sallyportd.toml": 0o644,
    f"{DOC}/examples/sallyport.rules.yml": 0o644,
    f"{DOC}/examples/grafana.json": 0o644,
    **{f"{DOC}/{page}.md": 0o644 for page in PAGES},
    **{f"usr/share/man/man1/{'-'.join(filter(None, ('sallyctl', command)))}.1.gz": 0o644 for command in COMMANDS},
    "usr/share/man/man8/sallyportd.8.gz": 0o644,
    "usr/share/bash-completion/completions/sallyctl": 0o644,
    "usr/share/zsh/vendor-completions/_sallyctl": 0o644,
    "usr/share/fish/vendor_completions.d/sallyctl.fish": 0o644,
    "usr/share/lintian/overrides/sallyport-mgmt": 0o644,
    f"{DOC}/changelog.gz": 0o644,
    f"{DOC}/sbom.cdx.json": 0o644,
    f"{DOC}/copyright": 0o644,
    f"{DOC}/uPlot.LICENSE.txt": 0o644,
}


def package(arch: str) -> Path:
    path = ROOT / f"build/packages/sallyport-mgmt_{VERSION}_{arch}.deb"
    assert path.is_file(), f"{path} is not there: run 'make packages'"
    return path


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def files(folder: Path) -> dict[str, int]:
    """All below a folder, but for folders, with its permissions."""
    each = {str(path.relative_to(folder)): path.lstat().st_mode for path in folder.rglob("*")}
    return {name: stat.S_IMODE(mode) for name, mode in each.items() if not stat.S_ISDIR(mode)}


@pytest.mark.parametrize("arch", MACHINES)
def test_a_package_has_its_files_and_programs_of_its_machine(arch: str, tmp_path: Path) -> None:
    control = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", package(arch)).splitlines() if ": " in line)
    assert (control["Package"], control["Version"], control["Architecture"]) == ("sallyport-mgmt", VERSION, arch)
    assert "Depends" not in control  # the programs are static
    run("dpkg-deb", "-x", package(arch), tmp_path)
    assert files(tmp_path) == FILES
    assert list((tmp_path / "etc/sallyport").iterdir()) == []
    for program in ("usr/sbin/sallyportd", "usr/bin/sallyctl"):
        head = (tmp_path / program).read_bytes()[:20]
        assert (head[:5], int.from_bytes(head[18:], "little")) == (b"\x7fELF\x02", MACHINES[arch])
        headers = run("readelf", "-lW", tmp_path / program)
        assert "INTERP" not in headers and "DYNAMIC" not in headers
    # Those whose work is in the programs ask to be named with them.
    notices = (tmp_path / DOC / "copyright").read_text()
    for name in ("std@go", "github.com/spf13/cobra@", "github.com/prometheus/client_golang@"):
        assert f"\nFiles: {name}" in notices


# systemd's `systemctl`, which is not there to be run: it says how it is called.
SYSTEMCTL = '#!/bin/sh\necho "$@" >> /systemctl\n'

STEPS = """
set -e
mount -t tmpfs -o mode=755 none "$1"
cd "$1"
mkdir up work all
mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work all
if [ $# = 1 ]; then exit; fi
mount --rbind /dev all/dev
mkdir -p all/run/systemd/system
cp "$2" all/package.deb
install -D -m 755 "$3" all/usr/local/sbin/systemctl
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
for step in install again remove purge; do
  case $step in
    install | again) chroot all dpkg -i /package.deb ;;
    *) chroot all dpkg --$step sallyport-mgmt ;;
  esac
  mkdir "$4/$step"
  cp -a up "$4/$step"
  if [ $step = again ]; then
    chroot all sallyportd --version > "$4/version"
    chroot all sallyportd --check-config --config /usr/share/doc/sallyport-mgmt/examples/sallyportd.toml 2> "$4/check"
    chroot all systemd-analyze verify sallyportd.service 2> "$4/verify"
  fi
done
"""


def in_an_overlay(tmp_path: Path, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Run STEPS where this machine's files are below an overlay, which no other process sees
    and which goes with its own."""
    place = tmp_path / "overlay"
    place.mkdir(exist_ok=True)
    return subprocess.run(
        ["unshare", "--mount", "bash", "-c", STEPS, "steps", place, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_dpkg_installs_upgrades_and_removes(tmp_path: Path) -> None:
    """dpkg works on an overlay over this machine's files, whose upper layer then has what the
    package changed, and no more."""
    arch = run("dpkg", "--print-architecture").strip()
    if arch not in MACHINES:
        pytest.skip(f"there is no package for {arch}")
    for needed in ("systemd-sysusers", "systemd-analyze"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed: apt-get install systemd")
    if os.geteuid() != 0 or in_an_overlay(tmp_path).returncode != 0:
        pytest.skip("an overlay cannot be mounted here: run as root, with CAP_SYS_ADMIN")
    stand_in, seen = tmp_path / "systemctl", tmp_path / "seen"
    stand_in.write_text(SYSTEMCTL)
    seen.mkdir()
    done = in_an_overlay(tmp_path, package(arch), stand_in, seen)
    assert done.returncode == 0, done.stdout + done.stderr

    ours = {"package.deb", "systemctl", "usr/local/sbin/systemctl"}
    mine = {f"{name}{suffix}" for name in ("passwd", "group", "shadow", "gshadow") for suffix in ("", "-")} | {
        ".pwd.lock"
    }
    for step, present in (("install", True), ("again", True), ("remove", False), ("purge", False)):
        up = seen / step / "up"
        # dpkg keeps its books in /var, and systemd-analyze leaves a mark in /run.
        changed = {name: mode for name, mode in files(up).items() if not name.startswith(("var/", "run/"))}
        left = {
            name: mode for name, mode in changed.items() if name not in ours and name.removeprefix("etc/") not in mine
        }
        assert left == (FILES if present else {}), step
        assert (up / "etc/sallyport").is_dir() == (up / DOC).is_dir() == present
        assert all(path.lstat().st_uid == path.lstat().st_gid == 0 for path in map(up.joinpath, left)), step
        # The user is made once, and stays.
        users = [
            line.split(":") for line in (up / "etc/passwd").read_text().splitlines() if line.startswith("sallyport:")
        ]
        assert len(users) == 1 and users[0][5] == "/run/sallyport" and "nologin" in users[0][6]
        assert "\nsallyport:" in (up / "etc/group").read_text()
        database = (up / "var/lib/dpkg/status").read_text()
        assert ("Package: sallyport-mgmt\nStatus: install ok installed\n" in database) == present
        assert ("Package: sallyport-mgmt\n" in database) == (step != "purge")
    assert (seen / "purge/up/systemctl").read_text().splitlines() == [
        "daemon-reload", "try-restart sallyportd.service",  # not started before it is configured
        "daemon-reload", "try-restart sallyportd.service",
        "disable --now sallyportd.service", "daemon-reload",
    ]  # fmt: skip
    assert (seen / "version").read_text() == f"sallyportd version {VERSION}\n"
    assert (seen / "check").read_text() == ""
    assert (seen / "verify").read_text() == ""


def test_the_bill_of_materials_has_what_the_programs_say(tmp_path: Path) -> None:
    """Go writes the modules of a program into it; sbom.cdx.json has those of both."""
    go = shutil.which("go")
    assert go, "go is not there: source scripts/env.sh"
    run("dpkg-deb", "-x", package("amd64"), tmp_path)
    inside = set()
    for program in ("usr/sbin/sallyportd", "usr/bin/sallyctl"):
        for line in run(go, "version", "-m", tmp_path / program).splitlines():
            words = line.split()
            if words[0] == "dep":
                inside.add((words[1], words[2]))
    bill = json.loads((tmp_path / DOC / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["metadata"]["component"]["version"]) == (
        "CycloneDX",
        "1.6",
        VERSION,
    )
    listed = {(each["name"], each["version"]) for each in bill["components"] if each["name"] != "std"}
    assert listed == inside
    notices = (tmp_path / DOC / "copyright").read_text()
    for each in bill["components"]:
        assert each["licenses"], each["name"]
        assert f"\nFiles: {each['name']}@{each['version']}/*\n" in notices


def test_charon_reaches_the_control_socket(tmp_path: Path) -> None:
    """Debian's charon keeps no right to write what others own, so its unit is in the group."""
    run("dpkg-deb", "-x", package("amd64"), tmp_path)
    drop_in = (tmp_path / "usr/lib/systemd/system/strongswan.service.d/sallyport.conf").read_text().splitlines()
    groups = [
        line.split()[1]
        for line in (tmp_path / "usr/lib/sysusers.d/sallyport.conf").read_text().splitlines()
        if line[:1] == "u"
    ]
    assert groups == ["sallyport"] and "SupplementaryGroups=sallyport" in drop_in
    assert not [line for line in drop_in if "CAP_DAC_OVERRIDE" in line]


@pytest.mark.parametrize("arch", ["amd64", "arm64"])  # lintian of 2022 does not know loong64
def test_lintian_finds_nothing(arch: str) -> None:
    """Debian's own rules, but for the overrides that the package gives reasons for."""
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed: apt-get install lintian")
    done = subprocess.run(
        ["lintian", "--fail-on", "error,warning", "--allow-root", package(arch)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
