"""What the container of this process uses, as the kernel counts it: a collector for the metrics page."""

from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

GROUPS = Path("/sys/fs/cgroup")
LIMIT_BYTES_MAX = 2**60
"""Version 1 of control groups has no word for "no limit", but a number close to the largest one."""


class ContainerCollector:
    """Exports the CPU time and the memory of the container. A value that cannot be read is left out."""

    def __init__(self, groups: Path = GROUPS) -> None:
        self._group = ControlGroup(groups)

    def collect(self) -> Iterator[Metric]:
        """Yield a metric for each value that the kernel tells."""
        group = self._group
        cpu = "CPU time of all processes of the container."
        yield from _family(CounterMetricFamily, "container_cpu_seconds", cpu, group.cpu_seconds())
        throttled = "Time for which the container wanted the CPU, but had used up its share of it."
        yield from _family(
            CounterMetricFamily, "container_cpu_throttled_seconds", throttled, group.cpu_throttled_seconds()
        )
        memory = "Memory that the processes of the container have allocated, without the page cache."
        yield from _family(GaugeMetricFamily, "container_memory_bytes", memory, group.memory_bytes())
        limit = "Memory that the container may use."
        yield from _family(GaugeMetricFamily, "container_memory_limit_bytes", limit, group.memory_limit_bytes())


class ControlGroup:
    """The control group of a container, version 1 or 2, as a process in it sees it. None: it cannot be read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def cpu_seconds(self) -> float | None:
        """Return the CPU time since the start of the container."""
        if (microseconds := self._field("cpu.stat", "usage_usec")) is not None:
            return microseconds / 1e6
        nanoseconds = self._number("cpuacct/cpuacct.usage")
        return None if nanoseconds is None else nanoseconds / 1e9

    def cpu_throttled_seconds(self) -> float | None:
        """Return the time for which the container had used up its share; 0 if the kernel does not count it."""
        if (microseconds := self._field("cpu.stat", "throttled_usec")) is not None:
            return microseconds / 1e6
        if (nanoseconds := self._field("cpu/cpu.stat", "throttled_time")) is not None:
            return nanoseconds / 1e9
        return None if self.cpu_seconds() is None else 0.0

    def memory_bytes(self) -> int | None:
        """Return the memory that the processes have allocated, without the page cache."""
        anonymous = self._field("memory.stat", "anon")
        return self._field("memory/memory.stat", "total_rss") if anonymous is None else anonymous

    def memory_limit_bytes(self) -> int | None:
        """Return the memory that the container may use; None also if there is no limit."""
        limit = self._number("memory.max")
        limit = self._number("memory/memory.limit_in_bytes") if limit is None else limit
        return None if limit is None or limit > LIMIT_BYTES_MAX else limit

    def _field(self, file: str, name: str) -> int | None:
        """Return the number in the line ``<name> <number>`` of a file."""
        for line in self._text(file).splitlines():
            if line.startswith(f"{name} "):
                return _parse(line.removeprefix(name))
        return None

    def _number(self, file: str) -> int | None:
        return _parse(self._text(file))

    def _text(self, file: str) -> str:
        try:
            return (self._root / file).read_text(encoding="ascii")
        except (OSError, ValueError):
            return ""


def _parse(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _family(make: Callable[..., Metric], name: str, help_: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield make(name, help_, value=value)
