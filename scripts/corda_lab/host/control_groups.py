"""Reads CPU time and memory of containers from the kernel's control groups, version 1 or 2.

The name of the control group of a container's main process contains the container's id. If the engine runs in a virtual
machine or on another host, that process is not visible here, and CPU time and memory are unknown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from bare.commands import run

PROC = Path("/proc")
FILES = {
    "cpu": ("cpuacct", "cpuacct.usage", "cpu.stat"),
    "memory": ("memory", "memory.stat", "memory.stat"),
}
"""The controller of a value in version 1, and its files in the two versions."""


@dataclass(frozen=True)
class Meter:
    """The files in which the kernel counts the CPU time and the memory of a container."""

    cpu: Path
    memory: Path

    def read(self) -> tuple[float, int]:
        """Return CPU-seconds since the container's start, and bytes of memory now. Raises OSError or ValueError."""
        return (
            parse_usage(self.cpu.read_text(encoding="ascii")),
            parse_memory(self.memory.read_text(encoding="ascii")),
        )


def meters_by_name(containers: Sequence[str]) -> dict[str, Meter]:
    """Return the meters of containers by their names. Those that do not run, or are not visible, are left out."""
    if not containers:
        return {}
    done = run(["docker", "inspect", "--format", "{{.Name}} {{.Id}} {{.State.Pid}}", *containers])
    meters = {}
    # For a missing container, Docker prints an empty line.
    for line in filter(None, done.stdout.splitlines()):
        name, container, pid = line.split()
        if (known := meter(container, int(pid))) is not None:
            meters[name.lstrip("/")] = known
    return meters


def meter(container: str, pid: int) -> Meter | None:
    """Return the meter of a container; None if its control groups are not visible. ``container`` is the full id."""
    try:
        groups = (PROC / str(pid) / "cgroup").read_text(encoding="utf-8")
        mounts = (PROC / "self" / "mountinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    cpu, memory = (
        next((path for path in files(kind, container, groups, mounts) if path.exists()), None) for kind in FILES
    )
    return Meter(cpu, memory) if cpu and memory else None


def files(kind: str, container: str, groups: str, mounts: str) -> Iterator[Path]:
    """Yield the files that may contain a value of the container.

    ``groups`` is the text of ``/proc/<pid>/cgroup`` of its main process, ``mounts`` that of ``/proc/self/mountinfo``.
    """
    controller, file_of_1, file_of_2 = FILES[kind]
    for group_line, mount_line in product(groups.splitlines(), mounts.splitlines()):
        _, controllers, group = group_line.split(":", 2)
        mount, _, system = mount_line.partition(" - ")
        (root, point), version = mount.split()[3:5], system.partition(" ")[0]
        if container not in group or not group.startswith(root):
            continue
        folder = Path(point) / group.removeprefix(root).lstrip("/")
        if version == "cgroup2" and not controllers:
            yield folder / file_of_2
        elif (
            version == "cgroup" and controller in controllers.split(",") and controller in system.split()[-1].split(",")
        ):
            yield folder / file_of_1


def parse_usage(text: str) -> float:
    """Return the seconds in ``cpuacct.usage`` (nanoseconds) or ``cpu.stat`` (``usage_usec``). Raises ValueError."""
    for line in text.splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return int(text) / 1e9


def parse_memory(text: str) -> int:
    """Return the bytes that processes have allocated, in ``memory.stat`` of either version. Raises ValueError.

    The page cache is left out: the kernel keeps files in it as long as nothing else needs the room.
    """
    fields = dict(line.split(maxsplit=1) for line in text.splitlines())
    value = fields.get("total_rss") or fields.get("anon")
    if value is None:
        raise ValueError("memory.stat has neither total_rss nor anon")
    return int(value)
