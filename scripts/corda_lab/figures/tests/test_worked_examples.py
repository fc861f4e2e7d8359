"""The worked examples of claims in ``docs/methodology.md``: the real functions must give every number in them."""

import math
from pathlib import Path

import pytest

from corda_lab.figures.judge import judge
from corda_lab.figures.statistic import slope
from corda_lab.figures.verdict import CANNOT_TELL, HELD, decide, verdict_of
from corda_lab.figures.words import published_words
from support.claims import HEAD, figure_of


def test_held() -> None:
    line = [(users, 0.5 + 0.15 * users) for users in (10, 20, 40, 80)]
    assert [seconds for _, seconds in line] == [2.0, 3.5, 6.5, 12.5]
    assert round(slope(line), 2) == 0.88
    found = decide([0.91, 0.95, 1.01], (0.7, 1.3), "values")
    assert found.interval is not None
    assert (round(found.interval.estimate, 3), round(found.interval.low, 2), round(found.interval.high, 2)) == (
        0.957,
        0.83,
        1.08,
    )
    assert found.verdict == HELD


def test_cannot_tell() -> None:
    found = decide([0.98, 1.02, 1.04], (0.95, 1.05), "logarithms")
    assert found.interval is not None
    assert (round(found.interval.low, 3), round(found.interval.high, 3)) == (0.940, 1.092)
    assert (found.verdict, found.further) == (CANNOT_TELL, 3)
    low, high = (math.exp(0.01294 + sign * 2.571 * 0.0303 / math.sqrt(6)) for sign in (-1, 1))
    assert (round(low, 3), round(high, 3)) == (0.981, 1.046)
    assert verdict_of(low, high, (0.95, 1.05)) == HELD


def test_published_values(tmp_path: Path) -> None:
    head = HEAD.replace("{id: IIT-3.4, x: requests in 1s,", "{id: R3-F3b, x: cores,")
    points = "of: {load.users: 70}, to: {load.users: 1}"
    rows = "where: {edition: OS (latest at test; H2)}, of: {workload: Issue}, to: {workload: Issue+Pay single notary}"
    claim = f"name: a, says: 1, ratio: throughput, {points}, within: [4, 17], on_published: {{{rows}, verdict: held}}"
    figure = figure_of(tmp_path, claim, head=head)
    (verdict,) = judge(figure, [])
    found = verdict.published
    assert found is not None
    assert published_words(verdict) == "8.5 ×, held"
    assert (round(found.low, 1), round(found.high, 1)) == (8.0, 9.1)
    assert found.verdict == HELD
    assert round(math.hypot(0.5 / 68, 0.5 / 8), 3) == pytest.approx(0.063)
