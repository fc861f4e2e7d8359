"""What Swarm makes of the services of a stack, and when a start has succeeded or failed."""

import json
from typing import Any

import pytest

from corda_lab.swarm import deploy
from corda_lab.swarm.deploy import StackProgress, Task, is_made_from, newest, parse_services, parse_tasks

NEW: dict[str, Any] = {"Image": "node:2"}
SERVICES = parse_services(
    json.dumps(
        [
            {"ID": "s2", "Spec": {"Name": "lab-swarm_partya", "TaskTemplate": {"ContainerSpec": NEW}}},
            {"ID": "s1", "Spec": {"Name": "lab-swarm_bridge", "TaskTemplate": {"ContainerSpec": {"Image": "b"}}}},
        ]
    ),
    "lab-swarm",
)


def inspected(name: str, state: str, created: str, **more: Any) -> dict[str, Any]:
    spec = more.pop("spec", NEW)
    return {
        "ID": f"{name}-{created}",
        "ServiceID": {"partya": "s2", "bridge": "s1", "other": "s9"}[name],
        "NodeID": "n1",
        "CreatedAt": f"2026-11-26T02:00:{created}.5Z",
        "Spec": {"ContainerSpec": spec},
        "DesiredState": "running",
        "Status": {"State": state, **more},
    }


def task(service: str, state: str, *, number: int = 1, trouble: str = "", is_current: bool = True) -> Task:
    return Task(f"{service}{number}", service, "n1", state, "running", trouble, f"{number:02}", is_current)


def test_services_have_their_names_without_that_of_the_stack() -> None:
    assert [service.name for service in SERVICES] == ["bridge", "partya"]


def test_tasks_are_read_oldest_first_and_those_of_other_services_are_left_out() -> None:
    text = json.dumps(
        [
            inspected("partya", "running", "20"),
            inspected("partya", "failed", "10", Err="task: non-zero exit (2)", spec={"Image": "node:1"}),
            inspected("other", "running", "30"),
        ]
    )
    older, newer = parse_tasks(text, SERVICES)
    assert (older.state, older.trouble, older.is_current) == ("failed", "task: non-zero exit (2)", False)
    assert (newer.state, newer.trouble, newer.is_current) == ("running", "", True)
    assert newest([newer, older]) == {"partya": newer}


def test_a_task_is_made_from_a_template_to_which_the_engine_has_added_its_defaults() -> None:
    spec = {"ContainerSpec": {"Image": "a", "Env": ["X=1"]}, "ForceUpdate": 0}
    template = {
        "ContainerSpec": {"Image": "a", "Env": ["X=1"], "StopGracePeriod": 10},
        "ForceUpdate": 0,
        "Runtime": "c",
    }
    assert is_made_from(template, spec)
    assert not is_made_from({**template, "ForceUpdate": 1}, spec)
    assert not is_made_from({**template, "ContainerSpec": {"Image": "a", "Env": ["X=2"]}}, spec)
    assert not is_made_from({"ForceUpdate": 0}, spec)


def test_a_task_in_words() -> None:
    assert task("partya", "failed", trouble="no").words({"n1": "host1"}) == "failed on host1: no"


@pytest.fixture
def progress() -> StackProgress:
    return StackProgress(("partya", "bridge"), {"n1": "host1"})


def test_a_stack_is_ready_when_every_service_runs(progress: StackProgress) -> None:
    seen = []
    for tasks_now in (
        [task("partya", "running")],
        [task("partya", "running"), task("bridge", "starting")],
        [task("partya", "running"), task("bridge", "running")],
    ):
        progress.take(tasks_now)
        seen.append((progress.is_ready, progress.words()))
    assert seen == [(False, "waiting: bridge"), (False, "starting: bridge"), (True, "all services run")]


def test_a_service_of_an_older_form_is_not_ready(progress: StackProgress) -> None:
    progress.take([task("partya", "running", is_current=False), task("bridge", "running")])
    assert not progress.is_ready
    assert progress.words() == "replacing: partya"


def test_only_the_newest_task_counts(progress: StackProgress) -> None:
    progress.take([task("bridge", "failed", number=1), task("bridge", "running", number=2), task("partya", "running")])
    assert progress.is_ready
    assert progress.failed == {}


def test_what_became_ready_is_said_once(progress: StackProgress, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        progress.take([task("partya", "running"), task("bridge", "failed", trouble="no such image")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" s  ")[1] for line in lines] == [
        "partya            running on host1",
        "bridge            failed on host1: no such image",
    ]


def test_a_task_that_stays_ended_is_a_failure(progress: StackProgress, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = [task("partya", "failed", trouble="task: non-zero exit (2)"), task("bridge", "running")]
    progress.take(ended)
    # Swarm may be about to make another one.
    assert progress.failed == {}
    monkeypatch.setattr(deploy, "ENDED_SECONDS_MAX", 0.0)
    progress.take(ended)
    assert progress.failed == {"partya": "task: non-zero exit (2)"}


def test_a_task_without_a_host_is_a_failure_after_a_while(
    progress: StackProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = [task("partya", "pending", trouble="no suitable node"), task("bridge", "pending")]
    progress.take(waiting)
    assert progress.failed == {}
    monkeypatch.setattr(deploy, "PENDING_SECONDS_MAX", 0.0)
    assert progress.failed == {"partya": "no suitable node"}


def test_an_ended_task_of_an_older_form_is_no_failure(progress: StackProgress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "ENDED_SECONDS_MAX", 0.0)
    progress.take([task("partya", "shutdown", is_current=False)])
    assert progress.failed == {}
