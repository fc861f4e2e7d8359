"""The loads by hand in the volume of the load generator: listed, chosen, and kept if no run can be made of them.

Docker is a small program here that runs the commands for the volume in a folder; tests/e2e uses the real one.
"""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import unfinished
from corda_lab.results import folders, store, stored
from corda_lab.runs import by_hand, rows_volume
from corda_lab.runs.by_hand import HandLoad
from corda_lab.runs.rows_volume import RowsVolume
from lab_workload.load import Load
from lab_workload.web_ui import WebUiStatus
from support import simulation
from support.by_hand import IDENTITY, WORKLOAD, plan, write
from support.docker import docker_client, listed

LOCUST = listed("locust", "running", health="healthy", container="locust-1")
DOCKER = f"""\
PATH=/usr/bin:/bin
case "$*" in
"ps "*"{{{{.Status}}}}"*) echo '{LOCUST}' ;;
"ps "*"oneoff=False"*) echo locust-1 ;;
"exec locust-1 "*) shift 2; exec "$@" ;;
*" stop locust") echo stopped >> "${{0%/*}}/calls" ;;
esac
exit 0
"""
SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))
END = simulation.end_words(SIMULATED, 2, 20)
KILLED = "web-20231114T221500Z"
DAMAGED = "web-20231114T230000Z"


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
    """Three loads: one that has ended, one whose generator was killed, and one with a damaged plan."""
    write(directory, plan(), SIMULATED, END)
    write(directory, plan(identity=KILLED), SIMULATED[:7], None)
    write(directory, plan(identity=DAMAGED), SIMULATED[:3], None)
    (directory / f"{DAMAGED}.plan.json").write_text('{"id": 5}\n', encoding="utf-8")
    return RowsVolume(Compose(load_settings(ENV_FILE, {})))


def test_every_load_is_listed_with_its_state_newest_first(volume: RowsVolume) -> None:
    loads = by_hand.uncollected(volume)
    assert [(load.identity, load.state, load.workload, load.users, load.rows) for load in loads] == [
        (DAMAGED, "cut off", None, None, 3),
        (KILLED, "cut off", "iou", 4, 7),
        (IDENTITY, "ready", "iou", 2, len(SIMULATED)),
    ]
    assert loads[2].listed(3)["started_at"] == "2023-11-14T22:13:20+00:00"
    assert [load.state for load in by_hand.uncollected(volume, KILLED)] == ["cut off", "in progress", "ready"]


def test_rows_of_workers_are_added_up_and_drops_are_no_rows(directory: Path, volume: RowsVolume) -> None:
    for name in ("1.ndjson", "2.ndjson", "1.drops.ndjson"):
        (directory / f"{IDENTITY}.{name}").write_text("{}\n" * 5, encoding="utf-8")
    assert by_hand.uncollected(volume)[2].rows == len(SIMULATED) + 10


@pytest.mark.parametrize(
    ("name", "identities"),
    [
        (by_hand.NEWEST, [DAMAGED]),
        ("2", [KILLED]),
        ("web-20231114T23", [DAMAGED]),
        (by_hand.ALL, [IDENTITY, KILLED, DAMAGED]),
    ],
)
def test_a_load_is_chosen_by_number_id_or_beginning(volume: RowsVolume, name: str, identities: list[str]) -> None:
    chosen = by_hand.chosen(by_hand.uncollected(volume), name)
    assert [load.identity for load in chosen] == identities, "all: in the order in which they ran"


@pytest.mark.parametrize(
    ("name", "message"), [("4", "names no loads"), ("web-2023", "names 3 loads"), ("iou", "names no loads")]
)
def test_a_name_of_none_or_several_loads_is_refused(volume: RowsVolume, name: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        by_hand.chosen(by_hand.uncollected(volume), name)
    with pytest.raises(LabError, match="There is no load of the Locust web UI without a run"):
        by_hand.chosen([], name)


def test_a_run_has_the_time_of_its_load_and_a_name() -> None:
    load = HandLoad(IDENTITY, plan(Load(workload="My_Flow.v2" + "x" * 80)), None, 0)
    assert HandLoad(IDENTITY, plan(), None, 0).run_id() == "20231114T221320Z-web-iou"
    assert HandLoad(IDENTITY, None, None, 0).run_id() == "20231114T221320Z-web-load"
    assert load.run_id("tuned") == "20231114T221320Z-tuned"
    assert folders.RUN_NAME.fullmatch(load.run_id())
    assert folders.check_name(folders.name_of(load.run_id()), option="--name")


def test_rows_of_which_no_run_can_be_made_are_kept_with_the_reason(directory: Path, volume: RowsVolume) -> None:
    step = by_hand.keep_rows(volume, by_hand.uncollected(volume)[1], by_hand.CUT_OFF)

    assert not list(directory.glob(f"{KILLED}*"))
    (listed,) = stored.unfinished()
    run = step.parent.parent
    assert (listed.run, listed.state, listed.why, listed.rows) == (run.name, "interrupted", by_hand.CUT_OFF, 7)
    assert store.read_plan(step).workload_text == WORKLOAD
    report = unfinished.report(run)
    assert (report.rows, report.command) == (7, f"the Locust web UI ({KILLED})")


def test_before_the_volume_is_deleted_all_rows_that_can_be_are_kept(
    directory: Path,
    volume: RowsVolume,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(by_hand, "ask_status", lambda _: WebUiStatus("running", DAMAGED))
    in_the_way = folders.run_folder("20231114T221500Z-web-iou")
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("in the way", encoding="utf-8")

    by_hand.keep_all(load_settings(ENV_FILE, {}))

    assert (tmp_path / "bin" / "calls").read_text(encoding="utf-8") == "stopped\n", "the load ends first"
    assert {run.run for run in stored.unfinished()} == {"20231114T221320Z-web-iou", "20231114T230000Z-web-load"}
    assert {run.why for run in stored.unfinished()} == {by_hand.DELETED}
    assert f"the rows of {KILLED} cannot be kept: " in capsys.readouterr().out
    assert (directory / "20260102T030405Z-iou.ndjson").exists()


def test_a_load_that_stops_is_awaited_and_one_in_progress_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [WebUiStatus("stopping", IDENTITY), WebUiStatus("idle", None), WebUiStatus("running", IDENTITY)]
    monkeypatch.setattr(by_hand, "ask_status", lambda _: answers.pop(0))
    monkeypatch.setattr(by_hand, "POLL_SECONDS", 0.01)
    by_hand.await_stopped("http://127.0.0.1:1", 5.0)
    with pytest.raises(LabError) as caught:
        by_hand.await_stopped("http://127.0.0.1:1", 5.0)
    assert caught.value.message == f"A load of the Locust web UI is in progress ({IDENTITY}, running)"
    assert "stop it there" in caught.value.remedy


def test_a_web_ui_that_does_not_answer_runs_nothing() -> None:
    assert by_hand.ask_status("http://127.0.0.1:1") is None
