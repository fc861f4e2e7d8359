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
from corda_lab.results import folders, store, stored
from corda_lab.results.stored import StepFile
from corda_lab.runs import by_hand
from corda_lab.runs.by_hand import HandLoad
from support import simulation
from support.by_hand import IDENTITY, plan
from support.runs import change_steps, step_file, steps_of
from support.sweeps import SimulatedSweep, store_sweep


@pytest.fixture(autouse=True)
def loads(monkeypatch: pytest.MonkeyPatch) -> list[HandLoad]:
    """The loads by hand in the lab: none, unless a test adds some."""
    found: list[HandLoad] = []
    monkeypatch.setattr(by_hand, "here", lambda: found)
    return found


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
    first = folders.read_object(step_file(folder))
    folders.write_json(step_file(folder), first | {"throughput_per_second": 1.5 * first["throughput_per_second"]})
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
    change_steps(run, lambda step: step["validity"].update(valid=False))
    (content,) = steps_of(run)
    found = only(run.parent)
    assert (found.valid, found.throughput_per_second) == (False, content["throughput_per_second"])
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


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"index": 1, "key": "run", "state": "done"}'])
def test_a_damaged_run_is_marked_and_hides_no_other(stored_run: Callable[..., Path], text: str) -> None:
    run = stored_run()
    step_file(beside(run)).write_text(text, encoding="utf-8")
    first, second = listing.summaries(results_folder=run.parent)
    assert isinstance(first, DamagedRun)
    assert first.damaged
    assert second.run == run.name
    assert verb._table_of_runs([first, second]).row_count == 2


def beside(run: Path) -> Path:
    """A copy of a run, which a test damages."""
    return shutil.copytree(run, run.parent / "20260101T000000Z-broken")


def delete_all(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def put_a_folder(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()


def nest_deeply(folder: Path) -> None:
    step_file(folder).write_text("[" * 100_000, encoding="utf-8")


def cut_off(folder: Path) -> None:
    content = step_file(folder).read_bytes()
    step_file(folder).write_bytes(content[: len(content) // 2])


def name_in_brackets(folder: Path) -> None:
    path = step_file(folder).with_name("environment.json")
    content = folders.read_json(path)
    content["shape"]["[/red]"] = 5
    folders.write_json(path, content)


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
    assert f"skipped a damaged run: {step_file(newer)}" in capsys.readouterr().out


@pytest.mark.parametrize("damage", [nest_deeply, cut_off, name_in_brackets])
def test_a_damaged_unfinished_run_is_marked_and_hides_no_run(
    stored_run: Callable[..., Path],
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = stored_run()
    monkeypatch.setattr(folders, "RESULTS", run.parent)
    broken = beside(run)
    folders.write_json(broken / "run.json", {**folders.read_object(broken / "run.json"), "finished_at": None})
    damage(broken)
    verb.list_runs()
    said = capsys.readouterr().out
    assert f"interrupted: {broken.name}, " in said
    assert re.search(rf"{run.name} +run ", said)


def test_an_unfinished_run_of_another_version_says_so(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    content = {**folders.read_object(run / "run.json"), "finished_at": None, "schema": folders.SCHEMA - 1}
    folders.write_json(run / "run.json", content)
    (line,) = stored.unfinished(results=run.parent)
    assert "by another version of the lab" in (line.damaged or "")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("flags", [{"code": "swapped", "values": {}}], "the values of 'swapped' do not fit its sentence"),
        ("flags", [{"code": "swapped", "values": {"pages": "x"}}], "the values of 'swapped' do not fit its sentence"),
    ],
)
def test_a_step_that_contradicts_the_run_is_an_error_with_its_folder(
    stored_run: Callable[..., Path], field: str, value: object, message: str
) -> None:
    run = stored_run()
    change_steps(run, lambda step: step.update({field: value}))
    with pytest.raises(LabError, match=message) as caught:
        stored.read(run)
    assert str(run) in caught.value.message


def test_runs_without_results_are_listed_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    begun = {}
    for second, name in enumerate(("failed", "interrupted", "killed", "running")):
        begun[name] = store.begin(store.manifest(f"20260102T03040{second}Z-{name}"))
    for name, why, rows in (("failed", "The bridge is gone", 1), ("interrupted", stored.INTERRUPTED, 0)):
        step = StepFile.model_validate({"index": 1, "key": "run", "state": name, "why": why, "rows": rows})
        store.end_step(store.new_step(begun[name], 1, "run"), step)
    with folders.in_progress(begun["running"]):
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


def with_loads(loads: list[HandLoad]) -> None:
    """Let the lab have a load by hand that has ended, and a later one with a damaged plan."""
    end = simulation.end_words(simulation.closed_rows(4, 5, simulation.fixed(0.1)), 4, 5)
    loads += [HandLoad("web-20231114T230000Z", None, None, 7), HandLoad(IDENTITY, plan(), end, 1234)]


def test_loads_of_the_web_ui_without_a_run_are_listed_last_and_marked(
    loads: list[HandLoad], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    with_loads(loads)

    verb.list_runs()

    first, _, newest, older = capsys.readouterr().out.splitlines()
    assert first.startswith("Started in the Locust web UI, without a run; make one with `scripts/lab report web-ui")
    assert newest.split()[:2] == ["1", "web-20231114T230000Z"]
    assert newest.rstrip().endswith("cut off")
    assert older.split() == ["2", IDENTITY, "2023-11-14T22:13:20+00:00", "iou", "4", "1,234", "ready"]


def test_loads_of_the_web_ui_are_in_the_json_too(
    loads: list[HandLoad], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    with_loads(loads)

    verb.list_runs(as_json=True)

    newest, older = json.loads(capsys.readouterr().out)
    assert (newest["kind"], newest["state"], newest["workload"]) == ("web UI", "cut off", None)
    assert (older["run"], older["number"], older["users"], older["requests"]) == (IDENTITY, 2, 4, 1234)
