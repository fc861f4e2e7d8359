"""Everything on which the values of a run depend, and the command to repeat it: models of stored files."""

from typing import Literal

from pydantic import Field, RootModel

from corda_lab.results.sweep import ManifestPart, SweepPlan
from corda_lab.text.words import listed, plural
from lab_workload.load import Load


class GitState(ManifestPart):
    commit: str | None
    has_changes: bool | None

    @property
    def words(self) -> str:
        """``0123456789ab with uncommitted changes``."""
        return (self.commit or "unknown")[:12] + (" with uncommitted changes" if self.has_changes else "")


class Versions(ManifestPart):
    """The versions of the software that ran. ``java`` has the keys ``node`` and ``bridge``."""

    corda: str
    java: dict[str, str]
    engine: str
    compose: str | None
    python: str


class Image(ManifestPart):
    name: str
    id: str


class Host(ManifestPart):
    """The machine. What the system does not report is None. There may be several governors of the CPU frequency."""

    cpu_model: str | None
    cpu_count: int | None
    memory_bytes: int | None
    kernel: str
    architecture: str
    governor: str | None = None
    turbo: bool | None = None


class MeasuredLink(ManifestPart):
    """The round trip of a link in milliseconds: requested, through its proxy, and without it."""

    name: str
    wanted_ms: float
    through_ms: float
    direct_ms: float


CLOCKS_APART_SECONDS_MAX = 1.0
"""What is assumed of the clocks of several hosts. ``lab doctor`` says whether they are synchronised."""


class PlacedHost(ManifestPart):
    """A host of a placement, as its engine describes it, and the services that ran there. What is not known is None."""

    cores: int | None
    memory_bytes: int | None
    engine: str | None
    kernel: str | None
    architecture: str | None
    cpu_model: str | None
    services: list[str]
    workers: int = 0
    """Workers of the load generator that the placement has there."""

    @property
    def words(self) -> str:
        """``4 cores of AMD EPYC, 8 GiB, 6.1.0, engine 29.0.1: notary, partya and 2 workers``."""
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 1024**3:.0f} GiB"
        cpu = f" of {self.cpu_model}" if self.cpu_model else ""
        runs = listed([*self.services, *([plural(self.workers, "worker")] if self.workers else [])])
        return f"{plural(self.cores or 0, 'core')}{cpu}{memory}, {self.kernel}, engine {self.engine}: {runs}"


class PlacementEntry(ManifestPart):
    """Where a lab on several hosts ran: the placement file, with its hash, and its hosts by name."""

    name: str
    """As it was given: a name of ``configs/placements/``, or the path of a file."""
    sha256: str
    text: str
    overlay: Literal["encrypted", "plain"]
    hosts: dict[str, PlacedHost]


class Environment(ManifestPart):
    """The environment of a step. ``shape`` and ``settings`` have variables of ``.env``.

    ``host`` is this machine; of a lab on several hosts, it is the one that drove the load, and ``placement`` has those
    that were measured. ``preset_sha256`` is the hash of the text of the nodes' preset.
    """

    git: GitState
    versions: Versions
    images: dict[str, Image]
    stand_ins: list[str]
    host: Host
    shape: dict[str, str]
    links_measured: list[MeasuredLink]
    settings: dict[str, str]
    preset_sha256: str | None = None
    placement: PlacementEntry | None = None
    """None if everything ran on one machine."""

    @property
    def clocks_apart_seconds_max(self) -> float:
        """By how much two clocks of the lab may differ: what one node has recorded may seem that much earlier."""
        return 0.0 if self.placement is None else CLOCKS_APART_SECONDS_MAX


class ProfileEntry(ManifestPart):
    """A profile of the CPU time of a node, or of the bridge, under the load of a run. Times are in seconds."""

    node: str
    file: str | None = None
    """Its flame graph, in the folder of the run. Its other files have the same name. None if it failed."""
    began_at: float | None = None
    """When the first sample was taken, in unix seconds; None if none was."""
    seconds: float = 0.0
    window_seconds: float = 0.0
    """How much of that time was in the measuring window of the load."""
    problem: str | None = None


class ProfileEntries(RootModel[list[ProfileEntry]]):
    """The content of ``profiles.json``."""


class Rerun(ManifestPart):
    """The run that was repeated, and what had changed since, one sentence each."""

    run: str
    changes: list[str]


class Manifest(ManifestPart):
    """What is known of a run as a whole. ``run.json`` is written before its first load, and again when it is finished.

    The fields from ``started_at`` on are not in the file: they are read from the folders of the steps.
    """

    schema_: int = Field(alias="schema")
    kind: Literal["run", "sweep"]
    id: str
    name: str
    lab_version: str
    command: str
    """The command that was typed. Of a load that was started in the web UI: the one that repeats it."""
    web_ui: str | None = None
    """The id of the load that was started in the web UI; None if the command line has started it."""
    sweep: SweepPlan | None = None
    load: Load | None = None
    """The options of a run of one step, with which it can be repeated; None of a sweep."""
    rerun: Rerun | None = None
    phases_seconds: dict[str, float] = Field(default_factory=dict)
    grafana: str | None = None
    """The link to the steps in Grafana, if it was running."""
    finished_at: str | None = None
    """None until all steps are there and the report is written."""

    started_at: str = Field(default="", exclude=True)
    ended_at: str = Field(default="", exclude=True)
    workload_files: dict[str, str] = Field(default_factory=dict, exclude=True)
    environments: list[Environment] = Field(default_factory=list, exclude=True)
    profiles: list[ProfileEntry] = Field(default_factory=list, exclude=True)
