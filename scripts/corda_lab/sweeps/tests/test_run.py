"""What a sweep puts on its labs, in which order, and what becomes of a step that fails, breaks the lab or is invalid.

Docker and the loads are simulated.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import FinalError, LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.report import page
from corda_lab.results import folders, store, stored
from corda_lab.results.manifest import Image
from corda_lab.results.sweep import LeftOut
from corda_lab.steps.reasons import reason
from corda_lab.sweeps import lab
from corda_lab.sweeps.run import StepFailedError, finish, problems_of
from corda_lab.text.redaction import REDACTED
from support.runs import ENVIRONMENT
from support.sweep_loads import (
    GONE,
    SIMULATED,
    Loads,
    begin,
    docker_with,
    heap_exhausted,
    runner_of,
    simulate,
)

HEAD = """\
description: A sweep.
workload: iou
warm_up: {min: 1s, max: 1s}
measure: 4s
"""
BREAKING = f"""\
{HEAD}condition: none
may_break: true
steps:
  - {{name: small, load: {{users: 1}}}}
  - {{name: large, load: {{users: 2}}}}
  - {{name: small again, load: {{users: 4}}}}
"""
REFUSING = BREAKING.replace("may_break: true\n", "")
CONDITIONED = f"""\
{HEAD}vary: {{load.users: [1, 2]}}
repeats: 3
condition: {{load: {{users: 5}}, for: {{min: 10s, max: 20s}}}}
"""
PEAKS = f"""\
{HEAD}repeats: 2
condition: none
steps:
  - {{name: double, load: {{arrivals: poisson, rate: 2 x peak}}}}
  - {{name: few, load: {{users: 1}}}}
  - {{name: knee, peak: true, load: {{users: 8}}}}
"""
REASON = "PartyA ended with exit status 134 (java.lang.OutOfMemoryError: Java heap space)"
SWAPPED = reason("swapped", pages=300)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loads:
    return simulate(tmp_path, monkeypatch)


# Conditioning.


@pytest.mark.parametrize(
    ("fresh", "done"),
    [
        ("repeat", "start condition 1 2 start condition 2 1 start condition 1 2"),
        ("shape", "start condition 1 2 2 1 1 2"),
        ("step", " ".join(f"start condition {users}" for users in (1, 2, 2, 1, 1, 2))),
    ],
)
def test_the_nodes_are_conditioned_after_every_start(tmp_path: Path, loads: Loads, fresh: str, done: str) -> None:
    begin(tmp_path, f"{CONDITIONED}fresh: {fresh}\n").run_missing()
    assert " ".join(loads.done).replace(" users", "") == done
    assert {(one.users, one.total_seconds) for one in loads.options} == {(5, 20)}
    assert loads.options[0].name == "condition-0001"


def test_knobs_of_the_bridge_change_on_running_nodes_which_are_conditioned_once(tmp_path: Path, loads: Loads) -> None:
    text = CONDITIONED.replace("{load.users: [1, 2]}", "{shape.outstanding: [50, 60], load.users: [1, 2]}")
    begin(tmp_path, f"{text.replace('repeats: 3', 'repeats: 2')}fresh: shape\n").run_missing()
    up, down = ["1 users", "2 users"], ["2 users", "1 users"]
    assert loads.done == ["start", "condition", *up, "bridge 60", *up, *down, "bridge 50", *down]


def test_a_bridge_that_does_not_start_leads_to_a_new_lab(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Settings) -> None:
        raise LabError("the bridge did not start", exit_code=1)

    monkeypatch.setattr(lifecycle, "restart_bridge", fail)
    text = CONDITIONED.replace("{load.users: [1, 2]}", "{shape.outstanding: [50, 60]}\nload: {users: 1}")
    begin(tmp_path, f"{text.replace('repeats: 3', 'repeats: 1')}fresh: shape\n").run_missing()
    assert loads.done == ["start", "condition", "1 users", "start", "condition", "1 users"]


def test_a_sweep_that_is_resumed_conditions_the_lab_that_it_starts(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "render", lambda folder: folder)
    runner = begin(tmp_path, CONDITIONED.replace("condition: {", "condition: {workload: cash-issue, "))
    kept = runner.kept
    runner.step(kept.steps[0], "")
    loads.done.clear()
    runner_of(kept).run_missing()
    assert loads.done[:4] == ["start", "condition", "2 users", "start"]
    folder = finish(kept)
    run = stored.read(folder)
    assert [step.index for step in run.steps if step.conditioning] == [1, 2, 3, 5]
    planned = {"workload": "cash-issue", "load": {"users": 5}, "set": {}, "for": {"min": 10.0, "max": 20.0}}
    assert folders.read_json(folder / "run.json")["sweep"]["condition"] == planned
    assert run.manifest.workload_files.keys() == {"iou", "cash-issue"}


def test_a_conditioning_that_fails_is_tried_again_on_a_new_lab(tmp_path: Path, loads: Loads) -> None:
    runner = begin(tmp_path, CONDITIONED)
    loads.conditioning_errors.append(LabError("Flows are still in flight"))
    runner.step(runner.kept.steps[0], "")
    assert loads.done == ["start", "condition", "start", "condition", "1 users"]
    failed, done = runner.kept.attempts(runner.kept.steps[0]).values()
    assert (failed.state, failed.why, done.state) == ("failed", "Flows are still in flight", "done")


# Steps that fail, and steps that the machine made invalid.


@pytest.mark.parametrize(("retries", "attempts"), [(2, 2), (0, 1)])
def test_a_step_that_fails_is_rerun_once_and_then_left_out(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch, retries: int, attempts: int
) -> None:
    monkeypatch.setattr(Compose, "log_tails", lambda *_: "partya-1  | password=hunter22\na warning\n")
    runner = begin(tmp_path, f"{REFUSING}retries: {retries}\n")
    loads.errors = [LabError(GONE, "Look.", exit_code=1)] * 2
    runner.run_missing()
    assert loads.done == ["start", "1 users", *["2 users", "start"] * attempts, "4 users"]
    assert runner.failed == {"step-large_r1": GONE}
    assert [folder.name for folder in runner.kept.done] == ["0001-step-small_r1", "0003-step-small-again_r1"]
    failed = runner.kept.attempts(runner.kept.steps[1])
    assert [folder.name for folder in failed] == ["0002-step-large_r1", "0002-step-large_r1-attempt-2"][:attempts]
    for folder, step in failed.items():
        assert (step.state, step.why, step.rows) == ("failed", f"{GONE}\nLook.", len(SIMULATED))
        logs = (folder / "logs.txt").read_text(encoding="utf-8")
        assert logs == f"partya-1  | password={REDACTED}\na warning\n"
    runner_of(runner.kept).run_missing()
    assert loads.done[-1] == "2 users"


def test_a_step_that_fails_once_is_measured_on_a_fresh_lab(tmp_path: Path, loads: Loads) -> None:
    runner = begin(tmp_path, REFUSING)
    loads.errors = [LabError(GONE, exit_code=1)]
    runner.run_missing()
    assert loads.done == ["start", "1 users", "2 users", "start", "2 users", "4 users"]
    assert runner.failed == {}


def test_what_another_try_does_not_mend_ends_the_sweep(tmp_path: Path, loads: Loads) -> None:
    loads.errors = [FinalError("PartyA has no flow 'Iuo'")]
    with pytest.raises(FinalError, match="no flow"):
        begin(tmp_path, REFUSING).run_missing()
    assert loads.done == ["start", "1 users", "2 users"]


def test_an_image_that_was_built_anew_ends_the_sweep(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = begin(tmp_path, REFUSING)
    runner.step(runner.kept.steps[0], "")
    images = {"partya": Image(name="corda-lab/node:4.10", id="sha256:other")}
    monkeypatch.setattr(lab, "read_environment", lambda _: ENVIRONMENT.model_copy(update={"images": images}))
    with pytest.raises(FinalError, match=r"The image corda-lab/node:4\.10 has changed since earlier steps"):
        runner_of(runner.kept).run_missing()


def test_an_engine_that_gives_no_answer_takes_the_logs_along_and_nothing_else(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object) -> str:
        raise LabError("`docker logs` gave no answer within 120 s")

    monkeypatch.setattr(Compose, "log_tails", hang)
    loads.start_errors = [LabError("partya exited with 134", exit_code=1)]
    runner = begin(tmp_path, REFUSING)
    runner.step(runner.kept.steps[0], "")
    failed = next(iter(runner.kept.attempts(runner.kept.steps[0])))
    assert [path.name for path in failed.iterdir()] == ["step.json"]


def test_after_a_step_that_left_flows_in_flight_the_lab_is_started_anew(tmp_path: Path, loads: Loads) -> None:
    loads.changes = [{"counts.at_rest": False}]
    begin(tmp_path, REFUSING).run_missing()
    assert loads.done == ["start", "1 users", "start", "2 users", "4 users"]


@pytest.mark.parametrize(("times", "is_valid"), [(1, True), (2, True), (3, False)])
def test_a_step_that_the_machine_made_invalid_is_rerun_on_a_fresh_lab(
    tmp_path: Path, loads: Loads, times: int, is_valid: bool
) -> None:
    loads.changes = [{"validity.machine": [SWAPPED]}] * times
    runner = begin(tmp_path, REFUSING)
    step = runner.step(runner.kept.steps[0], "")
    assert (not step.validity.machine) is is_valid
    assert step.measured_again == [SWAPPED] * min(times, 2)
    assert loads.done == ["start", "1 users", *["start", "1 users"] * min(times, 2)]
    assert len(runner.kept.done) == 1


# Steps that end a node.


def test_a_step_that_ends_a_node_is_a_result_and_the_next_one_gets_a_new_lab(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = begin(tmp_path, BREAKING.replace("may_break: true", "repeats: 2").replace("2}", "2}, may_break: true"))
    kept = runner.kept
    for step in kept.steps:
        if step.may_break:
            heap_exhausted(tmp_path, loads, monkeypatch)
        runner.step(step, step.label)
        docker_with(tmp_path, monkeypatch)
    assert loads.done[:5] == ["start", "1 users", "2 users", "start", "4 users"]
    assert runner.failed == {}
    broke = kept.entry(kept.steps[1])
    assert broke is not None
    assert (broke.state, broke.why, broke.validity.valid, broke.label) == ("broke", REASON, True, "large")
    assert broke.requests.ok == len(SIMULATED)
    (folder,) = kept.attempts(kept.steps[1])
    assert {path.name for path in folder.iterdir()} >= {"logs.txt", "requests.parquet", "plan.json"}
    # A sweep that is resumed has it.
    count = len(loads.done)
    runner_of(kept).run_missing()
    assert len(loads.done) == count
    kept.plan.left_out.append(LeftOut(label="huge", reason="this machine has 2 cores"))
    check_report(finish(kept))


def check_report(run_folder: Path) -> None:
    """It shows the point that broke, and the one that was left out."""
    run = stored.read(run_folder)
    assert problems_of(run) == []
    assert [step.state for step in run.steps] == ["done", "broke", "done", "done", "broke", "done"]
    assert run.table("requests").filter(pl.col("step") == 2).height == len(SIMULATED)
    text = (run_folder / "report.html").read_text(encoding="utf-8")
    for words in (
        f"large broke in 2 of 2 repeats: {REASON}.",
        "huge was left out, because this machine cannot have it: this machine has 2 cores.",
        "every step is valid, 2 of them broke",
    ):
        assert words in text
    summary = json.loads((run_folder / "summary.json").read_text(encoding="utf-8"))
    (large,) = (point for point in summary["points"] if point["label"] == "large")
    assert large["steps_broke"] == {"2": REASON, "5": REASON}
    assert large["values"]["throughput"]["value"] is None


def test_a_step_that_was_measured_breaks_too_if_a_node_ended_under_it(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = begin(tmp_path, BREAKING)
    docker_with(tmp_path, monkeypatch, log="Exception: java.lang.OutOfMemoryError: Java heap space")
    step = runner.step(runner.kept.steps[0], "")
    assert step.why == "PartyA exhausted its heap (java.lang.OutOfMemoryError: Java heap space)"
    assert (step.state, step.counts.at_rest, loads.done) == ("broke", False, ["start", "1 users"])


@pytest.mark.parametrize("may_break", [True, False])
def test_a_load_after_which_the_lab_is_not_at_rest_breaks_it_if_it_may(
    tmp_path: Path, loads: Loads, may_break: bool
) -> None:
    overloaded = {"load.arrivals": "poisson", "resolved.unknown": 300, "counts.at_rest": False}
    loads.changes = [{**overloaded, "validity.valid": False}]
    runner = begin(tmp_path, BREAKING if may_break else REFUSING)
    step = runner.step(runner.kept.steps[0], "")
    assert (step.state, step.validity.valid) == (("broke", True) if may_break else ("done", False))
    assert step.why.startswith("the lab was not at rest") == may_break


@pytest.mark.parametrize(
    ("load", "nodes"),
    [("", "PartyA"), (", node: PartyB", "PartyB"), (", nodes: [partyb, PartyA]", "PartyB, PartyA")],
)
def test_a_node_that_ends_at_the_start_of_the_lab_is_a_result_without_rows(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch, load: str, nodes: str
) -> None:
    runner = begin(tmp_path, BREAKING.replace("{users: 1}", f"{{users: 1{load}}}"))
    loads.start_errors = [LabError("partya exited with 134", exit_code=1)]
    docker_with(tmp_path, monkeypatch, state="exited")
    step = runner.step(runner.kept.steps[0], "")
    assert (step.why, step.requests.total, step.node) == ("PartyA ended with exit status 134", 0, nodes)
    assert stored.read(runner.kept.folder).table("requests").height == 0
    assert loads.done == ["start"]
    assert runner.kept.entry(runner.kept.steps[0]) == step


def test_a_node_that_ends_while_it_is_conditioned_is_a_result_without_the_rows_of_that_load(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads.conditioning_errors = [LabError(GONE, exit_code=1)]
    runner = begin(tmp_path, BREAKING.replace("condition: none", "condition: {load: {users: 5}}"))
    docker_with(tmp_path, monkeypatch, state="exited")
    step = runner.step(runner.kept.steps[0], "")
    assert step.why == "PartyA ended with exit status 134, while the nodes were conditioned"
    assert (step.load.users, step.requests.total) == (1, 0)
    assert stored.read(runner.kept.folder).table("requests").height == 0
    assert loads.done == ["start", "condition"]
    assert store.count_rows(runner.kept.folder / "steps" / "0001-condition") == len(SIMULATED), "its rows are kept"


@pytest.mark.parametrize(("text", "state"), [(BREAKING, "running"), (REFUSING, "exited")])
def test_a_failure_is_a_failure_if_no_node_ended_or_none_may(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch, text: str, state: str
) -> None:
    runner = begin(tmp_path, text)
    docker_with(tmp_path, monkeypatch, state=state)
    loads.errors = [LabError(GONE, exit_code=1)] * 2
    with pytest.raises(StepFailedError):
        runner.step(runner.kept.steps[1], "")
    assert loads.done == ["start", "2 users", "start", "2 users"]
    assert runner.kept.done == []


def test_a_step_with_wrong_counts_names_the_node_that_ended(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = begin(tmp_path, REFUSING)
    loads.changes = [{"validity.valid": False}] * 2
    docker_with(tmp_path, monkeypatch, state="exited", log="java.lang.OutOfMemoryError: Java heap space")
    with pytest.raises(StepFailedError):
        runner.step(runner.kept.steps[1], "")
    remedy = "Give the nodes more in shape.heap or shape.memory, or say may_break: true."
    reasons = [attempt.why for attempt in runner.kept.attempts(runner.kept.steps[1]).values()]
    assert reasons == [f"{REASON}\n{remedy}"] * 2


# Multiples of the peak.


def test_the_rate_is_a_multiple_of_the_peak_of_its_repeat_also_if_the_sweep_is_resumed(
    tmp_path: Path, loads: Loads
) -> None:
    runner = begin(tmp_path, PEAKS)
    loads.throughputs([8.43])
    runner.step(runner.kept.steps[0], "")
    loads.throughputs([1.0, 99.0, 7.0, 99.0, 1.0])
    runner_of(runner.kept).run_missing()
    assert loads.rates == [None, 16.86, None, None, None, 14.0]
    entries = [runner.kept.entry(step) for step in runner.kept.steps]
    assert [entry and entry.label for entry in entries] == ["knee", "double", "few", "knee", "few", "double"]


def test_a_multiple_waits_for_a_step_that_failed(tmp_path: Path, loads: Loads) -> None:
    runner = begin(tmp_path, PEAKS)
    knee, double, few = runner.kept.steps[:3]
    runner.step(few, "")
    with pytest.raises(StepFailedError):
        runner.step(double, "")
    assert runner.failed == {double.key: "the peak of repeat 1 is not known: knee not measured yet"}
    assert len(loads.done) == 2
    runner.step(knee, "")
    assert runner.step(double, "").label == "double"


def test_a_peak_of_steps_that_are_invalid_or_broke_is_not_known(tmp_path: Path, loads: Loads) -> None:
    runner = begin(tmp_path, PEAKS)
    knee, double = runner.kept.steps[:2]
    broke: dict[str, Any] = {"state": "broke", "why": "PartyA ended with exit status 1"}
    measured = runner.measure(knee)
    store.keep(runner.kept.new_step(knee), measured.with_step(measured.step.updated(**broke)))
    with pytest.raises(StepFailedError):
        runner.step(double, "")
    assert "no valid step shows a throughput" in runner.failed[double.key]
