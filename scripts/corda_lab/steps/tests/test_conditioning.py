"""The load that conditions nodes, from the load that follows it."""

import pytest

from corda_lab.steps.load import COLD_FLOWS, SECONDS_LEAST, Conditioning, check_load, until_steady
from lab_workload.load import Load

CLOSED = Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15)
OPEN = Load(workload="iou", users=50, duration_seconds=60, warm_up_seconds=15, arrivals="poisson", rate=5.0)


def spans(wanted: Conditioning) -> tuple[float, float, float]:
    """The shortest and the longest warm-up, and the window, in seconds."""
    options = wanted.until_steady
    check_load(options)
    return options.warm_up_seconds_min, options.warm_up_seconds, options.duration_seconds


def test_it_is_the_same_load_until_it_is_steady() -> None:
    options = Conditioning(CLOSED).until_steady
    assert (options.workload, options.users) == ("iou", 8)
    assert options.stopping is not None
    assert options.stopping.change_percent_max is not None
    assert options.stopping.completions_min == COLD_FLOWS


@pytest.mark.parametrize(
    ("seconds_min", "seconds_max", "expected"),
    [(60, 240, (15, 195, 45)), (45, 90, (1, 45, 45)), (15, 30, (1, 15, 15)), (5, 9, (1, 5, 4)), (10, 10, (5, 5, 5))],
)
def test_it_lasts_no_longer_than_it_may(
    seconds_min: float, seconds_max: float, expected: tuple[float, float, float]
) -> None:
    least, most, window = spans(Conditioning(CLOSED, seconds_min, seconds_max))
    assert (least, most, window) == expected
    assert least + window <= max(seconds_min, window + 1)
    assert most + window == seconds_max


def test_the_shortest_one_that_can_be_set_has_a_window() -> None:
    assert spans(Conditioning(CLOSED, SECONDS_LEAST, SECONDS_LEAST)) == (2, 2, 2)


def test_open_load_lasts_as_long_as_it_may() -> None:
    assert spans(Conditioning(OPEN, 60, 240)) == (195, 195, 45)


def test_how_long_the_load_that_follows_lasts_does_not_matter() -> None:
    longer = until_steady(Load(workload="iou", users=8, duration_seconds=300, warm_up_seconds=60), 600)
    assert spans(Conditioning(longer)) == spans(Conditioning(CLOSED))


@pytest.mark.parametrize(
    ("options", "users"),
    [
        (Load(workload="iou", users=70, arrivals="burst", bursts=10, warm_up_seconds=0), 20),
        (Load(workload="iou", users=70, arrivals="burst", pool=8, warm_up_seconds=0), 8),
        (Load(workload="iou", users=2, flows=400, flows_after=2, warm_up_seconds=0), 2),
    ],
)
def test_bursts_and_a_number_of_flows_follow_closed_load_until_it_is_steady(options: Load, users: int) -> None:
    found = Conditioning(options).until_steady
    assert (found.model, found.users, found.is_counted) == ("closed", users, False)
    assert spans(Conditioning(options)) == spans(Conditioning(CLOSED))
