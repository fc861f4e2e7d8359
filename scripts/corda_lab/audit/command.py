"""Audits the lab: reads the ledgers of all nodes and judges them, for loads, for a run or as a whole."""

import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import polars as pl

from corda_lab.audit import databases
from corda_lab.audit.checks import judge
from corda_lab.audit.databases import Databases, Deadline
from corda_lab.audit.ledgers import Bytes, read_ledgers
from corda_lab.audit.model import Load, Request, RequestStatus, Scope, Window
from corda_lab.errors import reason_of
from corda_lab.lab.lab import Lab
from corda_lab.results import stored
from corda_lab.results.audits import Audit, verdict_of
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.resolutions import COLUMNS, has_succeeded
from corda_lab.text.words import plural

DEADLINE_SECONDS = 60.0
REPLACED = "the network is newer than the run: its ledgers were deleted since, and took the transactions with them"
AGAIN_SECONDS = 2.0
"""How long after violations were found the ledgers are read again."""
SETTLING_SECONDS = 1.0
"""How long after it was at rest a lab may still have recorded transactions of a load."""


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
        return _audit(compose, None, deadline_seconds, files)
    judged = stored.read(run)
    slack = max(one.clocks_apart_seconds_max for one in judged.manifest.environments)
    loads = loads_of(judged.steps, judged.table("requests"), slack_seconds=slack)
    # The ledgers of a network can have the loads since it was made.
    created_at = databases.network_created_at(compose)
    there = tuple(load for load in loads if load.window.since >= created_at)
    if loads and not there:
        return Audit(verdict="cannot tell", reasons=(REPLACED,))
    audit = _audit(compose, there, deadline_seconds, files)
    if len(there) == len(loads):
        return audit
    gone = f"of {plural(len(loads), 'step')}, {len(loads) - len(there):,} are older than the network"
    reasons = (*audit.reasons, gone)
    return audit.model_copy(update={"reasons": reasons, "verdict": verdict_of(audit.violations, reasons)})


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

    The other arguments are those of ``load_of``.
    """
    load = load_of(rows, at_rest=at_rest, stateful=stateful, slack_seconds=slack_seconds)
    if load is None:
        return Audit(verdict="cannot tell", reasons=("the load has no requests",))
    try:
        return _audit(compose, (load,), deadline_seconds)
    except Exception as error:
        # What was measured is still true, and must not be lost with the audit.
        return Audit(verdict="cannot tell", reasons=(reason_of(error),))


def _audit(
    compose: Lab, loads: tuple[Load, ...] | None, deadline_seconds: float, files: Mapping[str, str] | None = None
) -> Audit:
    """Read and judge; if something is wrong, again a little later: a node may still have been recording.

    ``loads`` is None for the whole ledgers.
    """
    if reason := databases.unsupported(compose.settings):
        return Audit(verdict="cannot tell", reasons=(reason,))
    started, deadline = time.monotonic(), Deadline(deadline_seconds)
    audit = _audit_once(compose, loads, deadline, files)
    if audit.verdict == "violations" and deadline.left > (time.monotonic() - started) + AGAIN_SECONDS:
        time.sleep(AGAIN_SECONDS)
        again = _audit_once(compose, loads, deadline, files)
        audit = again if again.verdict != "cannot tell" else audit
    return audit.model_copy(update={"seconds": round(time.monotonic() - started, 3)})


def _audit_once(
    compose: Lab, loads: tuple[Load, ...] | None, deadline: Deadline, files: Mapping[str, str] | None
) -> Audit:
    scope = Scope(tuple(load.window for load in loads or ()))
    read = Bytes()
    with tempfile.TemporaryDirectory(prefix="corda-lab-audit-") as folder:
        asked = Databases(compose, Path(folder), deadline, files)
        ledgers = read_ledgers(asked, scope, read)
    if ledgers is None or asked.reasons:
        # What is missing at a node that was not read would look like a loss.
        counts = {} if ledgers is None else {"nodes": len(ledgers.nodes)}
        return Audit(verdict="cannot tell", counts=counts, reasons=tuple(asked.reasons))
    requests = None if loads is None else [request for load in loads for request in load.requests]
    return judge(ledgers, requests, scope, read.problems)


def load_of(
    rows: pl.DataFrame,
    *,
    at_rest: float | None = None,
    stateful: Collection[str] = (),
    number: int = 1,
    slack_seconds: float = 0.0,
) -> Load | None:
    """The load of these rows, with their resolutions if there are any; None without rows.

    ``at_rest`` is when the lab was at rest after it, in unix seconds. Without it, the load has just ended: everything
    since its begin is its own. ``stateful`` are the parts of the workload that name states. ``number`` tells loads
    apart that are audited together. ``slack_seconds`` is by how much the clock of a node may be behind that of the
    rows.
    """
    if rows.is_empty():
        return None
    first, last = rows.select(pl.col("started_at").min(), pl.col("ended_at").max()).row(0)
    window = Window(first - slack_seconds)
    if at_rest is not None:
        # After a fault, nodes may go on with flows for minutes. A flow has ended when the node says what became of it.
        resolved = rows["resolved_at"].max() if "resolved_at" in rows.columns else None
        until = max(at_rest, last, resolved if isinstance(resolved, float) else last)
        window = Window(window.since, until + SETTLING_SECONDS)
    return Load(window, tuple(_requests(rows, stateful, number)))


def _requests(rows: pl.DataFrame, stateful: Collection[str], load: int) -> Iterable[Request]:
    optional = {**COLUMNS, "part": pl.String()}
    columns = [pl.lit(None, kind).alias(name) for name, kind in optional.items() if name not in rows.columns]
    table = rows.with_columns(columns).select(
        "client_id",
        "node",
        "flow_id",
        pl.coalesce("tx_id", "resolved_tx_id").str.to_uppercase(),
        "part",
        has_succeeded().alias("succeeded"),
        "outcome",
        "resolved",
    )
    for client, node, flow, transaction, part, *ended in table.iter_rows():
        # A row without a part may be of any of them.
        names_states = bool(stateful) if part is None else part in stateful
        yield Request(str(client), node or "", _status(*ended), flow, transaction, part or "", load, names_states)


def _status(succeeded: bool, outcome: str, resolved: str | None) -> RequestStatus:
    if succeeded:
        return "acknowledged"
    if outcome != "unknown" or resolved == "not_started":
        return "other"
    return "failed" if resolved == "failed" else "unknown"


def loads_of(steps: Iterable[StepEntry], rows: pl.DataFrame, *, slack_seconds: float = 0.0) -> tuple[Load, ...]:
    """The loads of the steps of a stored run. ``rows`` has those of all of them."""
    loads = (
        load_of(
            rows.filter(pl.col("step") == step.index),
            at_rest=step.window.load_ended_at + step.counts.rest_seconds,
            stateful=stateful_parts(step),
            number=step.index,
            slack_seconds=slack_seconds,
        )
        for step in steps
    )
    return tuple(load for load in loads if load is not None)


def stateful_parts(step: StepEntry) -> frozenset[str]:
    return frozenset(part.name for part in step.parts if part.names_states)
