# SPDX-License-Identifier: Apache-2.0
"""The command line of `./sallyport` (docs/reference/commands.md is its contract)."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sallyport import bench as bench_module
from sallyport import live as live_module
from sallyport import replay as replay_module
from sallyport import report, suites, wireshark
from sallyport.backend import Setup
from sallyport.calibrate_command import calibrate_command
from sallyport.compare_command import compare_command
from sallyport.errors import InputError
from sallyport.rfc2544.command import SUITE_HELP, chips_option, crypto_option, rfc2544_command
from sallyport.rfc2544.sizes import parse as parse_sizes
from sallyport.simulator import CRYPTO

threads_option = click.option("--threads", type=click.IntRange(1, 6), help="Worker threads; default min(chips, cores).")
seed_option = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)


class _Group(click.Group):
    """click already exits with 2 on bad usage; this keeps its message to one sentence, without the
    usage lines."""

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
    """Simulate Sallyport boxes: RFC 2544 runs, captures through a box, TAPs on boxes,
    simulator speed."""


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
@crypto_option
@chips_option
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
    crypto: str,
    chips: str,
    threads: int | None,
    seed: int,
) -> None:
    """Put a real capture through one box, and captures from its management CPU out of its ports."""
    injected = {chip: path for chip, path in (("inner", inject_inner), ("outer", inject_outer)) if path}
    replay_module.run(
        xfrm=xfrm,
        red=red,
        black=black,
        injected=injected,
        out=out,
        faults=fault,
        threads=threads,
        seed=seed,
        crypto=crypto,
        chips=chips,
    )


@main.command(name="live")
@click.option(
    "--xfrm",
    multiple=True,
    type=click.Path(path_type=Path),
    help="SAs and policies of a box; twice for two boxes back to back.",
)
@click.option("--red-tap", multiple=True, metavar="NAME", help="TAP at the inner port of each box in turn.")
@click.option("--black-tap", multiple=True, metavar="NAME", help="TAP at the outer port of one box alone.")
@click.option("--replay", type=click.Path(path_type=Path), help="A recording instead of TAPs.")
@click.option("--record", type=click.Path(path_type=Path), help="Every frame at every port, with its time (pcapng).")
@click.option(
    "--socket-dir", type=click.Path(path_type=Path), help="Folder of the sockets for sallyctl; a new one if not given."
)
@crypto_option
@chips_option
@threads_option
@seed_option
def live_command(
    xfrm: tuple[Path, ...],
    red_tap: tuple[str, ...],
    black_tap: tuple[str, ...],
    replay: Path | None,
    record: Path | None,
    socket_dir: Path | None,
    crypto: str,
    chips: str,
    threads: int | None,
    seed: int,
) -> None:
    """TAP devices as cables of simulated boxes: ping, curl, iperf3 or an IPsec peer
    through them."""
    live_module.run(xfrm, red_tap, black_tap, replay, record, threads, crypto, chips, seed, socket_dir)


@main.command(name="wireshark")
@click.option("--xfrm", required=True, type=click.Path(path_type=Path), help="The file that a simulated box read.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for WIRESHARK_CONFIG_DIR.")
def wireshark_command(xfrm: Path, out: Path) -> None:
    """Let Wireshark and tshark decrypt a simulated box's captures, with the keys of its file."""
    known, unknown = wireshark.write(xfrm, out)
    for state in unknown:
        click.echo(
            f"SPI {state.spi:#010x}: Wireshark cannot decrypt {' with '.join(filter(None, (state.crypt, state.auth)))}"
        )
    click.echo(
        f"{out}: {len(known)} of {len(known) + len(unknown)} SAs; now WIRESHARK_CONFIG_DIR={out} tshark -r CAPTURE"
    )


@main.command(name="bench")
@click.option("--suite", default="aes256gcm16", show_default=True, help=SUITE_HELP)
@click.option("--frame-size", default="1400,64", show_default=True, help="Sizes with FCS, and imix.")
@click.option(
    "--crypto",
    type=click.Choice([*CRYPTO, "both"]),
    default="both",
    show_default=True,
    help="The simulation to measure.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of which the best one counts.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures here.")
def bench_command(suite: str, frame_size: str, crypto: str, rounds: int, json_file: Path | None) -> None:
    """How fast the simulator runs on this machine, beside the same chips lock-stepped cycle
    by cycle."""
    chosen = suites.parse(suite)
    sizes = parse_sizes(frame_size, Setup({}, chosen))
    result = bench_module.run(chosen, sizes, list(CRYPTO) if crypto == "both" else [crypto], rounds)
    bench_module.table(result)
    if json_file:
        report.write(json_file, json.dumps(result, indent=2) + "\n")


main.add_command(rfc2544_command)
main.add_command(compare_command)
main.add_command(calibrate_command)
