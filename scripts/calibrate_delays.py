# SPDX-License-Identifier: Apache-2.0
"""Hold the delay model against public modules that close timing on an XCVU9P (calibration.yaml)."""

from __future__ import annotations

import math
import re
import statistics
import tempfile
from pathlib import Path

import click
import delay_model
import yaml
from delay_model import LOCAL, OCTAVE, PESSIMISM
from netlist_delays import Delays
from netlist_paths import Paths
from synth_check import run_yosys

DATA = yaml.safe_load(Path(__file__).with_name("calibration.yaml").read_text())


def fit(nets: list[tuple[int, float]]) -> tuple[float, float, float]:
    """Least squares of ns = local + octave * log2(fan-out); the two, and the root mean square
    error."""
    octaves = [math.log2(fan_out) for fan_out, _ in nets]
    delays = [ns for _, ns in nets]
    octave, local = statistics.linear_regression(octaves, delays)
    errors = [local + octave * at - ns for at, ns in zip(octaves, delays, strict=True)]
    return local, octave, math.sqrt(statistics.fmean(error**2 for error in errors))


def published(cells: list[tuple[str, int]]) -> float:
    """The model's ns of a path of primitives, each with the fan-out of the net in front of it."""
    (source, _), *rest = cells
    kind, name = source.split()
    ns = delay_model.launch(kind, name, {})
    for at, ((cell, fan_out), (before, _)) in enumerate(zip(rest, cells, strict=False)):
        kind, name = cell.split()
        is_end = at == len(rest) - 1
        pin = (delay_model.end if is_end else delay_model.through)(kind, name)
        if pin.near is not None and fan_out == 1 and re.match("LUT|CARRY|MUXF", before):
            ns += pin.near
        else:
            ns += delay_model.net(fan_out, fan_out * delay_model.area(kind))
        # Vivado counts the setup time apart.
        ns += 0 if is_end else pin.ns
    return ns


def estimate(folders: list[Path], module: str, parameters: dict[str, int], out: Path) -> tuple[int, float]:
    """LUT levels and estimated ns of a module's worst path that ends at a register."""
    files = {source.stem: source for folder in folders for source in folder.glob("*.v")}
    sources: dict[str, Path] = {}
    wanted = {module}
    while wanted:
        name = wanted.pop()
        # yosys does not know the task of a check on parameters.
        text = files[name].read_text().replace("$error(", "$display(")
        sources[name] = out / f"{name}.v"
        sources[name].write_text(text)
        wanted |= set(re.findall(r"\w+", text)) & files.keys() - sources.keys()
    paths = Paths(run_yosys(list(sources.values()), module, out, parameters), module)
    late = max(end.ns for end in Delays(paths).ends() if end.clock)
    return paths.deepest()[0], late * PESSIMISM


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(checkout: Path) -> None:
    """Estimate the modules of calibration.yaml in CHECKOUT, a work tree of the repository at the
    commit that it names, and print how pessimistic the model is."""
    folders = [checkout / folder for folder in DATA["folders"]]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise click.UsageError(f"{missing[0]} is not there: check out {DATA['repository']} at {DATA['commit']}")
    local, octave, error = fit([tuple(net) for path in DATA["nets"] for net in path])
    click.echo(f"nets: {local:.3f} + {octave:.3f} log2(fan-out) ns, error {error:.2f} ns a net")
    if (round(local, 3), round(octave, 3)) != (LOCAL, OCTAVE):
        raise click.ClickException("delay_model.py has other constants for nets")
    for row in DATA["paths"]:
        ns = published(row["cells"])
        click.echo(f"{row['source']}: {ns:.2f} ns, Vivado {row['ns']:.2f} ns, {ns / row['ns']:.2f}")
    ratios = []
    for row in DATA["modules"]:
        with tempfile.TemporaryDirectory() as out:
            levels, ns = estimate(folders, row["module"], row["parameters"], Path(out))
        period = 1000 / row["mhz"]
        ratios.append(ns / period)
        click.echo(f"{row['module']}: {levels} LUT levels, {ns:.2f} ns of {period:.2f} ns, {ns / period:.2f}")
    click.echo(f"worst {max(ratios):.2f}, median {statistics.median(ratios):.2f}; delay_model.py has {PESSIMISM:.2f}")


if __name__ == "__main__":
    main()
