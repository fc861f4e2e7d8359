"""``run.json``: what a run's values depend on, and the command that makes them again. The models are the file format."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from corda_lab.steps.entry import ParameterValue


class ManifestPart(BaseModel):
    """Base of all parts of the manifest: immutable, and without fields that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GitState(ManifestPart):
    """The checkout; None outside a repository."""

    commit: str | None
    has_changes: bool | None

    @property
    def words(self) -> str:
        """``0123456789ab with uncommitted changes``."""
        return (self.commit or "unknown")[:12] + (" with uncommitted changes" if self.has_changes else "")


class Versions(ManifestPart):
    """Versions of what ran; ``java`` by ``node`` and ``bridge``."""

    corda: str
    java: dict[str, str]
    engine: str
    compose: str | None
    python: str


class Image(ManifestPart):
    """The image that a service's container ran on."""

    name: str
    id: str


class Host(ManifestPart):
    """The machine; None where the operating system does not say."""

    cpu_model: str | None
    cpu_count: int | None
    memory_bytes: int | None
    kernel: str
    architecture: str


class MeasuredLink(ManifestPart):
    """Round trip of a link in milliseconds: through its proxy, and without it."""

    name: str
    wanted_ms: float
    through_ms: float
    direct_ms: float


class Environment(ManifestPart):
    """What a step ran on. ``shape`` and ``settings`` are variables of ``.env``."""

    git: GitState
    versions: Versions
    images: dict[str, Image]
    stand_ins: list[str]
    host: Host
    shape: dict[str, str]
    links_measured: list[MeasuredLink]
    settings: dict[str, str]


class Span(ManifestPart):
    """How long a warm-up or a measuring window may last."""

    seconds_min: float
    seconds_max: float


class MeasureSpan(Span):
    """A measuring window, which ends early once throughput is known to ``precision``, a share."""

    precision: float | None


class OwnSpans(ManifestPart):
    """What a named step has of its own; None where the sweep's holds."""

    warm_up: Span | None = None
    measure: MeasureSpan | None = None


class SearchAnswer(ManifestPart):
    """One rate that a search tried."""

    rate: float
    sustained: bool
    phase: str


class SearchOutcome(ManifestPart):
    """What a search found: the confirmed rate, the highest rate that held, the lowest that did not, and why it ended."""

    rate: float | None
    low: float | None
    high: float | None
    reason: str | None
    answers: list[SearchAnswer]


class SearchPlan(BaseModel):
    """The search that a sweep asked for, as its file has it, and its outcome by the label of the point."""

    model_config = ConfigDict(frozen=True, extra="allow")

    outcomes: dict[str, SearchOutcome] = {}

    @property
    def asked(self) -> dict[str, Any]:
        """The fields of the sweep file."""
        return dict(self.model_extra or {})


class SweepPlan(ManifestPart):
    """How a sweep was planned. A run of one step has the defaults."""

    file: str = ""
    text: str = ""
    name: str = ""
    quick: bool = False
    description: str | None = None
    confidence: float = 0.95
    x: str | None = None
    """The parameter on the x axis; None where points stand side by side."""
    vary: dict[str, list[ParameterValue]] = {}
    """The values of every parameter that varies."""
    repeats: int = 1
    order: str = "listed"
    seed: int | None = None
    fresh: Literal["shape", "repeat", "step"] = "shape"
    warm_up: Span | None = None
    measure: MeasureSpan | None = None
    own_spans: dict[str, OwnSpans] = {}
    thresholds: Mapping[str, Any] = {}
    find_max: SearchPlan | None = None


class Manifest(ManifestPart):
    """The content of ``run.json``."""

    schema_: int = Field(alias="schema")
    kind: Literal["run", "sweep"]
    id: str
    name: str
    lab_version: str | None = None
    """Version of the lab; None in schema 5, which did not store it."""
    command: str
    started_at: str
    ended_at: str
    phases_seconds: dict[str, float]
    workload_files: dict[str, str]
    environments: list[Environment]
    sweep: SweepPlan | None
    grafana: str | None
    """Link to what Grafana shows of the steps, where it ran."""
