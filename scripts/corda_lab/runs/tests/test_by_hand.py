"""The loads by hand in the volume of the load generator: listed, chosen, and kept if no run can be made of them.

Docker is a small program here that runs the commands for the volume in a folder; tests/e2e uses the real one.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import unfinished
from corda_lab.results import folders, store, stored
from corda_lab.runs import by_hand, rows_volume
from corda_lab.runs.by_hand import HandLoads
from corda_lab.runs.rows_volume import RowsVolume
from lab_workload.by_hand import REMOVED_FILE, RemovedLoad, RemovedLoads, WebUiStatus
from support import simulation
from support.by_hand import IDENTITY, WORKLOAD, counters, noted, steady, write
from support.docker import docker_client, listed

LOCUST = listed("locust", "running", health="healthy", container="locust-1")
DOCKER = f"""\
PATH=/usr/bin:/bin
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{LOCUST}' ;;
"ps "*"oneoff=False"*) echo locust-1 ;;
"exec locust-1 "*) shift 2; exec "$@" ;;
*" stop locust") echo stopped >> "${{0%/*}}/calls" ;;
esac
exit 0
"""
SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))
END = simulation.end_words(SIMULATED, 2, 20)
AFTER = counters(simulation.ORIGIN + 21, 1000 + len(SIMULATED))
COPY = f"{IDENTITY}-2"
LATER = "web-20231114T230000Z"
RUN_ID = "20231114T221320Z-web-iou"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the volume. It has the rows of a run of the command line too."""
    folder = tmp_path / "volume"
    folder.mkdir()
    (folder / "20260102T030405Z-iou.ndjson").write_text("{}\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, DOCKER)
    monkeypatch.setattr(rows_volume, "ROWS_DIRECTORY", str(folder))
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(by_hand, "ask_status", lambda _: None)
    return folder


@pytest.fixture
def volume(directory: Path) -> RowsVolume:
    assert directory.is_dir()
    return RowsVolume(Compose(load_settings(ENV_FILE, {})))


def three_loads(directory: Path) -> None:
    """Write a load that has ended, one from the same second that was cut off, and a later one of an earlier version."""
    load = noted([steady(2)])
    write(directory, load, SIMULATED, END, AFTER)
    write(directory, noted([steady(2)], identity=COPY), SIMULATED[:7], None, None)
    simulation.write_rows(directory / f"{LATER}.ndjson", SIMULATED[:3])


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_every_load_is_listed_with_its_state_newest_first(directory: Path, volume: RowsVolume) -> None:
    three_loads(directory)

    found = by_hand.uncollected(volume, None)

    lines = [load.listed(number) for number, load in enumerate(found.loads, start=1)]
    assert [(line.number, line.run, line.state, line.workload, line.users, line.requests) for line in lines] == [
        (1, LATER, "cut off", None, None, 3),
        (2, COPY, "cut off", "iou", 2, 7),
        (3, IDENTITY, "ready", "iou", 2, len(SIMULATED)),
    ]
    assert lines[2].started_at == "2023-11-14T22:13:20+00:00"
    assert found.loads[2].after == AFTER


def test_a_load_that_the_web_ui_runs_is_in_progress(directory: Path, volume: RowsVolume) -> None:
    three_loads(directory)
    running = by_hand.uncollected(volume, WebUiStatus("running", COPY, 1.0))
    assert [load.state for load in running.loads] == ["cut off", "in progress", "ready"]
    idle = by_hand.uncollected(volume, WebUiStatus("idle", None, 1.0))
    assert "in progress" not in [load.state for load in idle.loads]


def test_rows_of_workers_are_added_up_and_drops_are_no_rows() -> None:
    texts = {f"{IDENTITY}.1.ndjson": "5\n", f"{IDENTITY}.2.ndjson": "6\n", f"{IDENTITY}.1.drops.ndjson": "9\n"}
    (found,) = by_hand.read_loads(texts, None).loads
    assert found.rows == 11


def test_a_load_is_chosen_by_number_id_or_beginning(directory: Path, volume: RowsVolume) -> None:
    three_loads(directory)
    found = by_hand.uncollected(volume, None)

    def chosen(name: str) -> list[str]:
        return [load.identity for load in found.chosen(name)]

    assert chosen(by_hand.NEWEST) == chosen("1") == chosen("web-20231114T23") == [LATER]
    assert chosen("3") == chosen(IDENTITY) == [IDENTITY], "an id may be the beginning of another"
    assert chosen(by_hand.ALL) == [IDENTITY, COPY, LATER], "in the order in which they ran"
    for name, message in (
        ("4", "There is no load 4 of the Locust web UI"),
        ("0", "There is no load 0"),
        ("web-2023", "names 3 loads"),
        ("iou", "names no loads"),
    ):
        with pytest.raises(LabError, match=message):
            found.chosen(name)
    with pytest.raises(LabError, match="There is no load of the Locust web UI without a run"):
        HandLoads().chosen(by_hand.NEWEST)


def test_a_run_has_the_time_of_its_load_and_a_name(directory: Path, volume: RowsVolume) -> None:
    three_loads(directory)
    later, copy, first = by_hand.uncollected(volume, None).loads
    assert first.run_id() == RUN_ID
    assert copy.run_id() == f"{RUN_ID}-2"
    assert later.run_id() == "20231114T230000Z-web-load"
    assert first.run_id("tuned") == "20231114T221320Z-tuned"
    assert first.load is not None
    named = first.load.plan.load.updated(workload="My_Flow.v2" + "x" * 80)
    odd = replace(first, load=noted([steady(2)], named))
    assert folders.RUN_NAME.fullmatch(odd.run_id())
    assert folders.check_name(folders.name_of(odd.run_id()), option="--name")


def test_rows_of_which_no_run_can_be_made_are_kept_with_the_reason(directory: Path, volume: RowsVolume) -> None:
    three_loads(directory)
    _, copy, _ = by_hand.uncollected(volume, None).loads

    step = by_hand.keep_rows(volume, copy, by_hand.CUT_OFF)

    assert not any(name.startswith(COPY) for name in names(directory))
    assert f"{IDENTITY}.ndjson" in names(directory), "a load of the same second is another one"
    (listed,) = stored.unfinished()
    run = step.parent.parent
    assert (listed.run, listed.state, listed.why, listed.rows) == (run.name, "interrupted", by_hand.CUT_OFF, 7)
    assert store.read_plan(step).workload_text == WORKLOAD
    seen = unfinished.report(run)
    assert (seen.rows, seen.command) == (7, f"the Locust web UI ({COPY})")


def test_before_the_volume_is_deleted_all_rows_are_kept(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_loads(directory)
    monkeypatch.setattr(by_hand, "ask_status", lambda _: WebUiStatus("running", LATER, 1.0))

    by_hand.keep_all(load_settings(ENV_FILE, {}))

    assert names(directory) == ["20260102T030405Z-iou.ndjson"]
    assert [run.why for run in stored.unfinished()] == [by_hand.DELETED] * 3
    assert (tmp_path / "bin" / "calls").read_text(encoding="utf-8") == "stopped\n", "the load ends first"


def test_a_load_that_cannot_be_kept_takes_no_other_one_along(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_loads(directory)
    in_the_way = folders.run_folder(f"{RUN_ID}-2")
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("in the way", encoding="utf-8")

    by_hand.keep_all(load_settings(ENV_FILE, {}))

    assert {run.run for run in stored.unfinished()} == {RUN_ID, "20231114T230000Z-web-load"}
    assert f"the rows of {COPY} cannot be kept: " in capsys.readouterr().out


def test_loads_that_made_room_are_told(directory: Path, volume: RowsVolume) -> None:
    removed = RemovedLoad(IDENTITY, "iou", 1200, 5.0)
    (directory / REMOVED_FILE).write_text(json.dumps(RemovedLoads([removed]).as_dict(), indent=2), encoding="utf-8")
    assert by_hand.uncollected(volume, None) == HandLoads((), (removed,))


def test_files_of_another_version_are_not_read() -> None:
    texts = {f"{IDENTITY}.load.json": '{"id": 5}', f"{IDENTITY}.ndjson": "3\n", REMOVED_FILE: "{"}
    found = by_hand.read_loads(texts, None)
    assert found.loads[0].load is None
    assert found.removed == ()


def test_a_load_in_progress_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "ask_status", lambda _: WebUiStatus("running", IDENTITY, 1.0))
    with pytest.raises(LabError) as caught:
        by_hand.await_idle("http://127.0.0.1:1", 5.0)
    assert caught.value.message == f"A load of the Locust web UI is in progress ({IDENTITY}, running)"
    assert "stop it there" in caught.value.remedy


def test_a_load_that_is_being_counted_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [WebUiStatus("stopping", IDENTITY, 1.0), WebUiStatus("counting", IDENTITY, 1.0)]
    monkeypatch.setattr(by_hand, "ask_status", lambda _: answers.pop(0) if answers else WebUiStatus("idle", None, 1.0))
    monkeypatch.setattr(by_hand, "POLL_SECONDS", 0.01)
    found = by_hand.await_idle("http://127.0.0.1:1", 5.0)
    assert found is not None
    assert found.state == "idle"


def test_a_web_ui_that_does_not_answer_runs_nothing() -> None:
    assert by_hand.ask_status("http://127.0.0.1:1") is None
