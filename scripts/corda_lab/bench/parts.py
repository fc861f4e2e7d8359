"""Measures the overhead of the lab's own parts.

``lab bench bridge``: the throughput of generator and bridge, as a ratio to that of a direct RPC client. Both keep the
same number of flows in flight on the same nodes. They are measured in pairs, and take turns in going first. So neither
has an advantage if a node is still warming up or the machine becomes slower.

``lab bench stages``: the cost of timing a flow's stages, in microseconds per flow.
"""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.bench.peers import command, measure
from corda_lab.bench.peers.measurement import Peer
from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.runs import preflight
from corda_lab.stats.intervals import CONFIDENCE, around_mean
from corda_lab.steps.load import LoadOptions
from corda_lab.text import ui

RATIO_WANTED = 0.95
STAGE_COST_CLASS = "org.cordalab.timing.StageCost"
STAGE_COST_CLASS_PATH = "/opt/corda/cordapps/*:/opt/corda/lib/*"
STAGE_COST_SECONDS_MAX = 300.0

SIDES: dict[Peer, str] = {"direct": "direct", "lab": "bridge"}
"""The two peers that ``lab bench bridge`` compares, and their names in its table."""


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


def bridge(options: LoadOptions, settings: Settings, *, rounds: int) -> None:
    """Measure alternating pairs, and print their ratios. Raises LabError."""
    settings = shape.of_running(settings)
    compose = Compose(settings)
    client, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(options), settings, compose, client)
        arguments = command.fixed_arguments(plan, client.nodes())
        subject = measure.Subject(compose, client, plan, arguments)
    pairs: list[tuple[float, float]] = []
    for number in range(1, rounds + 1):
        pair: dict[Peer, float] = {}
        for side in SIDES if number % 2 else reversed(SIDES):
            with ui.phase(f"Round {number} of {rounds}: {SIDES[side]}"):
                command.await_rest(client, prometheus)
                measured = measure.measure(side, subject, users=options.users, number=number)
                if measured.problem:
                    raise LabError(f"{SIDES[side]}: {measured.problem}", "Check `docker compose logs`.", exit_code=1)
                pair[side] = measured.flows_per_second
                ui.note(f"{pair[side]:.2f} flows/s")
        if not all(pair.values()):
            raise LabError("No flow ended within the measuring window", "Increase --duration.", exit_code=1)
        pairs.append((pair["direct"], pair["lab"]))
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
