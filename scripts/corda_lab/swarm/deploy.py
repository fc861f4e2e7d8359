"""Deploys a stack, and waits until every service runs. ``docker stack deploy`` with the same file does the same."""

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host.processes import last_lines, last_words
from corda_lab.lab import replacing
from corda_lab.lab.engine import run_docker
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.shared_files import Kind
from corda_lab.swarm.stack import Stack
from corda_lab.swarm.tasks import ENDED, ServiceForm, StackProgress, newest, services_of, tasks_of
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


def command(stack: Stack, file: Path) -> list[str]:
    """Return the arguments that follow ``docker`` on the command line."""
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
    if done.returncode != 0:
        raise LabError(
            f"`docker stack deploy` failed: {last_words(done.stderr or done.stdout)}",
            f"Run it by hand: {shlex.join(['docker', *command(stack, file)])}",
            exit_code=1,
        )
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
    """Print the last log lines of services that failed, and return the error with its remedy."""
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
