"""One trial: a load as ``lab run`` makes it, with faults, then rest, then the audit of all ledgers."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.bench.kills.proof import open_clients
from corda_lab.bench.kills.trial import REPORTED, Outcome, asker, await_ready, read, run_load, silent
from corda_lab.chaos import vaults
from corda_lab.chaos.measurement import ChaosTrial, PieceAudit, stranded_in
from corda_lab.chaos.stranded import Explained, Logs, explained_by
from corda_lab.chaos.vaults import Found
from corda_lab.chaos.verdict import AuditEntry, Auditor, EndedLoad, audit_problems
from corda_lab.clients.bridge import FlowStatus
from corda_lab.errors import LabError, reason_of
from corda_lab.faults.inject import TOO_LATE
from corda_lab.lab.deployed import is_here
from corda_lab.results import faults as stored_faults
from corda_lab.results import folders, stored
from corda_lab.results.faults import LoadFaults
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.runs import faulty, unknown
from corda_lab.runs.running import RunningLab
from corda_lab.steps.faults import GENERATOR
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import Subject
from corda_lab.steps.resolutions import Resolution, with_resolutions
from corda_lab.text.words import plural

_ABSENT = FlowStatus("absent")
LEFT = "no more than flows that failed had recorded before, by the logs"
"""Why counts that differ do not fail a trial."""
NOT_HEALED = "it was made, and nothing says that it was healed"
OPEN_STATES = ("running", "unreachable")
"""What an answer by client id says if it explains nothing."""


@dataclass(frozen=True)
class Told:
    """What the rows and the nodes say about the flows of a load."""

    outcomes: Mapping[str, int]
    resolved: Mapping[str, int]
    unexplained: int
    unrecorded: int


def trial(lab: RunningLab, subject: Subject, options: LoadOptions, auditor: Auditor) -> ChaosTrial:
    """Make one trial with the seed and the faults of ``options``. Raises LabError if the lab is not ready before it."""
    await_ready(lab)
    since = time.time()
    keeps = all(lab.bridge.nodes()[node].keeps_client_ids for node in subject.nodes)
    with silent():
        outcome = run_load(options, lab.settings)
    ended_at = time.time()
    begun = ChaosTrial(
        seed=options.seed,
        run=outcome.folder.name if outcome.folder else "",
        stored=outcome.stored,
        reason=outcome.reason,
        keeps_client_ids=keeps,
    )
    if outcome.folder is None:
        return begun.model_copy(update={"problems": (f"the run left nothing: {outcome.reason}",)})
    try:
        made = loads_faults(outcome)
    except LabError as error:
        return begun.model_copy(update={"problems": (reason_of(error),)})
    begun = begun.model_copy(update={"faults": made.faults})
    try:
        return audited(lab, subject, options, auditor, Ended(begun, outcome, made, since, ended_at))
    except LabError as error:
        # Nothing is known of its flows. It is stored with the reason, so that it is not made as if it had never been.
        return begun.model_copy(update={"problems": (reason_of(error),)})


@dataclass(frozen=True)
class Ended:
    """A load of a trial that has ended: what it left, its faults, and when it began and ended (unix seconds)."""

    trial: ChaosTrial
    outcome: Outcome
    made: LoadFaults
    began_at: float
    ended_at: float


def audited(lab: RunningLab, subject: Subject, options: LoadOptions, auditor: Auditor, ended: Ended) -> ChaosTrial:
    """Bring the lab to rest, ask what became of all flows, and audit the ledgers. Raises LabError."""
    outcome, made, keeps = ended.outcome, ended.made, ended.trial.keeps_client_ids
    with silent():
        settled = faulty.settle(lab)
    if not settled.is_at_rest:
        # Flows would be missing that nothing has lost.
        raise LabError("flows were still in flight when their nodes had been started again, so nothing was audited")
    at_rest = time.time()
    table, misread, warnings = read(outcome)
    asked = {} if outcome.stored or not keeps else ask(table, lab, subject, options.users)
    told = told_of(table, asked) if keeps else told_without_ids(table)
    was_ended = any(fault.was_made and fault.ends_load for fault in made.faults)
    rows = with_unrecorded(table, asked, nameless=options.users if was_ended and not keeps else 0)
    in_vaults = vaults.read(lab, subject, vaults.began_at(table, ended.began_at))
    # Without client ids, a flow may have succeeded although nobody knows; problems_without_ids counts them.
    compared = vaults.compare(rows, in_vaults, subject) if keeps else Found()
    misread = [one for one in misread if keeps or not one.startswith(REPORTED)]
    slack = 0.0 if is_here(lab.compose) else CLOCKS_APART_SECONDS_MAX
    audit = verdict_of(auditor, lab, EndedLoad(rows, subject, at_rest, slack))
    explained = explain(outcome, rows, audit)
    trial = ended.trial.model_copy(
        update={
            "outcomes": dict(told.outcomes),
            "resolved": dict(told.resolved),
            "unexplained": told.unexplained,
            "unrecorded": told.unrecorded,
            "on_ledger": vaults.on_ledger(in_vaults),
            "restarted": tuple(sorted({*made.restarted, *settled.restarted})),
            "rest_seconds": round(time.time() - ended.ended_at, 1),
            "audit": audit,
            "stranded": explained.stranded,
        }
    )
    if not outcome.stored:
        with silent():
            for node in subject.nodes:
                unknown.forget(lab.bridge, node, trial.run)
    not_made = [f"{one.name}: {one.problem}" for one in made.faults if not one.was_made and one.problem != TOO_LATE]
    left = [f"{REPORTED}{one}" for one in explained.left]
    problems = (*(one for one in misread if one not in left), *problems_of(trial, options.users), *compared.problems)
    told_of_it = (*warnings, *not_made, *compared.warnings, *(f"{one}: {LEFT}" for one in left))
    return trial.model_copy(update={"warnings": told_of_it, "problems": problems})


def explain(outcome: Outcome, rows: pl.DataFrame, audit: AuditEntry) -> Explained:
    """What the logs of the load explain of its audit and of its counts. Raises LabError if a file is damaged."""
    assert outcome.folder is not None
    differing = stored.read(outcome.folder).steps[0].counts.disagreements if outcome.stored else []
    return explained_by(Logs.of(outcome.folder), rows, audit, differing)


def loads_faults(outcome: Outcome) -> LoadFaults:
    """The faults of a load as its folder has them; none if it ended before its begin. Raises LabError if damaged."""
    assert outcome.folder is not None
    if not (outcome.folder / folders.FAULTS).is_file():
        return LoadFaults(seed=0, faults=())
    return stored_faults.read(outcome.folder).loads[0]


def ask(table: pl.DataFrame, lab: RunningLab, subject: Subject, users: int) -> dict[str, FlowStatus]:
    """Ask the nodes about the flows of a run without results, also about those without a row, by client id."""
    asked: dict[str, FlowStatus] = {}
    for node in subject.nodes:
        found = open_clients(table.filter(pl.col("node") == node), users, asker(lab, node))
        # A request without a row may have been for any of the nodes. Those that never got it say nothing about it.
        asked |= {client: one for client, one in found.items() if asked.get(client, _ABSENT).state == "absent"}
    return asked


def with_answers(table: pl.DataFrame, asked: Mapping[str, FlowStatus]) -> pl.DataFrame:
    """The rows with what the nodes answered as their resolutions. Without answers, those that they have."""
    if not asked:
        return table
    now = time.time()
    answers = {
        client: Resolution(unknown.RESOLVED.get(asked[client].state, "unknown"), now, asked[client].transaction)
        for client in table.filter(pl.col("outcome") == "unknown")["client_id"]
        if client in asked
    }
    return with_resolutions(table, answers)


def with_unrecorded(table: pl.DataFrame, asked: Mapping[str, FlowStatus], *, nameless: int = 0) -> pl.DataFrame:
    """The rows for an audit: with the answers, and with rows for the flows of which a killed generator wrote none.

    Without them, an audit would take their transactions for those of another client. ``nameless`` is how many there
    may be on nodes that cannot be asked.
    """
    if not table.height:
        return table
    answered, recorded = with_answers(table, asked), set(table["client_id"])
    further = {client: one for client, one in asked.items() if client not in recorded and one.state != "absent"}
    clients = [*further, *(f"unrecorded-{number}" for number in range(1, nameless + 1))]
    if not clients:
        return answered
    states = (unknown.RESOLVED.get(one.state, "unknown") for one in further.values())
    added: dict[str, Sequence[str | None]] = {
        "client_id": clients,
        "outcome": ["unknown"] * len(clients),
        "resolved": [*states, *["unknown"] * nameless],
        "resolved_tx_id": [*(one.transaction for one in further.values()), *[None] * nameless],
    }
    return pl.concat([answered, pl.DataFrame(added, schema=dict.fromkeys(added, pl.String))], how="diagonal")


def told_of(table: pl.DataFrame, asked: Mapping[str, FlowStatus]) -> Told:
    """What became of the flows of a load on nodes that keep client ids.

    A run with results has resolved its rows. For one without, ``asked`` has what the nodes answered.
    """
    unsure = with_answers(table, asked).filter(pl.col("outcome") == "unknown")
    states = Counter(unsure["resolved"].fill_null("unknown"))
    recorded = set(table["client_id"]) if table.height else set()
    without_row = [one for client, one in asked.items() if client not in recorded]
    return Told(
        outcomes=outcomes_of(table),
        resolved=dict(sorted(states.items())),
        unexplained=states["unknown"] + sum(one.state in OPEN_STATES for one in without_row),
        unrecorded=sum(one.state == "completed" for one in without_row),
    )


def told_without_ids(table: pl.DataFrame) -> Told:
    """What is known of the flows of a load on nodes that keep no client ids: unknown outcomes stay unknown."""
    return Told(outcomes=outcomes_of(table), resolved={}, unexplained=0, unrecorded=0)


def outcomes_of(table: pl.DataFrame) -> dict[str, int]:
    """The number of rows by outcome."""
    return dict(table.group_by("outcome").len().sort("outcome").iter_rows())


def problems_of(trial: ChaosTrial, users: int) -> list[str]:
    """Why a trial failed. Empty if it passed."""
    found = [
        f"{one.name}: {one.problem or NOT_HEALED}"
        for one in trial.faults
        if one.is_left or (one.was_made and (one.problem or one.healed_at is None))
    ]
    found += stored_problems(trial)
    if trial.unexplained:
        found.append(f"{plural(trial.unexplained, 'flow')} of which nobody can tell what became of them")
    if not trial.keeps_client_ids:
        found += problems_without_ids(trial, users)
    keeps, stranded = trial.keeps_client_ids, trial.stranded_ids
    return [*found, *audit_problems(trial.audit, keeps_client_ids=keeps, stranded=stranded)]


def stored_problems(trial: ChaosTrial) -> list[str]:
    """Only a generator that was ended may cost a run its results; and a killed one must not look complete."""
    ended = [fault for fault in trial.made if fault.ends_load]
    killed = any(fault.kind == "kill" and fault.target == GENERATOR for fault in ended)
    if not trial.stored and not ended:
        return [f"the run has no results: {trial.reason}"]
    if trial.stored and killed:
        return ["the run looks complete, although its generator was killed"]
    return []


def problems_without_ids(trial: ChaosTrial, users: int) -> list[str]:
    """What contradicts the criterion for nodes that keep no client ids (Corda before 4.6).

    Nobody can be asked there what became of a flow whose answer was lost. So each such flow may be on the ledger, once:
    there are at least the acknowledged transactions, and at most one more for each unknown or unrecorded flow.
    """
    if trial.on_ledger is None:
        return ["the workload names no states, so nothing can be counted on nodes without client ids"]
    least = trial.acknowledged
    open_ended = any(fault.ends_load for fault in trial.made)
    # A flow that failed at its caller may have ended in a transaction too: the failure may be of what came after.
    unsure = trial.outcomes.get("unknown", 0) + trial.outcomes.get("failed", 0) + (users if open_ended else 0)
    if not least <= trial.on_ledger <= least + unsure:
        return [f"{trial.on_ledger} transactions on the ledger, and not {least} to {least + unsure}"]
    return []


def verdict_of(auditor: Auditor, lab: RunningLab, ended: EndedLoad) -> AuditEntry:
    """The verdict of an audit. One that ends with an error cannot tell; the campaign goes on."""
    return found_by(lambda: auditor.after_trial(lab, ended))


def found_by(audit: Callable[[], AuditEntry]) -> AuditEntry:
    """What an audit has found. Raises nothing: what a trial has seen must not be lost with its audit."""
    try:
        return audit()
    except Exception as error:
        return AuditEntry(verdict="cannot tell", reasons=(reason_of(error),))


def verdict_of_all(auditor: Auditor, lab: RunningLab, trials: Sequence[ChaosTrial]) -> PieceAudit:
    """The verdict of an audit of all trials so far. One that ends with an error cannot tell."""
    found = found_by(lambda: auditor.of_all(lab))
    keeps = all(trial.keeps_client_ids for trial in trials)
    problems = tuple(audit_problems(found, keeps_client_ids=keeps, stranded=stranded_in(trials)))
    return PieceAudit(**dict(found), trials=len(trials), problems=problems)
