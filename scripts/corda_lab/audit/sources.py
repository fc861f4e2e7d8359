"""Asks the databases of the running or stopped lab. Nothing in them changes."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bare.commands import last_words
from corda_lab.audit import queries
from corda_lab.audit.dumps import failures
from corda_lab.audit.queries import LEDGERS, Deadline, Wanted
from corda_lab.errors import LabError
from corda_lab.lab.cordapps import PLATFORM_VERSIONS, platform_version
from corda_lab.lab.docker import READER, docker, docker_to_file
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings

FIRST_CORDA = "4.6"
"""The first version of Corda whose ledgers are read. Older ones have other tables, and no client ids."""
NODE_FILE = "persistence.mv.db"
TRIES_MAX = 10
"""How often a node is asked. A copy that was taken while H2 moved its pages does not open."""
AGAIN_SECONDS = 2.0
"""Time between two copies. After a load, H2 moves pages for some seconds."""
TRY_SECONDS_MIN = 2.0
ENDING_SECONDS = 6.0
"""How long a command may take to end after its time is over."""
LABEL = "org.cordalab.audit"
"""Label of the containers that read volumes, with the project as its value."""
NETWORK = "/network/network-parameters"
"""The file that completes a network. A later bootstrap, for another preset or more parties, leaves it as it is."""
NETWORK_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Answers:
    """What was read: a file for each answer, and for every database that did not answer, why."""

    sources: tuple[Path, ...]
    reasons: tuple[str, ...]


def read(
    compose: Lab,
    wanted: Wanted,
    folder: Path,
    deadline: Deadline,
    *,
    files: Mapping[str, str] | None = None,
) -> Answers:
    """Ask the databases of all nodes of the lab, into ``folder``.

    ``files`` has the name of another H2 file on the volume of some nodes, or of another schema in PostgreSQL. If a
    database does not answer, its reason is in the answers. Raises LabError if there is no lab.
    """
    settings = compose.settings
    found = present(compose)
    if settings.values.get("DATABASE") == "postgres":
        return _read_postgres(compose, wanted, folder, deadline, files)
    chosen: dict[str, dict[str, str]] = {}
    for node in settings.nodes:
        if node.lower() in found:
            chosen.setdefault(found[node.lower()], {})[node] = (files or {}).get(node, NODE_FILE)
    absent = [f"{node} has no container" for node in settings.nodes if node.lower() not in found]

    def read_on(context: str) -> Answers:
        return _read_h2(compose, context, chosen[context], wanted, folder, deadline)

    if len(chosen) < 2:
        # Without a thread, Ctrl-C ends the command at once.
        answers = [read_on(context) for context in chosen]
    else:
        # All engines at once: they have the same deadline.
        with ThreadPoolExecutor(max_workers=len(chosen)) as pool:
            answers = list(pool.map(read_on, chosen))
    read_there = tuple(source for one in answers for source in one.sources)
    return Answers(read_there, (*absent, *(reason for one in answers for reason in one.reasons)))


def unsupported(settings: Settings) -> str | None:
    """Why the ledgers of this version of Corda are not read; None if they are."""
    version = settings["CORDA_VERSION"]
    platform = platform_version(version)
    if platform is None or platform >= PLATFORM_VERSIONS[FIRST_CORDA]:
        return None
    return f"ledgers are read from Corda {FIRST_CORDA} on, and the nodes are of {version}"


def present(compose: Lab) -> dict[str, str]:
    """The services that have containers, with the context of the engine of each. Raises LabError if no node has one."""
    found = {service.name: service.container.context for service in compose.services()}
    if not found.keys() & {node.lower() for node in compose.settings.nodes}:
        raise LabError("There is no lab to audit", "Start one with `scripts/lab up`.", exit_code=1)
    return found


def network_created_at(compose: Lab) -> float:
    """When the network of the lab was made, in unix seconds: no ledger of it is older. Raises LabError.

    Node infos have new serials after every bootstrap, so no database says it in every version of Corda.
    """
    present(compose)
    arguments = [
        *("run", "--rm", f"--label={LABEL}={compose.project}", "--user=1000:1000", *READER),
        f"--volume={compose.project}_network:{NETWORK.rpartition('/')[0]}:ro",
        *("--entrypoint=stat", compose.settings.own_node_image, "--format=%Y", NETWORK),
    ]
    done = docker(*arguments, seconds_max=NETWORK_SECONDS_MAX)
    try:
        return float(done.stdout)
    except ValueError:
        why = last_words(done.stderr or done.stdout) or "nothing"
        raise LabError(f"when the network was made cannot be read: {why}", exit_code=1) from None


def h2_command(compose: Lab, files: Mapping[str, str], wanted: Wanted, seconds: int) -> list[str]:
    """The arguments of ``docker`` that read the H2 files of nodes, in one container on the lab's own image of a node.

    The bootstrapper has that image in every lab. An image that the lab has not built has H2's classes in its capsule.
    The container sees the volumes of the nodes read-only, and no network. It is apart from the nodes, so it takes
    nothing of their memory, and works on those that have stopped.
    """
    image = compose.reader_image
    project = compose.project
    volumes = [f"--volume={project}_{node.lower()}-persistence:{LEDGERS}/{node}:ro" for node in files]
    paths = {node: f"{LEDGERS}/{node}/{file}" for node, file in files.items()}
    return [
        *("run", "--rm", f"--label={LABEL}={project}", "--network=none", "--user=1000:1000"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--pids-limit=256", "--memory=1g"),
        # What it prints goes to a file of the lab's, and may be hundreds of megabytes.
        "--log-driver=none",
        *volumes,
        *("--entrypoint=timeout", image, "--kill-after=5", str(seconds)),
        *("bash", "-c", queries.H2_SCRIPT, "audit", *queries.h2_arguments(paths, wanted)),
    ]


def _read_h2(
    compose: Lab,
    context: str,
    files: Mapping[str, str],
    wanted: Wanted,
    folder: Path,
    deadline: Deadline,
) -> Answers:
    """Read the H2 files of nodes whose volumes an engine has. Those that do not open are copied again."""
    read: list[Path] = []
    left = dict(files)

    def ask() -> None:
        path = folder / "-".join(filter(None, ("h2", context, f"{len(read)}.csv")))
        command = h2_command(compose, left, wanted, max(1, int(deadline.left)))
        shown = "docker run … " + " ".join(left)
        docker_to_file(path, *command, on=context, shown=shown, seconds_max=deadline.left + ENDING_SECONDS)
        read.append(path)
        failed = failures(read[-1])
        for node in [node for node in left if node not in failed]:
            del left[node]
        if failed:
            why = "; ".join(f"{node}: {text}" for node, text in failed.items())
            raise LabError(f"`{shown}` failed: {why}", exit_code=1)

    problem = _tried(ask, deadline)
    reasons = [f"the ledgers of {', '.join(left)} could not be read: {problem}"] if problem else []
    return Answers(tuple(read), tuple(reasons))


def _read_postgres(
    compose: Lab, wanted: Wanted, folder: Path, deadline: Deadline, schemas: Mapping[str, str] | None
) -> Answers:
    path = folder / "postgres.csv"

    def ask() -> None:
        nodes, left = compose.settings.nodes, deadline.left
        commands = queries.postgres_commands(nodes, wanted, seconds_max=left, schemas=schemas)
        command = ("sh", "-c", queries.POSTGRES_SCRIPT, "audit", *queries.in_pieces(commands))
        compose.exec_to_file(path, "postgres", *command, seconds_max=deadline.left)

    problem = _tried(ask, deadline)
    return Answers((), (f"PostgreSQL could not be read: {problem}",)) if problem else Answers((path,), ())


def _tried(ask: Callable[[], None], deadline: Deadline) -> str | None:
    """Ask until there is an answer. Returns why there is none."""
    problem = f"no time was left of {deadline.seconds:.0f} s"
    for number in range(TRIES_MAX):
        time.sleep(min(AGAIN_SECONDS, deadline.left) if number else 0)
        if deadline.left < TRY_SECONDS_MIN:
            break
        try:
            ask()
        except LabError as error:
            # The command itself has the whole script in it.
            words = " ".join(error.message.rpartition("` ")[2].removeprefix("failed: ").split())
            problem = words or f"reading did not end within {deadline.seconds:.0f} s"
        else:
            return None
    return problem
