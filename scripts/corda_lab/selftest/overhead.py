"""Measures the overhead of the lab's own parts.

``lab bench bridge``: the throughput of generator and bridge, as a ratio to that of a direct RPC client. Both keep the
same number of flows in flight on the same nodes. They are measured in pairs, and take turns in going first. So neither
has an advantage if a node is still warming up or the machine becomes slower.

``lab bench stages``: the cost of timing a flow's stages, in microseconds per flow.
"""

import json
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
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
from corda_lab.runs.collect import collect
from corda_lab.stats.intervals import CONFIDENCE, around_mean
from corda_lab.steps import rows
from corda_lab.steps.build import measuring_window
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui
from lab_workload.load import UNWANTED
from lab_workload.values import Values

RATIO_WANTED = 0.95
BENCHMARK_CLASS = "org.cordalab.bridge.bench.DirectRpcBenchmark"
START_SECONDS_MAX = 120
STAGE_COST_CLASS = "org.cordalab.timing.StageCost"
STAGE_COST_CLASS_PATH = "/opt/corda/cordapps/*:/opt/corda/lib/*"
STAGE_COST_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of paired ratios, their range, and the 95 % interval of the mean (None for a single pair)."""

    mean: float
    low: float
    high: float
    interval: tuple[float, float] | None


def ratio_of(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Return the mean ratio of the second to the first value of each pair, averaged as logarithms."""
    logs = [math.log(second / first) for first, second in pairs]
    mean = statistics.fmean(logs)
    interval = None
    if len(logs) > 1:
        low, _, high = around_mean(logs, CONFIDENCE)
        interval = (math.exp(low), math.exp(high))
    return Ratio(math.exp(mean), math.exp(min(logs)), math.exp(max(logs)), interval)


def verdict(ratio: Ratio) -> str:
    """Say whether the ratio meets the lab's target, if there are enough pairs to tell."""
    low, high = ratio.interval or (ratio.mean, ratio.mean)
    if ratio.interval is None:
        return f"a single pair does not show whether the ratio meets the target of {RATIO_WANTED}"
    if low >= RATIO_WANTED:
        return f"meets the target: at least {RATIO_WANTED}"
    if high < RATIO_WANTED:
        return f"misses the target of at least {RATIO_WANTED}"
    return f"the interval includes the target of {RATIO_WANTED}; for a clear result, increase --rounds or --duration"


def direct_rate(compose: Compose, plan: RunPlan, arguments: Mapping[str, Any]) -> float:
    """Measure the flows per second of the direct RPC client, which runs in the bridge's image. Raises LabError."""
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
            f"The direct RPC client printed no result: {words}", "Check `docker compose logs partya`.", exit_code=1
        ) from None
    if answer["failed"]:
        raise LabError(f"{answer['failed']} direct flows failed: {answer['first_error']}", exit_code=1)
    return float(answer["flows_per_second"])


def bridge_rate(compose: Compose, bridge: Bridge, plan: RunPlan) -> float:
    """Measure the flows per second of Locust through the bridge, from its rows. Raises LabError."""
    with (
        tempfile.TemporaryDirectory(prefix="corda-lab-bench-") as scratch,
        containers.load_containers(compose, plan) as names,
    ):
        containers.await_setup(compose, plan, names)
        containers.let_go(compose, plan)
        containers.generate_load(compose, plan, bridge, names)
        collected = collect(compose, plan, names, Path(scratch))
        frame, end = collected.requests, collected.end
    failed = frame.filter(pl.col("outcome").is_in(UNWANTED)).height
    if failed:
        raise LabError(
            f"{failed} requests through the bridge failed", "`scripts/lab run` shows their errors.", exit_code=1
        )
    window = measuring_window(end, plan.options.warm_up_seconds)
    return rows.ended_within(frame, window).height / window.seconds


def bridge(options: LoadOptions, settings: Settings, *, rounds: int) -> None:
    """Measure alternating pairs, and print their ratios. Raises LabError."""
    settings = shape.of_running(settings)
    compose = Compose(settings)
    client, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(options), settings, compose, client)
        nodes = client.nodes()
        part = plan.workload.parts[0]
        if len(plan.workload.parts) > 1 or plan.workload.setup:
            raise LabError(
                f"--workload: {plan.workload.name} has several flows or a set-up",
                "Choose a workload with one flow and no set-up.",
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
                    raise LabError(
                        "Flows are still in flight", "Wait until `scripts/lab status` shows none.", exit_code=1
                    )
                if side == "direct":
                    pair[side] = direct_rate(compose, plan, arguments)
                else:
                    pair[side] = bridge_rate(compose, client, replace(plan, identity=f"{plan.identity}-bench-{number}"))
                ui.note(f"{pair[side]:.2f} flows/s")
        if not all(pair.values()):
            raise LabError("No flow ended within the measuring window", "Increase --duration.", exit_code=1)
        pairs.append((pair["direct"], pair["bridge"]))
    show(pairs)


def show(pairs: Sequence[tuple[float, float]]) -> None:
    """Print every pair, the mean ratio and the verdict."""
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


@dataclass(frozen=True)
class StageCost:
    """The cost of timing the stages of a flow, in µs: of the thread that waits for it, and of all of the JVM's CPU."""

    flows: int
    """The number of flows over which the costs are means."""
    caller_us_per_flow: float
    cpu_us_per_flow: float
    rows_dropped: int
    """Stage rows that were lost so far."""


def stages(settings: Settings) -> None:
    """Measure the cost of timing a flow's stages in a JVM of the node's image, and print it. Raises LabError."""
    with ui.phase("Measuring the cost of stage timing, in a container of the node's image"):
        done = Compose(settings).run(
            *("run", "--rm", "--no-deps", "-T", "--entrypoint", "java", "bootstrap"),
            *("-Xmx128m", "-classpath", STAGE_COST_CLASS_PATH, STAGE_COST_CLASS),
            check=False,
            seconds_max=STAGE_COST_SECONDS_MAX,
        )
        batches = parse_stage_cost(done.stdout)
        if done.returncode != 0 or not batches:
            raise LabError(
                f"The benchmark printed no result: {last_words(done.stderr or done.stdout)}",
                "If the image is missing, `scripts/lab up` builds it.",
                exit_code=1,
            )
    ui.console.print()
    ui.console.print("[bold]  flows   flow waits   CPU of the JVM[/bold]  (µs per flow)")
    for batch in batches:
        ui.console.print(
            f"{batch.flows:7,d} {batch.caller_us_per_flow:12.1f} {batch.cpu_us_per_flow:16.1f}", markup=False
        )
    ui.console.print("The first lines are from a JVM that has just started, the last from a warm JVM.", markup=False)


def parse_stage_cost(text: str) -> list[StageCost]:
    """Parse the batches that ``StageCost`` printed. Other lines, from the start of the container, are ignored."""
    return [StageCost(**json.loads(line)) for line in text.splitlines() if line.startswith('{"flows"')]
