"""Asks the databases of the running or stopped lab. Nothing in them changes."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from corda_lab.audit import queries
from corda_lab.audit.deadline import Deadline
from corda_lab.audit.dumps import Source
from corda_lab.audit.queries import Wanted
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose

NODE_FILE = "/opt/corda/persistence/persistence.mv.db"
AT_ONCE = 2
"""Nodes that are read at the same time: each takes a core and the disk."""
TRIES_MAX = 3
"""How often a node is asked. A copy that was taken while H2 moved its pages does not open."""
TRY_SECONDS_MIN = 2.0
STOPPED = ("exited", "created", "dead")
"""States of containers whose volumes can be read in another container."""


@dataclass(frozen=True)
class Answers:
    """What was read: the answers, and for every node that did not answer, why."""

    sources: tuple[Source, ...]
    reasons: tuple[str, ...]


def read(
    compose: Compose,
    wanted: Wanted,
    folder: Path,
    deadline: Deadline,
    *,
    files: Mapping[str, str] | None = None,
) -> Answers:
    """Ask the databases of all nodes of the lab, into ``folder``. ``files`` has another H2 file for some nodes.

    If a node does not answer, its reason is in the answers. Raises LabError if there is no lab.
    """
    settings = compose.settings
    states = {service.name: service.state for service in compose.services()}
    if not states.keys() & {node.lower() for node in settings.nodes}:
        raise LabError("There is no lab to audit", "Start one with `scripts/lab up`.", exit_code=1)
    if settings.values.get("DATABASE") == "postgres":
        return _of([_ask_postgres(compose, settings.nodes, wanted, folder, deadline)])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(
            lambda node: _ask_h2(
                compose,
                node,
                queries.h2_arguments((files or {}).get(node, NODE_FILE), wanted),
                folder,
                deadline,
                states.get(node.lower()),
            ),
            settings.nodes,
        )
        return _of(list(found))


def _of(found: Sequence[Source | str]) -> Answers:
    return Answers(
        tuple(one for one in found if isinstance(one, Source)), tuple(one for one in found if isinstance(one, str))
    )


def _ask_h2(
    compose: Compose, node: str, arguments: list[str], folder: Path, deadline: Deadline, state: str | None
) -> Source | str:
    """Read the H2 file of a node in its container, or in one of its own if that has stopped."""
    if state not in ("running", *STOPPED):
        why = "it has no container" if state is None else f"its container is {state}"
        return f"the database of {node} could not be read: {why}"
    service, path = node.lower(), folder / f"{node}.csv"

    def ask() -> None:
        # What runs in the container has to end too.
        script = ["--kill-after=5", str(int(deadline.left)), "bash", "-c", queries.H2_SCRIPT, "audit", *arguments]
        if state == "running":
            command = ["exec", "-T", service, "timeout", *script]
        else:
            command = ["run", "--rm", "--no-deps", "-T", "--entrypoint", "timeout", service, *script]
        compose.run_to_file(path, *command, seconds_max=deadline.left + 6)

    problem = _tried(ask, deadline)
    return f"the database of {node} could not be read: {problem}" if problem else Source(path, node)


def _ask_postgres(
    compose: Compose, nodes: Sequence[str], wanted: Wanted, folder: Path, deadline: Deadline
) -> Source | str:
    path = folder / "postgres.csv"

    def ask() -> None:
        commands = queries.postgres_commands(nodes, wanted, seconds_max=deadline.left)
        command = ["exec", "-T", "postgres", "sh", "-c", queries.POSTGRES_SCRIPT, "audit"]
        compose.run_to_file(path, *command, *queries.in_pieces(commands), seconds_max=deadline.left)

    problem = _tried(ask, deadline)
    return f"PostgreSQL could not be read: {problem}" if problem else Source(path)


def _tried(ask: Callable[[], None], deadline: Deadline) -> str | None:
    """Ask until there is an answer. Returns why there is none."""
    problem = f"no time was left of {deadline.seconds:.0f} s"
    for _ in range(TRIES_MAX):
        if deadline.left < TRY_SECONDS_MIN:
            break
        try:
            ask()
        except LabError as error:
            # The command itself has the whole script in it.
            problem = " ".join(error.message.rpartition("` ")[2].split())
        else:
            return None
    return problem
