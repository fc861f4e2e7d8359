"""The search for the highest sustained rate, against systems whose limit is known; and thresholds."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from corda_lab.results.sweep import SearchAnswer, SearchOutcome
from corda_lab.results.sweep_parts import FindMaxFields, ThresholdFields
from corda_lab.steps.entry import Distribution, RequestCounts, StepEntry, ValidityEntry, WindowEntry, of_whole
from corda_lab.steps.reasons import reason
from corda_lab.sweeps.search import CONFIRMATIONS_MAX, outcome, question, sustained, threshold_problems
from lab_workload.load import Load

PRECISION = 0.05


def asked(rate_min: float, rate_max: float, precision: float = PRECISION, steps_max: int = 24) -> FindMaxFields:
    return FindMaxFields.model_construct(
        rate_min=rate_min, rate_max=rate_max, precision=precision, steps_max=steps_max, confirm=60
    )


def run(search: FindMaxFields, sustains: Callable[[float, str], bool], flip: int | None = None) -> SearchOutcome:
    """Answer every question of a search; the answer number ``flip`` is wrong."""
    answers: list[SearchAnswer] = []
    while not isinstance(found := question(search, answers), str):
        rate, phase = found
        sustained = sustains(rate, phase) != (len(answers) == flip)
        answers.append(SearchAnswer(rate=rate, sustained=sustained, phase=phase))
    return outcome(search, answers)


def limited(limit: float) -> Callable[[float, str], bool]:
    return lambda rate, _: rate <= limit


@pytest.mark.parametrize("limit", [1.0, 1.04, 1.99, 2.0, 7.3, 31.9, 47.0, 99.9])
def test_finds_a_sharp_limit_to_the_precision(limit: float) -> None:
    found = run(asked(1, 100, PRECISION), limited(limit))
    assert found.rate is not None
    assert limit / (1 + PRECISION) - 1e-3 <= found.rate <= limit
    assert found.low == found.rate
    assert len(found.answers) <= 16


def test_doubles_then_halves_the_gap_then_asks_the_edges_again_then_confirms() -> None:
    found = run(asked(1, 100, 0.2), limited(5))
    assert [(answer.rate, answer.sustained, answer.phase) for answer in found.answers] == [
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
    assert found.reason == "4.757 was confirmed; 5.657 was not sustained."


@pytest.mark.parametrize("limit", [1.5, 3.9, 5.0, 6.1, 30.0, 63.0, 80.0])
def test_one_wrong_answer_anywhere_costs_at_most_the_precision_once_more(limit: float) -> None:
    for flip in range(18):
        found = run(asked(1, 64, PRECISION), limited(limit), flip)
        assert found.rate is not None, flip
        assert min(limit, 64) / (1 + PRECISION) ** 2 - 1e-2 <= found.rate <= limit, flip
        assert len(found.answers) <= 24


def test_a_limit_that_is_not_sharp_is_found_near_where_half_the_probes_fail() -> None:
    source = random.Random(5)
    outcomes = []
    for _ in range(1000):
        # Sustained for certain up to 45, never from 55.
        outcomes.append(run(asked(1, 200), lambda rate, _: rate < 45 + 10 * source.random()))
    found = [one.rate for one in outcomes if one.rate is not None]
    assert min(found) > 42
    assert max(found) < 55
    assert 46 < sum(found) / len(found) < 50
    assert len(found) > 990  # in few cases all confirmations fail


def test_a_rate_that_only_short_probes_sustain_is_lowered_step_by_step() -> None:
    confirmed = run(asked(1, 100), lambda rate, phase: rate <= (20 if phase == "probe" else 18.5))
    assert confirmed.rate == pytest.approx(18.5, rel=PRECISION)
    assert confirmed.low == pytest.approx(20, rel=PRECISION)


def test_confirmations_end_when_every_one_fails() -> None:
    found = run(asked(1, 100), lambda rate, phase: phase == "probe" and rate <= 20)
    assert found.rate is None
    assert found.low == pytest.approx(20, rel=PRECISION)
    assert [answer.phase for answer in found.answers].count("confirm") == CONFIRMATIONS_MAX
    assert str(found.reason).startswith("No rate was confirmed")


def test_a_system_that_sustains_nothing_is_asked_twice() -> None:
    found = run(asked(2, 100), limited(1))
    assert found.rate is None
    assert [answer.rate for answer in found.answers] == [2, 2]
    assert found.reason == "Not even the lowest rate, 2, was sustained."


def test_a_system_that_sustains_everything_is_said_to_go_beyond() -> None:
    found = run(asked(3, 20), limited(1e9))
    assert (found.rate, found.high) == (20, None)
    assert "may be higher" in str(found.reason)
    assert run(asked(5, 5), limited(1e9)).rate == 5


@pytest.mark.parametrize("steps_max", range(2, 25))
def test_never_takes_more_steps_than_allowed_and_keeps_one_to_confirm(steps_max: int) -> None:
    for limit in (0.5, 1, 6, 50, 1000):
        found = run(asked(1, 100, PRECISION, steps_max), limited(limit))
        assert len(found.answers) <= steps_max
        if found.low is not None:
            assert found.answers[-1].phase == "confirm"
        if found.rate is not None:
            assert found.rate <= limit


def test_a_search_cut_short_says_how_far_it_came() -> None:
    found = run(asked(1, 100, PRECISION, 5), limited(6))
    assert (found.rate, found.high) == (4, 8)
    assert "anywhere up to 8" in str(found.reason)


def test_a_search_that_has_not_ended_says_how_far_it_came() -> None:
    answers = [
        SearchAnswer(rate=1, sustained=True, phase="probe"),
        SearchAnswer(rate=2, sustained=False, phase="probe"),
    ]
    found = outcome(asked(1, 100), answers)
    assert (found.rate, found.low, found.high, found.answers) == (None, 1, 2, answers)
    assert found.reason == "The search stopped after 2 steps."


# When a rate is sustained, and when a threshold is missed.

OBJECTIVE = FindMaxFields.model_validate({"rate_min": 1, "rate_max": 100, "p95_max": "2s", "confirm": "60s"})


def step_of(**changes: Any) -> StepEntry:
    """As much of a step of open load as judging needs."""
    table = of_whole(**{"offered": 1000, "dropped": 0, "due_in_window": 990, **changes.pop("arrivals", {})})
    content: dict[str, Any] = {
        "throughput_per_second": 9.9,
        "latency_ms": {"p50": 100.0, "p95": 150.0, "p99": 200.0},
        "latency_intended_ms": {"p50": 400.0, "p95": 1500.0, "p99": 1900.0},
        "values": table,
        "load": Load(workload="iou", arrivals="constant", rate=10),
        "window": {"seconds": 100.0},
        "requests": {"failed": 0, "unknown": 0, "total": 1000},
        "unsteady": [],
        "validity": {"valid": True, "reasons": []},
        **changes,
    }
    models: dict[str, type[BaseModel]] = {
        "latency_ms": Distribution,
        "latency_intended_ms": Distribution,
        "window": WindowEntry,
        "requests": RequestCounts,
        "validity": ValidityEntry,
    }
    for name, model in models.items():
        if content[name] is not None:
            content[name] = model.model_construct(**content[name])
    return StepEntry.model_construct(**content)


def test_a_rate_that_stays_within_the_limits_is_sustained() -> None:
    assert sustained(step_of(), OBJECTIVE) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"throughput_per_second": 9.0}, "achieved 9.00 of 9.90 arrivals per second"),
        ({"latency_intended_ms": {"p95": 2100.0}}, "p95 is 2,100 ms, above the limit of 2,000 ms"),
        ({"latency_intended_ms": {"p95": None}}, "p95 is not known"),
        ({"arrivals": {"dropped": 2}}, "2 of 1,000 arrivals were dropped"),
        ({"requests": {"failed": 1, "unknown": 0, "total": 1000}}, "1 of 1,000 requests failed or had"),
        ({"requests": {"failed": 0, "unknown": 1, "total": 1000}}, "1 of 1,000 requests failed or had"),
        (
            {"latency_intended_ms": {"p95": math.inf, "unanswered": 60, "count": 990}},
            "p95 is above the limit of 2,000 ms: 60 of 990 requests were not answered",
        ),
        ({"unsteady": [reason("throughput_began_late")]}, "no flow was completed in the first half"),
        (
            {"validity": {"valid": False, "reasons": [reason("generator_dropped", dropped=3)]}},
            "the generator was the limit",
        ),
        ({"validity": {"valid": False, "reasons": [reason("swapped", pages=300)]}}, "the host swapped"),
    ],
)
def test_a_rate_that_does_not_is_told_why(changes: dict[str, Any], words: str) -> None:
    (found,) = sustained(step_of(**changes), OBJECTIVE)
    assert str(found).startswith(words)


def test_few_arrivals_by_chance_are_no_shortfall() -> None:
    for rate, due in ((7.8, 780), (0.25, 28)):
        step = step_of(throughput_per_second=rate, arrivals={"offered": due, "due_in_window": due})
        assert sustained(step, OBJECTIVE) == []


def test_thresholds_are_of_the_latency_that_counts() -> None:
    limits = ThresholdFields.model_validate({"throughput_min": 5, "p50_max": "300ms", "p99_max": "2s"})
    assert threshold_problems(step_of(), limits) == [reason("latency_above", name="p50", seen_ms=400.0, limit_ms=300.0)]
    assert threshold_problems(step_of(load=Load(workload="iou")), limits) == []
    limits = ThresholdFields.model_validate({"throughput_min": 12})
    assert threshold_problems(step_of(), limits) == [reason("throughput_below", seen=9.9, limit=12.0)]


def test_a_step_that_is_not_valid_breaks_no_threshold() -> None:
    limits = ThresholdFields.model_validate({"throughput_min": 12})
    invalid = {"valid": False, "reasons": [reason("swapped", pages=300)]}
    assert threshold_problems(step_of(validity=invalid), limits) == []
