"""Rows outlive a run that fails, is interrupted or is killed.

Docker is a small program here that runs the commands for the volume in a folder; tests/e2e uses the real one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import read as node_logs
from corda_lab.paths import ENV_FILE
from corda_lab.report import unfinished
from corda_lab.results import folders, store, stored
from corda_lab.results.stored import RUN_STEP
from corda_lab.runs import leftovers, recording, rows_volume
from corda_lab.runs.recording import Recording, recorded
from lab_workload.load import Load
from support import simulation
from support.docker import docker_client, listed
from support.runs import ENVIRONMENT, RUN_IDENTITY, measured_of, plan_of

LOCUST = listed("locust", "running", health="healthy", container="locust-1")
DOCKER = f"""\
PATH=/usr/bin:/bin
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{LOCUST}' ;;
"exec locust-1 "*) shift 2; exec "$@" ;;
"ps --filter="*"oneoff=False"*"service=locust"*) echo locust-1 ;;
"ps --filter="*) ;;
"ps --all"*) cat "${{0%/*}}/orphans" 2> /dev/null ;;
*) echo "$@" >> "${{0%/*}}/calls" ;;
esac
exit 0
"""

SIMULATED = simulation.closed_rows(2, 20, simulation.fixed(0.5))
ROWS = len(SIMULATED)
WEB_ROWS = "web-20260102T030405Z.ndjson"


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the volume with the rows. It has rows of the web UI, which belong to no run."""
    folder = tmp_path / "volume"
    folder.mkdir()
    (folder / WEB_ROWS).write_text("{}\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, DOCKER)
    monkeypatch.setattr(rows_volume, "ROWS_DIRECTORY", str(folder))
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    return folder


@pytest.fixture
def compose() -> Compose:
    return Compose(load_settings(ENV_FILE, {}))


LOAD = Load(workload="iou", users=2, duration_seconds=60, warm_up_seconds=15)


@contextmanager
def running() -> Iterator[Recording]:
    """A run of one load."""
    with recording.begun(store.manifest(RUN_IDENTITY, load=LOAD)) as run, recorded(step_of(run)) as started:
        yield started


def step_of(run: Path) -> Path:
    return run / "steps/0001-run"


def begin(started: Recording, compose: Compose, volume: Path) -> None:
    """Begin a run, and write twenty seconds of its rows to the volume."""
    started.begin(compose, plan_of(LOAD), ENVIRONMENT)
    write_rows(volume)


def write_rows(volume: Path) -> None:
    simulation.write_rows(volume / f"{RUN_IDENTITY}.ndjson", SIMULATED)
    (volume / f"{RUN_IDENTITY}.go").touch()


def names(volume: Path) -> set[str]:
    return {path.name for path in volume.iterdir()}


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (KeyboardInterrupt(), "interrupted", stored.INTERRUPTED),
        (LabError("The worker x ended\nearly"), "failed", "The worker x ended early"),
        (ZeroDivisionError("division by zero"), "failed", "a defect of the lab: ZeroDivisionError: division by zero"),
    ],
)
def test_a_run_that_does_not_finish_keeps_its_rows_and_says_why(
    volume: Path, compose: Compose, error: BaseException, outcome: str, reason: str
) -> None:
    def run() -> None:
        with running() as started:
            begin(started, compose, volume)
            (listed,) = stored.unfinished()
            assert listed.state == "in progress"
            raise error

    with pytest.raises(type(error)):
        run()
    (listed,) = stored.unfinished()
    assert (listed.run, listed.state, listed.why) == (RUN_IDENTITY, outcome, reason)
    assert names(volume) == {WEB_ROWS}
    run_folder = folders.run_folder(RUN_IDENTITY)
    seen = unfinished.report(run_folder)
    assert seen.rows == listed.rows == ROWS
    assert seen.outcomes == {"ok": ROWS}
    assert seen.p50_ms is not None
    assert seen.table is not None
    assert pl.read_parquet(seen.table).height == ROWS
    assert any("the end of the load" in text for text in seen.missing)
    assert unfinished.find("iou") == run_folder


def test_rows_leave_the_volume_only_after_the_block_in_which_the_run_is_stored(volume: Path, compose: Compose) -> None:
    with running() as started:
        begin(started, compose, volume)
        assert f"{RUN_IDENTITY}.ndjson" in names(volume)
    assert names(volume) == {WEB_ROWS}


def test_without_an_engine_the_rows_stay_in_the_volume_until_the_next_command(
    volume: Path, compose: Compose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> None:
        with running() as started:
            begin(started, compose, volume)
            docker_client(tmp_path / "bin", monkeypatch, "exit 1")
            raise LabError("The engine is gone")

    with pytest.raises(LabError, match="engine is gone"):
        run()
    assert f"{RUN_IDENTITY}.ndjson" in names(volume)
    docker_client(tmp_path / "bin", monkeypatch, DOCKER)
    leftovers.collect(compose)
    assert names(volume) == {WEB_ROWS}
    (listed,) = stored.unfinished()
    assert (listed.state, listed.why, listed.rows) == ("failed", "The engine is gone", ROWS)


def test_rows_of_a_killed_command_are_collected_and_its_load_is_stopped(
    volume: Path, compose: Compose, tmp_path: Path
) -> None:
    with running() as started:
        started.begin(compose, plan_of(LOAD), ENVIRONMENT)
    write_rows(volume)
    (tmp_path / "bin" / "orphans").write_text(f"c0ffee {RUN_IDENTITY}\n", encoding="utf-8")
    (listed,) = stored.unfinished()
    assert (listed.state, listed.why, listed.rows) == ("interrupted", stored.KILLED, None)
    leftovers.collect(compose)
    (listed,) = stored.unfinished()
    assert (listed.state, listed.why, listed.rows) == ("interrupted", stored.KILLED, ROWS)
    assert names(volume) == {WEB_ROWS}
    assert "rm --force --volumes c0ffee" in (tmp_path / "bin" / "calls").read_text(encoding="utf-8")


@pytest.mark.parametrize("has_rows", [True, False])
def test_the_logs_of_a_killed_command_are_those_of_the_time_of_its_load(
    volume: Path, compose: Compose, monkeypatch: pytest.MonkeyPatch, has_rows: bool
) -> None:
    spans: list[tuple[float, float]] = []
    monkeypatch.setattr(node_logs, "keep", lambda *_, since, until: spans.append((since, until)))
    with running() as started:
        started.begin(compose, plan_of(LOAD), ENVIRONMENT)
    step = stored.read_step(step_of(folders.run_folder(RUN_IDENTITY)))
    assert step.began_at is not None
    began_at = datetime.fromisoformat(step.began_at).timestamp()
    monkeypatch.setattr("corda_lab.runs.leftovers.time.time", lambda: began_at + 86_400)
    write_rows(volume)
    if not has_rows:
        (volume / f"{RUN_IDENTITY}.ndjson").write_text("", encoding="utf-8")
    leftovers.collect(compose)
    planned = 60 + 15 + float(compose.settings["BRIDGE_FLOW_TIMEOUT_SECONDS"])
    last = max(row["ended_at"] for row in SIMULATED)
    assert spans == [(began_at, last if has_rows else began_at + planned)]


def test_rows_that_cannot_be_moved_keep_no_others_in_the_volume_and_are_not_deleted_with_it(
    volume: Path, compose: Compose, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = step_of(folders.run_folder("20260101T000000Z-iou"))
    store.end_step(damaged, RUN_STEP)
    plan = plan_of(LOAD).model_copy(update={"identity": damaged.parent.parent.name})
    (damaged / stored.PLAN).write_text(plan.model_dump_json(), encoding="utf-8")
    (damaged / stored.STEP).write_text("", encoding="utf-8")
    (volume / f"{plan.identity}.ndjson").write_text("{}\n", encoding="utf-8")
    write_rows(volume)
    with pytest.raises(LabError, match=f"Rows of {plan.identity} could not be moved to results") as raised:
        leftovers.collect_before_removal(compose)
    assert f"docker volume rm {compose.project}_locust-rows" in str(raised.value.remedy)
    assert str(damaged / stored.STEP) in " ".join(capsys.readouterr().out.split())
    assert names(volume) == {WEB_ROWS, f"{plan.identity}.ndjson"}
    assert stored.read_step(step_of(folders.run_folder(RUN_IDENTITY))).rows == ROWS
    store.end_step(damaged, RUN_STEP)
    leftovers.collect_before_removal(compose)
    assert names(volume) == {WEB_ROWS}


def test_rows_whose_folder_was_deleted_get_one(volume: Path, compose: Compose) -> None:
    write_rows(volume)
    leftovers.collect(compose)
    (listed,) = stored.unfinished()
    assert (listed.run, listed.rows) == (RUN_IDENTITY, ROWS)


def test_a_load_of_another_command_is_left_alone(volume: Path, compose: Compose, tmp_path: Path) -> None:
    (tmp_path / "bin" / "orphans").write_text(f"c0ffee {RUN_IDENTITY}\n", encoding="utf-8")
    with running() as started:
        begin(started, compose, volume)
        leftovers.collect(compose)
        assert f"{RUN_IDENTITY}.ndjson" in names(volume)
    assert not (tmp_path / "bin" / "calls").exists()


@pytest.mark.parametrize("collect", [leftovers.collect, leftovers.stop_loads])
def test_a_load_whose_folder_is_gone_is_stopped(
    volume: Path, compose: Compose, tmp_path: Path, collect: Callable[[Compose], None]
) -> None:
    (tmp_path / "bin" / "orphans").write_text(f"c0ffee {RUN_IDENTITY}\n", encoding="utf-8")
    collect(compose)
    assert "rm --force --volumes c0ffee" in (tmp_path / "bin" / "calls").read_text(encoding="utf-8")


def test_what_a_kill_after_the_storing_leaves_is_deleted(volume: Path, compose: Compose) -> None:
    with running() as started:
        started.begin(compose, plan_of(LOAD), ENVIRONMENT)
        started.done()
    write_rows(volume)
    leftovers.collect(compose)
    assert names(volume) == {WEB_ROWS}
    assert stored.read_step(started.folder).state == "done"


def test_an_interrupt_after_a_step_was_stored_takes_nothing_of_it(
    volume: Path, compose: Compose, tmp_path: Path
) -> None:
    end = simulation.end_words(SIMULATED, 2, 20)
    measured = measured_of(tmp_path, plan_of(LOAD), SIMULATED, end)

    def run() -> None:
        with running() as started:
            begin(started, compose, volume)
            recording.keep(started.folder, measured)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    run_folder = folders.run_folder(RUN_IDENTITY)
    assert stored.read(run_folder).steps[0].requests == measured.step.requests
    assert unfinished.lacks_report(run_folder)


def test_a_reason_is_one_line() -> None:
    assert recording.reason_of(LabError("first\nsecond")) == "first second"
