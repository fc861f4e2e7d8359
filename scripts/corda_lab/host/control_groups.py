"""Processor time of containers, as the kernel's control groups count it, whether of version 1 or 2.

A container's main process is in a group that has the container's id in its name. Where there is no such process on this
machine, as with an engine in a virtual machine or on another host, nothing is known.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from corda_lab.host.processes import run_bounded

PROC = Path("/proc")


def cpu_seconds(containers: Sequence[str]) -> float | None:
    """Seconds of all processors that running containers have taken since their start; None where that is not known.

    ``containers`` are ids or names. Of those that do not run any more nothing is left to read: they count as nothing.
    """
    if not containers:
        return 0.0
    done = run_bounded(["docker", "inspect", "--format", "{{.Id}} {{.State.Pid}}", *containers])
    pids = dict(line.split() for line in done.stdout.splitlines())
    seconds = [container_cpu_seconds(container, int(pid)) for container, pid in pids.items() if pid != "0"]
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None


def container_cpu_seconds(container: str, pid: int) -> float | None:
    """Seconds that the container ``container`` (its whole id), whose main process is ``pid``, has taken since its start."""
    try:
        groups = (PROC / str(pid) / "cgroup").read_text(encoding="utf-8")
        mounts = (PROC / "self" / "mountinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    for path in usage_files(container, groups, mounts):
        try:
            return parse_usage(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None


def usage_files(container: str, groups: str, mounts: str) -> Iterator[Path]:
    """Where the container's processor time may be read.

    ``groups`` is ``/proc/<pid>/cgroup`` of its main process, ``mounts`` this process's ``/proc/self/mountinfo``.
    """
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if container not in group:
            continue
        for kind, root, point, options in _cgroup_mounts(mounts):
            if not group.startswith(root):
                continue
            folder = Path(point) / group.removeprefix(root).lstrip("/")
            if kind == "cgroup2" and not controllers:
                yield folder / "cpu.stat"
            elif kind == "cgroup" and "cpuacct" in controllers.split(",") and "cpuacct" in options:
                yield folder / "cpuacct.usage"


def _cgroup_mounts(mounts: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Kind, root within the hierarchy, mount point and options of every mounted hierarchy of control groups."""
    for line in mounts.splitlines():
        mount, _, system = line.partition(" - ")
        fields, kind = mount.split(), system.partition(" ")[0]
        if kind.startswith("cgroup"):
            yield kind, fields[3], fields[4], system.split()[-1].split(",")


def parse_usage(text: str) -> float:
    """Seconds in ``cpuacct.usage`` (nanoseconds) or ``cpu.stat`` (a line ``usage_usec``). Raises ValueError."""
    for line in text.splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return int(text) / 1e9
