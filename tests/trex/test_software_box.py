# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/lab-one-box.md with a real TRex in software and the RTL of one box between its ports:
where TREX names a TRex release."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.support.namespaces import PREFIX, Host, hosts, live, skip_without_taps
from tests.support.paths import ROOT
from tests.trex.software import CONFIG, client, measured, release, running

RED_TAP, BLACK_TAP = f"{PREFIX}r", f"{PREFIX}b"
BOX = """link set dev black mtu 1500
addr add 10.9.0.1/24 dev red
addr add 192.0.2.1/24 dev black
"""
BOX_MACS = ("02:72:0a:09:00:01", "02:62:c0:00:02:01")
# Stands for OpenSSH's client: the box's command runs here.
SSH = '#!/bin/bash\nexec sh -c "${@: -1}"\n'
FRAMES = 470  # of 512 B at 0.01 % of 10 Gb/s in 2 s


def written(folder: Path, trex: Path) -> Path:
    """The files of TRex and of the box, and the lab file."""
    (config,) = yaml.safe_load(CONFIG)
    (folder / "trex_cfg.yaml").write_text(yaml.safe_dump([config | {"interfaces": [RED_TAP, BLACK_TAP]}]))
    (folder / "box.xfrm").write_text(BOX)
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    lab = yaml.safe_load((ROOT / "docs/examples/lab-one-box.yaml").read_text())
    lab["trex"] |= {"client": str(client(trex)), "captures": str(folder)}
    (box,) = lab["boxes"]
    box["ssh"] = {"sallyctl": f"{ROOT}/build/bin/sallyctl --socket {folder}/box0.sock"}
    for side, mac in zip(("red", "black"), BOX_MACS, strict=True):
        box[side]["next_hop"] = mac
    lab |= {"line_rate_gbps": 10, "mtu": 1500, "settle_ms": 500}
    (folder / "lab.yaml").write_text(yaml.safe_dump(lab))
    return folder / "lab.yaml"


def alone(host: Host, lab: Path, direction: str, tests: str) -> list[dict]:
    """The rows of one command, which finds no key of an earlier one in the box."""
    asked = ("--direction", direction, "--test", tests, "--frame-size", 512, "--load", 0.01, "--measure-us", 2_000_000)
    return measured(host, lab, "--boxes", 1, *asked)


def test_a_real_trex_measures_a_simulated_box(tmp_path: Path) -> None:
    """Each direction, and each attack; TRex's ports count, and the tester opens the ESP."""
    trex = release()
    skip_without_taps()
    lab = written(tmp_path, trex)
    taps = ("--red-tap", RED_TAP, "--black-tap", BLACK_TAP, "--socket-dir", tmp_path)
    with hosts("trex") as (host,), live("--crypto", "model", "--xfrm", tmp_path / "box.xfrm", *taps):
        host.run("ip", "link", "set", "lo", "up")
        for device in (RED_TAP, BLACK_TAP):
            host.take(device)
        with running(host.name, trex, tmp_path):
            (out,) = alone(host, lab, "encrypt", "throughput")
            back, *attacks = alone(host, lab, "decrypt", "throughput,attack")
    for row in (out, back, *attacks):
        assert (row["tx_frames"], row["lost"], row["passed"]) == (FRAMES, 0, True), row["checks"]
    dropped = {row["attack"]: row["dropped"] for row in attacks}
    assert dropped["replay"] == {"box0.inner.drop_replayed": FRAMES}
    assert dropped["bad-icv"] == {"box0.crypto.drop_dec_icv": FRAMES}
    assert sum(dropped["unknown-spi"].values()) == FRAMES
