# SPDX-License-Identifier: Apache-2.0
"""Set-ups beside a flood (draft-ietf-bmwg-ipsec-meth-05, DoS attack resiliency; RFC 7296 2.6):
while requests that never go on come from everywhere, all honest tunnels come up."""

from __future__ import annotations

import time
from dataclasses import replace

from sallyport.backend import Figure, Trial, TrialResult
from sallyport.ike.charon import COOKIES
from sallyport.ike.gateways import OwnBoxes
from sallyport.ike.tunnels import FRAMES, patience_s, unlike

LEAST_PART = 0.5  # of the asked rate, which a flood must have to count
ANY = "%any"  # peers that may begin, so that a request of the flood is not refused at once
FIRST_S = 1  # of the flood before the honest set-ups
# Requests that charon's threads have under way when the count reaches its threshold for cookies.
THREADS = 16


def measure(trial: Trial, boxes: OwnBoxes) -> TrialResult:
    """One run: as of [sallyport.ike.tunnels], a second after the flood began. The far charon, which
    has it, is the responder."""
    setup = trial.setup
    with boxes.gateways(cookies=COOKIES) as both:
        most = 0
        both.accept(ANY)
        with boxes.flood(trial.ike_flood) as attack:
            time.sleep(FIRST_S)
            began = time.monotonic()
            both.initiate()

            def done() -> bool:
                nonlocal most
                most = max(most, both.far.half_open())
                return both.up() >= setup.sas

            complete = both.wait_until(done, patience_s(setup.sas))
            took = time.monotonic() - began
        up = both.up()
        sent = boxes.each_tunnel(FRAMES)
        checks = [*sent.checks, *unlike(both, FRAMES)]
    rate = attack.sent / attack.seconds
    if not complete:
        checks.append(f"{up} of {setup.sas} tunnels came up in {patience_s(setup.sas):.0f} s")
    if rate < trial.ike_flood * LEAST_PART:
        checks.append(f"the flood had {rate:.0f} of {trial.ike_flood} requests a second: choose a lower --ike-flood")
    if most < COOKIES:
        checks.append(f"the flood made {most} half-open IKE_SAs, and charon takes {COOKIES} without cookies")
    if most > COOKIES + THREADS + setup.sas:
        checks.append(f"{most} IKE_SAs were half-open at once, and cookies are asked for from {COOKIES} on")
    return replace(
        sent,
        checks=checks,
        figures=[
            Figure("tunnels beside the flood", setup.sas / took if complete else None, "1/s", "wall"),
            Figure("requests of the flood", rate, "1/s", "wall"),
            Figure("half-open IKE_SAs at most", most, "count", ""),
        ],
    )
