"""Audits the lab: reads the ledgers of all nodes and judges them, for a run or as a whole."""

import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.audit import dumps, sources
from corda_lab.audit.judge import judge
from corda_lab.audit.queries import IDS_MAX, Deadline, Wanted
from corda_lab.audit.requests import Load, load_of, loads_of
from corda_lab.audit.tables import Ledgers, Scope, Window
from corda_lab.audit.transactions import inputs_of
from corda_lab.errors import reason_of
from corda_lab.lab.lab import Lab
from corda_lab.results import stored
from corda_lab.results.audits import Audit, Violation, verdict_of
from corda_lab.text.words import plural

DEADLINE_SECONDS = 60.0
UNREADABLE_SHOWN_MAX = 3
VIOLATIONS_MAX = 10_000
"""Violations in one audit. More say nothing new."""
REPLACED = "the network is newer than the run: its ledgers were deleted since, and took the transactions with them"
AGAIN_SECONDS = 2.0
"""How long after violations were found the ledgers are read again."""


def audit_lab(
    compose: Lab,
    run: Path | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    files: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a lab, which must be at rest; of a run (the folder ``run``) or its whole ledgers.

    Reading ends within ``deadline_seconds``; what was not read by then is a reason of the verdict "cannot tell".
    ``files`` has another H2 file, or another schema in PostgreSQL, for some nodes. Raises LabError if the run is
    damaged, or no container can be asked.
    """
    if run is None:
        return _audit(_Asked(compose, None, Deadline(deadline_seconds), files))
    judged = stored.read(run)
    slack = max(one.clocks_apart_seconds_max for one in judged.manifest.environments)
    loads = loads_of(judged.steps, judged.table("requests"), slack_seconds=slack)
    there = still_there(loads, sources.network_created_at(compose))
    if loads and not there:
        return Audit(verdict="cannot tell", reasons=(REPLACED,))
    found = _audit(_Asked(compose, there, Deadline(deadline_seconds), files))
    if len(there) == len(loads):
        return found
    gone = f"of {plural(len(loads), 'step')}, {len(loads) - len(there):,} are older than the network"
    reasons = (*found.reasons, gone)
    return found.model_copy(update={"reasons": reasons, "verdict": verdict_of(found.violations, reasons)})


def audit_load(
    compose: Lab,
    rows: pl.DataFrame,
    deadline_seconds: float = DEADLINE_SECONDS,
    *,
    at_rest: float | None = None,
    stateful: Collection[str] = (),
    slack_seconds: float = 0.0,
) -> Audit:
    """Audit a load from its rows with their resolutions. The lab is at rest. Raises nothing.

    ``at_rest`` is when it was so first after the load, in unix seconds; None if the load has just ended. ``stateful``
    are the parts of its workload that name states. ``slack_seconds`` is by how much a node's clock may be behind.
    """
    load = load_of(rows, at_rest=at_rest, stateful=stateful, slack_seconds=slack_seconds)
    if load is None:
        return Audit(verdict="cannot tell", reasons=("the load has no requests",))
    try:
        return _audit(_Asked(compose, (load,), Deadline(deadline_seconds)))
    except Exception as error:
        # What was measured is still true, and must not be lost with the audit.
        return Audit(verdict="cannot tell", reasons=(reason_of(error),))


def audit_loads(compose: Lab, loads: tuple[Load, ...], deadline_seconds: float = DEADLINE_SECONDS) -> Audit:
    """Audit everything since the first of these loads began, also what was recorded between them and after the last.

    So what one of them was told of, and a later one lost, is found. There is at least one. Raises LabError if no
    container can be asked.
    """
    since = min(load.window.since for load in loads)
    return _audit(_Asked(compose, loads, Deadline(deadline_seconds), judged=Scope((Window(since),))))


@dataclass(frozen=True)
class _Asked:
    """What is read, and which part of it is judged."""

    compose: Lab
    loads: tuple[Load, ...] | None
    deadline: Deadline
    files: Mapping[str, str] | None = None
    judged: Scope | None = None
    """None for what the loads have recorded."""

    @property
    def of_loads(self) -> Scope:
        return Scope(tuple(load.window for load in self.loads or ()))


def _audit(asked: _Asked) -> Audit:
    """Read and judge; if something is wrong, again a little later: a node may still have been recording."""
    if reason := sources.unsupported(asked.compose.settings):
        return Audit(verdict="cannot tell", reasons=(reason,))
    started = time.monotonic()
    found = _audit_once(asked)
    if found.verdict == "violations" and asked.deadline.left > (time.monotonic() - started) + AGAIN_SECONDS:
        time.sleep(AGAIN_SECONDS)
        again = _audit_once(asked)
        found = again if again.verdict != "cannot tell" else found
    return found.model_copy(update={"seconds": round(time.monotonic() - started, 3)})


def _audit_once(asked: _Asked) -> Audit:
    scope = asked.judged or asked.of_loads
    with tempfile.TemporaryDirectory(prefix="corda-lab-audit-") as folder:
        read = _Reading(asked, Path(folder))
        ledgers = read.ledgers(scope)
    if ledgers is None:
        return Audit(verdict="cannot tell", reasons=tuple(read.reasons))
    if read.reasons:
        # What is missing at a node that was not read would look like a loss.
        counts = {"nodes": len(ledgers.nodes)}
        reasons = tuple(read.reasons)
        return Audit(verdict="cannot tell", counts=counts, reasons=reasons)
    requests = None if asked.loads is None else [request for load in asked.loads for request in load.requests]
    found = judge(ledgers, requests, scope, asked.of_loads)
    reasons = (*found.reasons, *read.unreadable())
    violations: tuple[Violation, ...] = found.violations[:VIOLATIONS_MAX]
    if len(found.violations) > VIOLATIONS_MAX:
        reasons += (f"of {plural(len(found.violations), 'violation')}, the first {VIOLATIONS_MAX:,} are listed",)
    return Audit(
        verdict=verdict_of(violations, reasons),
        counts={**found.counts, "violations": len(found.violations)},
        violations=violations,
        reasons=reasons,
    )


def still_there(loads: tuple[Load, ...], created_at: float) -> tuple[Load, ...]:
    """The loads that the ledgers of a network can have: those since it was made, in unix seconds."""
    return tuple(load for load in loads if load.window.since >= created_at)


def _wanted(scope: Scope) -> Wanted:
    if not scope.windows:
        return Wanted()
    ends = [window.until for window in scope.windows]
    return Wanted(min(window.since for window in scope.windows), None if None in ends else max(filter(None, ends)))


class _Reading:
    """Reads the ledgers of a lab, and why some could not be read."""

    def __init__(self, asked: _Asked, folder: Path) -> None:
        self.compose = asked.compose
        self.deadline = asked.deadline
        self.folder = folder
        self.files = asked.files
        self.reasons: list[str] = []
        self.bytes = dumps.Bytes()

    def _ask(self, wanted: Wanted, name: str) -> tuple[Path, ...]:
        folder = self.folder / name
        folder.mkdir()
        answers = sources.read(self.compose, wanted, folder, self.deadline, files=self.files)
        self.reasons += answers.reasons
        return answers.sources

    def ledgers(self, scope: Scope) -> Ledgers | None:
        """Read all nodes; None if no ledger can be put together."""
        try:
            first = self._ask(_wanted(scope), "first")
            nodes = dumps.read_tables(first)
            if not self.reasons and (absent := set(self.compose.settings.nodes) - nodes.keys()):
                raise dumps.DumpError(f"the databases did not answer for {', '.join(sorted(absent))}", exit_code=1)
            people = dumps.people_of(nodes)
            dumps.read_bytes(first, people, self.bytes, self.deadline)
            settings = self.compose.settings
            kind = settings.values.get("NOTARY", "simple")
            ledgers = dumps.ledgers_of(nodes, self.bytes.transactions, people, settings.notaries, kind)
            # A vault that does not know that a state was consumed does not name its transaction either.
            if missing := self._missing_inputs(ledgers, scope):
                further = self._ask(Wanted(ids=missing, only_ids=True), "further")
                dumps.read_bytes(further, people, self.bytes, self.deadline)
        except dumps.DumpError as error:
            self.reasons.append(error.message)
            return None
        return ledgers

    def _missing_inputs(self, ledgers: Ledgers, scope: Scope) -> tuple[str, ...]:
        """Transactions that some node has, whose outputs are consumed in scope, and whose bytes were not read."""
        known = ledgers.transactions
        held = {identity for node in ledgers.nodes.values() for identity in node.transactions}
        consuming = {
            identity
            for node in ledgers.nodes.values()
            for identity, recorded in node.transactions.items()
            if identity in known and scope.contains(recorded.at)
        }
        missing = inputs_of(known[identity] for identity in consuming) & held
        return tuple(sorted(missing - known.keys() - self.bytes.unreadable.keys()))[:IDS_MAX]

    def unreadable(self) -> tuple[str, ...]:
        """Why transactions were not understood, with an example of each reason."""
        examples: dict[str, str] = {}
        for identity, why in self.bytes.unreadable.items():
            examples.setdefault(why, identity)
        shown = list(examples.items())[:UNREADABLE_SHOWN_MAX]
        return tuple(f"transaction {identity} is not understood: {why}" for why, identity in shown)
