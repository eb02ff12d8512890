# SPDX-License-Identifier: Apache-2.0
"""`./sallyport pcie`: cards of a simulated box for QEMU (docs/reference/commands.md)."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import click

from sallyport.pcie.server import cards

# QEMU gives up an answer after this time, ms. Accesses wait for a simulation that carries frames.
ANSWER_MS = 60_000


def device(path: Path) -> str:
    """QEMU's word for the card behind a socket, at a port of PCI Express named `root-port`."""
    words = {
        "driver": "vfio-user-pci",
        "bus": "root-port",
        "x-msg-timeout": ANSWER_MS,
        "socket": {"type": "unix", "path": str(path)},
    }
    return json.dumps(words)


def _say(sentence: str) -> None:
    click.echo(f"sallyport: {sentence}", err=True)


@click.command(name="pcie")
@click.option(
    "--registers",
    required=True,
    type=click.Path(path_type=Path),
    help="box0.sock of a simulation with --chips shell.",
)
def pcie_command(registers: Path) -> None:
    """The cards of a simulated box as PCI Express functions, which QEMU's guests see."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gone = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: gone.clear() if gone.is_set() else gone.set())
    try:
        with cards(registers.resolve(), _say, gone) as (paths, wait):
            for chip, path in paths.items():
                click.echo(f"{chip} card: {path}")
            click.echo(
                "\nQEMU 10.1 or newer has the crypto card by these words, and Ctrl-C ends this program:\n\n"
                f"  -device pcie-root-port,id=root-port -device '{device(paths['crypto'])}'"
            )
            wait()
    except KeyboardInterrupt:
        return
