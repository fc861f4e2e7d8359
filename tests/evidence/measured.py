"""What the measurements of the lab itself share: their stored results, ratios of pairs, and the use of containers."""

import bisect
import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corda_lab.errors import LabError
from corda_lab.host import control_groups
from corda_lab.lab.docker import ask
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import load_settings
from corda_lab.runs import counters
from corda_lab.runs.running import deployed
from corda_lab.stats.difference import Difference, paired

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "results"
READ_SECONDS = 0.25
COMMAND_SECONDS_MAX = 900
"""Longer than a load with the flows that it leaves."""
NODE = "PartyA"

Record = dict[str, Any]
"""One measurement, with what was measured and under which circumstances."""


def stored(name: str) -> list[Record]:
    """Return the stored measurements of a kind, the oldest first."""
    lines = (RESULTS / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def store(name: str, record: Mapping[str, Any]) -> None:
    """Append a measurement to those of its kind."""
    with (RESULTS / f"{name}.ndjson").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def circumstances(lab: Lab, name: str) -> Record:
    """Return what every measurement of one command stores: its id, the commit, and the settings of the nodes."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"], capture_output=True, text=True
    )
    return {
        "id": f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{name}",
        "commit": commit.stdout.strip(),
        "corda": lab.settings["CORDA_VERSION"],
        "preset": lab.settings["NODE_PRESET"],
    }


def running_lab() -> Lab:
    """Return the lab that is up. Raises LabError."""
    return deployed(load_settings())


def await_rest(lab: Lab) -> None:
    """Wait until no flow is in flight. Raises LabError."""
    if not counters.await_rest(lab):
        raise LabError("Flows are still in flight", "Wait until `scripts/lab status` shows none.", exit_code=1)


def docker(*arguments: str) -> str:
    """Run a Docker command and return its output. Raises LabError if it fails, or does not end in time."""
    return ask(*arguments, seconds_max=COMMAND_SECONDS_MAX)


def ratio(theirs: Mapping[int, float], ours: Mapping[int, float]) -> Difference | None:
    """Return the geometric mean of ours ÷ theirs, paired by their keys, with its 95 % interval. None without a pair."""
    return paired(theirs, ours, higher_is="faster") if theirs.keys() & ours.keys() else None


def in_words(found: Difference | None) -> str:
    """``0.985 (0.961 to 1.010)``. A single pair has no interval."""
    if found is None:
        return "–"
    interval = "" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.ratio:.3f}{interval}"


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as Markdown."""
    for cells in (titles, ["---"] * len(titles), *rows):
        print("| " + " | ".join(cells) + " |")


class Usage:
    """CPU time and memory of containers, all together, until it is stopped or one of them ends.

    Both come from the kernel's control groups. Memory is what the processes have allocated, without the page cache.
    """

    def __init__(self, containers: Sequence[str]) -> None:
        meters = control_groups.meters_by_name(containers)
        # Without one of them, the sum would be too small.
        self._meters = list(meters.values()) if len(meters) == len(containers) else []
        self._at: list[float] = []
        self._values: list[tuple[float, int]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the readings."""
        self._done.set()
        self._thread.join()

    def _read(self) -> None:
        while self._meters and not self._done.is_set():
            try:
                values = [meter.read() for meter in self._meters]
            except (OSError, ValueError):
                return  # A container has ended, and its control group with it.
            self._at.append(time.time())
            self._values.append((sum(cpu for cpu, _ in values), sum(memory for _, memory in values)))
            self._done.wait(READ_SECONDS)

    def within(self, started_at: float, ended_at: float) -> tuple[float | None, int | None]:
        """Return the CPU-seconds in a window and the largest memory in it; None if the readings do not cover it."""
        inside = range(bisect.bisect_left(self._at, started_at), bisect.bisect_right(self._at, ended_at))
        if not inside or inside.start == 0 or ended_at - self._at[inside[-1]] > 4 * READ_SECONDS:
            return None, None
        cpu = self._cpu_at(ended_at) - self._cpu_at(started_at)
        return cpu, max(self._values[index][1] for index in inside)

    def _cpu_at(self, moment: float) -> float:
        """Return the CPU-seconds at a moment, interpolated between two readings; after the last one, its value."""
        after = bisect.bisect_right(self._at, moment)
        before = self._values[after - 1][0]
        if after == len(self._at):
            return before
        share = (moment - self._at[after - 1]) / (self._at[after] - self._at[after - 1])
        return before + share * (self._values[after][0] - before)
