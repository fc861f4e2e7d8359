"""What the lab's own parts cost.

``lab bench bridge``: the bridge and the generator, as a ratio to an RPC client with nothing in between. Both sides keep the
same number of flows in flight on the same nodes, in pairs that alternate which side goes first, so that a node that still
warms up or a machine that slows down favours neither.

``lab bench stages``: the timing of a flow's stages, in microseconds a flow.
"""

import json
import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.runs import containers, counters, preflight
from corda_lab.stats.intervals import CONFIDENCE, around_mean
from corda_lab.steps import rows
from corda_lab.steps.build import measuring_window
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui
from lab_workload.values import Values

RATIO_WANTED = 0.95
BENCHMARK_CLASS = "org.cordalab.bridge.bench.DirectRpcBenchmark"
START_SECONDS_MAX = 120
STAGE_COST_CLASS = "org.cordalab.timing.StageCost"
STAGE_COST_CLASS_PATH = "/opt/corda/cordapps/*:/opt/corda/lib/*"
STAGE_COST_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of paired ratios, with their range and the 95 % interval of the mean (None for a single pair)."""

    mean: float
    low: float
    high: float
    interval: tuple[float, float] | None


def ratio_of(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Ratio of the second to the first figure of each pair. Ratios multiply, so they are averaged as logarithms."""
    logs = [math.log(second / first) for first, second in pairs]
    mean = statistics.fmean(logs)
    interval = None
    if len(logs) > 1:
        low, _, high = around_mean(logs, CONFIDENCE)
        interval = (math.exp(low), math.exp(high))
    return Ratio(math.exp(mean), math.exp(min(logs)), math.exp(max(logs)), interval)


def verdict(ratio: Ratio) -> str:
    """Whether the ratio that the lab promises is reached, as far as the pairs can tell."""
    low, high = ratio.interval or (ratio.mean, ratio.mean)
    if ratio.interval is None:
        return f"one pair cannot tell whether it is at least {RATIO_WANTED}"
    if low >= RATIO_WANTED:
        return f"at least {RATIO_WANTED}, as it should be"
    if high < RATIO_WANTED:
        return f"below the {RATIO_WANTED} that it should be"
    return f"these pairs cannot tell whether it is at least {RATIO_WANTED}: take more --rounds or a longer --duration"


def direct_rate(compose: Compose, plan: RunPlan, arguments: dict[str, Any]) -> float:
    """Flows per second of the RPC client, which runs in the bridge's image and prints one line of JSON."""
    load = plan.options
    done = compose.run(
        *("run", "--rm", "--no-deps", "-T", "--entrypoint", "/opt/corda-lab/run-java", "bridge", BENCHMARK_CLASS),
        *("--node", plan.subject.node, "--flow", plan.subject.parts[0].flow, "--args", json.dumps(arguments)),
        *("--in-flight", str(load.users)),
        *("--warm-up", str(int(load.warm_up_seconds)), "--duration", str(int(load.duration_seconds))),
        check=False,
        seconds_max=load.total_seconds + plan.flow_timeout_seconds + START_SECONDS_MAX,
    )
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        words = last_words(done.stderr or done.stdout)
        raise LabError(
            f"The direct client gave no figures: {words}", "See `docker compose logs partya`.", exit_code=1
        ) from None
    if answer["failed"]:
        raise LabError(f"{answer['failed']} direct flows failed: {answer['first_error']}", exit_code=1)
    return float(answer["flows_per_second"])


def bridge_rate(compose: Compose, bridge: Bridge, plan: RunPlan) -> float:
    """Flows per second of Locust through the bridge, from its rows."""
    with (
        tempfile.TemporaryDirectory(prefix="corda-lab-bench-") as scratch,
        containers.load_containers(compose, plan) as names,
    ):
        containers.await_setup(compose, plan, names)
        containers.let_go(compose, plan)
        containers.generate_load(compose, plan, bridge, names)
        frame, end = containers.collect(compose, plan, names, Path(scratch))
    failed = frame.filter(pl.col("outcome") == "error").height
    if failed:
        raise LabError(f"{failed} requests through the bridge failed", "Compare `scripts/lab run`.", exit_code=1)
    window = measuring_window(end, plan.options.warm_up_seconds)
    return rows.ended_within(frame, window).height / window.seconds


def bridge(options: LoadOptions, settings: Settings, *, rounds: int) -> None:
    """Measure pairs and print their ratio."""
    settings = shape.of_running(settings)
    compose = Compose(settings)
    client, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(options, settings, compose, client)
        nodes = client.nodes()
        part = plan.workload.parts[0]
        if len(plan.workload.parts) > 1 or plan.workload.setup:
            raise LabError(
                f"--workload: {plan.workload.name} has several flows or a set-up",
                "Compare a workload of one flow without.",
            )
        to = plan.subject.parts[0].counterparty
        values = Values(
            seed=options.seed, node=nodes[plan.subject.node].x500_name, counterparty=nodes[to].x500_name if to else None
        )
        arguments = part.arguments.render(values)
    pairs: list[tuple[float, float]] = []
    for number in range(1, rounds + 1):
        pair: dict[str, float] = {}
        for side in ("direct", "bridge") if number % 2 else ("bridge", "direct"):
            with ui.phase(f"Round {number} of {rounds}: {side}"):
                if not counters.await_rest(client, prometheus, since=time.time()):
                    raise LabError("The lab does not come to rest", "See `scripts/lab status`.", exit_code=1)
                if side == "direct":
                    pair[side] = direct_rate(compose, plan, arguments)
                else:
                    pair[side] = bridge_rate(compose, client, replace(plan, identity=f"{plan.identity}-bench-{number}"))
                ui.note(f"{pair[side]:.2f} flows/s")
        if not all(pair.values()):
            raise LabError("No flow ended within the measuring window", "Give a longer --duration.", exit_code=1)
        pairs.append((pair["direct"], pair["bridge"]))
    show(pairs)


def show(pairs: Sequence[tuple[float, float]]) -> None:
    """Print every pair and what they come to."""
    ui.console.print()
    ui.console.print("[bold]round   direct   bridge   ratio[/bold]  (flows/s)")
    for number, (direct, through) in enumerate(pairs, start=1):
        ui.console.print(f"{number:5d} {direct:8.2f} {through:8.2f} {through / direct:7.3f}", markup=False)
    ratio = ratio_of(pairs)
    interval = "" if ratio.interval is None else f", 95 % interval {ratio.interval[0]:.3f} to {ratio.interval[1]:.3f}"
    ui.console.print(
        f"ratio {ratio.mean:.3f} (from {ratio.low:.3f} to {ratio.high:.3f}{interval})", style="bold", markup=False
    )
    ui.console.print(verdict(ratio), markup=False)


def stages(settings: Settings) -> None:
    """Measure and print what timing its stages costs a flow, in a JVM of the node's image. Raises LabError."""
    with ui.phase("Timing the timing, in a container of the node's image"):
        done = Compose(settings).run(
            *("run", "--rm", "--no-deps", "-T", "--entrypoint", "java", "bootstrap"),
            *("-Xmx128m", "-classpath", STAGE_COST_CLASS_PATH, STAGE_COST_CLASS),
            check=False,
            seconds_max=STAGE_COST_SECONDS_MAX,
        )
        batches = parse_stage_cost(done.stdout)
        if done.returncode != 0 or not batches:
            raise LabError(
                f"The benchmark gave no figures: {last_words(done.stderr or done.stdout)}",
                "Is the image built? `scripts/lab up` does it.",
                exit_code=1,
            )
    ui.console.print()
    ui.console.print("[bold]  flows   flow waits   CPU of the JVM[/bold]  (µs per flow)")
    for batch in batches:
        ui.console.print(
            f"{batch['flows']:7,d} {batch['caller_us_per_flow']:12.1f} {batch['cpu_us_per_flow']:16.1f}", markup=False
        )
    ui.console.print("The first lines are of a JVM that has just started, the last of one that is warm.", markup=False)


def parse_stage_cost(text: str) -> list[dict[str, Any]]:
    """The batches that ``StageCost`` printed; other lines, of the container's start, are left out."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"flows"')]
