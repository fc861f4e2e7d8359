"""A container whose JVM answers the profiler, as far as a test needs it, and profiles that were taken of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from corda_lab.lab.docker import Container
from corda_lab.profile.jvm import Jvm
from corda_lab.results import folders, profiles
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.profiles import ComponentShare, Event, Flows, Profile
from corda_lab.results.stored import PROFILES
from support.docker import docker_client

JVM = Jvm("PartyA", Container("lab-partya-1"), 17, "4.3")
STACKS = "[Node thread-1 tid=57];net/corda/core/flows/FinalityFlow.call;org/h2/jdbc/JdbcConnection.commit 300"

PAGE = r"HTTP/1.0 200 OK\r\n\r\ncorda_flows_finished_total 126.0\ncorda_flows_started_total 142.0\n"
ANSWERS = (
    ("dev/tcp", f"printf '{PAGE}'"),
    ("asprof status", "echo Profiler is not active"),
    ("asprof stop", f"echo '{STACKS}'"),
    ("asprof dump", "echo '<html>a flame graph</html>'"),
)
"""What the container prints, by a part of the command that is run in it. Everything else succeeds in silence."""


def jvm_client(directory: Path, monkeypatch: pytest.MonkeyPatch, answers: Sequence[tuple[str, str]] = ()) -> Path:
    """Put a Docker client on PATH in whose containers a JVM can be profiled. Returns the log of its commands.

    ``answers`` come before ``ANSWERS``. Each is a part of a command, and a shell script that takes its place.
    """
    folder = directory / "client"
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    log.touch()
    cases = "\n".join(f'*"{part}"*) {script} ;;' for part, script in (*answers, *ANSWERS))
    docker_client(folder, monkeypatch, f'echo "$*" >> {log}\ncase "$*" in\n{cases}\nesac')
    return log


def commands(log: Path) -> list[str]:
    """The commands that were run in containers, each without what names the container."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(f"exec {JVM.container} ") for line in lines]


def profile_of(node: str = "PartyA", *, components: int = 12) -> Profile:
    """A profile of the CPU time of a node, with components of falling shares."""
    shares = [2.0 ** -(number + 1) for number in range(components)]
    return Profile(
        name=f"{node.lower()}-cpu",
        node=node,
        event=Event.CPU,
        engine="ctimer",
        started_at="2026-01-02T03:04:05+00:00",
        seconds=30.0,
        flows=Flows(ended=90, started=91, seconds=30.0),
        total=12.0,
        idle_percent=0.0,
        components=tuple(
            ComponentShare(
                name=f"component {number}",
                meaning=f"does thing {number}",
                share_percent=round(100 * share, 2),
                value=12 * share,
                method=f"Class{number}.method",
                innermost="libc.so.6",
            )
            for number, share in enumerate(shares)
        ),
        states={},
        versions={"CORDA_VERSION": "4.10"},
    )


def taken_in(folder: Path, node: str = "PartyA", *, began_at: float = 0.0) -> ProfileEntry:
    """A profile of 30 seconds whose files are in a folder."""
    (folder / profiles.FOLDER).mkdir(parents=True, exist_ok=True)
    profile = profile_of(node)
    path = profiles.write(folder / profiles.FOLDER, profile, "<html>a flame graph</html>", f"{STACKS}\n")
    return ProfileEntry(node=node, file=str(path.relative_to(folder)), began_at=began_at, seconds=30.0)


def write_profiles(step: Path, entries: Sequence[ProfileEntry]) -> None:
    """Store what was profiled under the load of a step, whose folder has the files."""
    folders.write_json(step / PROFILES, [entry.model_dump(mode="json") for entry in entries])
