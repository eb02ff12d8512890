# SPDX-License-Identifier: Apache-2.0
"""Synthesise one core with yosys for an XCVU9P and measure area and logic depth.

yosys maps each module by itself: flattening first costs 1.7 times the LUTs and ten times the time.
LUTs of more than six inputs (F7 to F9) are not used. To save depth, yosys would copy a
multiplexer's controls into every bit of it: 5190 LUTs instead of 661 in a queue of 645 bits. So the
figures leave out the gain of F7 and F8 outside S-boxes.

Delays are flip-flops, not shift registers in LUTs. A pipe of the hashes hands words on for five
stages, and most of the device's flip-flops, two for each LUT, would stay free. In Vivado that is
`synth_design -shreg_min_size`.

Memories are mapped to what their `ram_style` names, if anything. A memory deeper than a URAM or
block RAM gets address decoders and multiplexers of LUTs, which count as any LUT. A device's
cascades would save them, but are not used.

The depth is the longest path of LUTs in the mapped netlist between two registers, memories or
ports, of each clock by itself. Its delay is an estimate (delay_model.py).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import click
import late_paths
import xcvu9p
from clock_limits import ClockLimits
from late_paths import LatePaths
from netlist_delays import Delays
from netlist_paths import Paths

ADDERS = Path(__file__).with_name("adders.v")

# LUTs that one distributed RAM occupies.
LUTS_OF_MEMORY = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
}

# Clock of a port of a module that firtool makes of a memory.
MEMORY_CLOCK = re.compile(r"^[^.\n]*\b((?:R|W|RW)\d+)_clk\b", re.MULTILINE)


def yosys(script: list[str], log: Path) -> None:
    """Run a script; raises with yosys's error line."""
    command = ["yosys", "-q", "-l", str(log), "-p", "; ".join(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise click.ClickException(f"yosys failed: {errors[0] if errors else f'see {log}'}")


def map_box(source: Path, out: Path) -> Path:
    """An S-box in LUTs as Verilog of primitives, with F7 and F8, which its one table fills."""
    mapped = out / f"{source.stem}.v"
    top = source.stem
    yosys(
        [
            f"read_verilog -sv {source}",
            f"synth_xilinx -family xcup -top {top} -noiopad",
            f"write_verilog -noattr {mapped}",
        ],
        out / f"{top}.log",
    )
    return mapped


def run_yosys(sources: list[Path], top: str, out: Path, parameters: dict[str, int] | None = None) -> dict:
    """Map `top` to UltraScale+ primitives; the netlist's modules."""
    sources = [map_box(source, out) if source.stem.endswith("Sbox") else source for source in sources]
    texts = {source.stem: source.read_text() for source in sources}
    memories = [f"t:{name}" for name, text in texts.items() if len(set(MEMORY_CLOCK.findall(text))) > 1]
    uram = "-uram" if any('"ultra"' in text for text in texts.values()) else ""
    netlist = out / f"{top}.netlist.json"
    yosys(
        [
            # With parameters to set, a module is elaborated with its own, not with its defaults.
            f"read_verilog -sv -D SYNTHESIS {'-defer ' if parameters else ''}" + " ".join(map(str, sources)),
            f"hierarchy -top {top}" + "".join(f" -chparam {key} {value}" for key, value in (parameters or {}).items()),
            # firtool gives each memory a module of its own, with a clock a port: inside its parent
            # yosys sees that the clocks are one and maps it to memory blocks.
            "proc",
            f"flatten {' '.join(memories)}" if memories else "",
            f"techmap -map {ADDERS}",
            # What no clock waits for in hardware takes no logic.
            *(f"techmap -D SYNTHESIS -map {source}" for source in sources if source.stem == "SallyportClockGate"),
            f"synth_xilinx -family xcup {uram} -nowidelut -nosrl -top {top}",
            f"write_json {netlist}",
        ],
        out / f"{top}.log",
    )
    modules = json.loads(netlist.read_text())["modules"]
    netlist.unlink()
    return modules


def primitives(modules: dict) -> dict[str, Counter]:
    """Of each module, how many cells of each kind the hierarchy below it has."""

    @cache
    def inside(name: str) -> Counter:
        total: Counter = Counter()
        for kind, n in Counter(cell["type"] for cell in modules[name]["cells"].values()).items():
            below = inside(kind) if kind in designed else Counter([kind])
            total.update({cell: n * count for cell, count in below.items()})
        return total

    designed = {name for name, module in modules.items() if "blackbox" not in module["attributes"]}
    return {name: inside(name) for name in sorted(designed)}


def area(kinds: Counter) -> dict[str, int]:
    """LUT, FF, BRAM36, URAM and DSP; distributed RAM counts as the LUTs it occupies."""
    luts = sum(n for kind, n in kinds.items() if re.match(r"LUT[1-6]$", kind))
    memory = sum(kinds[kind] * size for kind, size in LUTS_OF_MEMORY.items())
    half = sum(n for kind, n in kinds.items() if kind.startswith("RAMB18"))
    return {
        "lut": luts + memory,
        "lut_as_memory": memory,
        "ff": sum(n for kind, n in kinds.items() if re.match(r"FD[RSCP]E", kind)),
        "bram36": sum(n for kind, n in kinds.items() if kind.startswith("RAMB36")) + (half + 1) // 2,
        "uram": sum(n for kind, n in kinds.items() if kind.startswith("URAM")),
        "dsp": sum(n for kind, n in kinds.items() if kind.startswith("DSP")),
        "carry8": kinds["CARRY8"] + kinds["CARRY4"] // 2,
    }


@click.command()
@click.argument("top")
@click.argument("rtl", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/synth"), show_default=True)
@click.option("--max-depth", type=int, default=6, show_default=True, help="Fail above this many LUT levels.")
@click.option(
    "--clock",
    "of_clocks",
    multiple=True,
    metavar="PATTERN=LEVELS/NS",
    help="Other limits for the clock ports that match; repeatable.",
)
@click.option("--max-ns", type=float, default=3.0, show_default=True, help="Fail above this estimated delay of a path.")
@click.option(
    "--max-share",
    type=float,
    default=60,
    show_default=True,
    help="Fail above this percentage of LUTs, block RAM or URAM of the SLRs.",
)
@click.option(
    "--slrs",
    type=click.IntRange(1, xcvu9p.SLRS),
    default=xcvu9p.SLRS,
    show_default=True,
    help="SLRs that the core is in.",
)
def main(
    top: str,
    rtl: Path,
    out: Path,
    max_depth: int,
    of_clocks: tuple[str, ...],
    max_ns: float,
    max_share: float,
    slrs: int,
) -> None:
    """Synthesise module TOP from the .sv files in folder RTL and report into OUT/TOP.json.

    The report has every module's area with its submodules, the deepest path, the paths beyond
    --max-depth and --clock by their ends, and the 20 latest paths and widest nets by an estimate of
    their delays. A module above its ns fails unless late_paths.yaml names it with that figure.
    """
    limits = ClockLimits(max_depth, max_ns, of_clocks)
    sources = sorted(rtl.glob("*.sv")) + sorted(rtl.glob("*.v"))
    if not sources:
        raise click.UsageError(f"{rtl} holds no .sv files; run 'make verilog' first")
    out.mkdir(parents=True, exist_ok=True)
    modules = run_yosys(sources, top, out)
    areas = {name: area(cells) for name, cells in primitives(modules).items()}
    used = areas[top]
    percent = xcvu9p.percent(used)
    paths = Paths(modules, top)
    levels, path = paths.deepest()
    by_clock = paths.by_clock()
    late = LatePaths(Delays(paths))
    ns_by_clock, beyond = late.by_clock(), late.beyond(limits.ns)
    report = used | {
        "top": top,
        "device": "xcvu9p",
        "percent": percent,
        "slrs": slrs,
        "percent_of_slrs": xcvu9p.percent(used, slrs),
        "modules": areas,
        "depth_lut_levels": levels,
        "deepest_path": path,
        "depth_by_clock": by_clock,
        "deep_ends": paths.deep_ends(limits.levels),
        "ns_by_clock": ns_by_clock,
        "modules_beyond_ns": beyond,
    }
    report |= late.report()
    (out / f"{top}.json").write_text(json.dumps(report, indent=2) + "\n")
    click.echo(
        f"{top}: "
        + "".join(f"{used[key]} {key.upper()} ({percent[key]} %), " for key in percent)
        + f"{levels} LUT levels, {max(ns_by_clock.values(), default=0):.2f} ns estimated"
    )
    if of_clocks:
        click.echo(
            f"{top}: "
            + ", ".join(
                f"{clock or 'ports'} {depth}/{ns_by_clock.get(clock, 0):.2f}" for clock, depth in by_clock.items()
            )
        )
    failures = xcvu9p.violations(used, slrs, max_share)
    failures += [
        f"{depth} LUT levels{f' of {clock}' if of_clocks else ''} exceed {limits.levels(clock)}; where is in {out / f'{top}.json'}"
        for clock, depth in by_clock.items()
        if depth > limits.levels(clock)
    ]
    failures += late_paths.failures(top, beyond, limits.ns)
    for failure in failures:
        click.echo(f"{top}: {failure}", err=True)
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
