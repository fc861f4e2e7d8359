"""The table of bursts in the report of a run: every burst on three clocks."""

from collections.abc import Callable
from functools import partial

from corda_lab.steps.bursts import CLOCKS
from corda_lab.steps.entry import BurstsEntry
from corda_lab.text.words import milliseconds


def table(bursts: BurstsEntry) -> list[list[str]]:
    """A row for each burst and one for their mean.

    The cells are its number, the requests that failed or have an unknown outcome, the time until the last one had
    started, and then for each clock the total time, the flows per second and the mean latency.
    """
    rows = [
        [str(number), str(one.failed + one.unknown), *_cells(partial(getattr, one))]
        for number, one in enumerate(bursts.bursts, start=1)
    ]
    return [*rows, ["mean", "", *_cells(bursts.mean)]]


def _cells(value: Callable[[str], float | None]) -> list[str]:
    cells = [_number(value("last_started_seconds"), " s")]
    for prefix in CLOCKS.values():
        cells += [
            _number(value(f"{prefix}total_seconds"), " s"),
            _number(value(f"{prefix}throughput_per_second")),
            milliseconds(value(f"{prefix}latency_mean_ms")),
        ]
    return cells


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.2f}{unit}"
