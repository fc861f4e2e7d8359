"""Removes a stack with everything that belongs to it, whatever an interrupted command has left."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from corda_lab.errors import LabError
from corda_lab.lab.engine import HERE, Engine, outcomes, output_of, problems_of, run_docker
from corda_lab.swarm import access, bootstrap
from corda_lab.swarm.deploy import LABEL, NAMESPACE
from corda_lab.swarm.folder import StackFolder
from corda_lab.text import ui
from lab_workload.problems import Problem

GONE_SECONDS_MAX = 240.0
"""A node may take two minutes to close its database."""
POLL_SECONDS = 2.0
REPORT_EVERY_SECONDS = 15.0
NETWORK_SECONDS_MAX = 60.0
"""How long hosts may take to let go of an overlay, once no container is in it."""
NETWORK_POLL_SECONDS = 0.5


def remove(folder: StackFolder, hosts: Sequence[Engine], *, volumes: bool) -> None:
    """Remove the stack, and what runs beside it. Raises LabError with all that is still there, and why.

    With ``volumes``, also delete the ledgers, the metrics and the identities on every host.
    A host that cannot be reached does not keep the others from being cleared.
    """
    stack = folder.stack
    folder.note_ended()
    problems: list[Problem] = []
    with ui.phase("Stopping the stack" + (" and deleting its volumes" if volumes else "")):
        with _noted(problems):
            name = bootstrap.container_of(stack)
            if run_docker(["container", "inspect", name]).returncode == 0:
                output_of(run_docker(["rm", "--force", name]), f"The container {name} was not removed")
        problems += problems_of(outcomes(hosts, lambda host: _remove_plain(host, stack)))
        with _noted(problems):
            access.remove(stack)
        with _noted(problems):
            output_of(run_docker(["stack", "rm", stack]), f"The stack {stack} was not removed")
        problems += _await_gone(hosts, stack)
        overlays = run_docker(["network", "ls", f"--filter=label={NAMESPACE}={stack}", "--format={{.Name}}"])
        for name in overlays.stdout.split():
            with _noted(problems):
                _remove_network(name)
        if volumes:
            # The engine of this machine may be that of a host, so it comes afterwards.
            for engines in (hosts, [HERE]):
                problems += problems_of(outcomes(engines, lambda host: _remove_volumes(host, stack)))
    if problems:
        raise LabError(problems=[*dict.fromkeys(problems)], exit_code=1)
    if volumes:
        folder.forget()


@contextmanager
def _noted(problems: list[Problem]) -> Iterator[None]:
    """Note an error of the block, and go on: what can be removed is removed."""
    try:
        yield
    except LabError as error:
        problems += error.problems


def _remove_plain(host: Engine, stack: str) -> None:
    left = host.checked("ps", "--all", "--quiet", f"--filter=label={LABEL}={stack}").split()
    if left:
        host.checked("rm", "--force", "--volumes", *left)


def _await_gone(hosts: Sequence[Engine], stack: str) -> list[Problem]:
    """Wait until no host has a container of the stack. Return what is wrong with those that keep one, or are lost."""
    form = ["ps", "--all", f"--filter=label={NAMESPACE}={stack}", "--format={{.Names}}"]
    problems: list[Problem] = []
    waiting = list(hosts)

    def left() -> list[str]:
        found = outcomes(waiting, lambda host: host.checked(*form).split())
        problems.extend(problems_of(found))
        names = {name: one for name, one in found.items() if not isinstance(one, LabError) and one}
        waiting[:] = [host for host in waiting if host.name in names]
        # The name of a task's container is that of its service, with a number and an id.
        return [
            f"{name.removeprefix(f'{stack}_').partition('.')[0]} on {host}" for host in names for name in names[host]
        ]

    started = time.monotonic()
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while names := left():
            seconds = time.monotonic() - started
            if seconds > GONE_SECONDS_MAX:
                text = f"containers of the stack are still there: {', '.join(names)}"
                return [*problems, Problem(text, remedy="A restart of the engine removes what it has lost.")]
            ticker.show(f"{seconds:.0f} s: {', '.join(names)}")
            time.sleep(POLL_SECONDS)
    return problems


def _remove_network(name: str) -> None:
    """Remove an overlay, as soon as no host uses it any more. Raises LabError after NETWORK_SECONDS_MAX."""
    deadline = time.monotonic() + NETWORK_SECONDS_MAX
    while run_docker(["network", "inspect", name]).returncode == 0:
        done = run_docker(["network", "rm", name])
        if time.monotonic() > deadline:
            remedy = f"`docker network inspect --verbose {name}` shows what still uses it."
            output_of(done, f"The overlay {name} was not removed", remedy)
        time.sleep(NETWORK_POLL_SECONDS)


def _remove_volumes(host: Engine, stack: str) -> None:
    """Remove the volumes of the stack, and those of its bootstrapper, from one engine. Raises LabError."""
    names: list[str] = []
    for label in (NAMESPACE, "com.docker.compose.project"):
        listed = host.run("volume", "ls", "--quiet", f"--filter=label={label}={stack}")
        names += output_of(listed, "The volumes could not be listed").split()
    if names:
        output_of(host.run("volume", "rm", "--force", *names), "Volumes were not deleted")
