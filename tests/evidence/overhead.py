"""Measures what the lab's own recording, monitoring and traces cost in throughput.

    ./scripts/lab up && ./scripts/lab run iou --users 20 --condition
    export PYTHONPATH=scripts:loadgen/locust
    .venv/bin/python tests/evidence/overhead.py --users 20 --blocks 5 --duration 60
    .venv/bin/python tests/evidence/overhead.py --show

Each part is switched on and off without a restart of the nodes, in blocks of on-off-off-on, of which every second one
is mirrored: within a block, both states have the same mean place, so a steady drift of the machine cancels out. A pair
is two neighbours in a block. Flows are counted by the bridge's own counter, which no switch touches. Every measurement
proves its state by what the parts have left behind. ``docs/performance.md`` has the results.
"""

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.host.machine import calibrate
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import RUN_LABEL, Lab
from corda_lab.runs import containers, unknown
from corda_lab.workloads.resolve import make_plan, read_workload
from lab_workload.load import Load
from lab_workload.row import ROWS_DIRECTORY
from lab_workload.run_end import RunEnd
from measured import (
    NODE,
    Record,
    Usage,
    await_rest,
    circumstances,
    docker,
    in_words,
    print_table,
    ratio,
    running_lab,
    store,
)
from measured import stored as all_stored

PARTS = ("recording", "monitoring", "traces")
"""The generator's rows; Prometheus and the watch over the load; the spans of flows."""
EVERYTHING = "everything"
START_SECONDS_MAX = 120.0
WATCH_SECONDS = 3.0
WRITTEN_SECONDS = 1.0
"""After this time a node has written the spans of a flow that has ended: it does so twice a second."""
TAIL_SECONDS = 2
"""The load lasts this much longer than the window, so that it does not end before the last reading."""


@dataclass(frozen=True)
class Count:
    """The bridge's counters of the flows of the node at one moment."""

    at: float
    started: float
    completed: float


def order_of(block: int) -> tuple[str, ...]:
    """Return the states of a block. Every second block is mirrored."""
    return ("on", "off", "off", "on") if block % 2 else ("off", "on", "on", "off")


def off_parts(subject: str, state: str) -> set[str]:
    """Return the parts that are off."""
    return set() if state == "on" else set(PARTS) if subject == EVERYTHING else {subject}


@contextmanager
def switched(lab: Lab, off: set[str]) -> Iterator[None]:
    """Switch monitoring off for the block. Recording and traces are options of each load.

    It is switched on again also if this process is killed: a shell waits for the end of its pipe.
    """
    if "monitoring" not in off:
        yield
        return
    prometheus = next(service.container.name for service in lab.services() if service.name == "prometheus")
    shell = subprocess.Popen(
        ["sh", "-c", f"cat > /dev/null; docker unpause {shlex.quote(prometheus)}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C does not end it
    )
    try:
        docker("pause", prometheus)
        yield
    finally:
        shell.communicate()


def count(lab: Lab) -> Count:
    """Read the bridge's counters."""
    before, totals = time.time(), {"bridge_flows_started_total": 0.0, "bridge_flows_completed_total": 0.0}
    for sample in lab.bridge.metrics():
        if sample.name in totals and sample.labels.get("node") == NODE:
            totals[sample.name] += sample.value
    return Count((before + time.time()) / 2, *totals.values())


@contextmanager
def load(lab: Lab, asked: Record, off: set[str]) -> Iterator[str]:
    """Start a closed load, and remove its container and its rows after the block."""
    seconds = asked["warm_up_seconds"] + asked["duration_seconds"] + TAIL_SECONDS
    name, run_id = f"{lab.project}-overhead", "overhead"
    container = ("run", "--detach", "--no-deps", "--use-aliases", "--label", f"{RUN_LABEL}={run_id}", "--name", name)
    users, traces = asked["users"], 0 if "traces" in off else asked["trace_every"]
    wanted = Load(workload=asked["workload"], users=users, node=NODE, trace_every=traces)
    made = make_plan(run_id, wanted, read_workload(wanted.workload), lab.bridge, lab.bridge.nodes())
    recording = "none" if "recording" in off else "rows"
    plan = made.model_copy(update={"seconds": seconds, "recording": recording})
    try:
        containers.write_plan(lab, plan)
        Compose(lab.settings).run(*container, "locust", "--headless", "--plan", containers.plan_path(plan))
        yield name
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=False)
        remove = f"rm -f {ROWS_DIRECTORY}/{run_id}.*"
        lab.exec("locust", "sh", "-c", remove, check=False)
        unknown.forget(lab.bridge, NODE, run_id)


def pause(lab: Lab, name: str, seconds: float, *, watches: bool) -> None:
    """Let time pass. With monitoring, look at the load meanwhile, as ``lab run`` does."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if watches:
            docker("container", "inspect", "--format", "{{.State.Status}}", name)
            count(lab)
        time.sleep(min(WATCH_SECONDS if watches else left, max(0.0, until - time.monotonic())))


def counted(lab: Lab, asked: Record, off: set[str]) -> Record:
    """Measure one load with some parts off. Raises LabError."""
    spans, before, work = spans_written(lab), count(lab), calibrate()
    watches = "monitoring" not in off
    nodes = {name.lower() for name in lab.settings.nodes}
    with switched(lab, off), load(lab, asked, off) as name:
        usage = Usage([service.container.name for service in lab.services() if service.name in nodes])
        give_up_at = time.monotonic() + START_SECONDS_MAX
        while count(lab).started <= before.started:
            if time.monotonic() > give_up_at:
                raise LabError("no flow was started", exit_code=1)
            time.sleep(0.25)
        pause(lab, name, asked["warm_up_seconds"], watches=watches)
        first = count(lab)
        pause(lab, name, asked["duration_seconds"], watches=watches)
        last = count(lab)
        usage.stop()
        docker("wait", name)
        end = RunEnd.read(lab.exec("locust", "cat", f"{ROWS_DIRECTORY}/overhead.end.json").stdout)
        lines = f"cat {ROWS_DIRECTORY}/overhead.ndjson | wc -l"
        rows = int(lab.exec("locust", "sh", "-c", lines).stdout)
    slowdown = statistics.fmean(calibrate().core_ms.values()) / statistics.fmean(work.core_ms.values())
    await_rest(lab)
    failed = end.outcomes["failed"] + end.outcomes["unknown"]
    seconds, flows = last.at - first.at, int(last.completed - first.completed)
    node_cpu_seconds, _ = usage.within(first.at, last.at)
    scrapes = f"sum(count_over_time(up[{1000 * seconds:.0f}ms] @ {last.at:.3f}))"
    return {
        "window_started_at": first.at,
        "window_seconds": seconds,
        "flows": flows,
        "flows_per_second": flows / seconds,
        "node_cpu_ms_per_flow": 1000 * node_cpu_seconds / flows if node_cpu_seconds and flows else None,
        "rows": rows,
        "scrapes": sum(int(value.value) for value in lab.prometheus.instant(scrapes)),
        "spans": spans_written(lab) - spans,
        "slowdown": slowdown,
        "problem": f"{failed} requests failed, {flows} flows ended in the window" if failed or not flows else None,
    }


def spans_written(lab: Lab) -> int:
    """Return the number of spans that all nodes have written since their start, those of flows that just ended too.

    So the scrape is one that began after the nodes have had time to write. Raises LabError if there is none in time.
    """
    written_by, give_up_at = time.time() + WRITTEN_SECONDS, time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < give_up_at:
        values = lab.prometheus.latest('corda_spans_total{outcome="written",to="file"}')
        if values and min(value.time for value in values) > written_by:
            return sum(int(value.value) for value in values)
        time.sleep(0.25)
    raise LabError("Prometheus has no new sample of the nodes' spans", exit_code=1)


def problem_of(found: Record, subject: str, off: set[str]) -> str | None:
    """Return why a measurement does not count: it failed, or a part was not in its state."""
    left = {"recording": found["rows"], "monitoring": found["scrapes"], "traces": found["spans"]}
    for part in PARTS if subject == EVERYTHING else (subject,):
        if bool(left[part]) == (part in off):
            return f"{part} was not {'off' if part in off else 'on'}: it left {left[part]} rows or scrapes"
    return str(found["problem"]) if found["problem"] else None


def run(asked: Record, blocks: int, subjects: list[str]) -> None:
    """Measure every subject in every block, and store each measurement. Raises LabError."""
    lab = running_lab()
    common = circumstances(lab, "overhead") | asked
    for block in range(1, blocks + 1):
        first = (block - 1) % len(subjects)
        for subject in (*subjects[first:], *subjects[:first]):
            for place, state in enumerate(order_of(block), start=1):
                await_rest(lab)
                found = common | {"subject": subject, "state": state, "block": block, "place": place}
                off = off_parts(subject, state)
                try:
                    found |= counted(lab, asked, off)
                    found["problem"] = problem_of(found, subject, off)
                except LabError as error:
                    found["problem"] = error.message
                store("overhead", found)
                said = found["problem"] or f"{found['flows_per_second']:.2f} flows/s"
                print(f"block {block}, {subject} {state}: {said}", flush=True)


def by_pair(found: list[Record], state: str, value: str = "flows_per_second") -> dict[int, float]:
    """Return a value by pair: two neighbours in a block, one on and one off."""
    return {
        (one["block"] * 4 + one["place"] - 1) // 2: one[value]
        for one in found
        if one["state"] == state and not one["problem"] and one.get(value)
    }


def show() -> None:
    """Print the ratios of all stored measurements.

    The smallest loss that could be seen is half the width of the interval: with it, the interval would just exclude 1.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for one in all_stored("overhead"):
        groups.setdefault((one["id"], one["subject"]), []).append(one)
    table = []
    for (identity, subject), found in groups.items():
        on, off = by_pair(found, "on"), by_pair(found, "off")
        compared = ratio(off, on)
        cpu = ratio(*(by_pair(found, state, "node_cpu_ms_per_flow") for state in ("off", "on")))
        smallest = f"{100 * (1 - compared.ratio / compared.high):.1f} %" if compared and compared.high else "–"
        means = [f"{statistics.fmean(values.values()):.2f}" if values else "–" for values in (on, off)]
        pairs = str(len(on.keys() & off.keys()))
        table.append([identity, subject, *means, in_words(compared), pairs, smallest, in_words(cpu)])
    titles = (
        "measured",
        "switched",
        "flows/s on",
        "off",
        "on ÷ off",
        "pairs",
        "smallest loss seen",
        "CPU of nodes a flow",
    )
    print_table(titles, table)


def main() -> None:
    """Read the command line, and measure or show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print the stored results, and measure nothing")
    parser.add_argument("--workload", default="iou")
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=10, help="seconds")
    parser.add_argument("--duration", type=int, default=60, help="seconds")
    parser.add_argument("--only", nargs="+", choices=(*PARTS, EVERYTHING), default=[*PARTS, EVERYTHING])
    parser.add_argument("--trace-every", type=int, default=1, help="with traces on, one request in so many is traced")
    given = parser.parse_args()
    if given.show:
        show()
        return
    asked = {
        "workload": given.workload,
        "users": given.users,
        "warm_up_seconds": given.warm_up,
        "duration_seconds": given.duration,
        "trace_every": given.trace_every,
    }
    try:
        run(asked, given.blocks, given.only)
    except LabError as error:
        sys.exit(f"{error.message}. {error.remedy}")


if __name__ == "__main__":
    main()
