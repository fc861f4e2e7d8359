"""The commands that a report prints to repeat its steps."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.report import commands
from corda_lab.results import stored
from corda_lab.steps.load import LOAD_OPTIONS

NOT_PRINTED = {"name", "warm_up_max"}
"""A repeated run has a name of its own, and the warm-up that the step really had."""


def test_every_option_of_the_load_is_repeated(stored_run: Callable[..., Path]) -> None:
    step = stored.read(stored_run()).steps[0]
    everything = {
        option.stored: 2 if getattr(step.load, option.stored) is None else getattr(step.load, option.stored)
        for option in LOAD_OPTIONS.values()
        if option.stored
    }
    load = step.load.model_copy(update={**everything, "arrivals": "poisson"})
    printed = commands.run(step.updated(load=load)).split()
    flags = {word for word in printed if word.startswith("--")}
    assert flags == {option.flag for option in LOAD_OPTIONS.values() if option.name not in NOT_PRINTED}
