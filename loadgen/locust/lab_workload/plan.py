"""The plan of a load: everything that is decided and checked before the generator starts. It is ``plan.json``.

The command line makes it and writes it into the volume of the rows, where the generator reads it. For a load of the web
UI, the generator makes it itself. Workers get the same from their master.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lab_workload.load import Load
from lab_workload.names import canonical
from lab_workload.network import Network, Roles, bind, subject_of
from lab_workload.prepared import ALONE, Prepared, Results, Share
from lab_workload.problems import LoadError, Location, Problem, SetupError
from lab_workload.schema import SetupStep, Workload
from lab_workload.starts import check_starts, flow_starts
from lab_workload.subject import Subject
from lab_workload.values import Draws, Values
from lab_workload.workload import read_workload

PLAN_SUFFIX = ".plan.json"
RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""Format of a run id, which is used in file names and in every client id."""

OPEN_MARGIN = 1.1
"""In open load, items are prepared for this many times the expected number of arrivals."""


class Plan(BaseModel):
    """A load that can start: what is asked, by which parties, and what it is counted by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    identity: Annotated[str, Field(pattern=RUN_ID)]
    """The id of the run: the name of its files, and the beginning of every ``client_id``."""
    load: Load
    workload_text: str
    """The content of the workload file."""
    starters: tuple[Roles, ...]
    """The nodes that start the flows, in turn, each with its parties."""
    subject: Subject
    seconds: float | None
    """The longest time of the load; None if it lasts until somebody stops it."""
    recording: Literal["rows", "none"] = "rows"
    """What the generator writes about single requests. none: nothing, to measure what the rows cost."""
    results: dict[str, dict[str, Results]] = Field(default_factory=dict)
    """The items that the set-up has prepared: name of the node whose flows use them → step → items."""

    @cached_property
    def workload(self) -> Workload:
        """The workload, with the values that the load sets in it. Raises ``WorkloadError``."""
        name = self.load.workload
        return read_workload(Path(f"{name}.yaml"), self.workload_text, overrides=self.load.overrides)

    @property
    def users(self) -> int:
        """The number of users of the generator, rounded up so that every worker has the same number."""
        workers = self.load.workers or 1
        return math.ceil(self.load.places / workers) * workers

    @property
    def words(self) -> str:
        """A short description of the load, for dashboards: ``closed, 8 users``, ``poisson, 20/s``."""
        load = self.load
        if load.is_burst:
            return f"burst, {load.users} in {load.within_seconds:g} s"
        return f"{load.arrivals}, {load.rate:g}/s" if load.is_open else f"closed, {load.users} users"

    @property
    def node_names(self) -> str:
        return ", ".join(roles.node.name for roles in self.starters)

    @property
    def needed(self) -> int | None:
        """The maximum number of requests that one of the nodes starts; None if it is unknown.

        In closed load, ``rate_max`` is that of a node, and one node may start all of the flows after which the load
        ends. The arrivals of open load and the requests of bursts are assigned to the nodes in turn.
        """
        load, nodes, rate_max = self.load, len(self.starters), self.workload.rate_max
        if load.flows_max is not None:
            return math.ceil(load.flows_max / nodes) if load.is_burst else load.flows_max
        if self.seconds is None:
            return None
        if load.is_open:
            return math.ceil((load.rate or 0) / nodes * self.seconds * OPEN_MARGIN) + load.places
        return None if rate_max is None else math.ceil(rate_max * self.seconds) + load.places

    def values(self, roles: Roles, share: Share = ALONE, draws: Draws | None = None) -> Values:
        """Return new template values for the flows of one node.

        With the same plan and share, their sequence is always the same. Nodes that share ``draws`` share the sequence.
        """
        load = self.load
        rate_max = None if load.is_open or load.is_counted else self.workload.rate_max
        return Values(
            seed=load.seed,
            node=roles.node.x500_name,
            counterparty=roles.counterparty.x500_name if roles.counterparty else None,
            notary=roles.notary,
            parties=roles.parties,
            users=self.users,
            needed=self.needed,
            run_id=self.identity,
            prepared=Prepared(self.results.get(roles.node.name, {}), share, rate_max),
            draws=draws,
        )

    def node_of(self, roles: Roles, step: SetupStep, item: object = None) -> str:
        """Return the name of the node on which ``step`` runs. Raises ``LoadError`` if there is no such node."""
        name = roles.node_of(step, item)
        known = canonical(name, roles.parties)
        if known is None:
            remedy = f"The parties are {', '.join(roles.parties)}."
            raise LoadError(self.workload.source.problem((*step.location, "node"), f"unknown party {name!r}", remedy))
        return known

    def check(self) -> None:
        """Check that the number of requests is known if it is needed, and render every part once. Raises LoadError."""
        workload = self.workload
        templates = [
            *(part.args for part in workload.flows),
            *(used for step in workload.setup for used in step.all_arguments),
        ]
        uses_number = bool(workload.taken) or any("needed" in arguments.used_names for arguments in templates)
        if self.needed is None and uses_number:
            if self.seconds is None:
                text = f"is missing; it is needed because requests of {workload.name} consume prepared items"
                raise LoadError(Problem.of("run time", text))
            text = "is missing; it determines how many items are prepared for closed load"
            raise LoadError(workload.source.problem(("rate_max",), text))
        self.check_templates()

    def check_templates(self) -> None:
        """Render the arguments of every part once, if the items that they use are prepared. Raises ``LoadError``."""
        flow_starts(self.workload, self.starters, self.values)

    def check_prepared(self) -> None:
        """Check that enough items are prepared. Raises ``SetupError`` if they cannot last."""
        for roles in self.starters:
            results = self.results[roles.node.name]
            for step, taken in self.workload.taken.items():
                needed = taken * (self.needed or 0)
                remedy = (
                    "Increase the step's count, for example to {{ needed }}, or reduce rate_max, the rate or the run"
                    " time."
                )
                self._require(step, results[step], needed, f"the load may take {needed}", remedy)
            for step in self.workload.own_steps:
                why = f"each of {self.users} users needs one"
                self._require(step, results[step], self.users, why, "Set the step's count to users.")

    def _require(self, step: str, results: Results, count: int, why: str, remedy: str) -> None:
        for name, items in _lists(step, results):
            if len(items) < count:
                text = f"{len(items)} items of {name} are prepared, but {why}"
                location: Location = next(known.location for known in self.workload.setup if known.name == step)
                raise SetupError(self.workload.source.problem(location, text, remedy))


def make_plan(identity: str, load: Load, workload: Workload, network: Network, seconds: float | None) -> Plan:
    """Bind a load to a network, and let the bridge check a start of each flow.

    Raises ``WorkloadError`` with everything that the network does not have, or would refuse.
    """
    starters = bind(workload, load, network)
    check_starts(workload, starters, network)
    return Plan(
        identity=identity,
        load=load,
        workload_text=workload.text,
        starters=starters,
        subject=subject_of(workload, starters, network.flows),
        seconds=seconds,
    )


def _lists(step: str, results: Results) -> list[tuple[str, Sequence[Any]]]:
    if isinstance(results, Mapping):
        return [(f"{step}[{item}]", items) for item, items in results.items()]
    return [(step, results)]
