"""Repeats are made from the stored run, and only from repeats that can be trusted as a whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.figures.measure import CALIBRATION_MOVED_MAX, collect
from corda_lab.figures.repeats import Repeat, changed_files, digest_of
from corda_lab.lab import shape
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.validity import NOT_STEADY
from corda_lab.sweeps.file import SweepFile, read_sweep
from support.entries import changed
from support.figures import SWEEP, write_figures
from support.runs import ENVIRONMENT

METRIC_NAMES = ["p50", "throughput"]


def with_steps(run: StoredRun, change: Callable[[StepEntry], StepEntry]) -> StoredRun:
    return StoredRun(run.folder, run.manifest, [change(step) for step in run.steps])


def timed(step: StepEntry, before: float, after: float) -> StepEntry:
    """The step, with the milliseconds that the same work took on both cores before and after it."""
    times = {"before": {0: before, 1: before}, "after": {0: after, 1: after}}
    return changed(step, {"calibration": {"work": "zlib", **times}})


def moved_in(run: StoredRun, repeat: int, factor: float) -> StoredRun:
    """The run, with a machine that becomes slower by a factor in the middle of one repeat."""
    steps = [one for one in run.steps if one.repeat == repeat]
    middle = sorted(one.window.load_started_at for one in steps)[len(steps) // 2]

    def change(step: StepEntry) -> StepEntry:
        slow = step.repeat == repeat and step.window.load_started_at >= middle
        return timed(step, *(2 * [4.0 * factor if slow else 4.0]))

    return with_steps(run, change)


def test_every_repeat_has_the_values_of_its_own_steps(bursts: StoredRun) -> None:
    found = collect(bursts, METRIC_NAMES)
    assert found.spoilt == {}
    assert [one.repeat for one in found.repeats] == [1, 2, 3]
    for repeat in found.repeats:
        steps = sorted((one for one in bursts.steps if one.repeat == repeat.repeat), key=lambda one: one.index)
        assert [point.values for point in repeat.points] == [step.point for step in steps]
        for point, step in zip(repeat.points, steps, strict=True):
            assert point.metrics == {name: pytest.approx(METRICS[name].of(step), rel=1e-5) for name in METRIC_NAMES}


def test_a_repeat_says_where_and_with_what_it_was_measured(bursts: StoredRun) -> None:
    first, second, _ = collect(bursts, METRIC_NAMES).repeats
    assert (first.sweep, first.form, first.run) == ("bursts", "full", bursts.identity)
    assert first.at < second.at
    assert first.at.endswith("Z")
    assert (first.machine, first.cores) == ("A processor of some kind, 2 cores, 26 GB", 2)
    assert first.images == {"corda-lab/node:4.10": "sha256:" + "ab" * 32}
    assert not first.site.enterprise
    assert first.commit == "0123456789ab with uncommitted changes"
    assert first.sweep_digest == digest_of(read_sweep(bursts.folder / "sweep.yaml"))


def test_a_repeat_says_which_workload_and_preset_it_was_measured_with(bursts: StoredRun) -> None:
    tuned = bursts.manifest.environments[0].model_copy(
        update={"shape": {**ENVIRONMENT.shape, "NODE_PRESET": "tuned"}, "preset_sha256": shape.preset_sha256("tuned")}
    )
    manifest = bursts.manifest.model_copy(update={"environments": [tuned] * len(bursts.manifest.environments)})
    found = collect(StoredRun(bursts.folder, manifest, bursts.steps), METRIC_NAMES).repeats[0]
    assert list(found.files) == ["preset tuned", "workload iou"]
    assert changed_files(found.files) == []
    assert changed_files({**found.files, "workload iou": "0" * 16}) == ["workload iou"]


@pytest.mark.parametrize(
    ("image", "is_enterprise"),
    [
        ("example.org/corda-enterprise:4.10", True),
        ("example.org/corda-community:4.10", False),
        ("corda-lab/node:enterprise", False),
    ],
)
def test_an_image_of_ones_own_is_enterprise_if_its_name_says_so(
    bursts: StoredRun, image: str, is_enterprise: bool
) -> None:
    first = collect(bursts, METRIC_NAMES).repeats[0].model_copy(update={"images": {image: "sha256:1"}})
    assert first.site.enterprise == is_enterprise


def test_a_point_says_how_many_requests_failed_and_whether_its_nodes_were_conditioned(bursts: StoredRun) -> None:
    begun = bursts.steps[0]
    seconds = {"seconds_min": 45.0, "seconds_max": 45.0, "seconds": 45.0}
    before = {"workload": "iou", "load": begun.load, **seconds, "flows": 90, "steady": True}

    def repeat_with(changes: dict[str, object]) -> Repeat:
        change = {"conditioning": before, **changes}
        run = with_steps(bursts, lambda step: changed(step, change) if step.index == begun.index else step)
        return collect(run, METRIC_NAMES).repeats[0]

    points = repeat_with({}).points
    assert (points[0].failed, points[0].conditioned, points[1].conditioned) == (0, True, None)
    cold = {"code": NOT_STEADY, "values": {"seconds": 45.0}}
    requests = {**begun.requests.model_dump(), "failed": 3, "unknown": 2}
    repeat = repeat_with({"flags": [cold], "requests": requests, "resolved": {"ok": 1, "failed": 1}})
    assert (repeat.points[0].failed, repeat.points[0].conditioned) == (4, False)


def test_an_invalid_step_has_no_values_and_says_why(bursts: StoredRun) -> None:
    reasons = {"valid": False, "reasons": [{"code": "generator_failed", "values": {}}], "machine": []}
    run = with_steps(bursts, lambda step: changed(step, {"validity": reasons}) if step.index == 2 else step)
    points = [point for repeat in collect(run, METRIC_NAMES).repeats for point in repeat.points]
    (spoilt,) = [point for point in points if point.outcome == "invalid"]
    assert (spoilt.metrics, spoilt.reason) == ({}, "the generator stopped the load with an error")
    assert len(points) == len(bursts.steps)


@pytest.mark.parametrize(
    ("factor", "counts"),
    [(1 + CALIBRATION_MOVED_MAX - 0.01, True), (1 + CALIBRATION_MOVED_MAX + 0.01, False), (0.85, False)],
)
def test_a_repeat_counts_unless_the_machine_became_another(bursts: StoredRun, factor: float, counts: bool) -> None:
    found = collect(moved_in(bursts, 2, factor), METRIC_NAMES)
    assert [one.repeat for one in found.repeats] == ([1, 2, 3] if counts else [1, 3])
    assert list(found.spoilt) == ([] if counts else [2])
    # The others say so.
    assert all(one.spoilt == found.spoilt for one in found.repeats)
    assert found.repeats[0].calibration == [4.0, 4.0]


def test_a_single_reading_spoils_no_repeat(bursts: StoredRun) -> None:
    last = max((one for one in bursts.steps if one.repeat == 2), key=lambda one: one.window.load_ended_at)
    run = with_steps(bursts, lambda step: timed(step, 4.0, 5.0 if step.index == last.index else 4.0))
    assert collect(run, METRIC_NAMES).spoilt == {}


def test_a_repeat_of_which_steps_are_missing_does_not_count(bursts: StoredRun) -> None:
    run = StoredRun(bursts.folder, bursts.manifest, [step for step in bursts.steps if step.index != 7])
    missing = next(step.repeat for step in bursts.steps if step.index == 7)
    assert collect(run, METRIC_NAMES).spoilt == {missing: "has 5 of 6 points"}


def test_a_repeat_that_was_resumed_days_later_does_not_count(bursts: StoredRun) -> None:
    last = bursts.steps[-1]
    late = {
        f"window.{name}": getattr(last.window, name) + 2 * 86_400
        for name in ("load_started_at", "started_at", "ended_at", "load_ended_at")
    }
    run = with_steps(bursts, lambda step: changed(step, late) if step.index == last.index else step)
    assert collect(run, METRIC_NAMES).spoilt == {last.repeat: "took 48 hours, so it is not of one day"}


def test_a_repeat_that_ended_on_another_machine_does_not_count(bursts: StoredRun) -> None:
    one = bursts.manifest.environments[0]
    other = one.model_copy(update={"host": one.host.model_copy(update={"cpu_model": "Another processor"})})
    manifest = bursts.manifest.model_copy(update={"environments": [*bursts.manifest.environments, other]})
    place = len(bursts.manifest.environments)
    steps = [step.updated(environment=place) if step.index == 1 else step for step in bursts.steps]
    spoilt = collect(StoredRun(bursts.folder, manifest, steps), METRIC_NAMES).spoilt
    assert spoilt == {1: "began and ended on different machines"}


def test_a_run_of_one_load_has_no_repeats(stored_run: Callable[..., Path]) -> None:
    with pytest.raises(LabError, match="is not the run of a sweep"):
        collect(stored.read(stored_run()), METRIC_NAMES)


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFile:
    return read_sweep(write_figures(tmp_path) / "sweeps" / "bursts.yaml")


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("description: Bursts", "# A comment.\ndescription: Floods", True),
        ("repeats: 3", "repeats: 9", True),
        ("repeats: 3", "repeats: 3\nbeside: 2m", True),
        ("vary: {shape.database: [h2], load.users: [1, 16]}", "vary: {load.users: [4]}", True),
        ("warm_up: {min: 5s, max: 5s}", "warm_up: {min: 5s, max: 6s}", False),
        ("workload: iou", "workload: empty", False),
    ],
)
def test_the_digest_follows_what_is_measured(
    sweep: SweepFile, tmp_path: Path, before: str, after: str, is_same: bool
) -> None:
    assert before in SWEEP
    path = tmp_path / "other.yaml"
    path.write_text(SWEEP.replace(before, after), encoding="utf-8")
    assert (digest_of(read_sweep(path)) == digest_of(sweep)) == is_same
