# SPDX-License-Identifier: Apache-2.0
"""`./sallyport wireshark`: keys for Wireshark and tshark (docs/reference/commands.md)."""

from __future__ import annotations

from pathlib import Path

import click

from sallyport import wireshark


@click.command(name="wireshark")
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
