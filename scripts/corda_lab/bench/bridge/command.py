"""``lab bench bridge``: measures generator and bridge beside a direct RPC client, prints what was seen, and stores it.

Both keep the same number of flows in flight on the same nodes, over the same number of RPC connections. They are
measured in pairs, and take turns in going first. So neither has an advantage if a node is still warming up or the
machine becomes slower.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corda_lab import __version__
from corda_lab.bench import bridge_knobs, warm
from corda_lab.bench.bridge import show
from corda_lab.bench.bridge.measurement import BridgeBench, GridMeasurement, Side
from corda_lab.bench.file import store
from corda_lab.bench.job import BenchJob, await_rest, fixed_arguments
from corda_lab.bench.peers import measure
from corda_lab.bench.shares import watched
from corda_lab.bench.warm import warmed
from corda_lab.errors import LabError
from corda_lab.lab import environment, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import preflight
from corda_lab.runs.running import RunningLab
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.rows import Window
from corda_lab.text import ui
from corda_lab.text.words import plural

CONNECTIONS_MAX = 16
"""As the bridge itself allows."""
BETWEEN_SECONDS = 12
"""Estimated time between two measurements, for the announcement."""
SIDES: tuple[Side, ...] = ("direct", "lab")


def run(
    options: LoadOptions, users: Sequence[int], connections: Sequence[int], settings: Settings, *, rounds: int
) -> Path:
    """Measure every place of the grid, ``rounds`` times. Returns the stored file. Raises LabError."""
    compose = Compose(shape.of_running(settings))
    lab = RunningLab.of(settings, compose)
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(replace(options, users=1)), lab.settings, lab.compose, lab.bridge)
        job = BenchJob(compose, lab.bridge, plan, fixed_arguments(plan, lab.bridge.nodes()))
        admitted = lab.bridge.outstanding_max(plan.subject.node)
    bench = described(job, users, connections, rounds, lab.settings)
    ui.note(announcement(bench))
    bench = warmed(bench, replace(options, users=warm.USERS), plan.subject, lab)
    with bridge_knobs.changed(lab.settings) as knobs:
        for number in range(1, rounds + 1):
            for count in connections if number % 2 else reversed(connections):
                with ui.phase(f"Round {number} of {rounds}, {plural(count, 'RPC connection')}"):
                    compose = knobs.use(knobs_for(count, max(*users, admitted)))
                    bench = _with_places(bench, replace(job, compose=compose), lab, number, count)
            # Stored after every round, so that an interrupted bench keeps what it has.
            path = store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def knobs_for(connections: int, admitted: int) -> dict[str, str]:
    """Return the bridge's variables: the number of connections, and of the flows that it admits."""
    return {"BRIDGE_RPC_CONNECTIONS": str(connections), preflight.OUTSTANDING_MAX: str(admitted)}


def _with_places(bench: BridgeBench, job: BenchJob, lab: RunningLab, number: int, connections: int) -> BridgeBench:
    """Return the bench with the measurements of both sides at every number of flows in flight."""
    for place, users in enumerate(bench.users):
        for side in SIDES if (number + place) % 2 else reversed(SIDES):
            await_rest(lab)
            measured = measure_side(side, job, users=users, connections=connections, number=number)
            show.progress(measured)
            bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
    return bench


def measure_side(side: Side, job: BenchJob, *, users: int, connections: int, number: int) -> GridMeasurement:
    """Measure a side, and the CPU time of every part of the lab meanwhile."""
    plan = replace(job.plan, identity=f"{job.plan.identity}-{connections}")
    with watched(job.compose) as watch:
        done = measure.measure(side, replace(job, plan=plan), users=users, number=number)
    measured = GridMeasurement(
        side=side,
        users=users,
        connections=connections,
        round=number,
        window_started_at=done.window_started_at,
        window_seconds=done.window_seconds,
        flows=done.flows,
        flows_per_second=done.flows_per_second,
        latency=done.latency,
        problem=done.problem,
    )
    if done.window_started_at is None:
        return measured
    own = done.cpu_seconds
    if own is not None and done.bridge_cpu_seconds is not None:
        own -= done.bridge_cpu_seconds
    window = Window(done.window_started_at, done.window_started_at + done.window_seconds)
    return measured.model_copy(update={"shares": watch.within(window, generator_cpu_seconds=own)})


def described(
    job: BenchJob, users: Sequence[int], connections: Sequence[int], rounds: int, settings: Settings
) -> BridgeBench:
    """Return the file without measurements."""
    plan = job.plan
    return BridgeBench(
        id=folders.run_id("bridge"),
        lab_version=__version__,
        environment=environment.read_environment(Compose(settings)),
        workload=plan.workload.name,
        flow=job.flow,
        node=plan.subject.node,
        arguments=json.dumps(job.arguments),
        seed=plan.options.seed,
        users=tuple(users),
        connections=tuple(connections),
        rounds=rounds,
        warm_up_seconds=plan.options.warm_up_seconds,
        duration_seconds=plan.options.duration_seconds,
    )


def announcement(bench: BridgeBench) -> str:
    """Describe the bench in one line."""
    places = len(bench.users) * len(bench.connections)
    count = bench.rounds * places * len(SIDES)
    minutes = count * (bench.warm_up_seconds + bench.duration_seconds + BETWEEN_SECONDS) / 60
    loads, connections = (", ".join(map(str, each)) for each in (bench.users, bench.connections))
    return (
        f"{bench.workload}: {loads} in flight over {connections} RPC connections, {plural(bench.rounds, 'round')}, "
        f"about {minutes:.0f} minutes"
    )


def read_connections(text: str) -> tuple[int, ...]:
    """Read the option ``--connections``: ``1,2,4``. Raises LabError."""
    words = text.split(",")
    numbers = tuple(int(word) for word in words if word.strip().isdecimal())
    in_range = all(1 <= each <= CONNECTIONS_MAX for each in numbers)
    if len(numbers) < len(words) or len(set(numbers)) < len(numbers) or not in_range:
        raise LabError(
            f"--connections: {text!r} is not a list of numbers of RPC connections",
            f"Use different whole numbers from 1 to {CONNECTIONS_MAX}, separated by commas, such as 1,2,4.",
        )
    return numbers
