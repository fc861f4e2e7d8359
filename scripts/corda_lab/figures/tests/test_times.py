"""How long a sweep takes in one of its forms."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from corda_lab.figures.repeat import Repeat
from corda_lab.figures.store import in_form, seconds_of
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.claims import figure_of, repeat_of

CLAIM = "name: a, says: 1, ratio: p50, of: {load.users: 10}, to: {load.users: 1}, within: [1, 2]"


def minutes(tmp_path: Path, took: Sequence[float]) -> float:
    stored: list[Repeat] = [
        repeat_of(number, lambda point: {"p50": 1.0}, form="quick").model_copy(update={"seconds": 60 * one})
        for number, one in enumerate(took, start=1)
    ]
    sweep = in_form(figure_of(tmp_path, CLAIM).sweep, "quick")
    return seconds_of(sweep, load_settings(ENV_FILE, {}), stored) / 60


def test_the_start_that_only_the_first_repeat_has_is_part_of_the_time(tmp_path: Path) -> None:
    assert minutes(tmp_path, [12, 9, 9]) == pytest.approx(30)


def test_a_single_repeat_stands_for_all(tmp_path: Path) -> None:
    assert minutes(tmp_path, [12]) == pytest.approx(36)
