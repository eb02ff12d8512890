# SPDX-License-Identifier: Apache-2.0
"""Trials as a sweep sees them: each is made once, for any number of callers."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from sallyport.backend import Trial, TrialResult
from sallyport.progress import Progress
from sallyport.sweep.cache import Cache, key
from sallyport.sweep.pool import Pool


class Trials:
    """Makes trials in a pool. Those of a repeatable backend are made once, and with a cache once
    and for all."""

    def __init__(self, pool: Pool, progress: Progress, repeatable: bool, cache: Cache | None) -> None:
        self._pool = pool
        self._progress = progress
        self._repeatable = repeatable
        self._cache = cache
        self._lock = threading.Lock()
        self._known: dict[str, Future[TrialResult]] = {}

    def run(self, label: str, trial: Trial) -> TrialResult:
        """The trial's result, from the cache or from the pool. `label` names its frame size in the
        progress display."""
        if not (self._repeatable and trial.repeatable):
            return self._make("", label, trial)
        name = key(trial)
        with self._lock:
            mine = name not in self._known
            future = self._known.setdefault(name, Future())
        if mine:
            try:
                future.set_result(self._found(name, label, trial) or self._remembered(name, label, trial))
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def _found(self, name: str, label: str, trial: Trial) -> TrialResult | None:
        found = self._cache.get(name) if self._cache else None
        if found:
            self._progress.known(label, trial, found)
        return found

    def _remembered(self, name: str, label: str, trial: Trial) -> TrialResult:
        result = self._make(name, label, trial)
        if self._cache:
            self._cache.put(name, result)
        return result

    def _make(self, name: str, label: str, trial: Trial) -> TrialResult:
        self._progress.begin(label, trial)
        result = self._pool.run(name, trial)
        self._progress.end(label, trial, result)
        return result
