"""The command line of `./sallyport` (docs/commands.md is its contract)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import click

from sallyport import bench as bench_module
from sallyport import limits, rekey, report, rfc2544, suites
from sallyport import replay as replay_module
from sallyport.backend import Setup
from sallyport.errors import CheckFailed, InputError
from sallyport.progress import Progress
from sallyport.sim_backend import SimBackend
from sallyport.simulator import TABLES

BACKENDS = {"sim": SimBackend}
SUITE_HELP = f"One of {', '.join(suites.SUITES)}; or several with commas, which the SAs take in turn."
MIN_LOAD = Fraction(1, 10)
DEFAULT_MEASURE_US = 200
threads_option = click.option("--threads", type=click.IntRange(1, 6), help="Worker threads; default min(chips, cores).")
seed_option = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)


class _Group(click.Group):
    """click already exits with 2 on bad usage; this keeps its message to one sentence, without the usage lines."""

    def main(self, *args, **kwargs):
        try:
            return super().main(*args, **kwargs | {"standalone_mode": False, "prog_name": "./sallyport"})
        except click.UsageError as error:
            where = f" (see ./sallyport {error.ctx.info_name} --help)" if error.ctx and error.ctx.parent else ""
            InputError(error.format_message().rstrip(".") + where).show()
            raise SystemExit(2) from None
        except click.ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None
        except click.Abort:
            click.echo("sallyport: interrupted", err=True)
            raise SystemExit(130) from None


@click.group(cls=_Group, name="./sallyport")
def main() -> None:
    """Simulate Sallyport boxes: RFC 2544 runs, captures through a box, simulator speed."""


@main.command(name="rfc2544")
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="sim", show_default=True)
@click.option("--test", type=click.Choice(rfc2544.TESTS), default="throughput", show_default=True)
@click.option("--boxes", type=click.IntRange(1, 2), default=2, show_default=True)
@click.option("--direction", type=click.Choice(["both", "encrypt", "decrypt"]), default="both", show_default=True)
@click.option("--suite", default="aes256gcm16", show_default=True, help=SUITE_HELP)
@click.option(
    "--mode", type=click.Choice(limits.MODES), default="tunnel", show_default=True, help="Of the SAs (RFC 4301)."
)
@click.option("--frame-size", default="64,512,1400,1518", show_default=True, help="Sizes with FCS, and imix.")
@click.option("--load", default="100", show_default=True, help="Highest intended load, % of line rate.")
@click.option("--share", default="100", show_default=True, help="Highest intended load, % of the theoretical maximum.")
@click.option(
    "--tables",
    type=click.Choice(list(TABLES)),
    default="standard",
    show_default=True,
    help="Full: 64 Ki SAs, as on a board.",
)
@click.option("--sas", type=click.IntRange(1), help="SAs a direction; default 1 for each suite.")
@click.option("--warmup-us", type=click.IntRange(1), default=50, show_default=True)
@click.option("--measure-us", type=click.IntRange(1), help="Default 200, or what the rekeys need.")
@click.option("--rekeys", type=click.IntRange(0), default=0, help="Rekey so many SA pairs in turn during each trial.")
@threads_option
@seed_option
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the rows here.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a self-contained report here.")
def rfc2544_command(
    backend: str,
    test: str,
    boxes: int,
    direction: str,
    suite: str,
    mode: str,
    frame_size: str,
    load: str,
    share: str,
    tables: str,
    sas: int | None,
    warmup_us: int,
    measure_us: int | None,
    rekeys: int,
    threads: int | None,
    seed: int,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """RFC 2544 throughput, latency or loss of one or two simulated boxes."""
    sizes = rfc2544.parse_sizes(frame_size)
    chosen = suites.parse(suite)
    if boxes == 1 and len({each.fast for each in chosen}) > 1:
        raise InputError(
            f"--suite {suite} with --boxes 1: one box alone is judged by the order of its packets, and suites with GHASH overtake the "
            "others: choose suites of one kind, or two boxes"
        )
    if rekeys and boxes == 1:
        raise InputError("--rekeys with --boxes 1: a rekey is between two boxes")
    each_way = _sas(sas, len(chosen))
    setup = Setup(
        mix={},
        suites=chosen,
        boxes=boxes,
        direction=direction,
        mode=mode,
        sas=each_way,
        tables=tables,
        seed=seed,
        threads=threads,
        warmup_ns=warmup_us * 1000,
        measure_ns=(measure_us or max(DEFAULT_MEASURE_US, rekey.measure_us(rekeys, each_way, chosen))) * 1000,
        rekeys=rekeys,
    )
    load_pct, share_pct = _percent("--load", load, "line rate"), _percent("--share", share, "the theoretical maximum")
    rows = []
    with Progress(total=len(sizes)) as progress, BACKENDS[backend](on_progress=progress.trial) as tester:
        for row in rfc2544.run(tester, setup, sizes, test, load_pct, share_pct, progress.start_trial):
            rows.append(row)
            progress.row(row)
    report.table(rows)
    if json_file:
        report.write(json_file, json.dumps(rows, indent=2) + "\n")
    if html_file:
        report.write(html_file, report.html(rows))
        click.echo(f"report: {html_file}")
    if test != "loss" and not all(row["passed"] for row in rows):
        bad = ", ".join(str(row["frame_size"]) for row in rows if not row["passed"])
        raise CheckFailed(f"no trial passed at frame size {bad}; the table shows the loss at the lowest load tried")


def _sas(asked: int | None, each: int) -> int:
    """The number of SAs, of which every suite has the same share."""
    if asked and asked % each:
        raise InputError(f"--sas {asked}: the {each} suites take the SAs in turn; choose a multiple of {each}")
    return asked or each


def _percent(option: str, text: str, whole: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{option} {text!r}: give a number of percent") from None
    if not MIN_LOAD <= value <= 100:
        raise InputError(f"{option} {text}: choose {float(MIN_LOAD)} to 100 percent of {whole}")
    return value


@main.command(name="replay")
@click.option("--xfrm", required=True, type=click.Path(path_type=Path), help="SAs and policies, an ip -batch file.")
@click.option("--red", type=click.Path(path_type=Path), help="Frames into the inner port (pcap or pcapng).")
@click.option("--black", type=click.Path(path_type=Path), help="Frames into the outer port (pcap or pcapng).")
@click.option(
    "--inject-inner", type=click.Path(path_type=Path), help="Frames from the management CPU to the inner port."
)
@click.option(
    "--inject-outer", type=click.Path(path_type=Path), help="Frames from the management CPU to the outer port."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for captures and counters.json.")
@click.option("--fault", multiple=True, help="NAME[:ARG], repeatable; --fault help lists them.")
@threads_option
@seed_option
def replay_command(
    xfrm: Path,
    red: Path | None,
    black: Path | None,
    inject_inner: Path | None,
    inject_outer: Path | None,
    out: Path,
    fault: tuple[str, ...],
    threads: int | None,
    seed: int,
) -> None:
    """Put a real capture through one box, and captures from its management CPU out of its ports."""
    injected = {chip: path for chip, path in (("inner", inject_inner), ("outer", inject_outer)) if path}
    replay_module.run(
        xfrm=xfrm, red=red, black=black, injected=injected, out=out, faults=fault, threads=threads, seed=seed
    )


@main.command(name="bench")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures here.")
def bench_command(json_file: Path | None) -> None:
    """How fast the simulator runs on this machine: cycles a second for each chip and topology."""
    result = bench_module.run()
    bench_module.table(result)
    if json_file:
        report.write(json_file, json.dumps(result, indent=2) + "\n")
