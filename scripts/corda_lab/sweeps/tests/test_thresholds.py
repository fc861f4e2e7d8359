"""Thresholds, and when a rate counts as sustained."""

import math
from typing import Any

import pytest
from pydantic import BaseModel

from corda_lab.results.sweep_parts import FindMaxFields, ThresholdFields
from corda_lab.steps.entry import Distribution, OpenLoadEntry, RequestCounts, StepEntry, ValidityEntry, WindowEntry
from corda_lab.steps.reasons import reason
from corda_lab.sweeps.search import sustained, threshold_problems

OBJECTIVE = FindMaxFields.model_validate({"rate_min": 1, "rate_max": 100, "p95_max": "2s", "confirm": "60s"})


def step_of(**changes: Any) -> StepEntry:
    """As much of a step of open load as judging needs."""
    arrivals = {"offered": 1000, "dropped": 0, "due_in_window": 990}
    content: dict[str, Any] = {
        "throughput_per_second": 9.9,
        "latency_ms": {"p50": 100.0, "p95": 150.0, "p99": 200.0},
        "latency_intended_ms": {"p50": 400.0, "p95": 1500.0, "p99": 1900.0},
        "open_load": arrivals,
        "window": {"seconds": 100.0},
        "requests": {"failed": 0, "unknown": 0, "total": 1000},
        "unsteady": [],
        "validity": {"valid": True, "reasons": []},
        **changes,
    }
    models: dict[str, type[BaseModel]] = {
        "latency_ms": Distribution,
        "latency_intended_ms": Distribution,
        "open_load": OpenLoadEntry,
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
        ({"open_load": {"offered": 1000, "dropped": 2, "due_in_window": 990}}, "2 of 1,000 arrivals were dropped"),
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
    assert (
        sustained(
            step_of(throughput_per_second=7.8, open_load={"offered": 800, "dropped": 0, "due_in_window": 780}),
            OBJECTIVE,
        )
        == []
    )
    assert (
        sustained(
            step_of(throughput_per_second=0.25, open_load={"offered": 30, "dropped": 0, "due_in_window": 28}), OBJECTIVE
        )
        == []
    )


def test_thresholds_are_of_the_latency_that_counts() -> None:
    limits = ThresholdFields.model_validate({"throughput_min": 5, "p50_max": "300ms", "p99_max": "2s"})
    assert threshold_problems(step_of(), limits) == [reason("latency_above", name="p50", seen_ms=400.0, limit_ms=300.0)]
    assert threshold_problems(step_of(open_load=None), limits) == []
    limits = ThresholdFields.model_validate({"throughput_min": 12})
    assert threshold_problems(step_of(), limits) == [reason("throughput_below", seen=9.9, limit=12.0)]


def test_a_step_that_is_not_valid_breaks_no_threshold() -> None:
    limits = ThresholdFields.model_validate({"throughput_min": 12})
    invalid = {"valid": False, "reasons": [reason("swapped", pages=300)]}
    assert threshold_problems(step_of(validity=invalid), limits) == []
