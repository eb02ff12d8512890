# SPDX-License-Identifier: Apache-2.0
"""Where trials are made."""

from __future__ import annotations

from typing import Protocol

from sallyport.backend import TrafficBackend, Trial, TrialResult


class Pool(Protocol):
    """Makes trials; `run` may be called by as many threads as there are `jobs`."""

    jobs: int

    def run(self, name: str, trial: Trial) -> TrialResult:
        """The trial's result; `name` is what the trial is known by."""
        ...

    def close(self) -> None: ...


class LocalPool:
    """One trial after another, in this process."""

    jobs = 1

    def __init__(self, backend: TrafficBackend) -> None:
        self._backend = backend

    def run(self, name: str, trial: Trial) -> TrialResult:  # noqa: ARG002 - a pool's interface
        return self._backend.run_trial(trial)

    def close(self) -> None:
        self._backend.close()
