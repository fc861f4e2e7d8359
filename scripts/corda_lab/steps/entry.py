"""The entry of a step, which is its ``step.json``: one load on one lab, with all measured values.

The models are the file format. ``docs/methodology.md`` defines the values; the name of a field ends with its unit.
``steps.build`` makes an entry; ``results.stored`` reads it. A new value of a step needs a name here, and the function
of ``steps`` that computes it.
"""

import math
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, PlainSerializer

from corda_lab.faults.model import FaultEntry
from corda_lab.steps.reasons import Reason
from lab_workload.load import Load
from lab_workload.run_end import PreparedStep, WorkerEnd

ValueName = Literal[
    # The machine over the measuring window; ``others`` are the processes outside the lab. The CPU includes CPU steal.
    "host_busy_percent",
    "host_stolen_percent",
    "host_swapped_pages",
    "host_cores",
    "others_cpu_cores",
    # What nodes and other parts of the lab used. See ``steps.usage``.
    "cpu_percent",
    "cpu_percent_max",
    "cpu_peaks",
    "node_cpu_cores",
    "lab_cpu_cores",
    "resident_bytes",
    "resident_max_bytes",
    "resident_after_bytes",
    "heap_floor_bytes",
    "heap_used_max_bytes",
    "node_heap_used_bytes",
    "node_gc_share",
    "gc_percent",
    "rpc_connections",
    "rpc_queue_depth",
    # The cost of one flow. See ``steps.costs``.
    "cpu_seconds_per_flow",
    "allocated_bytes_per_flow",
    "gc_seconds_per_flow",
    "sent_bytes_per_flow",
    "received_bytes_per_flow",
    "disk_written_bytes_per_flow",
    "checkpoints_per_flow",
    "database_bytes_per_flow",
    "database_bytes_per_state",
    "database_bytes_per_transaction",
    # Little's law at the generator, and the throughput of the halves of the window. See ``steps.rows``.
    "requests_per_second",
    "request_seconds_mean",
    "in_flight_mean",
    "littles_law_percent",
    "bridge_in_flight_mean",
    "first_half_per_second",
    "second_half_per_second",
    "total_seconds",
    # The arrivals of open load, and the lag of the generator. See ``steps.open_load``.
    "offered",
    "offered_per_second",
    "late",
    "dropped",
    "due_in_window",
    "dropped_in_window",
    "pool_was_full",
    "generator_late",
    "generator_lag_ms_p99",
    "generator_lag_ms_max",
    # By number of the burst, on three clocks. See ``steps.bursts``.
    "burst_started_at",
    "burst_ok",
    "burst_expected",
    "burst_failed",
    "burst_unknown",
    "burst_last_started_seconds",
    "burst_total_seconds",
    "burst_throughput_per_second",
    "burst_latency_mean_ms",
    "burst_rpc_total_seconds",
    "burst_rpc_throughput_per_second",
    "burst_rpc_latency_mean_ms",
    "burst_node_total_seconds",
    "burst_node_throughput_per_second",
    "burst_node_latency_mean_ms",
]
"""The names of the values in the table of a step."""
VALUE_NAMES = frozenset(get_args(ValueName))

Number = int | float
Values = dict[ValueName, dict[str, Number]]
"""Metric → part of the lab → value. The part is a node, ``PostgreSQL``, ``bridge`` or the like; ``WHOLE`` of all of
them. What was not measured is missing."""
WHOLE = ""


def of_whole(**values: Number | None) -> Values:
    """A table of the values of the whole that are known."""
    return {cast(ValueName, name): {WHOLE: value} for name, value in values.items() if value is not None}


ParameterValue = bool | int | float | str | list[str] | None
"""A value of a parameter that a sweep varies. A list is one value: all links of a lab."""

Kind = Literal["measure", "condition", "probe", "confirm"]
"""The purpose of a step: a measurement, the load that conditions the nodes for one, which has no values, or in a search
the probe or the confirmation of a rate."""


class Entry(BaseModel):
    """Base of all parts of an entry: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def fields(self) -> dict[str, Any]:
        """The fields by name, as arguments for a larger entry."""
        return dict(self)


def _stored(value: float | None) -> float | str | None:
    return "Infinity" if value == math.inf else value


Time = Annotated[float | None, PlainSerializer(_stored, when_used="json")]
"""A time in milliseconds; infinite if it belongs to a request that was never answered. JSON has no number for that, so
there it is the text that pydantic reads as one."""


class Distribution(Entry):
    """Count, mean, extremes and nearest-rank percentiles of a set of values. Of an empty set, only the counts are set.

    ``count`` includes the ``unanswered``: requests without an answer, which rank after all others. The mean is that of
    the others. ``p999`` (p99.9) is None for fewer than 1,000 values.
    """

    count: int = 0
    unanswered: int = 0
    mean: float | None = None
    min: Time = None
    p50: Time = None
    p90: Time = None
    p95: Time = None
    p99: Time = None
    p999: Time = None
    max: Time = None

    def quantile(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        return value


SetupEntry = PreparedStep


class WindowEntry(Entry):
    """The times of a load, in unix seconds. The measuring window lasts from ``started_at`` to ``ended_at``."""

    load_started_at: float
    spawned_at: float | None
    started_at: float
    ended_at: float
    load_ended_at: float
    warm_up_seconds: float
    seconds: float


class WarmUpEntry(Entry):
    """The length of the warm-up (``cut_seconds``), the method, and whether the method found its end."""

    method: str = "fixed"
    seconds_min: float
    seconds_max: float
    cut_seconds: float
    found: bool = True


class ConditioningEntry(Entry):
    """The load that brought the nodes to where they stay, before the first step on a lab. See ``runs.conditioning``.

    ``seconds_min`` and ``seconds_max`` are the limits of its duration, ``flows`` the number of flows that it completed.
    """

    workload: str
    load: Load
    seconds_min: float
    seconds_max: float
    seconds: float
    flows: int
    steady: bool


class RequestCounts(Entry):
    """The number of requests by outcome: over the whole run, and of those that ended in the measuring window."""

    total: int
    ok: int
    expected: int
    failed: int
    unknown: int
    window_ok: int
    window_expected: int
    window_failed: int
    window_unknown: int

    @property
    def unwanted(self) -> int:
        """The requests that ended as no workload asks for."""
        return self.failed + self.unknown


class OutcomeValues(Entry):
    """Throughput, counts by outcome, and times of a set of rows: those of a workload, or of one of its parts."""

    throughput_per_second: float
    requests: RequestCounts
    latency_ms: Distribution
    latency_intended_ms: Distribution
    bridge_flow_ms: Distribution
    bridge_rpc_ms: Distribution


class PartEntry(OutcomeValues):
    """One part of a workload: its values, and how the workload defines it."""

    name: str
    throughput_states_per_second: float | None
    flow: str
    counterparty: str | None
    weight: float
    unit: str
    states_per_flow: int | None
    names_states: bool
    """Whether the workload names states that each success makes or consumes."""


class FailureKind(Entry):
    """Requests that failed with the same status and message.

    ``error`` is the message without its values (see ``rows.grouped_errors``). ``example`` is the first message with its
    values, or None if it has none.
    """

    status: int | None
    error: str | None
    count: int
    first_at: float
    example: str | None = None


class NodeValues(Entry):
    """The values of the flows that one of several nodes started, over the measuring window."""

    node: str
    throughput_per_second: float
    latency_ms: Distribution


class ResolvedEntry(Entry):
    """What became of the requests with an unknown outcome, as the node said after the load. See ``resolutions``.

    ``unknown`` is the number of those that stay so. ``seconds`` is the time from the end of the load until the last
    answer.
    """

    ok: int = 0
    failed: int = 0
    not_started: int = 0
    unknown: int = 0
    seconds: float = 0.0


class StageLine(Entry):
    stage: str
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    share_percent: float | None


class FlowStages(Entry):
    """The stages of the flows that one part started. ``rows`` of its traced ``requests`` have spans of their flow."""

    part: str
    flow: str
    requests: int
    rows: int
    stages: list[StageLine]
    start_ms: Distribution
    end_ms: Distribution
    start_share_percent: float | None
    end_share_percent: float | None
    sum_ms_mean: float
    request_ms_mean: float
    bridge_flow_ms_mean: float | None
    difference_percent: float | None


class ResponderStages(Entry):
    flow: str
    node: str
    rows: int
    stages: list[StageLine]
    sum_ms_mean: float


class StagesEntry(Entry):
    """The stages of the flows. ``reason`` is None, or says why there is no table.

    ``clocks_left_out`` are the values that a lab on several hosts leaves out, because they need one clock.
    """

    reason: str | None
    spans_dropped: dict[str, int] = {}
    flows: list[FlowStages] = []
    responders: list[ResponderStages] = []
    consensus_latency_ms: Distribution = Distribution()
    consensus_left_out: int = 0
    clocks_left_out: list[str] = []


class FlowCount(Entry):
    """The successes of one flow class, as counted by three observers. A count is None if its observer was restarted."""

    flow: str
    generator: int
    bridge: int | None
    node: int | None
    started_by: str | None = None
    """The node that started these flows, if several nodes did; None if the step has one."""


class VaultCount(Entry):
    """The change in unconsumed states of one class in one vault: counted, and expected from the successes.

    ``counted`` is None if the vault could not be counted before or after the load.
    """

    state: str
    node: str
    counted: int | None
    expected: int


class TransactionCheck(Entry):
    """The transactions that the generator was told of, looked for one by one in one vault.

    ``told`` of them should have recorded states of this class there; ``missing`` did not. ``others`` is the number of
    further transactions with such states since the load began: a flow may make several and return one.
    """

    state: str
    node: str
    told: int
    missing: int
    missing_ids: list[str]
    others: int


class CountsEntry(Entry):
    """The four counts over a run: totals, by flow class, by vault and class of state, and the flows of every node."""

    generator: int = 0
    bridge: int | None = None
    node: int | None = None
    vaults: dict[str, int | None] = {}
    flows: list[FlowCount] = []
    vault_states: list[VaultCount] = []
    transactions: list[TransactionCheck] = []
    node_flows: dict[str, dict[str, int]] = {}
    restarted: list[str] = []
    """``bridge`` and the nodes that were restarted during the load, so that their counters began again at 0."""
    at_rest: bool = True
    rest_seconds: float = 0.0
    agree: bool = True
    disagreements: list[Reason] = []

    @property
    def is_known(self) -> bool:
        """Whether anybody besides the generator has counted."""
        return any(count is not None for count in (self.bridge, self.node, *self.vaults.values()))

    @property
    def verdict(self) -> Literal["agree", "differ", "not known"]:
        """Whether the counts agree, in words."""
        return "differ" if not self.agree else "agree" if self.is_known else "not known"


class GeneratorEntry(Entry):
    """The generator. ``cpu_percent_max`` is the peak CPU of its busiest process, in % of one core."""

    cpu_percent_max: float | None = None
    exit_reason: str | None = None
    workers: list[WorkerEnd] = []


class CalibrationEntry(Entry):
    """The milliseconds of a fixed piece of ``work`` on each core, at rest; empty if no core can be chosen."""

    work: str
    before: dict[int, float]
    after: dict[int, float]

    @property
    def slowdown(self) -> float | None:
        """How many times longer the work took after the load than before it; None if it was not timed."""
        return slowdown(self.before, self.after)


def slowdown(before: dict[int, float], after: dict[int, float]) -> float | None:
    """How many times longer the same work took on the cores of two readings, on average; None without such cores."""
    shared = before.keys() & after.keys()
    return sum(after[core] for core in shared) / sum(before[core] for core in shared) if shared else None


DatabaseRead = Literal["file", "compacted", "server"]
"""How the size of a node's database was read: its H2 file, a compacted copy of that file, or PostgreSQL's tables and
large objects."""


class ValidityEntry(Entry):
    """Whether a step is valid, and why not. ``machine`` has those of the reasons that are due to the host."""

    valid: bool = True
    reasons: list[Reason] = []
    machine: list[Reason] = []


class VerdictEntry(Entry):
    passed: bool = True
    reasons: list[Reason] = []


DEVIATION_PERCENT_MAX = 5.0
"""How far Little's law may be off, in %, before a step gets a warning."""


class StepEntry(OutcomeValues):
    """One load on one lab. The fields from ``index`` on are its place in a sweep; a single run has their defaults.

    Failures are those of the whole load.
    """

    workload: str
    flow: str
    node: str
    """The node that started the flows; ``PartyA, PartyB`` if several did, in turn."""
    counterparty: str | None
    load: Load
    setup: list[SetupEntry]
    window: WindowEntry
    conditioning: ConditioningEntry | None = None
    """None if nothing conditioned the nodes right before the step. Of the steps on a lab, only the first has it."""
    warm_up: WarmUpEntry
    throughput_states_per_second: float | None
    parts: tuple[PartEntry, ...]
    failures: list[FailureKind]
    unknown_outcomes: list[FailureKind]
    expected_failures: list[FailureKind]
    by_node: tuple[NodeValues, ...] = ()
    values: Values = {}
    database_read: DatabaseRead | None = None
    """How the sizes of databases in ``values`` were read; None if there are none."""
    lag_ms: Distribution = Distribution()
    """From the intended to the real start of requests; empty for closed load."""
    node_latency_ms: Distribution | None = None
    """Time in the node of the flows in the window, from the creation to the end of each; None without stage rows."""
    resolved: ResolvedEntry = ResolvedEntry()
    stages: StagesEntry
    counts: CountsEntry
    generator: GeneratorEntry = GeneratorEntry()
    calibration: CalibrationEntry | None = None
    """None on several hosts."""
    faults: tuple[FaultEntry, ...] = ()
    restarted_after_faults: tuple[str, ...] = ()
    """The nodes that were started again after the load, because flows stayed in flight without that."""
    flags: list[Reason] = []
    """Warnings: what a reader should know before quoting a value. The step still counts."""
    unsteady: list[Reason] = []
    """Why the throughput was not steady. The step still counts; each value is shown without it too."""
    validity: ValidityEntry = ValidityEntry()
    verdict: VerdictEntry = VerdictEntry()

    index: int = 1
    key: str = "run"
    label: str = ""
    point: dict[str, ParameterValue] = {}
    repeat: int = 1
    kind: Kind = "measure"
    state: Literal["done", "broke"] = "done"
    """broke: a node ended, or was left overloaded, which the sweep allows. It is valid without values."""
    why: str = ""
    """Which node ended under the load, and why, or what it left, if the step broke."""
    thresholds: VerdictEntry = VerdictEntry()
    measured_again: list[Reason] = []
    """Why the host made earlier attempts invalid, at least one reason for each attempt. The step was then rerun."""
    environment: int = 0
    """The index of the step's environment among those of its run."""

    @property
    def outcome(self) -> Literal["passed", "broke"]:
        return "broke" if self.state == "broke" else "passed"

    @property
    def broke(self) -> str | None:
        return self.why if self.state == "broke" else None

    @property
    def phase(self) -> Kind:
        return self.kind

    def value(self, name: ValueName, part: str = WHOLE) -> Number | None:
        """A value of the table; None if it was not measured."""
        return self.by_part(name).get(part)

    def by_part(self, name: ValueName) -> dict[str, Number]:
        """A value by part of the lab. Raises KeyError for a name that no value has."""
        if name not in VALUE_NAMES:
            raise KeyError(name)
        return self.values.get(name, {})

    def mean(self, name: ValueName) -> float | None:
        """The mean of a value over its parts, such as the bursts; None if it was not measured."""
        known = self.by_part(name).values()
        return sum(known) / len(known) if known else None

    @property
    def littles_law_holds(self) -> bool:
        """Whether throughput × mean latency is the mean number of requests in flight, both at the generator."""
        deviation = self.value("littles_law_percent")
        return deviation is not None and abs(deviation) <= DEVIATION_PERCENT_MAX

    @property
    def judged_latency_column(self) -> Literal["latency_intended_ms", "latency_ms"]:
        """The name of the latency that counts, in rows too. From intended starts, it includes the wait for a place."""
        return "latency_intended_ms" if self.has_intended_starts else "latency_ms"

    @property
    def has_intended_starts(self) -> bool:
        """Whether requests start at intended times: in open load and in bursts."""
        return self.load.has_pool

    @property
    def judged_latency(self) -> Distribution:
        return self.latency_intended_ms if self.has_intended_starts else self.latency_ms

    def updated(self, **changes: Any) -> "StepEntry":
        return self.model_copy(update=changes)
