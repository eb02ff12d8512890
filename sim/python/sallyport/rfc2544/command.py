# SPDX-License-Identifier: Apache-2.0
"""`./sallyport rfc2544` (docs/reference/rfc2544.md is its contract)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from sallyport import limits, report
from sallyport.backend import Trial, TrialResult
from sallyport.errors import CheckFailed
from sallyport.options import SUITE_HELP, chips_option, core_mhz_option, crypto_option, seed_option
from sallyport.progress import Progress
from sallyport.rfc2544 import exclusions, plan
from sallyport.rfc2544.asked import BACKENDS, Asked
from sallyport.rfc2544.search import GOALS
from sallyport.rfc2544.sizes import parse as parse_sizes
from sallyport.rows import key
from sallyport.simulator import ROOT, TABLES
from sallyport.sweep import Cache, ClusterPool, LocalPool, Trials
from sallyport.trex.option import lab_option

TEST_HELP = (
    f"One of {', '.join(plan.TESTS)}; several with commas; {plan.IKE}: all of IKE; {plan.STATEFUL}: all of connections; "
    f"or {plan.ALL}: all others."
)
SIZE_HELP = (
    "Sizes with FCS, imix, imix:LETTERS (RFC 6985), largest, all.  "
    "[default: 64,512,1400,1518; of --test all: all; of IKE: 512; of connections: 1400]"
)
IKE_MOST = 1024  # tunnels: what the standard tables hold
# Requests a second: in a second enough for charon's threshold; what a sender in Python can do.
IKE_FLOODS = (100, 20_000)
CACHE = ROOT / "build" / "cache" / "trials"


@click.command(name="rfc2544")
@click.option("--backend", "tester", type=click.Choice(BACKENDS), default="sim", show_default=True)
@lab_option
@click.option("--test", default="throughput", show_default=True, help=TEST_HELP)
@click.option("--boxes", type=click.IntRange(1, 2), default=2, show_default=True)
@click.option("--direction", type=click.Choice(["both", "encrypt", "decrypt"]), default="both", show_default=True)
@click.option("--suite", default="aes256gcm16", show_default=True, help=SUITE_HELP)
@click.option(
    "--mode", type=click.Choice(limits.MODES), default="tunnel", show_default=True, help="Of the SAs (RFC 4301)."
)
@click.option(
    "--ip", type=click.Choice(["4", "6"]), default="4", show_default=True, help="IP version inside and outside."
)
@click.option("--nat-t", is_flag=True, help="ESP in UDP port 4500 (RFC 3948).")
@click.option("--frame-size", help=SIZE_HELP)
@click.option("--load", default="100", show_default=True, help="Highest intended load, % of line rate.")
@click.option("--share", default="100", show_default=True, help="Highest intended load, % of the theoretical maximum.")
@click.option(
    "--latency-at", default="10,50,90,100", show_default=True, help="Loads of the latency test, % of the throughput."
)
@click.option(
    "--burst-runs", type=click.IntRange(1), default=1, show_default=True, help="Searches of the back-to-back test."
)
@click.option(
    "--goal",
    type=click.Choice(list(GOALS)),
    default="rfc2544",
    show_default=True,
    help="Of searches: no loss in one trial; or CSIT's NDR or PDR, 21 trials of 1 s a load.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    help="Trials a load, default of the goal; runs of a test of IKE, default 3.",
)
@click.option(
    "--loss-tolerance", type=click.FloatRange(0, 50), help="Loss that a good trial may have, %; default of the goal."
)
@click.option(
    "--repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="Searches of each throughput."
)
@click.option(
    "--tables",
    type=click.Choice(list(TABLES)),
    default="standard",
    show_default=True,
    help="Full: 64 Ki SAs, as on a board.",
)
@click.option("--sas", type=click.IntRange(1), help="SAs a direction; default 1 for each suite.")
@click.option(
    "--ike-tunnels",
    type=click.IntRange(1, IKE_MOST),
    help="Tunnels of the tests of IKE, each with an IKE SA; default 16.",
)
@click.option(
    "--ike-flood",
    type=click.IntRange(*IKE_FLOODS),
    help="Requests a second of the flood in ike-half-open, 100 to 20000; default 1000.",
)
@click.option(
    "--object-size",
    help="Bytes of objects in the tests of connections, 64k for KiB, several with commas; default 1k, 64k or 1024k.",
)
@click.option("--warmup-us", type=click.IntRange(1), help="Default 50; of TRex 5 s.")
@click.option(
    "--measure-us", type=click.IntRange(1), help="Default 200, or what the rekeys need; of TRex 60 s, of latency 120 s."
)
@click.option("--rekeys", type=click.IntRange(0), default=0, help="Rekey so many SA pairs in turn during each trial.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Trials at once, in processes of their own; default 1, in this one."
)
@click.option("--scheduler", help="Address of a Dask scheduler whose workers make the trials.")
@click.option(
    "--slurm", "batch", flag_value="slurm", help="Workers are jobs of Slurm (also --lsf, --pbs); --jobs says how many."
)
@click.option("--lsf", "batch", flag_value="lsf", hidden=True)
@click.option("--pbs", "batch", flag_value="pbs", hidden=True)
@click.option("--no-cache", is_flag=True, help="Make trials again that were made before.")
@crypto_option
@chips_option
@core_mhz_option
@click.option("--threads", type=click.IntRange(1, 6), help="Worker threads; default min(chips, cores), with --jobs 1.")
@seed_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="A line for every trial.")
@click.option("--resume", is_flag=True, help="Go on from the rows that --json or --html has of a run that ended early.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the rows here.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a self-contained report here.")
def rfc2544_command(**given: object) -> None:
    """RFC 2544 and its extensions: throughput, latency, loss, bursts, recovery of one or
    two boxes."""
    asked = Asked(**given)  # type: ignore[arg-type]
    report.check_places(asked.html_file, asked.json_file)
    rows = asked.kept()
    with Progress(asked.verbosity()) as progress, closing(asked.backend(progress.within)) as backend:
        capabilities = backend.capabilities()
        names = plan.parse_tests(asked.test, capabilities)
        exclusions.check(asked)
        setup, options, where = asked.setup(capabilities), asked.options(capabilities), asked.where(capabilities)
        sizes = parse_sizes(asked.sizes(), setup)

        def run(label: str, trial: Trial) -> TrialResult:
            return trials.run(label, trial)  # which are there once the checks are through

        planned = plan.cases(names, setup, sizes, options, capabilities, run)
        asked.check_kept(rows, {case.key for case in planned})
        for _, mix in sizes:
            backend.check(replace(setup, mix=mix), names)
        with closing(LocalPool(backend) if where.here else ClusterPool(where)) as pool:
            trials = Trials(pool, progress, capabilities.repeatable, None if asked.no_cache else Cache(CACHE))
            done = {key(row) for row in rows}
            cases = [case for case in planned if case.key not in done]
            progress.expect(len(cases))
            try:
                for case, made in plan.outcomes(cases, pool.jobs):
                    rows += made
                    asked.keep(rows)
                    progress.case(f"{case.test} {case.label}", made)
            finally:
                asked.write(rows)  # the rows so far, after any kind of end
    report.table(rows)
    if asked.html_file:
        click.echo(f"report: {asked.html_file}")
    _judge(rows)


def _judge(rows: list[dict]) -> None:
    """[CheckFailed] if a row failed as the report has it; where a test must lose something, losing
    is no failure."""
    bad = [f"{row['test']} {row['frame_size']}" for row in rows if report.verdict(row) is False]
    if bad:
        raise CheckFailed(f"no trial passed: {', '.join(dict.fromkeys(bad))}; the table shows the loss")
