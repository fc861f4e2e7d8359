"""One trial: a load as ``lab run`` makes it, with faults, and what its counts and its audit say."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from corda_lab.audit import audit_lab, audit_load
from corda_lab.audit.requests import Load as AuditedLoad
from corda_lab.audit.requests import load_of
from corda_lab.chaos.model import Trial, problems_of, store
from corda_lab.chaos.stranded import Logs, explained_by
from corda_lab.clients.bridge import Bridge, FlowStatus
from corda_lab.errors import LabError
from corda_lab.faults.inject import TOO_LATE
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results import evidence, folders, stored
from corda_lab.results import faults as stored_faults
from corda_lab.results.audits import Audit
from corda_lab.results.faults import LoadFaults
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.runs import execute, faulty, unknown
from corda_lab.steps import rows
from corda_lab.steps.resolutions import COLUMNS, Resolution, Resolved, with_resolutions
from corda_lab.text import ui
from lab_workload.load import Load
from lab_workload.subject import Subject

AUDIT_SECONDS_MAX = 180.0
"""Time limit of an audit. Ledgers grow from trial to trial."""
Answers = Mapping[str, FlowStatus]
"""What a node said, by client id."""
_ABSENT = FlowStatus("absent")
OPEN_STATES = ("running", "unreachable")
"""What an answer by client id says if it explains nothing."""
LEFT = "no more than flows that failed had recorded before, by the logs"
"""Why counts that differ do not fail a trial."""


@dataclass(frozen=True)
class Outcome:
    """How a load ended: the folder of its run, or of its evidence with the reason why there is no run."""

    folder: Path | None
    reason: str | None = None


@dataclass(frozen=True)
class Made:
    """A trial, and its load as the audit of all trials sees it; None if its flows were not audited."""

    trial: Trial
    load: AuditedLoad | None = None


def make(lab: Lab, subject: Subject, options: Load, number: int) -> Made:
    """Make one trial with the seed and the faults of ``options``, and store it. ``number`` tells trials apart.

    What cannot be counted or audited is a problem of the trial.
    """
    with silent():
        outcome = run_load(options, lab.settings)
    trial = Trial(seed=options.seed, reason=outcome.reason)
    if outcome.folder is None:
        return Made(trial.model_copy(update={"problems": (f"the run left nothing: {outcome.reason}",)}))
    trial = trial.model_copy(update={"run": outcome.folder.name})
    load = None
    try:
        faults = faults_of(outcome.folder)
        trial = trial.model_copy(update={"faults": faults.faults, "restarted": faults.restarted})
        if outcome.reason is None:
            trial, requests = judged_run(trial, outcome.folder)
        else:
            trial, requests = judged_rows(trial, outcome.folder, lab, subject, options.users)
        stateful = frozenset(part.name for _, part in subject.starts if part.changes)
        slack = slack_seconds(lab)
        load = load_of(requests, at_rest=time.time(), stateful=stateful, number=number, slack_seconds=slack)
    except LabError as error:
        trial = trial.model_copy(update={"problems": (*trial.problems, error.message)})
    store(outcome.folder, trial)
    return Made(trial, load)


def run_load(options: Load, settings: Settings) -> Outcome:
    before = {path.name for path in folders.unfinished_folders()}
    try:
        folder, _ = execute.execute(options, settings)
    except LabError as error:
        left = [path for path in folders.unfinished_folders() if path.name not in before]
        return Outcome(left[-1] if left else None, " ".join(error.message.split()))
    return Outcome(folder)


def judged_run(trial: Trial, folder: Path) -> tuple[Trial, pl.DataFrame]:
    """The trial with what its run has counted and audited, and the requests. Raises LabError if a file is damaged."""
    run = stored.read(folder)
    step, requests = run.steps[0], run.table("requests")
    audit = run.audits().get(step.index)
    explained = explained_by(Logs.of(folder), requests, audit, step.counts.disagreements)
    left = [f"{one}: {LEFT}" for one in explained.left]
    found = told(trial, requests).model_copy(
        update={"audit": audit, "stranded": explained.stranded, "warnings": (*map(str, step.flags), *left)}
    )
    differing = [str(one) for one in step.counts.disagreements if one not in explained.left]
    return with_problems(found, differing), requests


def judged_rows(trial: Trial, folder: Path, lab: Lab, subject: Subject, users: int) -> tuple[Trial, pl.DataFrame]:
    """The trial of a run without results: its nodes are asked about open flows, and the ledgers audited.

    Returns the rows with the answers, too. Raises LabError.
    """
    with silent():
        settled = faulty.settle(lab)
    if not settled.is_at_rest:
        # Flows would be missing that nothing has lost.
        raise LabError("flows were still in flight when their nodes had been started again, so nothing was audited")
    problems = ["the rows of the run were not collected"] if evidence.ended(folder).rows is None else []
    paths = evidence.rows_files(folder)
    written = rows.read_rows(paths) if paths else pl.DataFrame(schema={**rows.ROW_SCHEMA, **COLUMNS})
    answers = ask(written, lab.bridge, subject, users)
    requests = with_answers(written, answers)
    audit = audited(lab, subject, requests)
    explained = explained_by(Logs.of(folder), requests, audit, ())
    with silent():
        for node in subject.nodes:
            unknown.forget(lab.bridge, node, trial.run)
    unrecorded = without_row(written, answers).values()
    unexplained = sum(one.state in OPEN_STATES for one in unrecorded)
    found = told(trial, requests.head(written.height))
    found = found.model_copy(
        update={
            "unexplained": found.unexplained + unexplained,
            "unrecorded": sum(one.state == "completed" for one in unrecorded),
            "restarted": tuple(sorted({*trial.restarted, *settled.restarted})),
            "audit": audit,
            "stranded": explained.stranded,
        }
    )
    return with_problems(found, problems), requests


def audited(lab: Lab, subject: Subject, requests: pl.DataFrame) -> Audit:
    """Audit what a load without results has recorded. Without any row, the whole ledgers. Raises LabError."""
    if not requests.height:
        return audit_lab(lab, deadline_seconds=AUDIT_SECONDS_MAX)
    stateful = frozenset(part.name for _, part in subject.starts if part.changes)
    return audit_load(lab, requests, AUDIT_SECONDS_MAX, stateful=stateful, slack_seconds=slack_seconds(lab))


def slack_seconds(lab: Lab) -> float:
    """By how much a clock of the lab may differ from that of the load generator."""
    return 0.0 if lab.is_here else CLOCKS_APART_SECONDS_MAX


def told(trial: Trial, requests: pl.DataFrame) -> Trial:
    """The trial with the number of requests by outcome, and of those with an unknown one by what became of them."""
    unsure = requests.filter(pl.col("outcome") == "unknown")
    resolved = Counter(unsure["resolved"].fill_null("unknown"))
    outcomes = dict(requests.group_by("outcome").len().sort("outcome").iter_rows())
    return trial.model_copy(
        update={
            "outcomes": outcomes,
            "resolved": dict(sorted(resolved.items())),
            "unexplained": resolved["unknown"],
        }
    )


def with_problems(trial: Trial, others: list[str]) -> Trial:
    not_made = [f"{one.name}: {one.problem}" for one in trial.faults if not one.was_made and one.problem != TOO_LATE]
    return trial.model_copy(
        update={"warnings": (*trial.warnings, *not_made), "problems": (*others, *problems_of(trial))}
    )


def faults_of(folder: Path) -> LoadFaults:
    """The faults of a load as its folder has them; none if it ended before its begin. Raises LabError if damaged."""
    if not (folder / folders.FAULTS).is_file():
        return LoadFaults(seed=0, faults=())
    return stored_faults.read(folder).loads[0]


def ask(rows: pl.DataFrame, bridge: Bridge, subject: Subject, users: int) -> Answers:
    """Ask the nodes of a load, which are at rest, about its flows that the rows leave open, and those without a row."""
    asked: dict[str, FlowStatus] = {}
    for node in subject.nodes:
        found = open_clients(rows.filter(pl.col("node") == node), users, partial(bridge.flow_status, node))
        # A request without a row may have been for any of the nodes. Those that never got it say nothing about it.
        asked |= {client: one for client, one in found.items() if asked.get(client, _ABSENT).state == "absent"}
    return asked


def open_clients(rows: pl.DataFrame, users: int, status: Callable[[str], FlowStatus]) -> Answers:
    """Ask what became of each request with an unknown outcome, and of those that were killed with their generator.

    A generator process numbers its requests from 1. Requests without a row are the numbers that are missing, and those
    after the last. Each user has one request in flight, so after that many absent ones in a row, there are no more.
    """
    if not rows.height:
        return {}
    found = {client: status(client) for client in rows.filter(pl.col("outcome") == "unknown")["client_id"]}
    prefix = rows["client_id"][0].rpartition("-")[0]
    recorded = {int(client.rpartition("-")[2]) for client in rows["client_id"]}
    absent, number = 0, 1
    while number <= max(recorded) or absent <= users:
        if number not in recorded:
            client = f"{prefix}-{number}"
            found[client] = status(client)
            absent = absent + 1 if found[client].state == "absent" else 0
        number += 1
    return found


def without_row(rows: pl.DataFrame, asked: Answers) -> Answers:
    """The flows that nodes know, and of which the generator wrote no row."""
    recorded = set(rows["client_id"])
    return {client: one for client, one in asked.items() if client not in recorded and one.state != "absent"}


def with_answers(rows: pl.DataFrame, asked: Answers) -> pl.DataFrame:
    """The rows with what the nodes answered as their resolutions, and a row for each flow without one.

    Without the latter, an audit would take their transactions for those of another client.
    """
    now = time.time()
    states: dict[str, Resolved] = {client: unknown.RESOLVED.get(one.state, "unknown") for client, one in asked.items()}
    answers = {
        client: Resolution(states[client], now, asked[client].transaction)
        for client in rows.filter(pl.col("outcome") == "unknown")["client_id"]
        if client in asked
    }
    further = without_row(rows, asked)
    added: dict[str, Sequence[str | None]] = {
        "client_id": list(further),
        "outcome": ["unknown"] * len(further),
        "resolved": [states[client] for client in further],
        "resolved_tx_id": [one.transaction for one in further.values()],
    }
    missing = pl.DataFrame(added, schema=dict.fromkeys(added, pl.String))
    return pl.concat([with_resolutions(rows, answers), missing], how="diagonal")


@contextmanager
def silent() -> Iterator[None]:
    """Print nothing of what a run prints."""
    kept, ui.console.quiet = ui.console.quiet, True
    try:
        yield
    finally:
        ui.console.quiet = kept
