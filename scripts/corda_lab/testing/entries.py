"""Step entries for tests: a plain one, and copies with some values changed."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import distribution

NOTHING = distribution(pl.Series([], dtype=pl.Float64)).model_dump()


def changed(step: StepEntry, changes: Mapping[str, Any]) -> StepEntry:
    """A copy with other values, by path: ``{"resources.host_busy_percent": 99.0}``. Keys of dictionaries count as path."""
    content = step.model_dump(by_alias=True)
    for path, value in changes.items():
        *folders, name = path.split(".")
        place = content
        for folder in folders:
            place = place[folder]
        place[name] = value
    return StepEntry.model_validate(content)


def distribution_of(**known: float | None) -> dict[str, Any]:
    """A distribution of which only some values matter."""
    return {**NOTHING, **known}
