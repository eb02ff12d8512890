# SPDX-License-Identifier: Apache-2.0
"""`--lab FILE` of the command line, and the backend that it gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from sallyport.errors import InputError
from sallyport.trex.lab import EXAMPLE
from sallyport.trex.trex_backend import TrexBackend

lab_option = click.option("--lab", type=click.Path(path_type=Path), help=f"With --backend trex: the lab, as {EXAMPLE}.")


def backend(lab: Path | None, on_progress: Callable[[float, float], None] | None = None) -> TrexBackend:
    """The backend of `--backend trex`; [InputError] without a lab file, or for an error in it."""
    if lab is None:
        raise InputError(f"--backend trex needs --lab FILE, which says where TRex and the boxes are; {EXAMPLE} is one")
    return TrexBackend(lab, on_progress)
