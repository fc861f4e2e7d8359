"""Step entries and parts of them for tests, with the values that matter to a test."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corda_lab.results import stored
from corda_lab.steps.entry import WHOLE, StepEntry
from lab_workload.run_end import RunEnd


def step_of(run: Path) -> StepEntry:
    """The first step of a stored run."""
    return stored.read(run).steps[0]


def changed(step: StepEntry, changes: Mapping[str, Any]) -> StepEntry:
    """A copy with changes by path: ``{"validity.valid": False}``. Dictionary keys may be part of a path."""
    content = step.model_dump(by_alias=True)
    for path, value in changes.items():
        *folders, name = path.split(".")
        place = content
        for folder in folders:
            place = place[folder]
        place[name] = value
    return StepEntry.model_validate(content)


def step_with(**known: Any) -> StepEntry:
    """A step with only these fields, which are not checked: as much of it as the code under test reads."""
    return StepEntry.model_construct(**known)


def with_values(step: StepEntry, **values: float | Mapping[str, float] | None) -> StepEntry:
    """A copy with values of the whole, or by part, in its table. None takes one out of it."""
    table: dict[Any, Any] = {name: of for name, of in step.values.items() if name not in values}
    for name, value in values.items():
        if value is not None:
            table[name] = dict(value) if isinstance(value, Mapping) else {WHOLE: value}
    return StepEntry.model_validate(dict(step) | {"values": table})


def run_end(**known: Any) -> RunEnd:
    """The summary of a generator. Fields that are not given have plain values."""
    plain: dict[str, Any] = {
        "started_at": 0.0,
        "spawned_at": None,
        "stop_at": 60.0,
        "ended_at": 60.0,
        "model": "closed",
        "rate": None,
        "users": 1,
        "requests": 0,
        "outcomes": {"ok": 0, "expected": 0, "failed": 0, "unknown": 0},
        "offered": None,
        "late": None,
        "dropped": None,
        "lag_p99_ms": None,
        "pool_free_min": None,
        "setup": [],
        "rows": {},
        "cpu_percent_max": 0.0,
        "workers": [],
        "exit_reason": "completed",
    }
    return RunEnd(**{**plain, **known})
