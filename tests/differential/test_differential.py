# SPDX-License-Identifier: Apache-2.0
"""Generated frames through a box and through a model of it: no difference (docs/explanation is what
both are held to).

A slice with a fixed seed; `python -m tests.differential --packets 200000 --seed N` is the
long form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential import box, decryption, icmp_errors
from tests.differential.box import Observed
from tests.differential.comparison import compare
from tests.differential.configuration import Configuration
from tests.differential.ethernet import Frame, vlan
from tests.differential.mismatch import CHIP, FAR, RECEIVED
from tests.differential.outcome import HAIRPIN, Clear, Protected
from tests.differential.run import Case, complete, is_bump, judge, make, narrow, run

SEED = 4303
RUNS, PACKETS = 11, 5_000

# What every slice must have met, so that "no difference" says something: each sort of outcome that
# traffic alone can bring about.
TUNNELS = {
    "inner": "drop_rx_bad_fcs drop_rx_undersize drop_rx_oversize drop_ip_malformed drop_ip_checksum drop_policy "
    "drop_mac_filter drop_mac_source drop_mac_group drop_martian drop_own_source drop_inner_martian drop_inner_own_source "
    "punt_arp punt_nd punt_resolution punt_link_local punt_local punt_tunnel punt_clear "
    "punt_tunnel_mtu punt_clear_mtu red_frag_packets red_frag_split "
    "punt_vlan punt_ttl punt_mtu punt_other punt_extension_headers punt_policy "
    "drop_reasm_length drop_reasm_headers drop_frag_conflict drop_frag_overlap "
    "frag_packets frag_split drop_lifetime tx_protect tx_bypass "
    "drop_no_selector drop_replayed drop_too_old drop_selector_mismatch drop_inner_malformed drop_inner_checksum drop_inner_not_ip "
    "drop_inner_extension_headers punt_tunnel_ttl punt_clear_ttl drop_ecn ecn_unexpected tx_frames",
    "crypto": "black_tx_packets drop_dec_truncated drop_dec_icv drop_dec_padding drop_dec_dummy red_tx_packets",
    "outer": "tx_frames drop_rx_bad_fcs drop_rx_undersize drop_rx_oversize drop_ip_malformed drop_ip_checksum "
    "drop_mac_filter drop_mac_source drop_mac_group drop_martian drop_own_source "
    "drop_ttl_expired drop_esp_truncated punt_unknown_spi drop_encap_mismatch drop_udp_malformed drop_natt_keepalive drop_policy "
    "punt_arp punt_nd punt_resolution punt_link_local punt_vlan punt_ike punt_ike_cookie punt_ike_init "
    "punt_icmp punt_other punt_extension_headers punt_policy "
    "drop_frag_conflict drop_frag_overlap "
    "punt_reasm drop_reasm_length drop_reasm_headers drop_reasm_ecn drop_reasm_overlap drop_reasm_duplicate reasm_datagrams "
    "reasm_merged frag_packets frag_split tx_esp tx_bypass punt_clear_host punt_clear_route",
}
BUMP = {
    "inner": "drop_rx_bad_fcs drop_rx_undersize drop_rx_oversize drop_ip_malformed drop_ip_checksum drop_policy "
    "drop_mac_source drop_martian punt_vlan punt_mtu punt_other punt_extension_headers punt_policy drop_transport_header "
    "drop_reasm_length drop_reasm_overlap drop_reasm_duplicate reasm_datagrams reasm_merged drop_lifetime tx_protect tx_bypass "
    "drop_no_selector drop_replayed drop_too_old drop_selector_mismatch drop_inner_malformed "
    "drop_inner_extension_headers punt_tunnel_mtu punt_clear_mtu red_frag_packets red_frag_split tx_frames",
    "crypto": "drop_enc_oversize black_tx_packets drop_dec_truncated drop_dec_icv drop_dec_padding drop_dec_dummy red_tx_packets",
    "outer": "drop_mtu tx_frames frag_packets frag_split drop_rx_bad_fcs drop_rx_undersize drop_rx_oversize drop_ip_malformed "
    "drop_mac_source drop_martian "
    "drop_ip_checksum drop_esp_truncated drop_unknown_spi punt_unknown_spi drop_encap_mismatch drop_udp_malformed "
    "drop_natt_keepalive drop_policy drop_transport_header punt_vlan punt_ike_cookie punt_ike_init "
    "punt_other punt_extension_headers punt_policy "
    "drop_reasm_length drop_reasm_overlap drop_reasm_duplicate reasm_datagrams reasm_merged tx_esp tx_bypass",
}

# The same of boxes with VRFs.
VRF_RUNS, VRF_PACKETS = 2, 1_500
APART = (
    "inner.tx_protect inner.tx_bypass inner.tx_frames inner.drop_policy inner.punt_policy inner.punt_ttl inner.punt_mtu "
    "inner.punt_local inner.punt_link_local inner.punt_vlan inner.drop_reasm_length inner.drop_frag_conflict "
    "inner.drop_selector_mismatch inner.drop_no_selector inner.punt_tunnel inner.punt_tunnel_ttl inner.punt_tunnel_host "
    "inner.punt_tunnel_route outer.tx_esp outer.tx_frames outer.punt_clear_route"
)


# The same of hubs of spokes, with VRFs and without.
HUB_RUNS, HUB_PACKETS = 3, 1_000
BETWEEN = (
    "inner.tx_hairpin inner.rx_hairpin inner.drop_hairpin_clear inner.drop_selector_mismatch inner.punt_tunnel_ttl "
    "inner.punt_clear_route inner.tx_frames outer.punt_clear_host outer.punt_clear_route"
)


@pytest.fixture(scope="module")
def suite_names() -> list[str]:
    return box.suites()


def test_box_does_what_the_model_says(tmp_path: Path, suite_names: list[str]) -> None:
    met: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for number in range(RUNS):
        result = run(SEED, number, PACKETS, suite_names, tmp_path / f"run{number}")
        assert not result.report, result.report
        met[is_bump(number)].update(result.counters)
    for bump, wanted in ((False, TUNNELS), (True, BUMP)):
        names = [f"{chip}.{name}" for chip, these in wanted.items() for name in these.split()]
        missed = [name for name in names if not met[bump][name]]
        kind = "a bump in the wire" if bump else "tunnels"
        assert not missed, f"the generator no longer makes frames for {missed} of {kind}"


@pytest.mark.parametrize(
    ("kind", "runs", "packets", "wanted"),
    [("vrfs", VRF_RUNS, VRF_PACKETS, APART), ("hairpin", HUB_RUNS, HUB_PACKETS, BETWEEN)],
    ids=["vrfs", "hubs"],
)
def test_a_box_of_one_sort_does_what_the_model_says(
    tmp_path: Path, suite_names: list[str], kind: str, runs: int, packets: int, wanted: str
) -> None:
    met: Counter[str] = Counter()
    for number in range(runs):
        result = run(SEED, number, packets, suite_names, tmp_path / f"run{number}", kind)
        assert not result.report, result.report
        met.update(result.counters)
    missed = [name for name in wanted.split() if not met[name]]
    assert not missed, f"the generator no longer makes frames for {missed} of {kind}"


def test_packets_between_tunnels_are_made_in_every_network(suite_names: list[str]) -> None:
    """They leave by the policies of their own network, or the CPU gets them."""
    between: Counter[str] = Counter()
    for number in range(HUB_RUNS):
        case, _ = make(SEED, number, HUB_PACKETS, suite_names, "hairpin")
        vrf_of = {policy.action: policy.vrf for policy in case.config.policies if policy.direction == "out"}
        for outcome in case.outcomes["black"]:
            items = [item for item in outcome.back if isinstance(item, Protected)]
            between.update("a VRF" if vrf_of[item.sa] else "none" for item in items)
            between.update(reason for reason, _ in outcome.delivered)
    assert min(between[kind] for kind in ("a VRF", "none", f"{HAIRPIN} policy", f"{HAIRPIN} mtu")) >= 2, between


def test_packets_of_every_vrf_are_made_both_ways(suite_names: list[str]) -> None:
    """A model that knows no VRF says otherwise of most of them: these tell networks apart."""
    case, _ = make(SEED, 0, VRF_PACKETS, suite_names, "vrfs")
    blind = judge(replace(case.config, vrfs=()), case.frames)
    for vrf in case.config.vrfs:
        into = [
            (seen, without)
            for frame, seen, without in zip(case.frames["red"], case.outcomes["red"], blind["red"], strict=True)
            if vlan(frame) in vrf.addresses and seen.counters[:1] == ("inner.tx_protect",)
        ]
        assert len(into) >= 3 and any(seen != without for seen, without in into)
    out = [
        (seen, without)
        for seen, without in zip(case.outcomes["black"], blind["black"], strict=True)
        if any(isinstance(item, Clear) and vlan(Frame(item.frame)) for item in seen.sent)
    ]
    assert len(out) >= 3 and any(seen != without for seen, without in out)


@pytest.mark.parametrize("number", [2, 1], ids=["tunnels", "bump"])
def test_errors_are_made_that_pass_by_the_packet_in_them_alone(
    suite_names: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """RFC 4301 6.2, both ways: a model that does not read that packet drops them."""
    case, _ = make(SEED, number, PACKETS, suite_names)
    for module in (decryption, icmp_errors):
        monkeypatch.setattr(module, "returning", lambda _error: None)
    blind = judge(case.config, case.frames)
    for port, wanted in (("red", "inner.drop_policy"), ("black", "inner.drop_selector_mismatch")):
        pairs = zip(case.outcomes[port], blind[port], strict=True)
        changed = [(seen.counters, without.counters) for seen, without in pairs if seen != without]
        assert len(changed) >= 2 and {without[-1] for _, without in changed} == {wanted}
        assert any(seen[-1] != wanted for seen, _ in changed)


def bit_wrong(frames: list[bytes], place: int, at: int) -> list[bytes]:
    broken = bytearray(frames[place])
    broken[at] ^= 1
    return [*frames[:place], bytes(broken), *frames[place + 1 :]]


def sent(port: str, change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Observed], Observed]:
    return lambda seen: replace(seen, sent=seen.sent | {port: change(seen.sent[port])})


def punted(chip: str, change: Callable[[list], list]) -> Callable[[Observed], Observed]:
    return lambda seen: replace(seen, punted=seen.punted | {chip: change(seen.punted[chip])})


def counted(change: Callable[[Counter[str]], Counter[str]]) -> Callable[[Observed], Observed]:
    return lambda seen: replace(seen, counters=dict(change(Counter(seen.counters))))


FAULTS: dict[str, Callable[[Observed], Observed]] = {
    **{f"bit in byte {at} of a {port} frame": sent(port, lambda frames, at=at: bit_wrong(frames, len(frames) // 2, at))
       for port in ("red", "black") for at in (0, 11, 13, 15, 16, 18, 22, 27, 33, 38, 45, -1)},
    "red frame lost": sent("red", lambda frames: frames[1:]),
    "last black frame lost": sent("black", lambda frames: frames[:-1]),
    "black frame twice": sent("black", lambda frames: [frames[0], *frames]),
    "black frames in reverse": sent("black", lambda frames: frames[::-1]),
    "foreign red frame": sent("red", lambda frames: [*frames, bytes(60)]),
    "punted frame lost": punted("inner", lambda frames: frames[1:]),
    "punted frame twice": punted("outer", lambda frames: [frames[0], *frames]),
    "punted for another reason": punted("outer", lambda frames: [("punt: none", frames[0][1]), *frames[1:]]),
    "punted in another network": punted("inner", lambda frames: [(f"{frames[0][0]}, network 62", frames[0][1]), *frames[1:]]),
    "punted frame cut": punted("inner", lambda frames: [(frames[0][0], frames[0][1][:-1]), *frames[1:]]),
    "one more drop": counted(lambda counters: counters + Counter({"inner.drop_policy": 1})),
    "one less sent": counted(lambda counters: counters - Counter({"outer.tx_esp": 1})),
    "overflow": counted(lambda counters: counters + Counter({"outer.drop_rx_overflow": 1})),
    "unbalanced": lambda seen: replace(seen, balanced=False),
}  # fmt: skip


@pytest.mark.parametrize("number", [1000, 1001], ids=["tunnels", "bump"])
def test_comparison_sees_every_fault(tmp_path: Path, suite_names: list[str], number: int) -> None:
    """What a box did is right; changed in any one way, it is not."""
    case, _ = make(SEED, number, 800, suite_names)
    assert case.config.bump == is_bump(number)
    observed = box.run(case.config, case.frames, tmp_path)
    assert compare(case.frames, case.outcomes, observed) is None
    unseen = [name for name, change in FAULTS.items() if not compare(case.frames, case.outcomes, change(observed))]
    assert not unseen


def test_the_frame_that_only_a_counter_tells_of_is_found(
    tmp_path: Path, suite_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A box that would do what the model says, but for one frame that it drops for
    another reason."""
    case, _ = make(SEED, 1002, 600, suite_names)
    pairs = zip(case.frames["red"], case.outcomes["red"], strict=True)
    unprotected = [frame for frame, outcome in pairs if all(isinstance(item, Clear) for item in outcome.sent)]
    case = Case(case.config, case.frames | {"red": unprotected}, {})
    right = judge(case.config, case.frames)

    # Fragments that wait at the culprit would be left out, and the frames behind them move up.
    def whole(count: int) -> bool:
        some = case.frames["black"][:count]
        return complete(some, "black", case.config) == some

    refused = [
        index
        for index, outcome in enumerate(right["black"])
        if outcome.counters == ("outer.drop_policy",) and whole(index + 1)
    ]
    culprit = refused[len(refused) // 3]

    def wrong_box(_configuration: Configuration, frames: dict[str, list[Frame]], _folder: Path) -> Observed:
        outcomes = judge(case.config, frames)
        counters = Counter(name for these in outcomes.values() for outcome in these for name in outcome.counters)
        counters.update({RECEIVED[port]: len(these) for port, these in frames.items()})
        if len(frames.get("black", [])) > culprit:
            counters.update({"outer.drop_policy": -1, "outer.drop_ttl_expired": 1})
        seen = Observed({"red": [], "black": []}, {"inner": [], "outer": []}, {}, True, 0)
        for port, these in outcomes.items():
            seen.sent[FAR[port]].extend(
                item.frame for outcome in these for item in outcome.sent if isinstance(item, Clear)
            )
            seen.punted[CHIP[port]].extend(
                (f"punt: {outcome.punt}", outcome.whole or frame.data)
                for frame, outcome in zip(frames[port], these, strict=True)
                if outcome.punt
            )
            seen.punted[CHIP[FAR[port]]].extend(
                (f"punt: {reason}", frame) for outcome in these for reason, frame in outcome.delivered
            )
        return replace(seen, counters=dict(+counters))

    monkeypatch.setattr(box, "run", wrong_box)
    found = narrow(Case(case.config, case.frames, right), tmp_path)
    assert (found.port, found.index) == ("black", culprit)
    assert "drop_policy" in found.expected and "drop_ttl_expired" in found.got
