"""``lab bench peers``: measures the lab and its peers in turn, prints what was seen, and stores it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import time

from corda_lab import __version__
from corda_lab.bench.file import store
from corda_lab.bench.peers import jmeter, measure, show
from corda_lab.bench.peers.measurement import PEER_NAMES, PEERS, Peer, PeersBench
from corda_lab.clients.bridge import Bridge, Node
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import environment, lifecycle, shape
from corda_lab.lab.compose import Compose, run_docker
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import counters, preflight
from corda_lab.steps.load import USERS_MAX, LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.values import Values

CONDITIONING_ROUND = 0
"""Number of the load before the first round. It brings the nodes to where they stay, and is not stored."""
BETWEEN_SECONDS = 12
"""Estimated time between two measurements, for the announcement: containers start, flows end, metrics are scraped."""


def run(options: LoadOptions, users: Sequence[int], settings: Settings, *, rounds: int) -> Path:
    """Measure all peers under every load, ``rounds`` times in turn. Returns the stored file. Raises LabError."""
    settings = shape.of_running(settings)
    jmeter.require_possible(settings)
    compose = Compose(settings)
    bridge, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(replace(options, users=max(users))), settings, compose, bridge)
        subject = measure.Subject(compose, bridge, plan, fixed_arguments(plan, bridge.nodes()))
    lifecycle.build(settings, jmeter.SERVICE)
    bench = described(subject, users, rounds, settings)
    ui.note(announcement(bench))
    with ui.phase("Conditioning the nodes"):
        await_rest(bridge, prometheus)
        conditioned = measure.measure("direct", subject, users=max(users), number=CONDITIONING_ROUND)
        if conditioned.problem:
            raise LabError(f"The direct RPC client failed: {conditioned.problem}", exit_code=1)
    for number in range(1, rounds + 1):
        with ui.phase(f"Round {number} of {rounds}"):
            for place, count in enumerate(users):
                for peer in order_of(number + place):
                    await_rest(bridge, prometheus)
                    measured = measure.measure(peer, subject, users=count, number=number)
                    show.progress(measured)
                    bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
        # Stored after every round, so that an interrupted bench keeps what it has.
        path = store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def read_users(text: str, *, option: str = "--users") -> tuple[int, ...]:
    """Read an option such as ``--users``: ``1,20,100``. Raises LabError."""
    try:
        users = tuple(int(word) for word in text.split(","))
    except ValueError:
        users = ()
    if not users or not all(1 <= each <= USERS_MAX for each in users) or len(set(users)) < len(users):
        raise LabError(
            f"{option}: {text!r} is not a list of numbers of flows in flight",
            f"Use different whole numbers from 1 to {USERS_MAX}, separated by commas, such as 1,20,100.",
        )
    return users


def order_of(turn: int) -> tuple[Peer, ...]:
    """Return the peers in the order of a turn. Each is first, second and third equally often in three turns."""
    first = turn % len(PEERS)
    return (*PEERS[first:], *PEERS[:first])


def fixed_arguments(plan: RunPlan, nodes: dict[str, Node]) -> dict[str, object]:
    """Render the arguments of the workload's flow once, for the peers that repeat them. Raises LabError."""
    part = plan.workload.parts[0]
    if len(plan.workload.parts) > 1 or plan.workload.setup:
        raise LabError(
            f"--workload: {plan.workload.name} has several flows or a set-up",
            "Choose a workload with one flow and no set-up.",
        )
    to = plan.subject.parts[0].counterparty
    values = Values(
        seed=plan.options.seed,
        node=nodes[plan.subject.node].x500_name,
        counterparty=nodes[to].x500_name if to else None,
    )
    return dict(part.arguments.render(values))


def described(subject: measure.Subject, users: Sequence[int], rounds: int, settings: Settings) -> PeersBench:
    """Return the file without measurements."""
    plan = subject.plan
    image = run_docker(["image", "inspect", "--format", "{{.Id}}", settings.own_image(jmeter.IMAGE)])
    return PeersBench(
        id=folders.run_id("peers"),
        lab_version=__version__,
        workload=plan.workload.name,
        flow=subject.flow,
        node=plan.subject.node,
        arguments=json.dumps(subject.arguments),
        seed=plan.options.seed,
        users=tuple(users),
        rounds=rounds,
        warm_up_seconds=plan.options.warm_up_seconds,
        duration_seconds=plan.options.duration_seconds,
        jmeter_image=image.stdout.strip(),
        environment=environment.read_environment(settings),
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


def await_rest(bridge: Bridge, prometheus: Prometheus) -> None:
    """Wait until no flow is in flight. Raises LabError after the time limit."""
    if not counters.await_rest(bridge, prometheus, since=time()):
        raise LabError("Flows are still in flight", "Wait until `scripts/lab status` shows none.", exit_code=1)
