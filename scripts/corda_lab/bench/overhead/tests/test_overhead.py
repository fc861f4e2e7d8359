"""The cost of the lab's own parts: blocks, pairs, the smallest loss that could be seen, and the stored file."""

import math
from pathlib import Path

import pytest

from corda_lab.bench import report
from corda_lab.bench.file import store
from corda_lab.bench.overhead import command, effect, show
from corda_lab.bench.overhead.measure import load_of, problem_of
from corda_lab.bench.overhead.measurement import (
    SUBJECTS,
    OverheadBench,
    OverheadMeasurement,
    State,
    Switchable,
)
from corda_lab.bench.peers.compare import Estimate
from corda_lab.errors import LabError
from corda_lab.results.folders import read_model
from corda_lab.steps.entry import CalibrationEntry
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import LoadPart, RunPlan, Subject
from corda_lab.workloads.resolve import read_workload
from support.entries import run_end
from support.runs import ENVIRONMENT

BLOCKS = 3
FACTORS = {"recording": 1.0, "monitoring": 0.98, "stages": 1.0, "everything": 0.97}
"""Flows/s with a part on ÷ flows/s with it off."""


def measurement(
    subject: Switchable, state: State, block: int, place: int, *, rate: float = 10.0, **more: object
) -> OverheadMeasurement:
    """A measurement of 30 s without any trouble."""
    is_on = state == "on"
    fields = {
        "subject": subject,
        "state": state,
        "block": block,
        "place": place,
        "window_started_at": 1_700_000_000.0 + 100 * block + place,
        "window_seconds": 30.0,
        "flows": round(30 * rate),
        "flows_per_second": rate,
        "rows": 300 if is_on else 0,
        "scrapes": 40 if is_on else 0,
        "stage_rows": 600 if is_on else 0,
    }
    return OverheadMeasurement.model_validate(fields | more)


def bench(**more: object) -> OverheadBench:
    """Three blocks on a machine that becomes 1 % slower from one measurement to the next."""
    measured = []
    for block in range(1, BLOCKS + 1):
        for begun in command.measurements_of(block, SUBJECTS):
            factor = FACTORS[begun.subject] if begun.state == "on" else 1.0
            rate = 10.0 * factor * 0.99 ** (4 * block + begun.place)
            measured.append(measurement(begun.subject, begun.state, block, begun.place, rate=rate))
    fields = {
        "id": "20260102T030405Z-overhead",
        "lab_version": "0.3",
        "workload": "iou",
        "node": "PartyA",
        "users": 20,
        "seed": 1,
        "subjects": SUBJECTS,
        "blocks": BLOCKS,
        "warm_up_seconds": 10,
        "duration_seconds": 30,
        "environment": ENVIRONMENT,
        "measurements": tuple(measured),
    }
    return OverheadBench.model_validate(fields | more)


def with_changed(whole: OverheadBench, subject: Switchable, block: int, place: int, **changes: object) -> OverheadBench:
    """The bench with one changed measurement."""
    measured = tuple(
        each.model_copy(update=changes) if (each.subject, each.block, each.place) == (subject, block, place) else each
        for each in whole.measurements
    )
    return whole.model_copy(update={"measurements": measured})


@pytest.mark.parametrize("block", [1, 2])
def test_in_every_block_both_states_have_the_same_mean_place(block: int) -> None:
    places: dict[State, list[int]] = {"on": [], "off": []}
    for place, state in enumerate(command.order_of(block)):
        places[state].append(place)
    assert sum(places["on"]) == sum(places["off"])
    assert len(places["on"]) == len(places["off"]) == 2


def test_every_second_block_is_mirrored() -> None:
    assert command.order_of(1) == ("on", "off", "off", "on")
    assert command.order_of(2) == ("off", "on", "on", "off")
    assert command.order_of(3) == command.order_of(1)


def test_a_pair_is_two_neighbours_in_a_block_of_which_one_is_on() -> None:
    pairs: dict[tuple[Switchable, int], list[OverheadMeasurement]] = {}
    for each in bench().measurements:
        pairs.setdefault((each.subject, each.pair), []).append(each)
    assert len(pairs) == len(SUBJECTS) * BLOCKS * 2
    for first, second in pairs.values():
        assert first.block == second.block
        assert second.place == first.place + 1
        assert {first.state, second.state} == {"on", "off"}


def test_every_subject_is_first_in_turn() -> None:
    firsts = [next(command.measurements_of(block, SUBJECTS)).subject for block in range(1, 5)]
    assert sorted(firsts) == sorted(SUBJECTS)


def test_a_machine_that_becomes_slower_does_not_change_the_ratio() -> None:
    for subject in SUBJECTS:
        found = effect.ratio(bench(), subject)
        assert found is not None
        assert found.value == pytest.approx(FACTORS[subject])
        assert found.pairs == 2 * BLOCKS


def test_a_pair_with_a_failed_measurement_is_left_out() -> None:
    failed = with_changed(bench(), "monitoring", 2, 3, problem="the bridge was restarted", flows_per_second=0.1)
    found = effect.ratio(failed, "monitoring")
    assert found is not None
    assert found.pairs == 2 * BLOCKS - 1
    # Without one pair, the order of the rest is no longer balanced, but the failed value has no influence.
    assert found.value == pytest.approx(0.98, rel=0.01)
    assert list(show.problem_lines(failed)) == ["block 2, place 3, monitoring on: the bridge was restarted"]


def test_a_subject_that_never_succeeds_has_no_ratio() -> None:
    failed = tuple(
        each.model_copy(update={"problem": "no"}) if each.subject == "stages" else each for each in bench().measurements
    )
    assert effect.ratio(bench(measurements=failed), "stages") is None
    row = next(row for row in show.rows(bench(measurements=failed)) if row[0] == "stage timing")
    assert row[1:] == ("–", "–", "–", "0", "nothing was measured")


def test_the_smallest_loss_that_could_be_seen_just_excludes_a_ratio_of_one() -> None:
    half = 0.02
    seen = Estimate(1.0, math.exp(-half), math.exp(half), 6)
    smallest = effect.smallest_loss_percent(seen)
    assert smallest == pytest.approx(100 * (1 - math.exp(-half)))
    assert smallest is not None
    # With that loss and the same scatter, the interval ends at 1.
    assert (1 - smallest / 100) * math.exp(half) == pytest.approx(1.0)
    assert effect.smallest_loss_percent(Estimate(1.0, None, None, 1)) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Estimate(0.979, 0.968, 0.99, 6), "costs 2.1 % (1.0 to 3.2 %)"),
        (Estimate(0.995, 0.977, 1.013, 6), "no loss seen; the smallest loss that could be seen is 1.8 %"),
        (
            Estimate(1.03, 1.01, 1.05, 6),
            "no loss: throughput was higher with it on; the smallest loss that could be seen is 1.9 %",
        ),
        (Estimate(0.9, None, None, 1), "a single pair does not show a loss"),
        (None, "nothing was measured"),
    ],
)
def test_says_only_what_the_pairs_show(found: Estimate | None, words: str) -> None:
    assert effect.in_words(found) == words


@pytest.mark.parametrize(
    ("factor", "noise", "verdict"), [(1.0, 0.001, "met"), (0.9, 0.001, "missed"), (0.98, 0.1, "cannot be told")]
)
def test_judges_the_promise_about_everything_together(factor: float, noise: float, verdict: str) -> None:
    measured = []
    for block in range(1, BLOCKS + 1):
        for begun in command.measurements_of(block, ("everything",)):
            rate = 10 * (factor if begun.state == "on" else 1.0) * (1 + noise * ((7 * begun.place + block) % 5 - 2))
            measured.append(measurement("everything", begun.state, block, begun.place, rate=rate))
    (check,) = effect.checks(bench(subjects=("everything",), measurements=tuple(measured)))
    assert check.verdict == verdict
    assert effect.checks(bench(subjects=("recording",))) == []


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        (None, SUBJECTS),
        ("stages, recording", ("recording", "stages")),
        ("everything", ("everything",)),
    ],
)
def test_reads_what_to_switch(text: str | None, subjects: tuple[Switchable, ...]) -> None:
    assert command.read_subjects(text) == subjects


@pytest.mark.parametrize("text", ["", "rows", "recording,", "recording;stages"])
def test_an_unknown_part_is_one_clear_error(text: str) -> None:
    with pytest.raises(LabError, match="--only") as caught:
        command.read_subjects(text)
    assert "recording, monitoring, stages and everything" in caught.value.remedy


@pytest.mark.parametrize(
    ("subject", "state", "changes", "problem"),
    [
        ("everything", "on", {}, None),
        ("everything", "off", {}, None),
        ("recording", "off", {"scrapes": 40, "stage_rows": 600}, None),
        ("recording", "off", {"rows": 7}, "recording was not off: there were 7 rows"),
        ("monitoring", "off", {"scrapes": 2}, "monitoring was not off: there were 2 scrapes"),
        ("monitoring", "on", {"scrapes": 0}, "monitoring was not on: there were no scrapes"),
        ("stages", "off", {"stage_rows": 1}, "stages was not off: there were 1 stage rows"),
        ("everything", "on", {"stage_rows": 0}, "stages was not on: there were no stage rows"),
        # A workload of other flows has no stage rows. That matters only where they are switched.
        ("recording", "on", {"stage_rows": 0}, None),
    ],
)
def test_a_part_in_the_wrong_state_is_a_failed_measurement(
    subject: Switchable, state: State, changes: dict[str, object], problem: str | None
) -> None:
    measured = measurement(subject, state, 1, 1).model_copy(update=changes)
    assert problem_of(measured, run_end()) == problem


def test_a_failed_request_is_a_failed_measurement() -> None:
    end = run_end(requests=10, outcomes={"ok": 7, "expected": 0, "failed": 2, "unknown": 1})
    measured = measurement("recording", "on", 1, 1)
    assert problem_of(measured, end) == "3 of 10 requests failed or had an unknown outcome"


def test_the_load_of_a_measurement_outlasts_its_window_and_writes_rows_only_if_recording_is_on() -> None:
    part = LoadPart("iou", "org.cordalab.flows.Iou", "Iou", "PartyB")
    options = LoadOptions("iou", duration_seconds=30, warm_up_seconds=10)
    plan = RunPlan("20260102T030405Z-iou", options, read_workload("iou"), Subject("PartyA", (part,)), 60)
    off = load_of(plan, measurement("everything", "off", 2, 1))
    on = load_of(plan, measurement("everything", "on", 2, 2))
    assert off.options.total_seconds > options.total_seconds
    assert off.driver_arguments()[-3:] == ["--recording", "none", "--hold"]
    assert "--recording" not in on.driver_arguments()
    assert off.identity != on.identity


def test_warnings_of_the_machine_are_counted_by_kind() -> None:
    warm = CalibrationEntry(work="zlib", before={0: 1.0}, after={0: 1.5})
    whole = with_changed(bench(), "stages", 1, 1, host_stolen_percent=12.0)
    whole = with_changed(whole, "stages", 1, 2, host_stolen_percent=20.0, host_swapped_pages=9000)
    whole = with_changed(whole, "stages", 1, 3, host_stolen_percent=1.0, calibration=warm)
    assert list(show.warning_lines(whole)) == [
        "2 of 48 measurements: CPU steal was 12 to 20 % (other VMs on this host)",
        "1 of 48 measurements: the host swapped 9,000 pages during the measuring window",
        "1 of 48 measurements: the CPU slowed down: the same work took 1.50 times as long after the load as before it",
    ]


def test_prints_every_value_once(capsys: pytest.CaptureFixture[str]) -> None:
    show.results(with_changed(bench(), "recording", 1, 1, problem="it failed", host_stolen_percent=50.0))
    printed = capsys.readouterr().out
    for words in ("stage timing", "all three", "0.980 (0.9", "it failed", "CPU steal", "cannot be told"):
        assert printed.count(words) >= 1, words


def test_the_stored_file_reads_back_and_a_damaged_one_names_the_field(tmp_path: Path) -> None:
    path = store(bench(), tmp_path)
    assert path.name == "20260102T030405Z-overhead.json"
    assert read_model(path, OverheadBench) == bench()
    path.write_text(path.read_text(encoding="utf-8").replace('"blocks"', '"rounds"'), encoding="utf-8")
    with pytest.raises(LabError, match="blocks"):
        read_model(path, OverheadBench)


def test_the_document_has_a_section_for_the_file(tmp_path: Path) -> None:
    changed = with_changed(bench(), "stages", 1, 1, problem="it failed", host_stolen_percent=12.0)
    report.write([store(changed, tmp_path)], tmp_path / "performance.md")
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "## Recording, monitoring and stage timing" in text
    assert "### iou, 20 in flight (20260102T030405Z-overhead)" in text
    assert "| monitoring |" in text
    assert "- block 1, place 1, stage timing on: it failed" in text
    assert "- 1 of 48 measurements: CPU steal was 12 % (other VMs on this host)" in text
    assert "| flows/s with recording, monitoring and stage timing ÷ flows/s without them | ≥ 0.97 |" in text
