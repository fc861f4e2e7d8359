"""``lab bench overload``: finds the knee, then offers multiples of the peak with and without the bridge's limit.

1. Closed load finds the peak: the highest throughput over the numbers of outstanding flows.
2. Each round measures the peak again, and then offers open load at multiples of it, with every limit.

With the limit, the bridge rejects what is too much at once, so the node works on few flows. Without it, all arrivals
become flows of the node. The bridge answers a request that has waited for the time limit of its caller (504); its flow
goes on, as it would for any caller that gives up.
"""

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corda_lab import __version__
from corda_lab.bench import bridge_knobs, warm
from corda_lab.bench.bridge_knobs import BridgeKnobs
from corda_lab.bench.file import store
from corda_lab.bench.job import BenchJob, await_rest
from corda_lab.bench.overload import knee, show
from corda_lab.bench.overload.measurement import LevelMeasurement, OverloadBench, OverloadMeasurement
from corda_lab.bench.peers import measure
from corda_lab.bench.shares import watched
from corda_lab.bench.usage import recorded
from corda_lab.bench.warm import warmed
from corda_lab.errors import LabError
from corda_lab.lab import environment, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import containers, counters, preflight, unknown
from corda_lab.runs.collect import Collected, collect
from corda_lab.runs.running import RunningLab
from corda_lab.steps import rows
from corda_lab.steps.build import measuring_window
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui
from corda_lab.text.words import plural

MULTIPLES = (2, 4, 8)
UNLIMITED = 100_000
"""The bridge's largest limit, which is above everything that is offered here."""
CLOSED_WARM_UP_SECONDS_MAX = 10.0
"""Warm-up of closed load, which is steady sooner than overload."""
POOL_MAX = 8000
"""Requests in flight at the generator. The bridge accepts 8,192 connections."""
DRAIN_SECONDS_MAX = 1800.0
"""Time limit until the flows of an overload have ended."""
BETWEEN_SECONDS = 15
"""Estimated time between two measurements, for the announcement."""
LIMIT = preflight.OUTSTANDING_MAX
TIME_LIMIT = "BRIDGE_FLOW_TIMEOUT_SECONDS"


@dataclass(frozen=True)
class Overload:
    """What is asked for."""

    options: LoadOptions
    """Workload, and the lengths of warm-up and window of every load."""
    levels: tuple[int, ...]
    """The numbers of outstanding flows of the search for the knee."""
    limits: tuple[int | None, ...] | None
    """None stands for the limit of the running bridge, and none."""
    time_limit_seconds: int
    rounds: int


def run(asked: Overload, settings: Settings) -> Path:
    """Measure everything that is asked for. Returns the stored file. Raises LabError."""
    require_longer_warm_up(asked)
    compose = Compose(shape.of_running(settings))
    lab = RunningLab.of(settings, compose)
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(replace(asked.options, users=1)), lab.settings, lab.compose, lab.bridge)
        job = BenchJob(compose, lab.bridge, plan, {})
        limits = asked.limits or (lab.bridge.outstanding_max(plan.subject.node), None)
    bench = described(asked, limits, job, lab.settings)
    ui.note(announcement(bench))
    bench = warmed(bench, replace(asked.options, users=warm.USERS), plan.subject, lab)
    with bridge_knobs.changed(lab.settings) as knobs:
        open_to_all = replace(job, compose=knobs.use({LIMIT: str(UNLIMITED)}))
        with ui.phase("Finding the knee"):
            bench = _searched(bench, open_to_all, lab)
        peak = knee.peak_level(knee.of_search(bench))
        for number in range(1, asked.rounds + 1):
            with ui.phase(f"Round {number} of {asked.rounds}"):
                open_to_all = replace(job, compose=knobs.use({LIMIT: str(UNLIMITED)}))
                level = _level(open_to_all, lab, users=peak.users, number=number)
                bench = bench.model_copy(update={"searched": (*bench.searched, level)})
                if level.flows_per_second > 0:
                    bench = _overloaded(bench, job, lab, knobs, level)
        path = store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def _searched(bench: OverloadBench, job: BenchJob, lab: RunningLab) -> OverloadBench:
    """Return the bench with the search for the knee. Raises LabError if no level could be measured."""
    for users in bench.levels:
        measured = _level(job, lab, users=users, number=0)
        bench = bench.model_copy(update={"searched": (*bench.searched, measured)})
        if knee.search_is_over(knee.of_search(bench)):
            break
    if not any(each.flows_per_second > 0 for each in knee.of_search(bench)):
        raise LabError("No flow ended within the measuring window", "Increase --duration.", exit_code=1)
    return bench


def _level(job: BenchJob, lab: RunningLab, *, users: int, number: int) -> LevelMeasurement:
    """Measure closed load with so many flows outstanding."""
    await_rest(lab)
    # Microseconds make the names of the containers unique, because the same number may be measured again.
    times = replace(job.plan.options, warm_up_seconds=min(CLOSED_WARM_UP_SECONDS_MAX, job.plan.options.warm_up_seconds))
    plan = replace(job.plan, identity=f"{job.plan.identity}-{time.time_ns() // 1000}", options=times)
    done = measure.measure("lab", replace(job, plan=plan), users=users, number=number)
    measured = LevelMeasurement(
        users=users,
        round=number,
        window_started_at=done.window_started_at,
        window_seconds=done.window_seconds,
        flows_per_second=done.flows_per_second,
        latency=done.latency,
        problem=done.problem,
    )
    show.progress_level(measured)
    return measured


def _overloaded(
    bench: OverloadBench, job: BenchJob, lab: RunningLab, knobs: BridgeKnobs, peak: LevelMeasurement
) -> OverloadBench:
    """Return the bench with every limit and multiple of a round. The file is stored after each."""
    for limit in bench.limits:
        values = {LIMIT: str(limit or UNLIMITED), TIME_LIMIT: f"{bench.time_limit_seconds:g}"}
        compose = knobs.use(values)
        for multiple in bench.multiples:
            begun = OverloadMeasurement(
                multiple=multiple,
                limit=limit,
                round=peak.round,
                rate=multiple * peak.flows_per_second,
                window_seconds=bench.duration_seconds,
            )
            measured = _offered(begun, job, compose, lab, time_limit_seconds=bench.time_limit_seconds)
            show.progress(measured)
            bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
            store(bench)
    return bench


def _offered(
    begun: OverloadMeasurement,
    job: BenchJob,
    compose: Compose,
    lab: RunningLab,
    *,
    time_limit_seconds: float,
) -> OverloadMeasurement:
    """Offer open load and measure what completes. If something fails, the measurement says what.

    Raises LabError if the flows have not ended at the time limit, because the next measurement would contain them.
    """
    await_rest(lab)
    plan = open_plan(begun, job.plan, time_limit_seconds)
    try:
        measured = _measured(begun, plan, compose, lab, time_limit_seconds)
    except LabError as error:
        measured = begun.model_copy(update={"problem": error.message})
    ended = time.monotonic()
    if not counters.await_rest(lab, since=time.time(), seconds_max=DRAIN_SECONDS_MAX):
        raise LabError(
            f"Flows of the overload are still in flight after {DRAIN_SECONDS_MAX / 60:.0f} minutes",
            "`scripts/lab status` shows them. What was measured before is stored.",
            exit_code=1,
        )
    unknown.forget(lab.bridge, plan.subject.node, plan.identity)
    return measured.model_copy(update={"drain_seconds": time.monotonic() - ended})


def open_plan(begun: OverloadMeasurement, plan: RunPlan, time_limit_seconds: float) -> RunPlan:
    """Return the plan of open load at the rate of a measurement.

    The pool has a place for every request that can be waiting at once, because none waits longer than the time limit.
    """
    pool = min(POOL_MAX, max(50, math.ceil(begun.rate * (time_limit_seconds + 2))))
    limit = "all" if begun.limit is None else str(begun.limit)
    return replace(
        plan,
        identity=f"{plan.identity}-{begun.round}-{begun.multiple}x-{limit}",
        options=replace(plan.options, arrivals="poisson", rate=round(begun.rate, 3), users=pool),
        flow_timeout_seconds=math.ceil(time_limit_seconds),
    )


def _measured(
    begun: OverloadMeasurement, plan: RunPlan, compose: Compose, lab: RunningLab, time_limit_seconds: float
) -> OverloadMeasurement:
    with tempfile.TemporaryDirectory(prefix="corda-lab-bench-") as scratch, watched(compose) as watch:
        with containers.load_containers(compose, plan) as names:
            containers.await_setup(compose, plan, names)
            with recorded(list(names.names)) as generator:
                containers.let_go(compose, plan)
                containers.generate_load(compose, plan, lab.bridge, names)
            collected: Collected = collect(compose, plan, names, Path(scratch))
        window = measuring_window(collected.end, plan.options.warm_up_seconds)
        shares = watch.within(window, generator_cpu_seconds=generator.within(window).cpu_seconds)
    dropped = rows.dropped_within(collected.drops, window)
    counted = knee.counted(collected.requests, window, begun, time_limit_seconds=time_limit_seconds, dropped=dropped)
    return counted.model_copy(update={"shares": shares})


def described(asked: Overload, limits: tuple[int | None, ...], job: BenchJob, settings: Settings) -> OverloadBench:
    """Return the file without measurements."""
    plan = job.plan
    return OverloadBench(
        id=folders.run_id("overload"),
        lab_version=__version__,
        environment=environment.read_environment(Compose(settings)),
        workload=plan.workload.name,
        flow=", ".join(plan.subject.flows),
        node=plan.subject.node,
        seed=plan.options.seed,
        levels=asked.levels,
        multiples=MULTIPLES,
        limits=limits,
        rounds=asked.rounds,
        time_limit_seconds=asked.time_limit_seconds,
        warm_up_seconds=plan.options.warm_up_seconds,
        duration_seconds=plan.options.duration_seconds,
    )


def require_longer_warm_up(asked: Overload) -> None:
    """Check that the window does not have the first flows, which find an idle node and end in time. Raises LabError."""
    if asked.options.warm_up_seconds < asked.time_limit_seconds:
        raise LabError(
            f"--warm-up: {asked.options.warm_up_seconds:g} s is less than --time-limit, {asked.time_limit_seconds} s",
            "Increase it, so that the window does not have the first flows, which find an idle node.",
        )


def announcement(bench: OverloadBench) -> str:
    """Describe the bench in one line. Without a limit, its flows drain for as long as they were too many."""
    each = bench.warm_up_seconds + bench.duration_seconds + BETWEEN_SECONDS
    loads = len(bench.levels) + 1 + bench.rounds * (1 + len(bench.limits) * len(bench.multiples))
    left = sum(bench.multiples) * (bench.warm_up_seconds + bench.duration_seconds) if None in bench.limits else 0
    minutes = (loads * each + bench.rounds * left) / 60
    limits = ", ".join(map(show.limit_in_words, bench.limits))
    return f"{bench.workload}: {limits}, {plural(bench.rounds, 'round')}, about {minutes:.0f} minutes"


def read_limits(text: str) -> tuple[int | None, ...]:
    """Read the option ``--limits``: ``100,800,none``. Raises LabError."""
    words = [word.strip() for word in text.split(",")]
    limits: Sequence[int | None] = [
        None if word == show.NO_LIMIT else int(word) if word.isdecimal() else 0 for word in words
    ]
    if len(set(limits)) < len(limits) or not all(each is None or 1 <= each <= UNLIMITED for each in limits):
        raise LabError(
            f"--limits: {text!r} is not a list of limits of outstanding flows",
            f"Use different whole numbers from 1 to {UNLIMITED}, or none, separated by commas, such as 100,none.",
        )
    return tuple(limits)
