# SPDX-License-Identifier: Apache-2.0
"""The model of four rules by which nodes of a cluster take frames."""

from __future__ import annotations

import pytest

from sallyport.turns import RULES, main, outcome

COUNT = 3000


@pytest.mark.parametrize("nodes", [1, 2, 5])
@pytest.mark.parametrize("rule", RULES)
def test_without_loss_each_frame_is_one_nodes(rule: str, nodes: int) -> None:
    found = outcome(rule, nodes, loss=0, count=COUNT, seed=1)
    assert (found.untaken, found.twice) == (0, 0)


@pytest.mark.parametrize("rule", ["session hash", "packet hash"])
def test_a_lost_frame_is_lost_alone(rule: str) -> None:
    """With a hash, a node's loss costs that node's frames alone, and none is taken twice."""
    found = outcome(rule, 3, loss=0.01, count=COUNT, seed=1)
    assert found.twice == 0 and 0 < found.untaken < 0.02


@pytest.mark.parametrize("rule", ["round-robin", "shortest queue"])
def test_a_lost_frame_shifts_the_turns_of_counters(rule: str) -> None:
    found = outcome(rule, 3, loss=0.01, count=COUNT, seed=1)
    assert found.twice > 0.1 and found.untaken > 0.1


@pytest.mark.parametrize("words", [["--nodes", "0"], ["--loss", "1"], ["--frames", "0"]])
def test_bad_input(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["turns", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and "at least 1" in capsys.readouterr().err
