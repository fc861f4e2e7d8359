"""What two environments differ in."""

from corda_lab.analysis.circumstances import differences, surroundings
from corda_lab.knobs.shape import KNOBS
from corda_lab.testing.runs import ENVIRONMENT

BEFORE = ENVIRONMENT.model_copy(
    update={
        "shape": {knob.variable: ENVIRONMENT.shape[knob.variable] for knob in KNOBS if not knob.service},
        "settings": {**ENVIRONMENT.settings, "BRIDGE_HEAP": "384m", "BRIDGE_MEMORY": "768m"},
    }
)
"""The same lab, stored by a version whose shape had neither knobs of the bridge nor of PostgreSQL."""


def test_a_knob_that_is_younger_than_a_run_is_no_difference() -> None:
    assert differences(surroundings(BEFORE), surroundings(ENVIRONMENT)) == []
    assert differences(surroundings(ENVIRONMENT), surroundings(BEFORE)) == []


def test_a_knob_that_was_a_setting_before_is_a_difference_of_the_shape() -> None:
    larger = BEFORE.model_copy(update={"settings": {**BEFORE.settings, "BRIDGE_HEAP": "1g"}})
    (found,) = differences(surroundings(larger), surroundings(ENVIRONMENT))
    assert (found.kind, found.name, found.first, found.second) == ("shape", "BRIDGE_HEAP", "1g", "384m")
