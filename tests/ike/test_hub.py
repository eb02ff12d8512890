# SPDX-License-Identifier: Apache-2.0
"""A hub under IKE: the second box has the networks of two spokes, with a CHILD_SA for each, and
what one sends to the other goes into the first box and out again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ike.charons import Charon, agree
from tests.ike.test_traffic import stream, trial

SPOKES = {"left": ("10.2.0.0/16", "10.4.0.0/16"), "right": ("10.4.0.0/16", "10.2.0.0/16")}
FROM = {"left": "10.2.0.9", "right": "10.4.0.9"}


@pytest.fixture
def hub(charons: tuple[Charon, Charon]) -> Iterator[Charon]:
    """The first box leads the spokes' networks back into tunnels."""
    routes = [f"route add {near} dev black encap xfrm" for near, _ in SPOKES.values()]
    charons[0].box.ask("batch", lines=routes)
    yield charons[0]
    charons[0].box.ask("batch", lines=[route.replace(" add ", " delete ") for route in routes])


def children(hub: bool) -> str:
    words = ""
    for name, (near, far) in SPOKES.items():
        local, remote = (far, near) if hub else (near, far)
        words += f"{name} {{ local_ts = {local}\n remote_ts = {remote}\n esp_proposals = aes256gcm16 }}\n"
    return words


def test_spokes_meet_through_the_hub(hub: Charon, fresh: tuple[Charon, Charon]) -> None:
    """Both ways, before and behind a rekey of both CHILD_SAs, and nothing is lost."""
    spokes = fresh[1]
    both = hub.box, spokes.box
    hub.load(children(hub=True))
    spokes.load(children(hub=False))
    for name in SPOKES:
        spokes.initiate(name)
    for box in both:
        box.wait(lambda box=box: len(box.states) == 4 and len(box.policies) == 4)
    agree(*both)
    frames = {"left": 5, "right": 8}

    def carry() -> None:
        streams = [
            stream(
                1,
                id=n,
                to="box1.red",
                frames=frames[name],
                flows={"src_ip": FROM[name], "dst_ip": FROM[other]},
            )
            for n, (name, other) in enumerate((("left", "right"), ("right", "left")))
        ]
        assert trial(both, *streams) == [5, 8]

    def packets(way: str) -> dict[str, int]:
        return {sa["name"]: int(sa[f"packets-{way}"]) for sa in hub.children()}

    carry()
    assert packets("in") == frames and packets("out") == {"left": 8, "right": 5}
    old = hub.box.spis()
    for name in SPOKES:
        hub.swanctl("--rekey", "--child", name)
    for box in both:
        box.wait(lambda box=box: len(box.spis()) == 4 and not box.spis() & old)
    carry()
    assert packets("in") == frames and packets("out") == {"left": 8, "right": 5}
