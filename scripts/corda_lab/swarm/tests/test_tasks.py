"""What Swarm makes of the services of a stack, and when a start has succeeded or failed."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm import deploy
from corda_lab.swarm.deploy import StackProgress, Task, services_of, tasks_of
from support.docker import docker_client, stack_task

TASKS = (
    stack_task("lab-swarm_partya", "t3", "Running 3 seconds ago", host="h1"),
    stack_task("lab-swarm_partya", "t1", "Shutdown 4 seconds ago", host="h1", trouble="task: non-zero exit (2)"),
    stack_task("lab-swarm_bridge", "t2", "Pending 2 minutes ago", trouble="no suitable node"),
)


def task(state: str, *, number: int = 1, trouble: str = "") -> Task:
    return Task(str(number), state, "h1", trouble)


def test_the_newest_task_of_each_service_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").write_text("\n".join(TASKS))
    docker_client(tmp_path, monkeypatch, f"/bin/cat {tmp_path}/tasks")
    found = tasks_of("lab-swarm")
    assert found == {
        "partya": Task("t3", "running", "h1"),
        "bridge": Task("t2", "pending", trouble="no suitable node"),
    }
    assert [str(one) for one in found.values()] == ["running on h1", "pending: no suitable node"]


def test_a_stack_without_a_task_has_none_and_an_engine_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'nothing found in stack: lab-swarm' >&2; exit 1")
    assert tasks_of("lab-swarm") == {}
    docker_client(tmp_path, monkeypatch, "echo 'this node is not a swarm manager' >&2; exit 1")
    with pytest.raises(LabError, match="`docker stack ps lab-swarm` failed: this node is not a swarm manager"):
        tasks_of("lab-swarm")


def test_services_have_their_names_without_that_of_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "case $2 in ls) echo lab_partya lab_bridge;; *) printf 'lab_partya\\tPARTIES=3\\nlab_bridge\\t\\n';; esac"
    docker_client(tmp_path, monkeypatch, said)
    assert services_of("lab") == {"bridge": "", "partya": "PARTIES=3"}


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> StackProgress:
    monkeypatch.setattr(deploy, "SETTLED_SECONDS", 0.0)
    return StackProgress(("partya", "bridge"))


def test_a_stack_is_ready_when_every_service_runs(progress: StackProgress) -> None:
    seen = []
    for tasks_now in (
        {"partya": task("running")},
        {"partya": task("running"), "bridge": task("starting", number=2)},
        {"partya": task("running"), "bridge": task("running", number=2)},
    ):
        progress.take(tasks_now)
        seen.append((progress.is_ready, progress.words()))
    assert seen == [(False, "waiting: bridge"), (False, "starting: bridge"), (True, "all services run")]


def test_a_task_that_swarm_may_be_about_to_replace_is_not_ready(
    progress: StackProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = {"partya": task("running"), "bridge": task("running", number=2)}
    monkeypatch.setattr(deploy, "SETTLED_SECONDS", 60.0)
    progress.take(running)
    assert not progress.is_ready
    monkeypatch.setattr(deploy, "SETTLED_SECONDS", 0.0)
    assert progress.is_ready


def test_what_became_ready_is_said_once(progress: StackProgress, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        progress.take({"partya": task("running"), "bridge": task("failed", number=2, trouble="no such image")})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" s  ")[1] for line in lines] == [
        "partya            running on h1",
        "bridge            failed on h1: no such image",
    ]


def test_a_task_that_stays_ended_is_a_failure(progress: StackProgress, monkeypatch: pytest.MonkeyPatch) -> None:
    progress.take({"partya": task("failed", trouble="task: non-zero exit (2)"), "bridge": task("running", number=2)})
    # Swarm may be about to make another one.
    assert progress.failed == {}
    monkeypatch.setattr(deploy, "ENDED_SECONDS_MAX", 0.0)
    assert progress.failed == {"partya": "task: non-zero exit (2)"}


def test_a_task_without_a_host_is_a_failure_after_a_while(
    progress: StackProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress.take({"partya": task("pending", trouble="no suitable node"), "bridge": task("pending", number=2)})
    assert progress.failed == {}
    monkeypatch.setattr(deploy, "PENDING_SECONDS_MAX", 0.0)
    assert progress.failed == {"partya": "no suitable node"}
