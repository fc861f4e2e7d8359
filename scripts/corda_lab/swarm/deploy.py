"""Deploys a stack, and waits until every service runs. ``docker stack deploy`` with the same file does the same.

Swarm says that a task is running when its health check has passed. A task that has ended is never started again: Swarm
makes another one, if the service's restart policy says so.
"""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host.processes import last_lines
from corda_lab.lab import replacing, shape
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
SETTLED_SECONDS = 5.0
"""How long Swarm may take to replace a task whose service has changed. `docker service update` waits as long."""
PENDING_SECONDS_MAX = 60.0
"""How long Swarm may look for a host. What does not fit now will not fit later: nothing else is to run there."""
ENDED_SECONDS_MAX = 10.0
"""How long a task may have ended without another one in its place. Swarm makes one after five seconds."""
READ_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Task:
    """The newest task of a service: its container on a host, or what is to become one."""

    id: str
    state: str
    """Swarm's word: ``pending``, ``preparing``, ``starting``, ``running``, ``failed`` and others."""
    host: str = ""
    """The hostname of its node; empty as long as there is none."""
    trouble: str = ""
    """Why it does not run; empty if there is nothing to say."""

    def __str__(self) -> str:
        return self.state + (f" on {self.host}" if self.host else "") + (f": {self.trouble}" if self.trouble else "")


def services_of(stack: str) -> dict[str, str]:
    """Return the label with the shape of each service of a stack; empty if it does not exist. Raises LabError."""
    names = _checked(["service", "ls", "--format={{.Name}}", f"--filter=label={NAMESPACE}={stack}"]).split()
    form = f'{{{{.Spec.Name}}}}\t{{{{index .Spec.TaskTemplate.ContainerSpec.Labels "{shape.LABEL}"}}}}'
    text = _checked(["service", "inspect", f"--format={form}", *names]) if names else ""
    labels = dict(line.split("\t") for line in text.splitlines())
    return {name.removeprefix(f"{stack}_"): labels[name] for name in sorted(labels)}


def tasks_of(stack: str) -> dict[str, Task]:
    """Return the newest task of each service of a stack that has one. Raises LabError."""
    done = run_docker(["stack", "ps", "--no-trunc", "--format={{json .}}", stack], seconds_max=READ_SECONDS_MAX)
    if done.returncode != 0 and "nothing found in stack" not in done.stderr:
        output_of(done, f"`docker stack ps {stack}` failed")
    found: dict[str, Task] = {}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        # The name of a task is that of its service, with a number. The newest comes first.
        service = said["Name"].removeprefix(f"{stack}_").rpartition(".")[0]
        state, _, _ = said["CurrentState"].lower().partition(" ")
        found.setdefault(service, Task(said["ID"], state, said["Node"], said["Error"].strip('"')))
    return found


@dataclass
class StackProgress:
    """What becomes of each service of a stack while it starts. It is fed with tasks, and asks nobody itself."""

    expected: Sequence[str]
    started_at: float = field(default_factory=time.monotonic)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    """Since when a task was seen, by its id, and in a state, by its id and the state."""

    def take(self, tasks: Mapping[str, Task]) -> None:
        """Take what Swarm says now, and print which services became ready or ended since the last time."""
        now = time.monotonic()
        self.tasks = {name: task for name, task in tasks.items() if name in self.expected}
        for name, task in self.tasks.items():
            if (task.id, task.state) not in self._since and task.state in (RUNNING, *ENDED):
                ui.note(f"{now - self.started_at:6.1f} s  {name:<17} {task}")
            self._since.setdefault((task.id, ""), now)
            self._since.setdefault((task.id, task.state), now)

    @property
    def is_ready(self) -> bool:
        """Whether all services run, and Swarm replaces none of their tasks."""
        settled = time.monotonic() - SETTLED_SECONDS
        tasks = [self.tasks.get(name) for name in self.expected]
        return all(task and task.state == RUNNING and self._since[task.id, ""] <= settled for task in tasks)

    @property
    def failed(self) -> dict[str, str]:
        """The services that will not run, with the reason in Swarm's words."""
        now = time.monotonic()
        found = {}
        for name, task in self.tasks.items():
            seconds = now - self._since[task.id, task.state]
            if task.state in ENDED and seconds >= ENDED_SECONDS_MAX:
                found[name] = task.trouble or f"its task has ended ({task.state})"
            elif task.state == "pending" and task.trouble and seconds >= PENDING_SECONDS_MAX:
                found[name] = task.trouble
        return found

    def words(self) -> str:
        states: dict[str, list[str]] = {}
        for name in self.expected:
            state = self.tasks[name].state if name in self.tasks else "waiting"
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


def require_overlay(name: str, *, encrypted: bool) -> None:
    """Raise LabError if an overlay is there, and not of the kind that the placement wants."""
    form = '{{if index .Options "encrypted"}}encrypted{{else}}plain{{end}}'
    found = run_docker(["network", "inspect", "--format", form, name])
    needed, present = "encrypted" if encrypted else "plain", found.stdout.strip()
    if found.returncode == 0 and present != needed:
        raise LabError(
            f"overlay: the placement says {needed}, but the overlay {name} exists and is {present}",
            "Remove the stack first, `scripts/lab down --on PLACEMENT`. Ledgers are kept.",
        )


def deploy(stack: Stack, file: Path) -> None:
    """Hand the stack to Swarm, and wait until every service runs. Raises LabError that names those that do not."""
    done = run_docker(command(stack, file), seconds_max=DEPLOY_SECONDS_MAX)
    by_hand = f"Run it by hand: {shlex.join(['docker', *command(stack, file)])}"
    output_of(done, "`docker stack deploy` failed", by_hand)
    for name, task in tasks_of(stack.name).items():
        if task.state in ENDED:
            # Swarm does not start it, if its service is as it was before.
            replacing.replace_ended(f"{stack.name}_{name}")
    await_ready(stack.name, StackProgress(stack.services))
    _remove_old_files(stack)


def await_ready(stack: str, progress: StackProgress) -> None:
    """Wait until every service of a stack runs. Raises LabError if one cannot, or after READY_SECONDS_MAX."""
    deadline = progress.started_at + READY_SECONDS_MAX
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while True:
            progress.take(tasks_of(stack))
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
