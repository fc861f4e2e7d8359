"""What the generator notes about a load by hand: one that a user starts in its web UI.

``lab run`` knows what it asks for, and reads the counters itself. Of a load by hand, only the generator knows both.
``<id>.load.json`` is written when the load starts, with the counters before it, and again when a user changes the
number of users. ``<id>.after.json`` has the counters at rest after it. Both lie beside the rows and the end file, until
``lab report web-ui`` has made a run of them.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from lab_workload.plan import Plan
from lab_workload.run_end import JsonFile, PreparedStep

IDENTITY = re.compile(r"web-(\d{8}T\d{6}Z)(?:-(\d+))?")
"""The id of a load by hand: the time of its start, and a number if another one started in the same second."""
LOAD_SUFFIX = ".load.json"
AFTER_SUFFIX = ".after.json"
STATUS_PATH = "/lab/status"
"""The path at which the web UI says what it does."""
REMOVED_FILE = "removed.web.json"
"""The file about loads that were removed before anybody made a run of them."""
REMOVED_MAX = 20
"""The number of removed loads that are remembered."""

WebUiState = Literal["idle", "set-up", "running", "stopping", "counting"]
"""What the web UI does. stopping: it waits for the last answers of a load. counting: it waits until no flow is in
flight any more, to read the counters after a load."""


@dataclass(frozen=True)
class NodeCounters:
    """Counters of a node. All begin again at 0 when its process starts, at ``started_at`` (Unix seconds)."""

    started_at: float | None
    succeeded: dict[str, int]
    """Flows that ended with success, by class."""
    spans_dropped: int = 0


@dataclass(frozen=True)
class VaultCounter:
    """The unconsumed states of one class in the vault of a node."""

    state: str
    node: str
    unconsumed: int


@dataclass(frozen=True)
class Counters(JsonFile):
    """All counters at one moment. What did not answer is missing: ``missing`` says why, one sentence each."""

    read_at: float
    """When they were read, in Unix seconds."""
    at_rest: bool
    """Whether no flow was outstanding at the bridge and none in flight at a node."""
    rest_seconds: float
    """How long that took."""
    bridge_started_at: float | None = None
    bridge_completed: dict[str, dict[str, int]] | None = None
    """Completions in the bridge, by node and by the bridge's name of the flow; None if it did not answer."""
    nodes: dict[str, NodeCounters] = field(default_factory=dict)
    vaults: list[VaultCounter] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class UsersChange:
    """A number of users: when it was asked for, and when all of them were running (None: never). In Unix seconds."""

    users: int
    asked_at: float
    spawned_at: float | None = None


@dataclass(frozen=True)
class LoadByHand(JsonFile):
    """The content of ``<id>.load.json``. Times are in Unix seconds."""

    plan: Plan
    """What was asked for, as a plan of the command line."""
    began_at: float
    generator_started_at: float
    """When the process of the generator started."""
    form: dict[str, str]
    """The fields of the form of the web UI, as they were sent."""
    users: list[UsersChange]
    """The numbers of users, in order: the first, and one for each change while the load ran."""
    setup: list[PreparedStep]
    before: Counters
    """The counters after the set-up and before the load."""


@dataclass(frozen=True)
class RemovedLoad:
    """A load by hand whose files were removed to make room for others. ``requests`` is None if they were not known."""

    id: str
    workload: str | None
    requests: int | None
    removed_at: float


@dataclass(frozen=True)
class RemovedLoads(JsonFile):
    """The content of ``REMOVED_FILE``: the loads that were removed last, oldest first."""

    loads: list[RemovedLoad] = field(default_factory=list)


@dataclass(frozen=True)
class WebUiStatus(JsonFile):
    """What the web UI answers at ``STATUS_PATH``."""

    state: WebUiState
    id: str | None
    """The load by hand that is in progress; None if there is none."""
    generator_started_at: float
    """When its process started, in Unix seconds."""
