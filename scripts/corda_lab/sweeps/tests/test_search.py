"""The search for the highest sustained rate, against systems whose limit is known."""

import random
from collections.abc import Callable

import pytest

from corda_lab.results.manifest import SearchOutcome
from corda_lab.sweeps.search import CONFIRMATIONS_MAX, Search

PRECISION = 0.05


def run(search: Search, sustains: Callable[[float], bool], flip: int | None = None) -> SearchOutcome:
    """Answer every question of a search; the answer number ``flip`` is wrong."""
    number = 0
    while (rate := search.next()) is not None:
        search.tell(rate, sustains(rate) != (number == flip))
        number += 1
    outcome = search.outcome
    assert outcome is not None
    return outcome


def limited(limit: float) -> Callable[[float], bool]:
    return lambda rate: rate <= limit


@pytest.mark.parametrize("limit", [1.0, 1.04, 1.99, 2.0, 7.3, 31.9, 47.0, 99.9])
def test_finds_a_sharp_limit_to_the_precision(limit: float) -> None:
    outcome = run(Search(1, 100, PRECISION), limited(limit))
    assert outcome.rate is not None
    assert limit / (1 + PRECISION) - 1e-3 <= outcome.rate <= limit
    assert outcome.low == outcome.rate
    assert len(outcome.answers) <= 16


def test_doubles_then_halves_the_gap_then_asks_the_edges_again_then_confirms() -> None:
    outcome = run(Search(1, 100, 0.2), limited(5))
    assert [(answer.rate, answer.sustained, answer.phase) for answer in outcome.answers] == [
        (1, True, "probe"),
        (2, True, "probe"),
        (4, True, "probe"),
        (8, False, "probe"),
        (5.657, False, "probe"),
        (4.757, True, "probe"),
        (5.657, False, "probe"),
        (4.757, True, "probe"),
        (4.757, True, "confirm"),
    ]
    assert outcome.reason == "4.757 was confirmed; 5.657 was not sustained."


@pytest.mark.parametrize("limit", [1.5, 3.9, 5.0, 6.1, 30.0, 63.0, 80.0])
def test_one_wrong_answer_anywhere_costs_at_most_the_precision_once_more(limit: float) -> None:
    for flip in range(18):
        outcome = run(Search(1, 64, PRECISION), limited(limit), flip)
        assert outcome.rate is not None, flip
        assert min(limit, 64) / (1 + PRECISION) ** 2 - 1e-2 <= outcome.rate <= limit, flip
        assert len(outcome.answers) <= 24


def test_a_limit_that_is_not_sharp_is_found_near_where_half_the_probes_fail() -> None:
    source = random.Random(5)
    outcomes = []
    for _ in range(1000):
        # Sustained for certain up to 45, never from 55.
        outcomes.append(run(Search(1, 200, PRECISION), lambda rate: rate < 45 + 10 * source.random()))
    found = [outcome.rate for outcome in outcomes if outcome.rate is not None]
    assert min(found) > 42
    assert max(found) < 55
    assert 46 < sum(found) / len(found) < 50
    assert len(found) > 990  # in few cases all confirmations fail


def test_a_rate_that_only_short_probes_sustain_is_lowered_step_by_step() -> None:
    search = Search(1, 100, PRECISION)
    while search.phase == "probe":
        rate = search.next()
        assert rate is not None
        search.tell(rate, rate <= 20)
    confirmed = run(search, limited(18.5))
    assert confirmed.rate == pytest.approx(18.5, rel=PRECISION)
    assert confirmed.low == pytest.approx(20, rel=PRECISION)


def test_confirmations_end_when_every_one_fails() -> None:
    search = Search(1, 100, PRECISION)
    while (rate := search.next()) is not None:
        search.tell(rate, search.phase == "probe" and rate <= 20)
    assert search.outcome is not None
    assert search.outcome.rate is None
    assert search.outcome.low == pytest.approx(20, rel=PRECISION)
    assert [answer.phase for answer in search.outcome.answers].count("confirm") == CONFIRMATIONS_MAX
    assert str(search.outcome.reason).startswith("No rate was confirmed")


def test_a_system_that_sustains_nothing_is_asked_twice() -> None:
    outcome = run(Search(2, 100), limited(1))
    assert outcome.rate is None
    assert [answer.rate for answer in outcome.answers] == [2, 2]
    assert outcome.reason == "Not even the lowest rate, 2, was sustained."


def test_a_system_that_sustains_everything_is_said_to_go_beyond() -> None:
    outcome = run(Search(3, 20), limited(1e9))
    assert (outcome.rate, outcome.high) == (20, None)
    assert "may be higher" in str(outcome.reason)
    assert run(Search(5, 5), limited(1e9)).rate == 5


@pytest.mark.parametrize("steps_max", range(2, 25))
def test_never_takes_more_steps_than_allowed_and_keeps_one_to_confirm(steps_max: int) -> None:
    for limit in (0.5, 1, 6, 50, 1000):
        outcome = run(Search(1, 100, PRECISION, steps_max), limited(limit))
        assert len(outcome.answers) <= steps_max
        if outcome.low is not None:
            assert outcome.answers[-1].phase == "confirm"
        if outcome.rate is not None:
            assert outcome.rate <= limit


def test_a_search_cut_short_says_how_far_it_came() -> None:
    outcome = run(Search(1, 100, PRECISION, 5), limited(6))
    assert (outcome.rate, outcome.high) == (4, 8)
    assert "anywhere up to 8" in str(outcome.reason)


def test_asking_twice_gives_the_same_rate_and_only_its_answer_is_taken() -> None:
    search = Search(1, 100)
    assert (search.next(), search.next(), search.phase, search.outcome) == (1, 1, "probe", None)
    with pytest.raises(ValueError, match="was not asked"):
        search.tell(2, True)
    run(search, limited(10))
    assert search.phase is None
    with pytest.raises(ValueError, match="was not asked"):
        search.tell(1, True)


@pytest.mark.parametrize("arguments", [(0, 1), (2, 1), (1, float("inf")), (1, 2, 0.0), (1, 2, 0.05, 1)])
def test_refuses_settings_that_cannot_end(arguments: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Search(*arguments)
