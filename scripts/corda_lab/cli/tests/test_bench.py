"""The loads of benches."""

import pytest

from corda_lab.cli.bench import KILLS_OPTIONS, OVERLOAD_OPTIONS, REPEATS_OPTIONS, TIMES, load_of
from corda_lab.errors import LabError
from corda_lab.steps.load import LoadOption, check_options


@pytest.mark.parametrize("options", [TIMES, OVERLOAD_OPTIONS, REPEATS_OPTIONS, KILLS_OPTIONS])
def test_the_defaults_of_every_bench_are_a_valid_load(options: tuple[LoadOption, ...]) -> None:
    load = load_of("iou", options, {"duration": None})
    check_options(load)
    assert {option.name: option.value(load) for option in options if not option.model} == {
        option.name: option.default for option in options if not option.model
    }


def test_repeats_take_open_load() -> None:
    load = load_of("iou", REPEATS_OPTIONS, {"arrivals": "poisson", "rate": 5.0, "pacing": None})
    assert (load.is_open, load.rate, load.warm_up_seconds) == (True, 5.0, 10.0)


def test_an_option_of_the_other_model_is_refused() -> None:
    with pytest.raises(LabError, match=r"--late-max: is only for open load"):
        check_options(load_of("iou", REPEATS_OPTIONS, {"late_max": 1.0}))
