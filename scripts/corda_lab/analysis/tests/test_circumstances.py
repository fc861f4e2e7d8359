"""What two environments differ in."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.analysis.circumstances import Circumstances, circumstances, differences, surroundings
from corda_lab.results import stored
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.stored import StoredRun
from support.runs import ENVIRONMENT, ON_HOSTS


def profiled(run: StoredRun, *entries: ProfileEntry) -> Circumstances:
    """The circumstances of a run if it had these profiles."""
    manifest = run.manifest.model_copy(update={"profiles": list(entries)})
    return circumstances(StoredRun(run.folder, manifest, run.steps), run.steps[0])


def test_a_profiler_is_a_difference_and_a_failed_profile_is_none(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    sampled = ProfileEntry(node="PartyA", file="profiles/partya-cpu.html", began_at=1.0, seconds=58.0)
    failed = ProfileEntry(node="PartyA", problem="it ended")
    before = profiled(run)
    assert differences(before, profiled(run, failed)) == []
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
