"""Samples the CPU time and memory of the lab's containers every second, from before a load to after it.

The kernel's control groups are read on this machine: files of a few lines for each container, without Docker. If the
engine runs in a virtual machine or on another host, they are not visible here, and there are no samples.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from corda_lab.host import control_groups, machine
from corda_lab.host.control_groups import Meter
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Lab
from corda_lab.steps.costs import DATABASE
from corda_lab.steps.rows import Window
from corda_lab.steps.usage import SAMPLES_SCHEMA

SAMPLE_SECONDS = 1.0
SAMPLES_MAX = 200_000
"""Most rows of a load: twelve containers over more than four hours. After that, no more samples are taken."""

THREAD = "sampler"

Row = tuple[str, float, float, int]


class Sampler:
    """Takes a sample of every watched container each second, in a thread of its own, once it has been started."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, lab: Lab, generators: Sequence[Container]) -> None:
        """Begin to sample the nodes, PostgreSQL, the bridge, the load generators and Prometheus. Raises LabError."""
        if lab.is_here:
            self.start(meters_of(parts_of(lab, generators)))

    def start(self, watched: Mapping[str, Sequence[Meter]]) -> None:
        self._thread = threading.Thread(target=self._run, args=(watched,), name=THREAD, daemon=True)
        self._thread.start()

    def wait_until(self, moment: float) -> None:
        """Go on sampling until a time (unix seconds)."""
        self._done.wait(max(0.0, moment - time.time()))

    def stop(self) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def samples(self) -> pl.DataFrame:
        return pl.DataFrame(list(self._rows), schema=SAMPLES_SCHEMA, orient="row")

    def _run(self, watched: Mapping[str, Sequence[Meter]]) -> None:
        due = time.monotonic()
        while not self._done.is_set() and len(self._rows) < SAMPLES_MAX:
            self._rows += list(read(watched))
            # A round that was missed, because the machine was busy, is not made up for.
            due = max(due + SAMPLE_SECONDS, time.monotonic())
            self._done.wait(due - time.monotonic())


def read(watched: Mapping[str, Sequence[Meter]]) -> Iterator[Row]:
    """Yield a row for each part of the lab now, all with the same time. Parts that have ended are left out."""
    now = time.time()
    for name, meters in watched.items():
        try:
            used = [meter.read() for meter in meters]
        except (OSError, ValueError):
            continue
        yield name, now, sum(cpu for cpu, _ in used), sum(memory for _, memory in used)


@contextmanager
def sampling() -> Iterator[Sampler]:
    sampler = Sampler()
    try:
        yield sampler
    finally:
        sampler.stop()


def parts_of(lab: Lab, generators: Sequence[Container]) -> dict[Container, str]:
    """Return the name of the part of the lab of every container that is watched. ``generators`` are those of a load."""
    names = {node.lower(): node for node in lab.settings.nodes} | {
        "postgres": DATABASE,
        "bridge": "bridge",
        "prometheus": "prometheus",
    }
    found = {one.container: names[one.name] for one in lab.services() if one.name in names}
    return found | dict.fromkeys(generators, "locust")


def meters_of(parts: Mapping[Container, str]) -> dict[str, list[Meter]]:
    """Return the meters of each part of the lab. What is not visible on this machine is left out."""
    names = {container.name: part for container, part in parts.items()}
    found: dict[str, list[Meter]] = {}
    for container, meter in control_groups.meters_by_name(list(names)).items():
        found.setdefault(names[container], []).append(meter)
    return found


@dataclass
class Timeline:
    """Readings of the host during the load, as (Unix seconds, reading)."""

    cpu: list[tuple[float, machine.CpuTime]] = field(default_factory=list)
    swapped: list[tuple[float, int]] = field(default_factory=list)

    def note(self) -> None:
        now, pages = time.time(), machine.swapped_pages()
        self.cpu.append((now, machine.cpu_time()))
        if pages is not None:
            self.swapped.append((now, pages))

    def machine_use(self, window: Window) -> dict[str, float | None]:
        cpu = self.cpu_between(window)
        return {
            "host_busy_percent": machine.busy_percent(*cpu),
            "host_stolen_percent": machine.stolen_percent(*cpu),
            "host_swapped_pages": self.swapped_pages(window),
            "host_cores": machine.cores(),
        }

    def swapped_pages(self, window: Window) -> int | None:
        """Return the pages that the host swapped in and out over the window; None without two readings in it."""
        within = [pages for at, pages in self.swapped if window.started_at <= at <= window.ended_at]
        return within[-1] - within[0] if len(within) > 1 else None

    def cpu_between(self, window: Window) -> tuple[machine.CpuTime | None, machine.CpuTime | None]:
        """Return the first and the last reading of the host's CPU time in the window; None without two readings."""
        within = [reading for at, reading in self.cpu if window.started_at <= at <= window.ended_at]
        return (within[0], within[-1]) if len(within) > 1 else (None, None)
