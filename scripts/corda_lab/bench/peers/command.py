"""``lab bench peers``: measures the lab and its peers in turn, prints what was seen, and stores it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corda_lab import __version__
from corda_lab.bench import bridge_knobs, warm
from corda_lab.bench.file import store
from corda_lab.bench.job import BenchJob, await_rest, fixed_arguments
from corda_lab.bench.peers import jmeter, measure, show
from corda_lab.bench.peers.measurement import PEER_NAMES, PEERS, Peer, PeersBench
from corda_lab.bench.warm import warmed
from corda_lab.lab import environment, lifecycle, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import preflight
from corda_lab.runs.running import RunningLab
from corda_lab.steps.load import LoadOptions
from corda_lab.text import ui
from corda_lab.text.words import plural

BETWEEN_SECONDS = 12
"""Estimated time between two measurements, for the announcement: containers start, flows end, metrics are scraped."""


def run(options: LoadOptions, users: Sequence[int], settings: Settings, *, rounds: int) -> Path:
    """Measure all peers under every load, ``rounds`` times in turn. Returns the stored file. Raises LabError."""
    compose = Compose(shape.of_running(settings))
    lab = RunningLab.of(settings, compose)
    jmeter.require_possible(lab.settings)
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(replace(options, users=1)), lab.settings, lab.compose, lab.bridge)
        job = BenchJob(compose, lab.bridge, plan, fixed_arguments(plan, lab.bridge.nodes()))
    lifecycle.build(lab.settings, jmeter.SERVICE)
    bench = described(job, users, rounds, lab.settings)
    ui.note(announcement(bench))
    with bridge_knobs.admitting(max(users), job, lab.settings) as admitted:
        bench = warmed(bench, replace(options, users=warm.USERS), plan.subject, lab)
        for number in range(1, rounds + 1):
            with ui.phase(f"Round {number} of {rounds}"):
                bench = _with_round(bench, admitted, lab, number)
            # Stored after every round, so that an interrupted bench keeps what it has.
            path = store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def _with_round(bench: PeersBench, job: BenchJob, lab: RunningLab, number: int) -> PeersBench:
    """Return the bench with the measurements of all peers under every load."""
    for place, users in enumerate(bench.users):
        for peer in order_of(number + place):
            await_rest(lab)
            measured = measure.measure(peer, job, users=users, number=number)
            show.progress(measured)
            bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
    return bench


def order_of(turn: int) -> tuple[Peer, ...]:
    """Return the peers in the order of a turn. Each is first, second and third equally often in three turns."""
    first = turn % len(PEERS)
    return (*PEERS[first:], *PEERS[:first])


def described(job: BenchJob, users: Sequence[int], rounds: int, settings: Settings) -> PeersBench:
    """Return the file without measurements."""
    plan = job.plan
    image = run_docker(["image", "inspect", "--format", "{{.Id}}", settings.own_image(jmeter.IMAGE)])
    return PeersBench(
        id=folders.run_id("peers"),
        lab_version=__version__,
        workload=plan.workload.name,
        flow=job.flow,
        node=plan.subject.node,
        arguments=json.dumps(job.arguments),
        seed=plan.options.seed,
        users=tuple(users),
        rounds=rounds,
        warm_up_seconds=plan.options.warm_up_seconds,
        duration_seconds=plan.options.duration_seconds,
        jmeter_image=image.stdout.strip(),
        environment=environment.read_environment(Compose(settings)),
    )


def announcement(bench: PeersBench) -> str:
    """Describe the bench in one line."""
    count = bench.rounds * len(bench.users) * len(PEERS)
    minutes = count * (bench.warm_up_seconds + bench.duration_seconds + BETWEEN_SECONDS) / 60
    loads = ", ".join(map(str, bench.users))
    return (
        f"{bench.workload}: {', '.join(PEER_NAMES.values())} at {loads} in flight, "
        f"{plural(bench.rounds, 'round')}, about {minutes:.0f} minutes"
    )
