# SPDX-License-Identifier: Apache-2.0
"""The cases of a command: its tests with their frame sizes and setups, and their rows in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from sallyport import stateful
from sallyport.backend import Capabilities, Setup, Trial, TrialResult
from sallyport.errors import InputError
from sallyport.ike import MEASURES
from sallyport.rfc2544 import TESTS
from sallyport.rfc2544.case import Case, Options
from sallyport.rfc2544.search import Found
from sallyport.rfc2544.sizes import Sizes

ALL = "all"
# Every test of IKE. They need root and strongSwan and are timed, so `all` leaves them out.
IKE = "ike"
# Every test of connections. They need a tester in another mode.
STATEFUL = "stateful"
# Tests whose outcome hardly depends on the frame size: `all` has them with these alone.
FEW_SIZES = ("64", "1400", "imix")
FEW = ("reset", "tunnels", "attack")
# SAs a direction of the test `tunnels`, of those that the tables hold.
TUNNELS = (1, 2, 16, 128, 1024, 16384, 65536)
# Cases under way for each job: one may wait for a trial of another.
CASES_A_JOB = 2
TABLE_SAS = {"standard": 1024, "full": 65536}

Run = Callable[[str, Trial], TrialResult]


@dataclass(frozen=True)
class Apart:
    """Tests that have a command of their own, and why."""

    tests: tuple[str, ...]
    why: str


APART = {
    IKE: Apart(tuple(MEASURES), "tests of IKE have tunnels of their own"),
    STATEFUL: Apart(tuple(stateful.TESTS), "tests of connections want TRex in another mode"),
}


def parse_tests(text: str, capabilities: Capabilities) -> list[str]:
    """`"throughput,loss"`, `ike`, `stateful` or `all`, those that the tester can do, as names of
    TESTS."""
    cannot = [name for name, kinds in (("reset", capabilities.resets), ("attack", capabilities.attacks)) if not kinds]
    cannot += capabilities.without
    apart = [name for group in APART.values() for name in group.tests]
    cannot += [name for name in apart if name not in (*capabilities.ike, *capabilities.stateful)]
    if text == ALL:
        return [name for name in TESTS if name not in (*cannot, *apart)]
    parts = [part.strip() for part in text.split(",")]
    names = [name for part in parts for name in (_group(part, cannot) if part in APART else (part,))]
    for name in names:
        if name not in TESTS:
            raise InputError(f"there is no test {name!r}; choose of {', '.join(TESTS)}, {', '.join(APART)}, or {ALL}")
        if name in cannot:
            why = capabilities.reasons.get(name, "docs/reference/rfc2544.md")
            raise InputError(f"--backend {capabilities.name} has no test {name!r} ({why}); choose another one")
    for group in APART.values():
        if 0 < sum(name in group.tests for name in names) < len(names):
            raise InputError(f"--test {text}: {group.why}; give the others a command of their own")
    return list(dict.fromkeys(names))


def _group(name: str, cannot: list[str]) -> tuple[str, ...]:
    """The tests of a group that a tester can do; all of them if it can do none."""
    whole = APART[name].tests
    return tuple(test for test in whole if test not in cannot) or whole


def cases(
    names: list[str], setup: Setup, sizes: Sizes, options: Options, capabilities: Capabilities, run: Run
) -> list[Case]:
    """Cases in the order of their rows. More than one test means one suite's whole report:
    see [FEW]."""

    known: dict[str, Found] = {}

    def case(name: str, label: str, each: Setup) -> Case:
        return Case(name, label, each, options, capabilities, lambda trial: run(label, trial), setup.measure_ns, known)

    found = []
    for name in names:
        few = [entry for entry in sizes if entry[0] in FEW_SIZES] if name in FEW and len(names) > 1 else []
        for label, mix in few or sizes:
            each = replace(setup, mix=mix)
            if name == "latency" and options.latency_measure_ns:
                each = replace(each, measure_ns=options.latency_measure_ns)
            if name == "tunnels":
                found += [case(name, label, replace(each, sas=count)) for count in _counts(each)]
            elif name == "attack":
                found.append(case(name, label, replace(each, boxes=1, direction="decrypt")))
            elif name in stateful.TESTS:
                objects = options.objects or (stateful.TESTS[name].object_bytes,)
                found += [case(name, label, replace(each, object_bytes=size)) for size in objects]
            else:
                found.append(case(name, label, each))
    # Cases of the same boxes behind each other: a simulation is configured once for them.
    return sorted(found, key=lambda each: (names.index(each.test), each.setup.sas if each.test == "tunnels" else 0))


def _counts(setup: Setup) -> list[int]:
    most, step = TABLE_SAS[setup.tables], len(setup.suites)
    return [count for count in TUNNELS if count <= most and count % step == 0]


def outcomes(found: list[Case], jobs: int) -> Iterator[tuple[Case, list[dict]]]:
    """Each case in its order with its rows; up to `jobs` trials are under way at once."""
    if jobs == 1:
        for case in found:
            yield case, list(TESTS[case.test](case))
        return
    # A thread a case: it waits for its trials, one at a time, which are made elsewhere. No more of
    # them than keep the jobs busy, so that cases of the same boxes follow each other there too.
    threads = ThreadPoolExecutor(max_workers=CASES_A_JOB * jobs)
    futures = [threads.submit(lambda case=case: list(TESTS[case.test](case))) for case in found]
    try:
        for case, future in zip(found, futures, strict=True):
            yield case, future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
