"""Reads the CPU time of containers from the kernel's control groups, version 1 or 2.

The name of the control group of a container's main process contains the container's id. If the engine runs in a virtual
machine or on another host, that process is not visible here, and the CPU time is unknown.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from corda_lab.host.processes import run_bounded

PROC = Path("/proc")


def cpu_seconds(containers: Sequence[str]) -> float | None:
    """Return the CPU-seconds of running containers since their start; None if that is unknown.

    ``containers`` are ids or names. Stopped containers count as 0, because their control groups no longer exist.
    """
    if not containers:
        return 0.0
    done = run_bounded(["docker", "inspect", "--format", "{{.Id}} {{.State.Pid}}", *containers])
    pids = dict(line.split() for line in done.stdout.splitlines())
    seconds = [container_cpu_seconds(container, int(pid)) for container, pid in pids.items() if pid != "0"]
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None


def container_cpu_seconds(container: str, pid: int) -> float | None:
    """Return a container's CPU-seconds since its start; None if unknown. ``container`` is the full id."""
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
    """Yield the files that may contain the container's CPU time.

    ``groups`` is the text of ``/proc/<pid>/cgroup`` of its main process, ``mounts`` that of ``/proc/self/mountinfo``.
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
    """Yield file system type, root, mount point and options of every mounted control group hierarchy."""
    for line in mounts.splitlines():
        mount, _, system = line.partition(" - ")
        fields, kind = mount.split(), system.partition(" ")[0]
        if kind.startswith("cgroup"):
            yield kind, fields[3], fields[4], system.split()[-1].split(",")


def parse_usage(text: str) -> float:
    """Return the seconds in ``cpuacct.usage`` (nanoseconds) or ``cpu.stat`` (``usage_usec``). Raises ValueError."""
    for line in text.splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return int(text) / 1e9
