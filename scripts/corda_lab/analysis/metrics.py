"""The named values of a step, by which points are compared, charted and judged.

``docs/methodology.md`` defines each. A value that a step does not have is None. ``metric("cpu_percent.PartyA")`` is the
value of one node or other part of the lab. Without a name, it is that of all Corda nodes: the sum, or of a highest
value the highest.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from corda_lab.errors import LabError
from corda_lab.steps.entry import BurstEntry, StepEntry
from corda_lab.steps.usage import ALL, PARTS

ByNode = Callable[[StepEntry], Mapping[str, float]]
Total = Callable[[StepEntry], float | None]

NODE = re.compile(r"(?i)notary\d?|party[a-z]")
"""The names of Corda nodes."""


@dataclass(frozen=True)
class Metric:
    """A value of a step by which points are compared. ``of`` returns None if a step does not have it."""

    name: str
    title: str
    unit: str
    unit_words: str
    """The unit in a sentence. Empty if the value is written with its unit: a latency is told in ms or in s."""
    higher_is: Literal["faster", "slower"]
    of: Total
    by_node: ByNode | None = None
    """Its values by node and other part of the lab; None if it is of the whole step only."""

    @property
    def higher_is_better(self) -> bool:
        return self.higher_is == "faster"


def metric(name: str) -> Metric:
    """The value with a name such as ``p95`` or ``cpu_percent.PartyA``. Raises LabError if there is none.

    Upper and lower case of the node do not matter.
    """
    base, dot, node = name.partition(".")
    found = METRICS.get(base)
    if found is None:
        raise LabError(f"{name}: there is no such value", f"Choose one of {', '.join(METRICS)}.")
    if not dot:
        return found
    if found.by_node is None:
        raise LabError(f"{name}: {base} has no values by node", f"Write {base} alone.")
    if not NODE.fullmatch(node) and node.lower() not in map(str.lower, PARTS):
        raise LabError(f"{name}: {node!r} is no part of the lab", f"Name a node such as PartyA, or {', '.join(PARTS)}.")
    of = _of_node(found.by_node, node)
    return replace(found, name=name, title=f"{found.title}, {node}", of=of, by_node=None)


def _of_node(by_node: ByNode, node: str) -> Total:
    def of(step: StepEntry) -> float | None:
        return {name.lower(): value for name, value in by_node(step).items()}.get(node.lower())

    return of


def _over_nodes(by_node: ByNode, together: Callable[[Iterable[float]], float]) -> Total:
    def of(step: StepEntry) -> float | None:
        values = [value for name, value in by_node(step).items() if NODE.fullmatch(name)]
        return together(values) if values else None

    return of


def _cost(name: str) -> ByNode:
    return lambda step: step.costs.get(name, {})


def _database(name: str) -> ByNode:
    """The growth of databases, if it was read in a way that can be relied on: the file of H2 grows in leaps."""
    return lambda step: step.costs.get(name, {}) if step.database_read in ("compacted", "server") else {}


def _usage(name: str) -> ByNode:
    return lambda step: step.usage.get(name, {})


def _latency(name: str) -> Total:
    return lambda step: step.judged_latency.quantile(name)


def _burst_mean(of: Callable[[BurstEntry], float | None]) -> Total:
    """The mean of a value over the bursts of a step."""

    def mean(step: StepEntry) -> float | None:
        values = [of(burst) for burst in step.bursts.bursts] if step.bursts else []
        known = [value for value in values if value is not None]
        return fmean(known) if known else None

    return mean


def _in_bursts(of_burst: Callable[[BurstEntry], float | None], otherwise: Total) -> Total:
    in_bursts = _burst_mean(of_burst)
    return lambda step: in_bursts(step) if step.bursts else otherwise(step)


def _last_started_throughput(burst: BurstEntry) -> float | None:
    return burst.ok / burst.last_started_seconds if burst.last_started_seconds else None


def _throughput_by_node(step: StepEntry) -> Mapping[str, float]:
    by_node = {one.node: one.throughput_per_second for one in step.by_node}
    return by_node or {step.node: step.throughput_per_second}


def _goodput(step: StepEntry) -> float | None:
    """Requests that were meant for the window and were done, per second. Closed load: that ended in it."""
    if step.bursts is not None:
        return _burst_mean(lambda one: one.throughput_per_second)(step)
    if step.open_load is None:
        return step.requests.window_ok / step.window.seconds
    offered = step.latency_intended_ms
    return (offered.count - offered.unanswered) / step.window.seconds


_node_rate = _in_bursts(lambda one: one.node_throughput_per_second, lambda one: one.throughput_per_second)
_node_latency_mean = _in_bursts(
    lambda one: one.node_latency_mean_ms, lambda one: one.node_latency_ms.mean if one.node_latency_ms else None
)


def _flows_waiting(step: StepEntry) -> float | None:
    """The flows that wait for a flow thread, by Little's law: flows per second × mean of the stage ``wait``."""
    tables = [] if step.stages.reason else step.stages.flows
    rows = sum(table.rows for table in tables)
    if not rows:
        return None
    waits = ((line.mean_ms or 0.0) * table.rows for table in tables for line in table.stages if line.stage == "wait")
    rate = _node_rate(step)
    return None if rate is None else rate * sum(waits) / rows / 1000


def _flows_past_wait(step: StepEntry) -> float | None:
    """The flows in the node that a flow thread has taken up: flows per second × mean time in the node − those waiting.

    One flow after the other gives 1.
    """
    waiting, latency_ms, rate = _flows_waiting(step), _node_latency_mean(step), _node_rate(step)
    if waiting is None or latency_ms is None or rate is None:
        return None
    # The two means are over different rows, so that of a node without work may be below 0 by their scatter.
    return max(0.0, rate * latency_ms / 1000 - waiting)


def _resident_after_ratio(step: StepEntry) -> Mapping[str, float]:
    after, peak = (step.usage.get(name, {}) for name in ("resident_after_bytes", "resident_max_bytes"))
    return {name: value / peak[name] for name, value in after.items() if peak.get(name)}


def _resident_after_ratio_of_nodes(step: StepEntry) -> float | None:
    after, peak = (step.usage.get(name, {}) for name in ("resident_after_bytes", "resident_max_bytes"))
    nodes = [name for name in after if NODE.fullmatch(name) and peak.get(name)]
    return sum(after[name] for name in nodes) / sum(peak[name] for name in nodes) if nodes else None


def _time(name: str, title: str, of: Total) -> Metric:
    return Metric(name, title, "ms", "", "slower", of)


def _rate(name: str, title: str, of: Total) -> Metric:
    return Metric(name, title, "flows/s", "flows per second", "faster", of)


def _seconds(name: str, title: str, of: Total) -> Metric:
    return Metric(name, title, "s", "", "slower", of)


def _by_node(
    name: str, title: str, unit: str, by_node: ByNode, together: Callable[[Iterable[float]], float] = sum
) -> Metric:
    return Metric(name, title, unit, "", "slower", _over_nodes(by_node, together), by_node)


def _database_size(name: str, title: str) -> Metric:
    """A size of databases, without the tables of checkpoints."""
    return _by_node(name, title, "bytes", _database(name))


_ALL = (
    replace(
        _rate("throughput", "throughput", lambda step: step.throughput_per_second),
        by_node=_throughput_by_node,
    ),
    Metric(
        "states",
        "throughput in states",
        "states/s",
        "states per second",
        "faster",
        lambda step: step.throughput_states_per_second,
    ),
    _time("p50", "latency p50", _latency("p50")),
    _time("p95", "latency p95", _latency("p95")),
    _time("p99", "latency p99", _latency("p99")),
    _time(
        "latency_mean", "mean latency", _in_bursts(lambda one: one.latency_mean_ms, lambda one: one.judged_latency.mean)
    ),
    _time(
        "rpc_latency_mean",
        "mean latency at the RPC client",
        _in_bursts(lambda one: one.rpc_latency_mean_ms, lambda one: one.bridge_flow_ms.mean),
    ),
    _time("node_latency_mean", "mean latency in the node", _node_latency_mean),
    _time("consensus_latency_mean", "mean consensus latency", lambda step: step.stages.consensus_latency_ms.mean),
    _seconds("total_seconds", "total time", lambda step: step.total_seconds),
    _seconds("burst_total", "total time of a burst", _burst_mean(lambda one: one.total_seconds)),
    _rate("burst_throughput", "throughput of a burst", _burst_mean(lambda one: one.throughput_per_second)),
    _rate(
        "burst_rpc_throughput",
        "throughput of a burst at the RPC client",
        _burst_mean(lambda one: one.rpc_throughput_per_second),
    ),
    _rate(
        "burst_node_throughput",
        "throughput of a burst in the node",
        _burst_mean(lambda one: one.node_throughput_per_second),
    ),
    _rate(
        "burst_last_started_throughput",
        "flows of a burst ÷ time to its last start",
        _burst_mean(_last_started_throughput),
    ),
    _rate("goodput", "goodput", _goodput),
    Metric(
        "flows_in_flight", "flows in flight", "flows", "flows", "slower", lambda step: step.littles_law.in_flight_mean
    ),
    Metric("flows_waiting_stage", "flows waiting for a flow thread", "flows", "flows", "slower", _flows_waiting),
    Metric("flows_past_wait", "flows that a flow thread has taken up", "flows", "flows", "faster", _flows_past_wait),
    _by_node("cpu_percent", "CPU", "%", _usage("cpu_percent")),
    _by_node("cpu_percent_max", "highest CPU in one second", "%", _usage("cpu_percent_max"), max),
    Metric(
        "cpu_peaks",
        "peaks of the CPU",
        "",
        "",
        "slower",
        lambda step: step.usage.get("cpu_peaks_of_nodes", {}).get(ALL),
        _usage("cpu_peaks"),
    ),
    _by_node("cpu_seconds_per_flow", "CPU per flow", "s", _cost("cpu_seconds_per_flow")),
    _by_node("heap_floor_bytes", "heap after a collection", "bytes", _usage("heap_floor_bytes")),
    _by_node("heap_used_max_bytes", "highest heap", "bytes", _usage("heap_used_max_bytes"), max),
    _by_node("resident_bytes", "memory", "bytes", _usage("resident_bytes")),
    _by_node("resident_max_bytes", "highest memory", "bytes", _usage("resident_max_bytes"), max),
    Metric(
        "resident_after_ratio",
        "memory 60 s after the load ÷ highest",
        "",
        "",
        "slower",
        _resident_after_ratio_of_nodes,
        _resident_after_ratio,
    ),
    _by_node("gc_percent", "garbage collection", "%", _usage("gc_percent")),
    _by_node("gc_seconds_per_flow", "garbage collection per flow", "s", _cost("gc_seconds_per_flow")),
    _by_node("allocated_bytes_per_flow", "allocated per flow", "bytes", _cost("allocated_bytes_per_flow")),
    _by_node("sent_bytes_per_flow", "sent per flow", "bytes", _cost("sent_bytes_per_flow")),
    _by_node("received_bytes_per_flow", "received per flow", "bytes", _cost("received_bytes_per_flow")),
    _by_node("disk_written_bytes_per_flow", "written to disk per flow", "bytes", _cost("disk_written_bytes_per_flow")),
    _by_node("checkpoints_per_flow", "checkpoints per flow", "", _cost("checkpoints_per_flow")),
    _by_node("rpc_connections", "open RPC connections", "", _usage("rpc_connections")),
    _by_node("rpc_queue_depth", "waiting RPC requests", "", _usage("rpc_queue_depth"), max),
    _database_size("database_bytes_per_flow", "database per flow"),
    _database_size("database_bytes_per_state", "database per state"),
    _database_size("database_bytes_per_transaction", "database per transaction"),
)

METRICS: dict[str, Metric] = {one.name: one for one in _ALL}
"""All named values, in the order of ``docs/methodology.md``."""

COMPARED = ("throughput", "states", "p50", "p95", "p99")
"""The values of every table of points, and of comparisons of runs. The others are shown where a step has them."""
