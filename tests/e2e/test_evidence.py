"""What a run leaves on real containers if another command comes, or if it is interrupted, killed or loses its load."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.lab.lab import RUN_LABEL
from corda_lab.results import folders, stored
from corda_lab.results.stored import EVIDENCE, UnfinishedRun
from corda_lab.text.words import plural
from e2e.labkit import Lab, step_folder
from lab_workload.row import ROWS_DIRECTORY

pytestmark = pytest.mark.lab("standard")

LOAD_SECONDS_MAX = 120.0
PROJECT_LABEL = "com.docker.compose.project"
NODES = ["Notary", "PartyA", "PartyB", "PartyC"]


def unfinished(name: str) -> UnfinishedRun:
    """Return the newest unfinished run with a name."""
    return named(name)[-1]


def named(name: str) -> list[UnfinishedRun]:
    return [run for run in stored.unfinished() if folders.name_of(run.run) == name]


def rows_in_volume(lab: Lab, identity: str) -> int:
    """Return the number of rows of a run that are in the volume of the load generator."""
    return int(lab.inside("locust", f"cat {ROWS_DIRECTORY}/{identity}.*ndjson 2> /dev/null | wc -l"))


def start(command: list[str]) -> "subprocess.Popen[str]":
    """Start a command that does not ignore the end of its terminal, also if these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def loading(lab: Lab, name: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a long run in a process group of its own, and wait for its first rows. It is killed after the block."""
    with start(
        lab.command("run", "iou", "--users", "4", "--duration", "300s", "--warm-up", "0s", "--name", name)
    ) as process:
        try:
            deadline = time.monotonic() + LOAD_SECONDS_MAX
            while not has_rows(lab, name):
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline, "the load wrote no row"
                time.sleep(1)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def has_rows(lab: Lab, name: str) -> bool:
    started = named(name)
    return bool(started) and rows_in_volume(lab, started[-1].run) > 0


def assert_kept(lab: Lab, name: str, state: str, reason: str) -> None:
    """Check that a run without results is listed, reported and readable, and that nothing of it is left in the lab."""
    found = unfinished(name)
    assert (found.state, found.why) == (state, reason)
    assert found.rows
    assert rows_in_volume(lab, found.run) == 0
    assert lab.compose.load_containers() == []
    assert f"{state}: {found.run}, {reason}; {plural(found.rows, 'row')}" in lab.succeed("list").stdout
    seen = json.loads(lab.succeed("report", found.run, "--json").stdout)
    assert seen["rows"] == pl.read_parquet(seen["table"]).height
    assert 0 <= found.rows - seen["rows"] <= 1  # the last row may be torn
    step = step_folder(folders.run_folder(found.run))
    assert {path.name for path in step.iterdir()} >= {"step.json", "plan.json", "environment.json"}
    assert {path.name for path in (step / EVIDENCE).iterdir()} >= {"setup.json", "counters.json"}
    assert [run for run in lab.results() if folders.name_of(run.name) == name] == []


def test_a_second_command_is_refused_and_ctrl_c_keeps_the_rows_of_the_first(lab: Lab) -> None:
    with loading(lab, "e2e-first") as process:
        for verb in (("run", "iou", "--name", "e2e-second"), ("up",), ("down", "--volumes")):
            refused = lab.run(*verb)
            assert refused.returncode == 2, refused.stdout + refused.stderr
            assert "Another command is using this lab: `lab run iou --users 4 --duration 300s" in refused.stderr
            assert f"process {process.pid}, since " in refused.stderr
        assert f"in progress: {unfinished('e2e-first').run}" in lab.succeed("list").stdout
        assert lab.run("status").returncode == 0
        assert_watched(lab)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=90)
        assert process.returncode == 130, output
    assert_kept(lab, "e2e-first", "interrupted", stored.INTERRUPTED)
    assert lab.run("status").returncode == 0


def assert_watched(lab: Lab) -> None:
    """Check that ``lab status --watch`` shows the load of four users, and what each node does."""
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    while not ((shown := watched(lab))["load"] and shown["load"]["achieved_per_second"]):
        assert time.monotonic() < deadline, shown
    assert sorted((node["name"], node["is_ready"]) for node in shown["nodes"]) == [(node, True) for node in NODES]
    for node in shown["nodes"]:
        assert 0 < node["heap_used_bytes"] < node["heap_max_bytes"], node
        assert node["cpu_cores"] >= 0, node
        assert len(shown["history"][node["name"]]) > 10, node
    assert shown["bridge"]["outstanding_flows"] <= 4
    [run] = shown["load"]["runs"]
    assert run.startswith("iou on PartyA (closed, 4 users")
    assert (shown["bridge_problem"], shown["prometheus_problem"]) == ("", "")
    table = lab.succeed("status", "--watch").stdout
    assert all(node in table for node in NODES)


def watched(lab: Lab) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(lab.succeed("status", "--watch", "--json").stdout)
    return shown


def containers_of_loads(lab: Lab) -> list[str]:
    """The ids of all containers that loads of this lab have started, also of those that have ended."""
    labels = (f"{PROJECT_LABEL}={lab.settings.project}", "com.docker.compose.oneoff=True", RUN_LABEL)
    filters = [word for label in labels for word in ("--filter", f"label={label}")]
    done = subprocess.run(["docker", "ps", "--all", "--quiet", *filters], capture_output=True, text=True, check=True)
    return done.stdout.split()


# Another load of half a minute. It ends as after Ctrl-C, and a test of the command line sends it every signal.
@pytest.mark.nightly
def test_a_closed_terminal_ends_the_load_and_leaves_no_container(lab: Lab) -> None:
    with loading(lab, "e2e-closed") as process:
        assert containers_of_loads(lab) != []
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=90)
        assert process.returncode == 130
    assert containers_of_loads(lab) == []
    assert_kept(lab, "e2e-closed", "interrupted", stored.INTERRUPTED)


@pytest.mark.nightly  # A sweep that is killed keeps its rows in the same way.
def test_rows_of_a_killed_command_are_collected_by_the_next_one(lab: Lab) -> None:
    with loading(lab, "e2e-killed") as process:
        process.kill()
    found = unfinished("e2e-killed")
    assert (found.state, found.rows) == ("interrupted", None)
    assert lab.compose.load_containers() != []
    assert "may still be in the lab's volume" in lab.succeed("report", found.run).stdout
    lab.succeed("up")
    assert_kept(lab, "e2e-killed", "interrupted", stored.KILLED)


@pytest.mark.nightly  # It ends as the two before do.
def test_a_run_that_loses_its_load_container_is_kept_as_failed(lab: Lab) -> None:
    with loading(lab, "e2e-lost") as process:
        (driver,) = lab.compose.load_containers()
        subprocess.run(["docker", "rm", "--force", driver], check=True, capture_output=True)
        output, _ = process.communicate(timeout=90)
        assert process.returncode == 1, output
    assert_kept(lab, "e2e-lost", "failed", f"The container {driver} was removed during the run")


def test_a_folder_that_cannot_be_written_is_one_error_before_anything_starts(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for verb in (("run", "iou"), ("sweep", "smoke", "--replace")):
        done = lab.run(*verb, LAB_RESULTS_DIR=str(tmp_path / "file"))
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"error: {tmp_path / 'file'}: results cannot be written there" in done.stderr
        assert "LAB_RESULTS_DIR" in done.stderr
        assert "==> Load" not in done.stdout
    assert set(lab.conditions().values()) <= {"healthy", "done"}


@pytest.mark.nightly
def test_the_manifest_names_the_image_that_made_the_load_and_not_that_of_the_web_ui(lab: Lab) -> None:
    name = lab.settings.own_image("locust")
    web_ui = image_id(name)
    subprocess.run(
        ["docker", "buildx", "build", "--load", "--quiet", f"--tag={name}", "-"],
        input=f"FROM {name}\nLABEL org.cordalab.test=newer\n",
        text=True,
        check=True,
        capture_output=True,
    )
    try:
        newer = image_id(name)
        assert newer != web_ui
        lab.succeed("run", "iou", "--users", "2", "--duration", "5s", "--warm-up", "2s", "--name", "e2e-image")
    finally:
        subprocess.run(["docker", "tag", web_ui, name], check=True)
    environment = json.loads((step_folder(lab.results()[-1]) / "environment.json").read_text())
    assert environment["images"]["locust"] == {"name": "corda-lab/locust", "id": newer}


def image_id(name: str) -> str:
    done = subprocess.run(["docker", "image", "inspect", "--format", "{{.Id}}", name], capture_output=True, text=True)
    return done.stdout.strip()
