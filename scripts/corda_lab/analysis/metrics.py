"""The named values of a step, by which points are compared, charted and judged.

Each is declared once, and its row in ``docs/methodology.md`` is made from that. A value that a step does not have is
None. ``metric("cpu_percent.PartyA")`` is the
value of one node or other part of the lab. Without a name, it is that of all Corda nodes: the sum, or of a highest
value the highest.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from corda_lab.errors import LabError
from corda_lab.steps.entry import WHOLE, StepEntry, ValueName
from corda_lab.steps.usage import PARTS

ByNode = Callable[[StepEntry], Mapping[str, float]]
Total = Callable[[StepEntry], float | None]
Together = Callable[[Iterable[float]], float]
"""How the value of all nodes follows from those of each: ``sum`` or ``max``."""

NODE = re.compile(r"(?i)notary\d?|party[a-z]")
"""The names of Corda nodes."""


@dataclass(frozen=True)
class Metric:
    """A value of a step by which points are compared. ``of`` returns None if a step does not have it."""

    name: str
    title: str
    unit: str
    of: Total
    definition: str
    """What it is, in Markdown: the text of its row in ``docs/methodology.md``."""
    by_node: ByNode | None = None
    """Its values by node and other part of the lab; None if it is of the whole step only."""
    higher_is: Literal["faster", "slower"] = "slower"

    @property
    def reference(self) -> str:
        """Its row in the table of values in ``docs/methodology.md``."""
        return f"| `{self.name}`{', by node' if self.by_node else ''} | {self.definition} | {self.unit} |"

    @property
    def higher_is_better(self) -> bool:
        return self.higher_is == "faster"


def metric(name: str) -> Metric:
    """The value with a name such as ``p95`` or ``cpu_percent.PartyA``. Raises LabError if there is none.

    Upper and lower case of the node do not matter.
    """
    base, dot, node = name.partition(".")
    known = METRICS.get(base)
    if known is None:
        raise LabError(f"{name}: there is no such value", f"Choose one of {', '.join(METRICS)}.")
    if not dot:
        return known
    by_node = known.by_node
    if by_node is None:
        raise LabError(f"{name}: {base} has no values by node", f"Write {base} alone.")
    if not NODE.fullmatch(node) and node.lower() not in map(str.lower, PARTS):
        raise LabError(f"{name}: {node!r} is no part of the lab", f"Name a node such as PartyA, or {', '.join(PARTS)}.")

    def of_node(step: StepEntry) -> float | None:
        return {part.lower(): value for part, value in by_node(step).items()}.get(node.lower())

    return replace(known, name=name, title=f"{known.title}, {node}", of=of_node, by_node=None)


def _measured(step: StepEntry, name: ValueName) -> Mapping[str, float]:
    return step.by_part(name)


def _database(step: StepEntry, name: ValueName) -> Mapping[str, float]:
    """The growth of databases, if it was read in a way that can be relied on: the file of H2 grows in leaps."""
    return step.by_part(name) if step.database_read in ("compacted", "server") else {}


def _burst_mean(name: ValueName, otherwise: Total = lambda step: None) -> Total:
    """The mean of a value over the bursts of a step; of a step without bursts another value."""
    return lambda step: step.mean(name) if step.by_part("burst_ok") else otherwise(step)


def _last_started_throughput(step: StepEntry) -> float | None:
    done, seconds = step.by_part("burst_ok"), step.by_part("burst_last_started_seconds")
    rates = [done[burst] / seconds[burst] for burst in done if seconds[burst]]
    return fmean(rates) if rates else None


def _throughput_by_node(step: StepEntry) -> Mapping[str, float]:
    by_node = {values.node: values.throughput_per_second for values in step.by_node}
    return by_node or {step.node: step.throughput_per_second}


def _goodput(step: StepEntry) -> float | None:
    """Requests that were meant for the window and were done, per second. Closed load: that ended in it."""
    if step.load.is_burst:
        return step.mean("burst_throughput_per_second")
    if not step.load.is_open:
        return step.requests.window_ok / step.window.seconds
    offered = step.latency_intended_ms
    return (offered.count - offered.unanswered) / step.window.seconds


_node_rate = _burst_mean("burst_node_throughput_per_second", lambda step: step.throughput_per_second)
_node_latency_mean = _burst_mean(
    "burst_node_latency_mean_ms", lambda step: step.node_latency_ms.mean if step.node_latency_ms else None
)


def _flows_waiting(step: StepEntry) -> float | None:
    """The flows that wait for a flow thread, by Little's law: flows per second × mean of the stage ``wait``."""
    tables = [] if step.stages.reason else step.stages.flows
    rows = sum(table.rows for table in tables)
    rate = _node_rate(step)
    if not rows or rate is None:
        return None
    waits = ((line.mean_ms or 0.0) * table.rows for table in tables for line in table.stages if line.stage == "wait")
    return rate * sum(waits) / rows / 1000


def _flows_past_wait(step: StepEntry) -> float | None:
    """The flows in the node that a flow thread has taken up: flows per second × mean time in the node − those waiting.

    One flow after the other gives 1.
    """
    waiting, latency_ms, rate = _flows_waiting(step), _node_latency_mean(step), _node_rate(step)
    if waiting is None or latency_ms is None or rate is None:
        return None
    # The two means are over different rows, so that of a node without work may be below 0 by their scatter.
    return max(0.0, rate * latency_ms / 1000 - waiting)


def _memory_after(step: StepEntry) -> dict[str, tuple[float, float]]:
    """The memory after the load and the highest, by node and part of the lab; both in bytes."""
    after, highest = step.by_part("resident_after_bytes"), step.by_part("resident_max_bytes")
    return {name: (value, highest[name]) for name, value in after.items() if highest.get(name)}


def _memory_after_ratio(step: StepEntry) -> float | None:
    nodes = [pair for name, pair in _memory_after(step).items() if NODE.fullmatch(name)]
    return sum(after for after, _ in nodes) / sum(highest for _, highest in nodes) if nodes else None


def _by_node(
    name: ValueName,
    title: str,
    unit: str,
    definition: str,
    together: Together = sum,
    read: Callable[[StepEntry, ValueName], Mapping[str, float]] = _measured,
) -> Metric:
    """A value that the table has by node, under the name of the metric."""

    def of_nodes(step: StepEntry) -> float | None:
        values = [value for part, value in read(step, name).items() if NODE.fullmatch(part)]
        return together(values) if values else None

    return Metric(name, title, unit, of_nodes, definition, lambda step: read(step, name))


_ALL = (
    Metric(
        "throughput",
        "throughput",
        "flows/s",
        lambda step: step.throughput_per_second,
        "[throughput](#values-of-a-step); by node, of the flows that this node started",
        _throughput_by_node,
        "faster",
    ),
    Metric(
        "states",
        "throughput in states",
        "states/s",
        lambda step: step.throughput_states_per_second,
        "throughput in states",
        higher_is="faster",
    ),
    Metric(
        "p50",
        "latency p50",
        "ms",
        lambda step: step.judged_latency.p50,
        "percentile of the latency that counts: from the intended start in open load and in bursts, else from the "
        "real start",
    ),
    Metric("p95", "latency p95", "ms", lambda step: step.judged_latency.p95, "the same"),
    Metric("p99", "latency p99", "ms", lambda step: step.judged_latency.p99, "the same"),
    Metric(
        "latency_mean",
        "mean latency",
        "ms",
        _burst_mean("burst_latency_mean_ms", lambda step: step.judged_latency.mean),
        "mean of the same latency over the requests done. With bursts: the mean over the bursts of each burst's "
        "mean, from the intended start.",
    ),
    Metric(
        "rpc_latency_mean",
        "mean latency at the RPC client",
        "ms",
        _burst_mean("burst_rpc_latency_mean_ms", lambda step: step.bridge_flow_ms.mean),
        "the same by the clock of the RPC client: the flow time that the bridge measured",
    ),
    Metric(
        "node_latency_mean",
        "mean latency in the node",
        "ms",
        _node_latency_mean,
        "the same by the clock of the node: from the creation of the flow to its end, from spans",
    ),
    Metric(
        "consensus_latency_mean",
        "mean consensus latency",
        "ms",
        lambda step: step.stages.consensus_latency_ms.mean,
        "mean of the [consensus latency](#stages-of-a-flow)",
    ),
    Metric(
        "total_seconds",
        "total time",
        "s",
        lambda step: step.value("total_seconds"),
        "for a load that ends by count: from its first counted start to its last counted end",
    ),
    Metric(
        "burst_total",
        "total time of a burst",
        "s",
        _burst_mean("burst_total_seconds"),
        "mean over the bursts: from the first intended start to the last answer",
    ),
    Metric(
        "burst_throughput",
        "throughput of a burst",
        "flows/s",
        _burst_mean("burst_throughput_per_second"),
        "mean over the bursts: successes ÷ that time",
        higher_is="faster",
    ),
    Metric(
        "burst_rpc_throughput",
        "throughput of a burst at the RPC client",
        "flows/s",
        _burst_mean("burst_rpc_throughput_per_second"),
        "the same from the first start of a flow by RPC to its last result, at the RPC client",
        higher_is="faster",
    ),
    Metric(
        "burst_node_throughput",
        "throughput of a burst in the node",
        "flows/s",
        _burst_mean("burst_node_throughput_per_second"),
        "the same from the first creation to the last end of a flow in the node, from spans",
        higher_is="faster",
    ),
    Metric(
        "burst_last_started_throughput",
        "flows of a burst ÷ time to its last start",
        "flows/s",
        _last_started_throughput,
        "mean over the bursts: successes ÷ time from the first to the last *start*. It overstates the throughput, "
        "but some publications use it.",
        higher_is="faster",
    ),
    Metric(
        "goodput",
        "goodput",
        "flows/s",
        _goodput,
        "flows per second that complete within the time limit of their callers, which is "
        "`BRIDGE_FLOW_TIMEOUT_SECONDS` in a load of the lab. Open load: of the requests meant for the window, those "
        "that completed so, ÷ its seconds. Closed load: successes that ended in the window ÷ its seconds. Bursts: "
        "`burst_throughput`.",
        higher_is="faster",
    ),
    Metric(
        "flows_in_flight",
        "flows in flight",
        "flows",
        lambda step: step.value("in_flight_mean"),
        "time-average of the requests in flight at the generator ([Little's law](#littles-law))",
    ),
    Metric(
        "flows_waiting_stage",
        "flows waiting for a flow thread",
        "flows",
        _flows_waiting,
        "mean number of started flows that wait for a flow thread of the node: throughput (of a burst in the node, "
        "if there are bursts) × mean of the stage *wait*",
    ),
    Metric(
        "flows_past_wait",
        "flows that a flow thread has taken up",
        "flows",
        _flows_past_wait,
        "mean number of flows in the node that its flow thread has taken up and that have not ended: the same "
        "throughput × `node_latency_mean` − `flows_waiting_stage`. A node that does one flow after the other has 1 "
        "at most.",
        higher_is="faster",
    ),
    _by_node("cpu_percent", "CPU", "%", "mean CPU; 100 % is one core"),
    _by_node(
        "cpu_percent_max",
        "highest CPU in one second",
        "%",
        "highest CPU between two samples, a second apart; highest",
        max,
    ),
    Metric(
        "cpu_peaks",
        "peaks of the CPU",
        "",
        lambda step: step.value("cpu_peaks"),
        "separate peaks of the CPU, second by second; without a name, of the CPU of all Corda nodes together "
        "([below](#samples-of-each-second))",
        lambda step: {part: peaks for part, peaks in step.by_part("cpu_peaks").items() if part != WHOLE},
    ),
    _by_node("cpu_seconds_per_flow", "CPU per flow", "s", "[CPU per flow](#costs)"),
    _by_node(
        "heap_floor_bytes",
        "heap after a collection",
        "bytes",
        "least heap that was in use after a collection, in the second half of the window: the smallest sum, over "
        "its scrapes, of all heap pools but Eden, in which only new objects are",
    ),
    _by_node("heap_used_max_bytes", "highest heap", "bytes", "most heap in use, over the scrapes; highest", max),
    _by_node(
        "resident_bytes",
        "memory",
        "bytes",
        "mean of the memory that the container's processes have allocated, without the page cache",
    ),
    _by_node("resident_max_bytes", "highest memory", "bytes", "highest such memory; highest", max),
    Metric(
        "resident_after_ratio",
        "memory 60 s after the load ÷ highest",
        "",
        _memory_after_ratio,
        "the same memory 60 s after the last answer (mean of 5 s) ÷ its highest in the window. It needs "
        "`idle_after=60s`. Without a name: the sums of both over the nodes.",
        lambda step: {name: after / highest for name, (after, highest) in _memory_after(step).items()},
    ),
    _by_node(
        "gc_percent",
        "garbage collection",
        "%",
        "share of the time spent in garbage collection, from the first to the last scrape in the window",
    ),
    _by_node("gc_seconds_per_flow", "garbage collection per flow", "s", "[garbage collection per flow](#costs)"),
    _by_node("allocated_bytes_per_flow", "allocated per flow", "bytes", "allocated per flow"),
    _by_node("sent_bytes_per_flow", "sent per flow", "bytes", "sent per flow"),
    _by_node("received_bytes_per_flow", "received per flow", "bytes", "received per flow"),
    _by_node("disk_written_bytes_per_flow", "written to disk per flow", "bytes", "written to disk per flow"),
    _by_node("checkpoints_per_flow", "checkpoints per flow", "", "checkpoints per flow"),
    _by_node(
        "rpc_connections",
        "open RPC connections",
        "",
        "most connections open at the node's RPC broker, over the scrapes; the node's own are among them",
    ),
    _by_node(
        "rpc_queue_depth",
        "waiting RPC requests",
        "",
        "most RPC requests that waited in the queue `rpc.server` and were not delivered yet, over the scrapes; "
        "highest. The node takes up to a megabyte of requests at once, so small requests wait inside it, unseen.",
        max,
    ),
    # Sizes of databases are those without the tables of checkpoints.
    _by_node(
        "database_bytes_per_flow",
        "database per flow",
        "bytes",
        "[database per flow](#costs), unless it is that of an H2 file that was not compacted",
        read=_database,
    ),
    _by_node("database_bytes_per_state", "database per state", "bytes", "the same ÷ states", read=_database),
    _by_node(
        "database_bytes_per_transaction", "database per transaction", "bytes", "the same ÷ transactions", read=_database
    ),
)


METRICS: dict[str, Metric] = {value.name: value for value in _ALL}
"""All named values, in the order of ``docs/methodology.md``."""

COMPARED = ("throughput", "states", "p50", "p95", "p99")
"""The values of every table of points, and of comparisons of runs. The others are shown where a step has them."""
