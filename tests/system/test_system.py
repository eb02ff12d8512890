# SPDX-License-Identifier: Apache-2.0
"""Management computers as Debian ships them, of Arm and of LoongArch, booted whole under QEMU: our
packages by apt, units under systemd, and a tunnel that lasts. The tests of a system follow each
other: `make peers PEER=system-arm64`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.system.processors import ARM64, LOONG64
from tests.system.site import Site, site

# The most that systemd-analyze may find exposed, of 10.
EXPOSURE = {"sallyportd": 3.0, "strongswan": 5.0}


@pytest.fixture(scope="module", params=[ARM64, LOONG64], ids=lambda processor: processor.architecture)
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(request.param, tmp_path_factory.mktemp(request.param.architecture)) as made:
        yield made


def test_packages_and_units(system: Site) -> None:
    """apt has installed both packages from the signed repository, both units run, and systemd has
    no failed one. charon has loaded the plugin."""
    computer = system.computer
    for name, file in system.packages.items():
        status = computer.run(f"dpkg-query -W -f '${{Status}} ${{Version}} ${{Architecture}}\\n' {name}")
        _, version, arch = file.removesuffix(".deb").split("_")
        assert status == f"install ok installed {version} {arch}"
    assert computer.active() == ["active", "active"]
    assert computer.run("systemctl is-system-running --wait || true") == "running", computer.run("systemctl --failed")
    shown = "dpkg-query -W -f '${source:Upstream-Version}\\n' strongswan-libcharon"
    assert computer.run(shown) == system.processor.strongswan
    log = computer.run("journalctl -b -u strongswan --no-pager")
    assert re.search(r"loaded plugins: .*kernel-sallyport", log)
    print(computer.run("systemd-analyze time"))


def test_security_as_packaged(system: Site) -> None:
    """Prints what systemd-analyze says of the units as packaged, without the test's drop-in."""
    for unit, most in EXPOSURE.items():
        said = system.computer.run(f"systemd-analyze security --no-pager {unit}.service || echo status $?")
        found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
        assert found, said
        print(f"{system.processor.architecture}: {unit}.service {found[1]}")
        assert float(found[1]) <= most, said


def test_tunnel(system: Site) -> None:
    """A packet of the host has charon make the tunnel, and pings cross it both ways."""
    system.connect()
    system.ping(20)


def rekey(system: Site, kind: str) -> None:
    """A rekey by the computer's charon, under a stream that loses nothing."""
    computer = system.computer
    old, rekeyed = computer.spis(), "journalctl -u strongswan --no-pager | grep -c 'rekeyed between' || true"
    times = int(computer.run(rekeyed))
    with system.stream() as counts:
        computer.run(f"swanctl --rekey --{kind} {'net' if kind == 'child' else 't'}")
        if kind == "child":
            computer.wait_for(lambda: len(new := computer.spis()) == 2 and not new & old)
        else:
            computer.wait_for(lambda: int(computer.run(rekeyed)) > times)
    print(f"rekey of {kind}: {counts[0]} pings, {counts[1]} answered")
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("kind", ["child", "ike"])
def test_rekey(system: Site, kind: str) -> None:
    system.connect()
    rekey(system, kind)


def test_upgrade_under_traffic(system: Site) -> None:
    """apt upgrades both packages while a host pings through the tunnel: another sallyportd runs,
    the SAs are those of before, and no packet is lost. Then the tunnel is rekeyed again."""
    system.connect()
    system.remember_the_box()
    computer = system.computer
    newer = {name: system.repository.add_next(file) for name, file in system.packages.items()}
    before, old = computer.run("systemctl show -P MainPID sallyportd"), computer.spis()
    with system.stream() as counts:
        computer.upgrade(*newer)
        computer.wait_for(lambda: computer.active() == ["active", "active"])
        assert computer.spis() == old
    for name, version in newer.items():
        assert computer.run(f"dpkg-query -W -f '${{Version}}\\n' {name}") == version
    assert computer.run("systemctl show -P MainPID sallyportd") != before
    print(f"upgrade: {counts[0]} pings, {counts[1]} answered")
    assert counts[0] == counts[1] > 0
    rekey(system, "child")


def test_reboot(system: Site) -> None:
    """Both services come again by themselves, and a packet makes a tunnel."""
    print(f"reboot: {system.computer.machine.reboot():.0f} s")
    back(system)


def test_power_cut(system: Site) -> None:
    """QEMU is killed under traffic, and the chips lose all that they had."""
    machine = system.computer.machine
    with system.stream():
        machine.power_cut()
        system.reset_chips()
    print(f"boot behind a power cut: {machine.start():.0f} s")
    back(system)


def back(system: Site) -> None:
    computer = system.computer
    computer.wait_for(lambda: computer.active() == ["active", "active"])
    assert computer.run("systemctl is-system-running --wait || true") == "running", computer.run("systemctl --failed")
    system.connect()
    system.ping(20)
    rekey(system, "child")
