"""What the container of this process uses, as the kernel counts it: a collector for the metrics page."""

from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

GROUPS = Path("/sys/fs/cgroup")
LIMIT_BYTES_MAX = 2**60
"""Version 1 of control groups has no word for "no limit", but a number close to the largest one."""

THROTTLED = "container_cpu_throttled_seconds"

Place = tuple[str, str, float]
"""A file, the name in front of the number in it (empty: the file is the number), and the unit of that number."""

VALUES: tuple[tuple[type[CounterMetricFamily | GaugeMetricFamily], str, str, tuple[Place, ...]], ...] = (
    (
        CounterMetricFamily,
        "container_cpu_seconds",
        "CPU time of all processes of the container.",
        (("cpu.stat", "usage_usec", 1e6), ("cpuacct/cpuacct.usage", "", 1e9)),
    ),
    (
        CounterMetricFamily,
        THROTTLED,
        "Time for which the container wanted the CPU, but had used up its share of it.",
        (("cpu.stat", "throttled_usec", 1e6), ("cpu/cpu.stat", "throttled_time", 1e9)),
    ),
    (
        GaugeMetricFamily,
        "container_memory_bytes",
        "Memory that the processes of the container have allocated, without the page cache.",
        (("memory.stat", "anon", 1), ("memory/memory.stat", "total_rss", 1)),
    ),
    (
        GaugeMetricFamily,
        "container_memory_limit_bytes",
        "Memory that the container may use.",
        (("memory.max", "", 1), ("memory/memory.limit_in_bytes", "", 1)),
    ),
)
"""The metrics of a container, with the places where versions 2 and 1 of control groups have them."""


class ContainerCollector:
    """Exports the CPU time and the memory of the container. A value that cannot be read is left out."""

    def __init__(self, groups: Path = GROUPS) -> None:
        self._groups = groups

    def collect(self) -> Iterator[Metric]:
        for make, name, text, places in VALUES:
            found = [value for place in places if (value := self._value(*place)) is not None]
            # A kernel that limits no CPU does not count this.
            if not found and name == THROTTLED and list(self._groups.glob("cpu*")):
                found = [0.0]
            if found and found[0] < LIMIT_BYTES_MAX:
                yield make(name, text, value=found[0])

    def _value(self, file: str, name: str, unit: float) -> float | None:
        try:
            lines = (self._groups / file).read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            return None
        numbers = [line.removeprefix(name).strip() for line in lines if line.startswith(f"{name} " if name else "")]
        return int(numbers[0]) / unit if numbers and numbers[0].isdecimal() else None
