# SPDX-License-Identifier: Apache-2.0
"""Ends of trials that come too early."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from sallyport.errors import CheckFailed
from sallyport.trex import boxes
from sallyport.trex.lab import Lab
from sallyport.trex.process import Lost, Refused, lost


@contextlib.contextmanager
def ending(lab: Lab, stop: Callable[[], None], close: Callable[[], None]) -> Iterator[None]:
    """Whatever ends a trial too early ends its traffic by `stop`, and has a sentence. `close` is
    for a server that is gone."""
    try:
        yield
    except boxes.Unanswered as error:
        raise CheckFailed(f"{error}; see whether it still runs, and go on with --resume") from None
    except Lost as error:
        close()
        raise lost(lab, error) from None
    except Refused as error:
        _try(stop)
        raise CheckFailed(f"{lab.where} refused a trial ({error}); see its console") from None
    except BaseException:  # Ctrl-C most of all
        _try(stop)
        raise


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Whatever ends the context too early ends traffic by `stop`, before all else."""
    try:
        yield
    except BaseException:
        _try(stop)
        raise


def _try(stop: Callable[[], None]) -> None:
    with contextlib.suppress(Lost, Refused):
        stop()
