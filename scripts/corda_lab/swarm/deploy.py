"""Deploys a stack, and waits until every service runs. ``docker stack deploy`` with the same file does the same.

Swarm says that a task is running when its health check has passed. A task that has ended is never started again: Swarm
makes another one, if the service's restart policy says so.
"""

import json
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host.processes import last_lines
from corda_lab.lab import replacing
from corda_lab.lab.engine import output_of, run_docker
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.shared_files import Kind
from corda_lab.swarm.stack import Stack
from corda_lab.text import ui

DEPLOY_SECONDS_MAX = 300.0
READY_SECONDS_MAX = 1200.0
"""A node may take 900 s until its health check has passed. It may wait for a database before."""
POLL_SECONDS = 2.0
REPORT_EVERY_SECONDS = 15.0
LOG_LINES = 15
NAMESPACE = "com.docker.stack.namespace"
LABEL = "org.cordalab.stack"
"""Label of what the lab makes for a stack with the engine alone; its value is the name of the stack."""
RUNNING = "running"
ENDED = ("complete", "shutdown", "failed", "rejected", "remove", "orphaned")
PENDING_SECONDS_MAX = 60.0
"""How long Swarm may look for a host. What does not fit now will not fit later: nothing else is to run there."""
ENDED_SECONDS_MAX = 10.0
"""How long a task may have ended without another one in its place. Swarm makes one after five seconds."""
READ_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Task:
    """One task: a container of a service on a host, or what is to become one."""

    id: str
    service: str
    """The name of its service without that of the stack."""
    node: str
    """The id of the node of the swarm; empty as long as there is none."""
    state: str
    """Swarm's word: ``pending``, ``preparing``, ``starting``, ``running``, ``failed`` and others."""
    wanted: str
    """The state that Swarm wants it to have: ``running``, or ``shutdown`` if it is over."""
    trouble: str
    """Why it does not run; empty if there is nothing to say."""
    created: str
    """RFC 3339, always in UTC, so that texts compare as times."""
    is_current: bool
    """Whether it is made from what the service is now. One of an older form is about to be replaced."""

    def words(self, node_names: Mapping[str, str]) -> str:
        where = f" on {node_names.get(self.node, self.node)}" if self.node else ""
        return f"{self.state}{where}" + (f": {self.trouble}" if self.trouble else "")


@dataclass(frozen=True)
class ServiceForm:
    """A service of a stack, as Swarm has it."""

    id: str
    name: str
    """Without the name of the stack."""
    template: Mapping[str, Any]
    """What its tasks are made from."""

    @property
    def labels(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.template["ContainerSpec"].get("Labels") or {}
        return found


def services_of(stack: str) -> list[ServiceForm]:
    """Return the services of a stack; none if it does not exist. Raises LabError."""
    ids = _checked(["service", "ls", "--quiet", "--filter", f"label=com.docker.stack.namespace={stack}"]).split()
    # `docker service inspect` adds fields that its engine does not know, and that tasks do not have.
    return parse_services(_checked(["inspect", "--type=service", *ids]), stack) if ids else []


def parse_services(text: str, stack: str) -> list[ServiceForm]:
    """Read the JSON of ``docker inspect --type service``, sorted by name."""
    found = [
        ServiceForm(one["ID"], one["Spec"]["Name"].removeprefix(f"{stack}_"), one["Spec"]["TaskTemplate"])
        for one in json.loads(text)
    ]
    return sorted(found, key=lambda service: service.name)


def tasks_of(stack: str, services: Sequence[ServiceForm]) -> list[Task]:
    """Return all tasks of a stack that Swarm remembers, older ones too. Raises LabError."""
    if not services:
        return []
    listed = run_docker(["stack", "ps", "--quiet", "--no-trunc", stack], seconds_max=READ_SECONDS_MAX)
    ids = listed.stdout.split()
    # Without a task, there is nothing in this stack yet.
    return parse_tasks(_checked(["inspect", "--type=task", *ids]), services) if ids else []


def parse_tasks(text: str, services: Iterable[ServiceForm]) -> list[Task]:
    """Read the JSON of ``docker inspect --type task``, oldest first."""
    by_id = {service.id: service for service in services}
    found = [_task(one, by_id[one["ServiceID"]]) for one in json.loads(text) if one["ServiceID"] in by_id]
    return sorted(found, key=lambda task: task.created)


def _task(one: Mapping[str, Any], service: ServiceForm) -> Task:
    status = one["Status"]
    return Task(
        id=one["ID"],
        service=service.name,
        node=one.get("NodeID", ""),
        state=status["State"],
        wanted=one["DesiredState"],
        trouble=status.get("Err", ""),
        created=one["CreatedAt"],
        is_current=is_made_from(service.template, one["Spec"]),
    )


def is_made_from(template: object, spec: object) -> bool:
    """Return whether a task is made from a template. Engines add their defaults to what they print of a template."""
    if isinstance(template, Mapping) and isinstance(spec, Mapping):
        return all(name in template and is_made_from(template[name], value) for name, value in spec.items())
    return template == spec


def newest(tasks: Iterable[Task]) -> dict[str, Task]:
    """Return the newest task of each service: the one that counts."""
    return {task.service: task for task in sorted(tasks, key=lambda task: task.created)}


@dataclass
class StackProgress:
    """What becomes of each service of a stack while it starts. It is fed with tasks, and asks nobody itself."""

    expected: Sequence[str]
    node_names: Mapping[str, str] = field(default_factory=dict)
    """Ids of nodes of the swarm → names of hosts."""
    started_at: float = field(default_factory=time.monotonic)
    latest: dict[str, Task] = field(default_factory=dict)
    _since: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The task and state of each service, and since when they were seen."""

    def take(self, tasks: Iterable[Task]) -> None:
        """Take what Swarm says now, and print which services became ready or ended since the last time."""
        now = time.monotonic()
        self.latest = {name: task for name, task in newest(tasks).items() if name in self.expected}
        for name, task in self.latest.items():
            key = f"{task.id} {task.state}"
            if self._since.get(name, ("", 0.0))[0] == key:
                continue
            self._since[name] = (key, now)
            if task.state in (RUNNING, *ENDED) and task.is_current:
                ui.note(f"{now - self.started_at:6.1f} s  {name:<17} {task.words(self.node_names)}")

    @property
    def is_ready(self) -> bool:
        return all(
            name in self.latest and self.latest[name].state == RUNNING and self.latest[name].is_current
            for name in self.expected
        )

    @property
    def failed(self) -> dict[str, str]:
        """The services that will not run, with the reason in Swarm's words."""
        now = time.monotonic()
        found = {}
        for name, task in self.latest.items():
            seconds = now - self._since[name][1]
            if not task.is_current:
                continue
            if task.state in ENDED and seconds >= ENDED_SECONDS_MAX:
                found[name] = task.trouble or f"its task has ended ({task.state})"
            elif task.state == "pending" and task.trouble and seconds >= PENDING_SECONDS_MAX:
                found[name] = task.trouble
        return found

    def words(self) -> str:
        states: dict[str, list[str]] = {}
        for name in self.expected:
            task = self.latest.get(name)
            state = "waiting" if task is None else "replacing" if not task.is_current else task.state
            if state != RUNNING:
                states.setdefault(state, []).append(name)
        return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "all services run"


def _checked(arguments: Sequence[str]) -> str:
    done = run_docker(arguments, seconds_max=READ_SECONDS_MAX)
    return output_of(done, f"`docker {' '.join(arguments[:3])}` failed")


def has_left_swarm() -> bool:
    """Whether the engine of this machine answers that it is in no swarm, and so has no stack."""
    asked = ["info", "--format", "{{.Swarm.LocalNodeState}}"]
    return run_docker(asked, seconds_max=READ_SECONDS_MAX).stdout.strip() == "inactive"


def command(stack: Stack, file: Path) -> list[str]:
    return ["stack", "deploy", "--prune", "--with-registry-auth", "--compose-file", str(file), stack.name]


def write(stack: Stack, folder: StackFolder) -> Path:
    """Write the stack file, print where it is and how to deploy it by hand, and return its path."""
    folder.create()
    atomic.write_text(folder.stack_file, stack.text)
    ui.note(f"the stack file is {folder.stack_file}; by hand:")
    ui.note(shlex.join(["docker", *command(stack, folder.stack_file)]))
    return folder.stack_file


def require_overlay(stack: str, *, encrypted: bool) -> None:
    """Raise LabError if the overlay of a stack is there, and not of the kind that the placement wants."""
    name = f"{stack}_default"
    form = '{{if index .Options "encrypted"}}encrypted{{else}}plain{{end}}'
    found = run_docker(["network", "inspect", "--format", form, name])
    needed, present = "encrypted" if encrypted else "plain", found.stdout.strip()
    if found.returncode == 0 and present != needed:
        raise LabError(
            f"overlay: the placement says {needed}, but the overlay {name} exists and is {present}",
            "Remove the stack first, `scripts/lab down --on PLACEMENT`. Ledgers are kept.",
        )


def deploy(stack: Stack, file: Path, node_names: Mapping[str, str]) -> None:
    """Hand the stack to Swarm, and wait until every service runs. Raises LabError that names those that do not.

    ``node_names`` has the names of hosts by the ids of nodes.
    """
    done = run_docker(command(stack, file), seconds_max=DEPLOY_SECONDS_MAX)
    by_hand = f"Run it by hand: {shlex.join(['docker', *command(stack, file)])}"
    output_of(done, "`docker stack deploy` failed", by_hand)
    services = services_of(stack.name)
    _start_ended(stack.name, services)
    await_ready(stack.name, services, StackProgress(stack.services, node_names))
    _remove_old_files(stack)


def _start_ended(stack: str, services: Sequence[ServiceForm]) -> None:
    """Start services again that have ended. Swarm does not, if they are as they were before. Raises LabError."""
    for name, task in newest(tasks_of(stack, services)).items():
        if task.state in ENDED and task.is_current:
            ui.note(f"{name} had ended ({task.trouble or task.state}); it is started again")
            replacing.replace(f"{stack}_{name}")


def await_ready(stack: str, services: Sequence[ServiceForm], progress: StackProgress) -> None:
    """Wait until every service of a stack runs. Raises LabError if one cannot, or after READY_SECONDS_MAX."""
    deadline = progress.started_at + READY_SECONDS_MAX
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while True:
            progress.take(tasks_of(stack, services))
            if progress.is_ready:
                return
            if failed := progress.failed:
                raise _start_error(stack, failed)
            now = time.monotonic()
            if now > deadline:
                raise LabError(
                    f"The stack was not ready within {READY_SECONDS_MAX:.0f} s: {progress.words()}",
                    f"See `docker stack ps --no-trunc {stack}`. `scripts/lab down --on PLACEMENT` removes the stack.",
                    exit_code=1,
                )
            ticker.show(f"{now - progress.started_at:.0f} s: {progress.words()}")
            time.sleep(POLL_SECONDS)


def _start_error(stack: str, failed: Mapping[str, str]) -> LabError:
    for name in [*failed][:2]:
        ui.note(f"last lines of {name}:")
        logs = ["service", "logs", "--raw", f"--tail={2 * LOG_LINES}", f"{stack}_{name}"]
        done = run_docker(logs, seconds_max=30)
        for line in last_lines(done.stdout + done.stderr, LOG_LINES):
            ui.note(f"| {line}")
    said = "; ".join(f"{name}: {trouble}" for name, trouble in failed.items())
    first = next(iter(failed))
    remedy = f"See `docker service logs {stack}_{first}` and `docker service ps --no-trunc {stack}_{first}`."
    return LabError(f"The stack did not start: {said}", f"{remedy} Then run this command again.", exit_code=1)


def _remove_old_files(stack: Stack) -> None:
    """Delete secrets and configs of earlier forms of the stack: Swarm keeps them, with the keys of old nodes."""
    for kind in Kind:
        what = kind.value.removesuffix("s")
        listed = run_docker([what, "ls", f"--filter=label={NAMESPACE}={stack.name}", "--format={{.Name}}"])
        current = stack.file_names(kind)
        old = [name for name in listed.stdout.split() if name not in current]
        if old:
            # One that a task still has is refused, and goes with the next start.
            run_docker([what, "rm", *old])
