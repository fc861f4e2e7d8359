"""What two environments differ in."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.analysis.circumstances import circumstances, differences, surroundings
from corda_lab.knobs.shape import KNOBS
from corda_lab.results import stored
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.stored import StoredRun
from support.runs import ENVIRONMENT, ON_HOSTS

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


def profiled(run: StoredRun, *entries: ProfileEntry) -> dict[str, dict[str, str]]:
    """The circumstances of a run if it had these profiles."""
    manifest = run.manifest.model_copy(update={"profiles": list(entries)})
    return circumstances(StoredRun(run.folder, manifest, run.steps), run.steps[0])


def test_a_profiler_is_a_difference_and_a_profile_under_another_load_is_none(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    sampled = ProfileEntry(node="PartyA", step=1, file="profiles/partya-cpu.html", began_at=1.0, seconds=58.0)
    extra, failed = sampled.model_copy(update={"step": None}), ProfileEntry(node="PartyA", step=1, problem="it ended")
    before = profiled(run)
    assert differences(before, profiled(run, extra, failed)) == []
    (found,) = differences(before, profiled(run, sampled))
    assert (found.kind, found.name, found.first, found.second) == ("profiler", "profiled nodes", "none", "PartyA")
    # How long the samples were taken follows from the load.
    assert differences(profiled(run, sampled), profiled(run, sampled.model_copy(update={"seconds": 57.4}))) == []


def test_one_machine_and_many_differ_in_the_placement_and_not_in_a_host_that_only_drove_the_load() -> None:
    before, after = surroundings(ENVIRONMENT), surroundings(ON_HOSTS)
    found = {one.name: (one.first, one.second) for one in differences(before, after)}
    assert found["hosts"] == ("one machine", "1 host")
    assert found["file"] == ("–", "three, 0123456789ab")
    assert found["host one"][1].endswith("notary, partya and 2 workers")
    assert {one.kind for one in differences(before, after)} == {"placement"}
    assert differences(after, after) == []
