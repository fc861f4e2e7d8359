"""The entry of a step in ``steps.json``: one load on one lab, with every value that was measured.

The models are the file format. ``docs/methodology.md`` defines the values; the unit of a field is the end of its name.
``steps.build`` makes an entry, ``results.stored`` reads one back. A new value of a step is a field here and the line of
``steps.build`` that computes it.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from corda_lab.steps.reasons import Reason, read_reason

ParameterValue = bool | int | float | str | None
"""A value of a parameter that a sweep varies."""

Phase = Literal["measure", "probe", "confirm"]
"""What a step is for: to be measured; in a search, to try a rate, or to confirm it."""


class Entry(BaseModel):
    """Base of all parts of an entry: immutable, and without fields that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def fields(self) -> dict[str, Any]:
        """The fields as they are, to make a larger entry of."""
        return dict(self)


class Distribution(Entry):
    """Count, mean, extremes and nearest-rank percentiles of a set of values; None where there are no values."""

    count: int
    mean: float | None
    min: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    max: float | None

    def quantile(self, name: str) -> float | None:
        """The percentile of a name such as ``p95``, or ``max``."""
        value: float | None = getattr(self, name)
        return value


class LoadEntry(Entry):
    """The load as it was asked for; what the model of load does not have is None."""

    model: Literal["open", "closed"]
    arrivals: Literal["constant", "poisson"] | None
    rate_per_second: float | None
    late_max_seconds: float | None
    users: int
    workers: int | None
    pacing_seconds: float | None
    spawn_per_second: int | None
    seed: int
    overrides: dict[str, str]


class SetupEntry(Entry):
    """A step of a workload's set-up: how many items it prepared, and how long that took."""

    name: str
    items: int
    seconds: float


class WindowEntry(Entry):
    """The times of a load in unix seconds. The measuring window runs from ``started_at`` to ``ended_at``."""

    load_started_at: float
    spawned_at: float | None
    started_at: float
    ended_at: float
    load_ended_at: float
    warm_up_seconds: float
    seconds: float


class WarmUpEntry(Entry):
    """How long the warm-up took, by which rule, and whether that rule found its end."""

    method: str
    seconds_min: float
    seconds_max: float
    cut_seconds: float
    found: bool


class PrecisionEntry(Entry):
    """Half the width of the step's own interval of its mean throughput, as a share of that mean."""

    wanted: float | None
    reached: float | None
    ended_early: bool


class RequestCounts(Entry):
    """Requests by outcome: over the whole run, and those that ended in the measuring window."""

    total: int
    ok: int
    expected: int
    errors: int
    window_ok: int
    window_expected: int
    window_errors: int


class OutcomeValues(Entry):
    """Throughput, counts by outcome and times of one set of rows: a workload's, or one of its parts'."""

    throughput_per_second: float
    requests: RequestCounts
    latency_ms: Distribution
    latency_intended_ms: Distribution
    bridge_flow_ms: Distribution
    bridge_rpc_ms: Distribution


class PartValues(OutcomeValues):
    """The values of one part of a workload, from the rows."""

    name: str
    throughput_states_per_second: float | None


class PartEntry(PartValues):
    """One part of a mixed workload, or the only one."""

    flow: str
    counterparty: str | None
    weight: float
    unit: str
    states_per_flow: int | None


class FailureKind(Entry):
    """Requests that failed with the same status and message.

    ``error`` has no values in it (see ``steps.failures``); ``example`` is the first message as it came, None where that has none.
    """

    status: int | None
    error: str | None
    count: int
    first_at: float
    example: str | None = None


class LittlesLaw(Entry):
    """Throughput × mean latency against the mean number of requests in flight, both seen by the generator."""

    throughput_per_second: float
    latency_mean_seconds: float
    product: float
    in_flight_mean: float
    deviation_percent: float | None
    bridge_in_flight_mean: float | None
    bridge_deviation_percent: float | None
    holds: bool


class Steadiness(Entry):
    """Throughput in the first and the second half of the measuring window."""

    first_half_per_second: float
    second_half_per_second: float
    change_percent: float | None


class RequestValues(OutcomeValues):
    """Every value of a step that comes from the rows, in total and by part. Errors are counted over the whole run."""

    throughput_states_per_second: float | None
    parts: tuple[PartValues, ...]
    errors: list[FailureKind]
    expected_failures: list[FailureKind]
    littles_law: LittlesLaw
    steadiness: Steadiness


class OpenLoadEntry(Entry):
    """Arrivals of an open load: offered, late, dropped, and the generator's own lag. See ``steps.open_load``."""

    rate_per_second: float
    offered: int
    due_in_window: int
    offered_per_second: float | None
    late: int
    dropped: int
    lag_ms: Distribution
    lag_ms_p99_all: float | None
    generator_lag_ms_p99: float | None
    generator_lag_ms_max: float
    generator_late: int
    requests_in_window: int
    pool: int
    pool_was_full: bool


class StageLine(Entry):
    """One stage of a flow over many flows."""

    stage: str
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    share_percent: float | None


class FlowStages(Entry):
    """The stages of the flows that one part started."""

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
    """The stages of the flows that answered on one node."""

    flow: str
    node: str
    rows: int
    stages: list[StageLine]
    sum_ms_mean: float


class StagesEntry(Entry):
    """Where the time of the flows went. ``reason`` says why there is no table; None where there is one."""

    reason: str | None
    rows_dropped: dict[str, int]
    flows: list[FlowStages]
    responders: list[ResponderStages]
    consensus_latency_ms: Distribution
    consensus_left_out: int


class FlowCount(Entry):
    """Successes of one flow class as three observers saw them."""

    flow: str
    generator: int
    bridge: int
    node: int


class VaultCount(Entry):
    """Change of the unconsumed states of one class in one vault: seen, and expected from the generator's successes."""

    state: str
    node: str
    counted: int
    expected: int


def _read_reasons(stored: Any) -> Any:
    return [read_reason(one) for one in stored] if isinstance(stored, list) else stored


class CountsEntry(Entry):
    """The four counts over a run: totals, then each flow class, each vault and state, and every node's flows."""

    generator: int
    bridge: int
    node: int
    vaults: dict[str, int]
    flows: list[FlowCount]
    vault_states: list[VaultCount]
    node_flows: dict[str, dict[str, int]]
    at_rest: bool
    rest_seconds: float
    agree: bool
    disagreements: list[Reason]

    _reasons = field_validator("disagreements", mode="before")(_read_reasons)


class WorkerEntry(Entry):
    """One process of the generator, and the highest share of a core that it used."""

    index: int
    cpu_percent_max: float | None
    rows: int


class GeneratorEntry(Entry):
    """The generator itself; ``cpu_percent_max`` is the busiest process's share of one core."""

    cpu_percent_max: float | None
    exit_reason: str | None
    workers: list[WorkerEntry]


class ResourcesEntry(Entry):
    """Means over the measuring window, of the host and by node; None where a value is not known."""

    host_busy_percent: float | None
    host_stolen_percent: float | None
    host_swapped_pages: int | None
    node_cpu_cores: dict[str, float]
    node_heap_used_bytes: dict[str, float]
    node_gc_share: dict[str, float]
    lab_cpu_cores: dict[str, float]
    others_cpu_cores: float | None = None
    host_cores: int | None = None
    """Not stored by schema 5."""


class CostsEntry(Entry):
    """What one flow costs, by node. See ``steps.costs``. What could not be measured is empty."""

    cpu_seconds_per_flow: dict[str, float] = {}
    allocated_bytes_per_flow: dict[str, float] = {}
    sent_bytes_per_flow: dict[str, float] = {}
    database_bytes_per_flow: dict[str, float] = {}
    database_bytes_per_state: dict[str, float] = {}

    def of(self, name: str) -> dict[str, float]:
        """One cost by its name, by node."""
        value: dict[str, float] = getattr(self, name)
        return value


class ValidityEntry(Entry):
    """Whether a step says anything about the system. ``machine`` are those of the reasons that the host gave."""

    valid: bool
    reasons: list[Reason]
    machine: list[Reason]

    _reasons = field_validator("reasons", "machine", mode="before")(_read_reasons)


class VerdictEntry(Entry):
    """Whether what was asked for was met, and every reason why not."""

    passed: bool
    reasons: list[Reason]

    _reasons = field_validator("reasons", mode="before")(_read_reasons)


PASSED = VerdictEntry(passed=True, reasons=[])


class StepEntry(RequestValues):
    """One load on one lab. The last fields say where in its sweep the step stands; a run of one step has their defaults."""

    name: str
    workload: str
    flow: str
    node: str
    counterparty: str | None
    load: LoadEntry
    setup: list[SetupEntry]
    window: WindowEntry
    warm_up: WarmUpEntry
    precision: PrecisionEntry
    parts: tuple[PartEntry, ...]
    open_load: OpenLoadEntry | None
    stages: StagesEntry
    counts: CountsEntry
    generator: GeneratorEntry
    resources: ResourcesEntry
    costs: CostsEntry
    flags: list[Reason]
    """Warnings: what a reader should know before quoting a value. The step counts all the same."""
    validity: ValidityEntry
    verdict: VerdictEntry

    index: int = 1
    key: str = "run"
    label: str = ""
    point: dict[str, ParameterValue] = {}
    """The value of every parameter that the sweep varies, by name."""
    repeat: int = 1
    phase: Phase = "measure"
    thresholds: VerdictEntry = PASSED
    measured_again: list[Reason] = []
    """Why the host spoilt earlier attempts, one reason for each."""
    environment: int = 0
    """Number of the environment in ``run.json`` that the step ran in."""

    _reasons = field_validator("flags", "measured_again", mode="before")(_read_reasons)

    @property
    def judged_latency(self) -> Distribution:
        """The latency that counts: in open load from the intended start, so that waiting for a place is part of it."""
        return self.latency_intended_ms if self.open_load else self.latency_ms

    def updated(self, **changes: Any) -> "StepEntry":
        """A copy with some fields replaced."""
        return self.model_copy(update=changes)
