"""Measures one subject in one state: a load with some parts switched off, and the proof that they were.

The load is that of ``lab run``. With monitoring on, this process also watches it as ``lab run`` does: it asks for the
state of the containers and for the bridge's counters every few seconds. With monitoring off, it only waits.
"""

from dataclasses import dataclass, replace

from corda_lab.bench.job import await_rest
from corda_lab.bench.overhead.count import counted
from corda_lab.bench.overhead.measurement import PARTS, OverheadMeasurement, Part
from corda_lab.bench.overhead.switches import Switches
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.host.calibration import calibrate
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.engine import run_docker
from corda_lab.runs import containers, unknown
from corda_lab.runs.containers import LoadContainers
from corda_lab.runs.running import RunningLab
from corda_lab.steps.entry import CalibrationEntry
from corda_lab.steps.plan import RunPlan
from corda_lab.steps.rows import Window
from lab_workload.load import Recording
from lab_workload.row import ROWS_DIRECTORY
from lab_workload.run_end import RunEnd

TAIL_SECONDS = 2
"""The load lasts this much longer than the window, so that it does not end before the last reading."""
START_SECONDS_MAX = 60

COUNT_ROWS = 'if [ -f "$1" ]; then wc -l < "$1"; else echo 0; fi'

EVIDENCE: dict[Part, str] = {"recording": "rows", "monitoring": "scrapes", "stages": "stage rows"}
"""What each part leaves behind while it is on, in words."""


@dataclass(frozen=True)
class Files:
    """What the generator wrote: its summary, and the number of rows in its file."""

    end: RunEnd
    rows: int


def measure(lab: RunningLab, plan: RunPlan, switches: Switches, begun: OverheadMeasurement) -> OverheadMeasurement:
    """Measure the subject of ``begun`` in its state. If something fails, the measurement says what.

    Raises LabError only if the lab does not come to rest before the load: then no other load can be measured either.
    """
    await_rest(lab)
    try:
        return _measured(lab, plan, switches, begun)
    except LabError as error:
        return begun.model_copy(update={"problem": error.message})


def _measured(lab: RunningLab, plan: RunPlan, switches: Switches, begun: OverheadMeasurement) -> OverheadMeasurement:
    off, node, load = begun.switched_off, plan.subject.node, load_of(plan, begun)
    with containers.load_containers(lab.compose, load) as names:
        containers.await_setup(lab.compose, load, names)
        await_rest(lab)
        stage_rows_before = stage_rows_written(lab.prometheus)
        before = calibrate()
        with switches.off(off), counted(lab.bridge, node, plan.options) as counter:
            containers.let_go(lab.compose, load)
            if "monitoring" in off:
                await_quietly(load, names)
            else:
                containers.generate_load(lab.compose, load, lab.bridge, names)
        after = calibrate()
        # If the generator has failed, its own message says why there is no window.
        files, found = files_of(lab.compose, load, names), counter.result()
    await_rest(lab)
    measured = begun.model_copy(
        update={
            "window_started_at": found.window.started_at,
            "window_seconds": found.window.seconds,
            "flows": found.flows,
            "flows_per_second": found.flows / found.window.seconds,
            "rows": files.rows,
            "scrapes": scrapes_in(lab.prometheus, found.window),
            "stage_rows": stage_rows_written(lab.prometheus) - stage_rows_before,
            "host_busy_percent": found.use.busy_percent,
            "host_stolen_percent": found.use.stolen_percent,
            "host_swapped_pages": found.use.swapped_pages,
            "calibration": CalibrationEntry(work=before.work, before=before.core_ms, after=after.core_ms),
        }
    )
    unknown.forget(lab.bridge, node, load.identity)
    return measured.model_copy(update={"problem": problem_of(measured, files.end)})


def load_of(plan: RunPlan, begun: OverheadMeasurement) -> RunPlan:
    """Return the plan of the load of one measurement, with an id of its own."""
    identity = f"{plan.identity}-{begun.block}-{begun.subject}-{begun.place}"
    options = replace(plan.options, duration_seconds=plan.options.duration_seconds + TAIL_SECONDS)
    recording: Recording = "none" if "recording" in begun.switched_off else "rows"
    return replace(plan, identity=identity, options=options, recording=recording)


def await_quietly(load: RunPlan, names: LoadContainers) -> None:
    """Wait for the end of a load without looking at it. Raises LabError if it does not end in time."""
    limit = START_SECONDS_MAX + load.options.total_seconds + load.flow_timeout_seconds
    if run_docker(["wait", names.driver.name], seconds_max=limit).returncode != 0:
        raise LabError("The load container was removed during the load", exit_code=1)


def files_of(compose: Deployed, load: RunPlan, names: LoadContainers) -> Files:
    """Read what the generator wrote. Raises LabError if it failed."""
    inside = ("exec", "-T", "locust")
    path = f"{ROWS_DIRECTORY}/{load.identity}"
    end = compose.run(*inside, "cat", f"{path}.end.json", check=False)
    if end.returncode != 0:
        code = containers.exit_codes((names.driver,))[names.driver]
        raise containers.generator_error(names.driver, code if code is not None else 1, "during")
    rows = compose.run(*inside, "sh", "-c", COUNT_ROWS, "rows", f"{path}.ndjson")
    return Files(RunEnd.read(end.stdout), int(rows.stdout))


def scrapes_in(prometheus: Prometheus, window: Window) -> int:
    """Return the number of scrapes in a window, of all targets."""
    query = f"sum(count_over_time(up[{1000 * window.seconds:.0f}ms] @ {window.ended_at:.3f}))"
    return sum(int(value.value) for value in prometheus.instant(query))


def stage_rows_written(prometheus: Prometheus) -> int:
    """Return the number of stage rows that all nodes have written since their start."""
    return sum(int(value.value) for value in prometheus.latest('corda_stage_rows_total{outcome="written"}'))


def problem_of(measured: OverheadMeasurement, end: RunEnd) -> str | None:
    """Return why a measurement does not count: requests failed, or a part was not in its state."""
    failed = end.outcomes["failed"] + end.outcomes["unknown"]
    if failed:
        return f"{failed} of {end.requests} requests failed or had an unknown outcome"
    counts: dict[Part, int | None] = {
        "recording": measured.rows,
        "monitoring": measured.scrapes,
        "stages": measured.stage_rows,
    }
    for part in sorted(PARTS[measured.subject]):
        is_off = part in measured.switched_off
        if is_off and counts[part]:
            return f"{part} was not off: there were {counts[part]} {EVIDENCE[part]}"
        if not is_off and not counts[part]:
            return f"{part} was not on: there were no {EVIDENCE[part]}"
    return None
