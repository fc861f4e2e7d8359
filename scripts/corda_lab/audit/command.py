"""Audits the lab: reads the ledgers of all nodes and judges them, for a run or as a whole."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from corda_lab.audit import dumps, sources
from corda_lab.audit.deadline import Deadline
from corda_lab.audit.judge import judge
from corda_lab.audit.queries import IDS_MAX, Wanted
from corda_lab.audit.requests import requests_of, scope_of, window_of
from corda_lab.audit.tables import Ledgers, Request, Scope
from corda_lab.audit.transactions import inputs_of
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import stored
from corda_lab.results.audits import Audit, Violation, verdict_of
from corda_lab.text.words import plural

DEADLINE_SECONDS = 60.0
UNREADABLE_SHOWN_MAX = 3
VIOLATIONS_MAX = 10_000
"""Violations in one audit. More say nothing new."""
AGAIN_SECONDS = 2.0
"""How long after violations were found the ledgers are read again."""


def audit_lab(
    settings: Settings,
    run: Path | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    files: Mapping[str, str] | None = None,
) -> Audit:
    """Audit the lab of these settings, which must be at rest; of a run (the folder ``run``) or its whole ledgers.

    Reading ends within ``deadline_seconds``; what was not read by then is a reason of the verdict "cannot tell".
    ``files`` has another H2 file for some nodes. Raises LabError if the run is damaged, or no container can be asked.
    """
    if run is None:
        return _audit(Compose(settings), None, Scope(), deadline_seconds, files=files)
    judged = stored.read(run)
    rows = judged.table("requests")
    scope = scope_of(judged.steps, rows)
    return _audit(Compose(settings), requests_of(rows), scope, deadline_seconds, files=files)


def audit_load(compose: Compose, rows: pl.DataFrame, deadline_seconds: float = DEADLINE_SECONDS) -> Audit:
    """Audit a load that has just ended, from its rows with their resolutions. The lab is at rest. Raises nothing."""
    window = window_of(rows)
    if window is None:
        return Audit(verdict="cannot tell", reasons=("the load has no requests",))
    try:
        return _audit(compose, requests_of(rows), Scope((window,)), deadline_seconds)
    except LabError as error:
        return Audit(verdict="cannot tell", reasons=(" ".join(error.message.split()),))


def _audit(
    compose: Compose,
    requests: tuple[Request, ...] | None,
    scope: Scope,
    deadline_seconds: float,
    *,
    files: Mapping[str, str] | None = None,
) -> Audit:
    """Read and judge; if something is wrong, again a little later: a node may still have been recording."""
    started = time.monotonic()
    deadline = Deadline(deadline_seconds)
    found = _audit_once(compose, requests, scope, deadline, files)
    if found.verdict == "violations" and deadline.left > (time.monotonic() - started) + AGAIN_SECONDS:
        time.sleep(AGAIN_SECONDS)
        again = _audit_once(compose, requests, scope, deadline, files)
        found = again if again.verdict != "cannot tell" else found
    return found.model_copy(update={"seconds": round(time.monotonic() - started, 3)})


def _audit_once(
    compose: Compose,
    requests: tuple[Request, ...] | None,
    scope: Scope,
    deadline: Deadline,
    files: Mapping[str, str] | None,
) -> Audit:
    with tempfile.TemporaryDirectory(prefix="corda-lab-audit-") as folder:
        read = _Reading(compose, deadline, Path(folder), files)
        ledgers = read.ledgers(scope)
    if ledgers is None:
        return Audit(verdict="cannot tell", reasons=tuple(read.reasons))
    if (reason := _replaced(read.created_at, scope)) is not None:
        return Audit(verdict="cannot tell", reasons=(reason,))
    if read.reasons:
        # What is missing at a node that was not read would look like a loss.
        return Audit(verdict="cannot tell", counts={"nodes": len(ledgers.nodes)}, reasons=tuple(read.reasons))
    found = judge(ledgers, requests, scope)
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


def _wanted(scope: Scope) -> Wanted:
    """One span of time around all windows."""
    if not scope.windows:
        return Wanted()
    ends = [window.until for window in scope.windows]
    return Wanted(min(window.since for window in scope.windows), None if None in ends else max(filter(None, ends)))


def _replaced(created_at: float | None, scope: Scope) -> str | None:
    """Why a run cannot be audited on these ledgers: they are newer than it."""
    if created_at is None or not any(window.since < created_at for window in scope.windows):
        return None
    return "the network is newer than the run: its ledgers were deleted since, and took the transactions with them"


class _Reading:
    """Reads the ledgers of a lab, and why some could not be read."""

    def __init__(self, compose: Compose, deadline: Deadline, folder: Path, files: Mapping[str, str] | None) -> None:
        self.compose = compose
        self.deadline = deadline
        self.folder = folder
        self.files = files
        self.reasons: list[str] = []
        self.bytes = dumps.Bytes()
        self.created_at: float | None = None

    def _ask(self, wanted: Wanted, name: str) -> tuple[dumps.Source, ...]:
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
        self.created_at = dumps.created_at(nodes)
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
