"""What stands in the lines of ``lab list``."""

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from corda_lab.analysis import listing, points
from corda_lab.analysis.listing import DamagedRun, RunSummary
from corda_lab.cli import listing as verb
from corda_lab.cli import results as reports
from corda_lab.errors import LabError
from corda_lab.results import evidence, folders, stored
from corda_lab.runs import by_hand
from corda_lab.runs.by_hand import HandLoads
from lab_workload.by_hand import REMOVED_FILE, RemovedLoad, RemovedLoads
from support import simulation
from support.by_hand import IDENTITY, noted, steady
from support.sweeps import SimulatedSweep, store_sweep


@pytest.fixture(autouse=True)
def loads(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The files about loads by hand in the lab: none, unless a test adds some."""
    texts: dict[str, str] = {}

    def here() -> HandLoads:
        return by_hand.read_loads(texts, None)

    monkeypatch.setattr(by_hand, "here", here)
    return texts


def only(results_folder: Path) -> RunSummary:
    """The line of the only run."""
    (found,) = listing.summaries(results_folder=results_folder)
    assert isinstance(found, RunSummary)
    return found


def shown(table: Table) -> str:
    """A table as it is printed."""
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()


def test_a_sweep_is_listed_with_its_best_point_and_not_its_best_step(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}))
    steps = folders.read_json(folder / "steps.json")["steps"]
    steps[0]["throughput_per_second"] *= 1.5
    folders.write_json(folder / "steps.json", {"schema": folders.SCHEMA, "steps": steps})
    found = only(tmp_path)
    best = points.best(points.points(stored.read(folder)))
    assert best is not None
    assert (found.label, found.throughput_per_second) == ("8 users", best.estimate("throughput").value)


def test_a_search_is_listed_with_the_rates_that_it_confirmed(tmp_path: Path) -> None:
    databases = SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}, x=None)
    folder = store_sweep(tmp_path, databases, find_max=True)
    found = only(tmp_path)
    search = stored.read(folder).sweep
    assert found.rates_confirmed_per_second == {label: outcome.rate for label, outcome in search.outcomes.items()}
    rates = ", ".join(f"{outcome.rate:g}/s" for outcome in search.outcomes.values())
    assert verb._load_words(found) == f"highest: {rates}"


def test_a_run_of_bursts_is_listed_with_their_size(stored_burst_run: Callable[..., Path]) -> None:
    found = only(stored_burst_run().parent)
    assert verb._load_words(found) == "burst of 20"


def test_the_values_of_a_run_without_a_valid_step_are_shown_and_marked(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    content = folders.read_json(run / "steps.json")
    content["steps"][0]["validity"]["valid"] = False
    folders.write_json(run / "steps.json", content)
    found = only(run.parent)
    assert (found.valid, found.throughput_per_second) == (False, content["steps"][0]["throughput_per_second"])
    assert f"{found.throughput_per_second:.2f}*" in shown(verb._table_of_runs([found]))


def test_a_run_without_a_valid_step_has_no_values(tmp_path: Path) -> None:
    store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, repeats=1, invalid=[1]))
    found = only(tmp_path)
    assert (found.throughput_per_second, found.p50_ms, found.label) == (None, None, None)
    assert verb._load_words(found) == "no valid step"


def test_open_load_is_listed_with_its_latency_from_the_intended_start(stored_open_run: Callable[..., Path]) -> None:
    run = stored_open_run(rate=20, service_seconds=0.1, pool=5)
    step = stored.read(run).steps[0]
    found = only(run.parent)
    assert found.p99_ms == step.latency_intended_ms.p99 != step.latency_ms.p99


CURRENT, OLD = f'{{"schema": {folders.SCHEMA}, "steps": ', f'{{"schema": {folders.SCHEMA - 1}, "steps": '


@pytest.mark.parametrize("text", ["{", CURRENT + "[]}", CURRENT + "5}", OLD + "[{}]}", CURRENT + "[{}]}"])
def test_a_damaged_run_is_marked_and_hides_no_other(stored_run: Callable[..., Path], text: str) -> None:
    run = stored_run()
    broken = run.parent / "20260101T000000Z-broken"
    broken.mkdir()
    (broken / "run.json").write_text((run / "run.json").read_text(encoding="utf-8"), encoding="utf-8")
    (broken / "steps.json").write_text(text, encoding="utf-8")
    first, second = listing.summaries(results_folder=run.parent)
    assert isinstance(first, DamagedRun)
    assert first.damaged
    assert second.run == run.name
    assert verb._table_of_runs([first, second]).row_count == 2


def beside(run: Path) -> Path:
    """A copy of a run, which a test damages."""
    return shutil.copytree(run, run.parent / "20260101T000000Z-broken")


def delete_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def put_a_folder(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()


def nest_deeply(folder: Path) -> None:
    (folder / "steps.json").write_text("[" * 100_000, encoding="utf-8")


def cut_off(folder: Path) -> None:
    content = (folder / "steps.json").read_bytes()
    (folder / "steps.json").write_bytes(content[: len(content) // 2])


def name_in_brackets(folder: Path) -> None:
    content = folders.read_json(folder / "run.json")
    content["environments"][0]["shape"]["[/red]"] = 5
    folders.write_json(folder / "run.json", content)


@pytest.mark.parametrize("damage", [delete_all, put_a_folder, nest_deeply, cut_off, name_in_brackets])
def test_a_damaged_folder_is_named_and_skipped(
    stored_run: Callable[..., Path],
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = stored_run()
    monkeypatch.setattr(folders, "RESULTS", run.parent)
    broken = beside(run)
    damage(broken)
    verb.list_runs()
    said = capsys.readouterr().out
    assert re.search(rf"{broken.name} +cannot be read", said)
    assert re.search(rf"{run.name} +run ", said)


def test_values_that_contradict_each_other_hide_no_run(
    stored_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run()
    broken = beside(run)
    summary = listing.summary

    def failing(found: stored.StoredRun) -> RunSummary:
        if found.folder == broken:
            raise ZeroDivisionError("no step has a weight")
        return summary(found)

    monkeypatch.setattr(listing, "summary", failing)
    first, second = listing.summaries(results_folder=run.parent)
    assert isinstance(first, DamagedRun)
    assert "ZeroDivisionError: no step has a weight" in first.damaged
    assert second.run == run.name


def test_the_latest_run_is_the_newest_that_can_be_read(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    newer = shutil.copytree(run, run.parent / "20270101T000000Z-newer")
    folders.point_latest(newer)
    cut_off(newer)
    assert folders.find_run("latest", results=run.parent) == run
    assert f"skipped a damaged run: {newer / 'steps.json'}" in capsys.readouterr().out


def test_an_unfinished_folder_of_another_form_hides_no_run(
    stored_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    monkeypatch.setattr(folders, "RESULTS", run.parent)
    unfinished = folders.unfinished_folder()
    (unfinished / "20260101T000000Z-sweep").mkdir(parents=True)
    (unfinished / "20260101T000000Z-sweep" / "steps").write_text("no folder", encoding="utf-8")
    (unfinished / "20260101T000001Z-file").write_text("no folder", encoding="utf-8")
    (unfinished / "20260101T000002Z-run" / "rows").mkdir(parents=True)
    (unfinished / "20260101T000002Z-run" / evidence.END).write_bytes(b"\xff\xfe")
    verb.list_runs()
    said = capsys.readouterr().out
    assert re.search(rf"{run.name} +run ", said)
    assert "unfinished: 20260101T000000Z-sweep, cannot be resumed: " in said
    assert "interrupted: 20260101T000002Z-run, " in said
    assert "20260101T000001Z-file" not in said


def plan_text(schema: int) -> str:
    return f'{{"schema": {schema}, "steps": [1, 2]}}'


@pytest.mark.parametrize(
    ("text", "damaged"),
    [
        (plan_text(folders.SCHEMA), None),
        (plan_text(folders.SCHEMA - 1), "was started by another version of the lab"),
        ("{", "cannot be read"),
        (None, "cannot be read"),
        (f'{{"schema": {folders.SCHEMA}, "steps": 5}}', "steps: is not a list"),
    ],
)
def test_a_damaged_unfinished_sweep_is_marked_and_hides_no_run(
    stored_run: Callable[..., Path], text: str | None, damaged: str | None
) -> None:
    run = stored_run()
    sweep = run.parent / folders.UNFINISHED / "20260101T000000Z-sweep"
    (sweep / "steps" / "0001-first").mkdir(parents=True)
    if text is not None:
        (sweep / "plan.json").write_text(text, encoding="utf-8")
    assert len(listing.summaries(results_folder=run.parent)) == 1
    (found,) = folders.unfinished(results=run.parent)
    assert (found.run, found.steps) == (sweep.name, 1)
    assert (found.damaged is None) == (damaged is None)
    assert damaged is None or damaged in (found.damaged or "")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("environment", 7, "has no environment 7 of step 1"),
        ("flags", [{"code": "swapped", "values": {}}], "the values of 'swapped' do not fit its sentence"),
        ("flags", [{"code": "swapped", "values": {"pages": "x"}}], "the values of 'swapped' do not fit its sentence"),
    ],
)
def test_a_step_that_contradicts_the_run_is_an_error_with_its_folder(
    stored_run: Callable[..., Path], field: str, value: object, message: str
) -> None:
    run = stored_run()
    content = folders.read_json(run / "steps.json")
    content["steps"][0][field] = value
    folders.write_json(run / "steps.json", content)
    with pytest.raises(LabError, match=message) as caught:
        stored.read(run)
    assert str(run) in caught.value.message


def test_runs_without_results_are_listed_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    unfinished = folders.unfinished_folder()
    names = ("failed", "interrupted", "killed", "running")
    for second, name in enumerate(names):
        (unfinished / f"20260102T03040{second}Z-{name}" / "rows").mkdir(parents=True)
    found = {folders.name_of(path.name): path for path in unfinished.iterdir()}
    evidence.end(found["failed"], "failed", "The bridge is gone", rows=1)
    evidence.end(found["interrupted"], "interrupted", evidence.INTERRUPTED, rows=0)
    with folders.in_progress(found["running"]):
        verb.list_runs()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "failed: 20260102T030400Z-failed, The bridge is gone; 1 row; see `scripts/lab report 20260102T030400Z-failed`",
        (
            "interrupted: 20260102T030401Z-interrupted, it was interrupted; 0 rows;"
            " see `scripts/lab report 20260102T030401Z-interrupted`"
        ),
        (
            "interrupted: 20260102T030402Z-killed, its command was killed, or the machine went down;"
            " its rows may still be in the lab's volume; see `scripts/lab report 20260102T030402Z-killed`"
        ),
        "in progress: 20260102T030403Z-running",
    ]
    reports.report("failed")
    said = capsys.readouterr().out
    assert "20260102T030400Z-failed has no results" in said
    assert "The bridge is gone" in said
    assert "missing" in said


def with_loads(loads: dict[str, str]) -> None:
    """Let the lab have a load by hand that has ended, one of an earlier version, and one that was removed."""
    load, end = noted([steady(4)]), simulation.end_words(simulation.closed_rows(4, 5, simulation.fixed(0.1)), 4, 5)
    removed = RemovedLoads([RemovedLoad("web-20231113T000000Z", "iou", 1200, 5.0)])
    loads[f"{IDENTITY}.load.json"] = json.dumps(load.as_dict())
    loads[f"{IDENTITY}.end.json"] = json.dumps(end.as_dict())
    loads[f"{IDENTITY}.ndjson"] = "1234\n"
    loads["web-20231114T230000Z.ndjson"] = "7\n"
    loads[REMOVED_FILE] = json.dumps(removed.as_dict())


def test_loads_of_the_web_ui_without_a_run_are_listed_last_and_marked(
    loads: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    with_loads(loads)

    verb.list_runs()

    first, _, newest, older, removed = capsys.readouterr().out.splitlines()
    assert first.startswith("Started in the Locust web UI, without a run; make one with `scripts/lab report web-ui")
    assert newest.split()[:2] == ["1", "web-20231114T230000Z"]
    assert newest.rstrip().endswith("cut off")
    assert older.split() == ["2", IDENTITY, "2023-11-14T22:13:20+00:00", "iou", "4", "1,234", "ready"]
    assert removed.startswith("removed to make room: 1 load of the web UI, the last web-20231113T000000Z (iou, 1,200")


def test_loads_of_the_web_ui_are_in_the_json_too(
    loads: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    with_loads(loads)

    verb.list_runs(as_json=True)

    newest, older = json.loads(capsys.readouterr().out)
    assert (newest["kind"], newest["state"], newest["workload"]) == ("web UI", "cut off", None)
    assert (older["run"], older["number"], older["users"], older["requests"]) == (IDENTITY, 2, 4, 1234)
