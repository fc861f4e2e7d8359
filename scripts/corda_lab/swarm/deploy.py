"""Deploys a stack, in the order of its start: makes its network, hands it to Swarm, and opens the ports of the manager.

``docker stack deploy`` with the same file does the second. Swarm says that a task is running when its health check has
passed. A task that has ended is never started again: Swarm makes another one, if the service's restart policy says so.
"""

import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host.processes import last_lines
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import ask, docker, labelled, output_of, replace_ended
from corda_lab.lab.settings import BOOTSTRAP, Settings
from corda_lab.paths import ROOT
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.stack import Kind, NetworkFiles, Stack
from corda_lab.text import ui

BOOTSTRAP_FILE = ROOT / "deploy" / "swarm" / "bootstrap.yaml"
BOOTSTRAP_SECONDS_MAX = 300.0
COPY_SECONDS_MAX = 60.0
PLACES = ("/network", "/nodes", "/secrets")
"""The folders of its container in which the bootstrapper writes what services read."""
ACCESS_FILE = ROOT / "deploy" / "swarm" / "access.yaml"
PORTS = ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
PAGES, API = "pages", "api"
"""The services of that file: Locust, Prometheus and Grafana, and the bridge."""
OPEN_SECONDS_MAX = 180.0
CLOSE_SECONDS_MAX = 120.0
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


def bootstrap_container(stack: str) -> str:
    return f"{stack}-{BOOTSTRAP}"


def make_network(settings: Settings, folder: StackFolder) -> NetworkFiles:
    """Run the bootstrapper once for a stack, and return a copy of what it has written. Raises LabError.

    It knows itself whether the network exists already and fits the shape. It has a Compose project of the stack's name,
    so that identities and ledgers of a lab on this machine are never touched.
    """
    folder.create()
    compose = Compose(replace(settings, project=folder.stack), files=[BOOTSTRAP_FILE])
    compose.environment["LAB_NODE_IMAGE"] = settings.own_node_image
    container = bootstrap_container(folder.stack)
    # A command that was killed may have left one.
    _remove_container(container)
    try:
        command = ("run", "--no-deps", "--no-TTY", "--name", container, BOOTSTRAP)
        done = compose.run(*command, check=False, seconds_max=BOOTSTRAP_SECONDS_MAX)
        for line in done.stdout.splitlines():
            ui.note(f"| {line}")
        remedy = "Mend what it names, or delete stack and ledgers: `scripts/lab down --on PLACEMENT --volumes`."
        output_of(done, "The bootstrapper failed", remedy)
        _copy_network(container, folder)
    finally:
        _remove_container(container)
    return NetworkFiles(folder.network)


def _copy_network(container: str, folder: StackFolder) -> None:
    """Replace the copy of the network's files by those of a container, which has ended. Raises LabError."""
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.root))
    try:
        for place in PLACES:
            done = docker("cp", f"{container}:{place}", str(partial), seconds_max=COPY_SECONDS_MAX)
            output_of(done, f"Copying {place} of the bootstrapper failed", "Run it again.")
        if folder.network.exists():
            shutil.rmtree(folder.network)
        partial.rename(folder.network)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove_container(container: str) -> None:
    # An engine that does not answer is the error of the command before.
    with suppress(LabError):
        docker("rm", "--force", container)


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
    listing = ("service", "ls", "--format={{.Name}}", *labelled(f"{NAMESPACE}={stack}"))
    names = ask(*listing, seconds_max=READ_SECONDS_MAX).split()
    form = f'{{{{.Spec.Name}}}}\t{{{{index .Spec.TaskTemplate.ContainerSpec.Labels "{shape.LABEL}"}}}}'
    text = ask("service", "inspect", f"--format={form}", *names, seconds_max=READ_SECONDS_MAX) if names else ""
    labels = dict(line.split("\t") for line in text.splitlines())
    return {name.removeprefix(f"{stack}_"): labels[name] for name in sorted(labels)}


def tasks_of(stack: str) -> dict[str, Task]:
    """Return the newest task of each service of a stack that has one. Raises LabError."""
    done = docker("stack", "ps", "--no-trunc", "--format={{json .}}", stack, seconds_max=READ_SECONDS_MAX)
    if done.returncode != 0 and "nothing found in stack" not in done.stderr:
        output_of(done, f"`docker stack ps {stack}` failed")
    tasks: dict[str, Task] = {}
    for entry in map(json.loads, done.stdout.splitlines()):
        # The name of a task is that of its service, with a number. The newest comes first.
        service = entry["Name"].removeprefix(f"{stack}_").rpartition(".")[0]
        state, _, _ = entry["CurrentState"].lower().partition(" ")
        tasks.setdefault(service, Task(entry["ID"], state, entry["Node"], entry["Error"].strip('"')))
    return tasks


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
        reasons = {}
        for name, task in self.tasks.items():
            seconds = now - self._since[task.id, task.state]
            if task.state in ENDED and seconds >= ENDED_SECONDS_MAX:
                reasons[name] = task.trouble or f"its task has ended ({task.state})"
            elif task.state == "pending" and task.trouble and seconds >= PENDING_SECONDS_MAX:
                reasons[name] = task.trouble
        return reasons

    def words(self) -> str:
        states: dict[str, list[str]] = {}
        for name in self.expected:
            state = self.tasks[name].state if name in self.tasks else "waiting"
            if state != RUNNING:
                states.setdefault(state, []).append(name)
        return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "all services run"


def has_left_swarm() -> bool:
    """Whether the engine of this machine answers that it is in no swarm, and so has no stack."""
    state = ("info", "--format", "{{.Swarm.LocalNodeState}}")
    return docker(*state, seconds_max=READ_SECONDS_MAX).stdout.strip() == "inactive"


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
    done = docker("network", "inspect", "--format", form, name)
    needed, present = "encrypted" if encrypted else "plain", done.stdout.strip()
    if done.returncode == 0 and present != needed:
        raise LabError(
            f"overlay: the placement says {needed}, but the overlay {name} exists and is {present}",
            "Remove the stack first, `scripts/lab down --on PLACEMENT`. Ledgers are kept.",
        )


def deploy(stack: Stack, file: Path) -> None:
    """Hand the stack to Swarm, and wait until every service runs. Raises LabError that names those that do not."""
    done = docker(*command(stack, file), seconds_max=DEPLOY_SECONDS_MAX)
    by_hand = f"Run it by hand: {shlex.join(['docker', *command(stack, file)])}"
    output_of(done, "`docker stack deploy` failed", by_hand)
    for name, task in tasks_of(stack.name).items():
        if task.state in ENDED:
            # Swarm does not start it, if its service is as it was before.
            replace_ended(f"{stack.name}_{name}")
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
        done = docker(*logs, seconds_max=30)
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
        names = docker(what, "ls", *labelled(f"{NAMESPACE}={stack.name}"), "--format={{.Name}}").stdout.split()
        if old := [name for name in names if name not in stack.document[kind.value]]:
            # One that a task still has is refused, and goes with the next start.
            docker(what, "rm", *old)


def access_project(stack: str) -> str:
    return f"{stack}-access"


def open_ports(settings: Settings, stack: str, image: str, *, with_bridge: bool) -> None:
    """Lead from 127.0.0.1 of the manager to the ports of a stack. So all clients of the lab work as on one machine.

    Swarm publishes a port on all addresses of a host or not at all. So the proxies are plain containers on the manager,
    which are made anew if the ports have changed. ``image`` is that of links. ``with_bridge`` is False if the bridge is
    published for all and runs on this machine: it has the port already. Raises LabError with what a proxy last said.
    """
    values = {name: str(settings.port(name)) for name in PORTS}
    values |= {"LAB_LINKS_IMAGE": image, "LAB_STACK_NETWORK": f"{stack}_default"}
    services = (PAGES, API) if with_bridge else (PAGES,)
    wait = ("--wait", "--wait-timeout", f"{OPEN_SECONDS_MAX:.0f}")
    done = _access(stack, values, "up", "--detach", *wait, *services, seconds_max=OPEN_SECONDS_MAX + 30)
    if done.returncode != 0:
        log = _access(stack, values, "logs", "--no-color", "--tail=3", *services, seconds_max=30).stdout
        said = " | ".join(filter(None, (last_words(done.stderr, 1), last_words(log, 3))))
        raise LabError(f"the ports of this machine were not opened: {said}", exit_code=1)


def close_ports(stack: str) -> None:
    # The file needs values, even for what is only removed.
    values = dict.fromkeys((*PORTS, "LAB_LINKS_IMAGE", "LAB_STACK_NETWORK"), "0")
    done = _access(stack, values, "down", "--remove-orphans", "--timeout=5", seconds_max=CLOSE_SECONDS_MAX)
    output_of(done, f"the project {access_project(stack)} was not removed")


def _access(stack: str, values: dict[str, str], *arguments: str, seconds_max: float) -> CompletedProcess[str]:
    command = ("compose", "--file", str(ACCESS_FILE), "--project-name", access_project(stack), *arguments)
    return docker(*command, seconds_max=seconds_max, environment=values)
