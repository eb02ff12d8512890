# SPDX-License-Identifier: Apache-2.0
"""What the rows of each test are called, where the test comes from, and when it has passed."""

from __future__ import annotations

from dataclasses import dataclass

from sallyport import stateful
from sallyport.ike import MEASURES


@dataclass(frozen=True)
class Kind:
    """One test of the matrix."""

    title: str
    source: str
    note: str = ""  # how its figures are to be read


_RATES = (
    "Rates are of one direction, counts of frames of all directions together, over the measured interval and the drain after it. "
    "Trial is the number of the row, Iteration how many trials the search took. Theoretical maximum is what the black wire carries "
    "of such frames once ESP is around them."
)

_LATENCY = {
    False: " Latency is last bit in to first bit out.",
    True: " Latency is of the tester's own latency frames, first bit in to first bit out.",
}
_SAMPLED = {
    False: " Every simulated packet of the measured interval counts.",
    True: " A real tester times latency frames alone, some of the load, in its own software.",
}

_IKE = "Each figure is the median of the runs, by the clock that its line names. A count has no clock. "
_CLOCKS = {
    False: " wall is the clock of the machine that charon, sallyportd and the simulator share: simulated chips are thousands of times "
    "slower than cards there, so such a figure is no card's. simulated is the chips' own time.",
    True: " wall is the clock of the machine that asked the boxes over ssh. tester is frames lost, over the load of TRex.",
}
_BLOCKED = {
    False: " Blocked is how much longer the longest pause between two frames of a direction was under rekeys than before them.",
    True: " Blocked is what the tunnels lost under rekeys over their load: the mean of all.",
}

_CONNECTIONS = (
    "Figures are those of the highest rate of new connections at which at most one of 100,000 fails, and at least 95 % of what was "
    "asked for is served. Load is what answers and their headers take of the wire. Counts of frames are of all ports; TCP sends lost "
    "ones again. Least and most are of the trials at that rate. "
)

KINDS = {
    "throughput": Kind("Throughput", "RFC 2544 26.1", _RATES),
    "tunnels": Kind("Throughput against tunnels", "draft-ietf-bmwg-ipsec-meth; RFC 2544 26.1", _RATES),
    "latency": Kind(
        "Latency",
        "RFC 2544 26.2",
        "LIFO is last bit in to first bit out (RFC 1242 3.8, store and forward); FIFO is first bit in to first bit out (RFC 1242 3.8, bit "
        "forwarding). Jitter is the mean difference between successive packets' latencies.",
    ),
    "loss": Kind(
        "Frame loss rate",
        "RFC 2544 26.3",
        "Frames lost in percent of those sent, by intended load in percent of line rate. Loads go down by tens until two in a row lose "
        "nothing; — was not tried.",
    ),
    "back-to-back": Kind(
        "Back-to-back frames",
        "RFC 2544 26.4, RFC 9004",
        "The longest burst at line rate that loses nothing, the mean of the trials. The corrected buffer leaves out what goes on "
        "being forwarded while the burst arrives. ≥: the longest burst tried lost nothing, so there is no limit to correct.",
    ),
    "recovery": Kind(
        "System recovery",
        "RFC 2544 26.5",
        "From the change of load to the last frame lost. Loss under overload is what the test makes; it passes if losing ends.",
    ),
    "reset": Kind(
        "Reset recovery",
        "RFC 2544 26.6, RFC 6201",
        "From the last packet before the reset to the first one after it. Loss meanwhile is what the test makes; it passes if packets "
        "pass again.",
    ),
    "attack": Kind(
        "Hostile packets beside traffic",
        "draft-ietf-bmwg-ipsec-meth; RFC 4303 3.4",
        "Loss is of legitimate frames, at the intended load, beside as many hostile ones as that column says. Dropped is what the boxes' "
        "counters say of the hostile ones.",
    ),
    "ike-tunnels": Kind(
        "IKE: tunnels a second",
        "draft-ietf-bmwg-ipsec-meth-05; RFC 7296 1.2",
        _IKE
        + "All tunnels are asked for at once, each an IKE SA with a CHILD_SA. It passes if each then carries its frames both ways.",
    ),
    "ike-first-packet": Kind(
        "IKE: time to the first packet",
        "draft-ietf-bmwg-ipsec-meth-05; RFC 4301 4.4.1",
        _IKE
        + "Frames come until one arrives behind the other box. The box drops those before it, so loss is what the test makes.",
    ),
    "ike-rekeys": Kind(
        "IKE: rekeys under load",
        "draft-ietf-bmwg-ipsec-meth-05; RFC 7296 2.8",
        _IKE + "It passes if no frame was lost and all SAs were replaced.",
    ),
    "ike-dead-peer": Kind(
        "IKE: dead peer and fail-over",
        "draft-ietf-bmwg-ipsec-meth-05; RFC 7296 2.4",
        _IKE
        + "Times begin with the death of the far gateway. charon's own waits are most of them. Another gateway has the dead one's address "
        "and none of its state. Loss meanwhile is what the test makes.",
    ),
    "ike-half-open": Kind(
        "IKE: set-ups beside a flood of half-open ones",
        "draft-ietf-bmwg-ipsec-meth-05; RFC 7296 2.6",
        _IKE
        + "As tunnels a second, while requests that never go on come from everywhere. It passes if all honest tunnels come up and cookies "
        "bound the half-open IKE_SAs.",
    ),
    "http-connections": Kind(
        "HTTP: connections a second", "RFC 9411 7.2", _CONNECTIONS + "Each connection fetches one object."
    ),
    "http-throughput": Kind(
        "HTTP: throughput", "RFC 9411 7.3", _CONNECTIONS + "Each connection fetches ten objects, one after the other."
    ),
    "tcp-throughput": Kind(
        "TCP: throughput", "", _CONNECTIONS + "Each connection fetches one large object, without HTTP."
    ),
}
# Tests of IKE that must lose frames: they pass if all that they time happens.
MAKES_LOSS = ("ike-first-packet", "ike-dead-peer")


def kind(test: str) -> Kind:
    """Of a test; one that is not in the list is shown as throughput is, so that no run ends without
    its report."""
    return KINDS.get(test) or Kind(test.capitalize(), "", _RATES)


def by_test(rows: list[dict]) -> dict[str, list[dict]]:
    """The rows of each test, in the order of the matrix."""
    names = dict.fromkeys([*KINDS, *(row["test"] for row in rows)])
    return {name: mine for name in names if (mine := [row for row in rows if row["test"] == name])}


def note(rows: list[dict]) -> str:
    """How the figures of one test are to be read, by how they were measured."""
    test = rows[0]["test"]
    said, measured = kind(test).note, sorted({not row["simulated"] for row in rows})
    if test in MEASURES:
        ways = [_CLOCKS, _BLOCKED] if test == "ike-rekeys" else [_CLOCKS]
        return said + "".join(way[real] for way in ways for real in measured)
    if test in ("throughput", "tunnels"):
        return said + _LATENCY[{row["latency_type"].split()[0] for row in rows} == {"FIFO"}]
    if test != "latency":
        return said
    return said + "".join(_SAMPLED[real] for real in measured)


def reasons(row: dict) -> list[str]:
    """Why a row's trial did not pass, but for loss, which has columns."""
    found = [*(["a queue grew"] if row.get("queue_grew") else []), *row.get("checks", [])]
    if "figure" in row and row["figure"] is None and not found and row["test"] not in stateful.TESTS:
        found.append(f"{row['figure_name']}: charon did not say when")
    dropped = row["dropped"] if row.get("tester") and not row["passed"] else {}
    return found + [f"the boxes counted {name} {count}" for name, count in dropped.items()]


def verdict(row: dict) -> bool | None:
    """Whether a row passed; None for a test that only measures.

    A trial passes if it lost nothing. Overload and resets must lose something: they pass if traffic
    came back.
    """
    if row["test"] in ("loss", "back-to-back"):
        return None
    if row["test"] == "recovery":
        return row["recovery_ns"] is not None
    if row["test"] == "reset":
        return row["outage_ns"] is not None
    if row["test"] in MAKES_LOSS:
        return row["figure"] is not None and not row["checks"]
    return row["passed"]


def verdict_of_all(rows: list[dict]) -> bool | None:
    """Failed if one failed; None if none can."""
    verdicts = {verdict(row) for row in rows}
    return False if False in verdicts else True if True in verdicts else None
