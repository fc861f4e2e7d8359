"""A trial of ``lab chaos``: a load as ``lab run`` makes it, with faults, and what its counts and its audit say.

It is stored as ``chaos.json`` in the folder of its run.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from corda_lab.audit import audit_lab, audit_load
from corda_lab.chaos import stranded
from corda_lab.chaos.stranded import FailedFlow, StrandedTransaction
from corda_lab.clients.bridge import Bridge, FlowStatus
from corda_lab.errors import LabError
from corda_lab.faults.inject import TOO_LATE
from corda_lab.faults.model import FaultEntries, FaultEntry
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, store, stored
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.runs import execute, faulty, unknown
from corda_lab.steps import rows
from corda_lab.steps.resolutions import COLUMNS, Resolution, with_resolutions
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.faults import GENERATOR
from lab_workload.load import Load
from lab_workload.subject import Subject

TRIAL = "chaos.json"
AUDIT_SECONDS_MAX = 180.0
"""Time limit of an audit. Ledgers grow from trial to trial."""
LEFT = "no more than flows that failed had recorded before, by the logs"
"""Why counts that differ do not fail a trial."""
Answers = Mapping[str, FlowStatus]
"""What a node said, by client id."""
_ABSENT = FlowStatus("absent")


class Trial(BaseModel):
    """One load with faults, and what was found afterwards."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    seed: int
    """The seed of the load and of its faults."""
    run: str = ""
    """The id of the run; empty if it did not begin."""
    reason: str | None = None
    """Why the run has no results. That of a killed generator has none, and is kept as unfinished."""
    faults: tuple[FaultEntry, ...] = ()
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Rows by outcome."""
    resolved: dict[str, int] = Field(default_factory=dict)
    """Rows with an unknown outcome, by what became of them."""
    unexplained: int = 0
    """Flows of which the node did not say what became of them."""
    unrecorded: int = 0
    """Flows on the ledger of which a killed generator wrote no row."""
    restarted: tuple[str, ...] = ()
    """The nodes that were started again because flows stayed in flight without that."""
    audit: Audit | None = None
    stranded: tuple[StrandedTransaction, ...] = ()
    """Transactions of violations of the audit of which the logs show that Corda has stranded them."""
    warnings: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    """Why the trial failed. Empty if it passed."""

    @property
    def acknowledged(self) -> int:
        """Flows that the generator was told have succeeded."""
        return self.outcomes.get("ok", 0)

    @property
    def made(self) -> tuple[FaultEntry, ...]:
        return tuple(fault for fault in self.faults if fault.was_made)

    @property
    def stranded_ids(self) -> frozenset[str]:
        return frozenset(one.transaction for one in self.stranded)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Those of the audit, without those of transactions that Corda has stranded."""
        violations = self.audit.violations if self.audit else ()
        return tuple(one for one in violations if only_at_notary(one) not in self.stranded_ids)


def only_at_notary(violation: Violation) -> str | None:
    """The transaction that only the notary has; None for another violation."""
    return violation.ids[0] if violation.kind is ViolationKind.NOTARY_WITHOUT_TRANSACTION else None


def audit_problems(trial: Trial) -> list[str]:
    """What its audit found. One that cannot tell is a problem as well; a stranded transaction is none."""
    if trial.audit is None:
        return ["the ledgers were not audited"]
    untold = [f"the audit cannot tell: {'; '.join(trial.audit.reasons)}"] if trial.audit.reasons else []
    return [*(one.text for one in trial.violations), *untold]


def problems_of(trial: Trial) -> list[str]:
    problems = [
        f"{one.name}: {one.problem or 'it was made, and nothing says that it was healed'}"
        for one in trial.faults
        if one.is_left or (one.was_made and (one.problem or one.healed_at is None))
    ]
    ended = [fault for fault in trial.made if fault.ends_load]
    if trial.reason is not None and not ended:
        problems.append(f"the run has no results: {trial.reason}")
    if trial.reason is None and any(fault.kind == "kill" and fault.target == GENERATOR for fault in ended):
        problems.append("the run looks complete, although its generator was killed")
    if trial.unexplained:
        problems.append(f"{plural(trial.unexplained, 'flow')} of which nobody can tell what became of them")
    return [*problems, *audit_problems(trial)]


def make(lab: Lab, subject: Subject, options: Load) -> Trial:
    """Make one trial with the seed and the faults of ``options``, and store it.

    What cannot be counted or audited is a problem of the trial.
    """
    with silent():
        folder, reason = run_load(options, lab.settings)
    trial = Trial(seed=options.seed, reason=reason)
    if folder is None:
        trial.problems.append(f"the run left nothing: {reason}")
        return trial
    trial.run = folder.name
    try:
        if reason is None:
            judge_run(trial, folder)
        else:
            judge_rows(trial, folder, lab, subject, options.users)
        unmade = (one for one in trial.faults if not one.was_made and one.problem != TOO_LATE)
        trial.warnings += [f"{one.name}: {one.problem}" for one in unmade]
        trial.problems += problems_of(trial)
    except LabError as error:
        trial.problems.append(error.message)
    try:
        folders.write_json(folder / TRIAL, trial.model_dump(mode="json"))
    except OSError as error:
        raise folders.unwritable(folder, error) from None
    return trial


def run_load(options: Load, settings: Settings) -> tuple[Path | None, str | None]:
    """Run a load. Returns the folder of its run; or that of its evidence, with the reason why there is no run."""
    before = folders.unfinished_runs()
    try:
        folder, _ = execute.execute(options, settings)
    except LabError as error:
        left = [path for path in folders.unfinished_runs() if path not in before]
        return (left[-1] if left else None), " ".join(error.message.split())
    return folder, None


def judge_run(trial: Trial, folder: Path) -> None:
    """Enter what a run has counted and audited. Raises LabError if a file is damaged."""
    run = stored.read(folder)
    step, requests = run.steps[0], run.table("requests")
    trial.faults, trial.restarted = step.faults, step.restarted_after_faults
    trial.audit = run.audits().get(step.index)
    flows = stranded.failed_flows(folder, requests)
    explain(trial, flows)
    trial.warnings += map(str, step.flags)
    for differing in step.counts.disagreements:
        if stranded.is_left(differing, flows):
            trial.warnings.append(f"{differing}: {LEFT}")
        else:
            trial.problems.append(str(differing))
    count(trial, requests)


def judge_rows(trial: Trial, folder: Path, lab: Lab, subject: Subject, users: int) -> None:
    """Enter what is known of a load without results: ask its nodes about open flows, and audit. Raises LabError."""
    place, step = list(stored.read_steps(folder).items())[-1]
    made = place / stored.EVIDENCE / faulty.FAULTS
    if made.is_file():
        # A load that has ended before its begin has none.
        trial.faults = folders.read_model(made, FaultEntries).root
    with silent():
        settled = faulty.settle(lab)
    if not settled.is_at_rest:
        # Flows would be missing that nothing has lost.
        raise LabError("flows were still in flight when their nodes had been started again, so nothing was audited")
    trial.restarted = settled.restarted
    if step.rows is None:
        trial.problems.append("the rows of the run were not collected")
    paths = store.rows_files(place)
    written = rows.read_rows(paths) if paths else pl.DataFrame(schema={**rows.ROW_SCHEMA, **COLUMNS})
    requests = with_answers(written, ask(written, lab.bridge, subject, users))
    if requests.height:
        stateful = frozenset(part.name for _, part in subject.starts if part.changes)
        slack = 0.0 if lab.is_here else CLOCKS_APART_SECONDS_MAX
        trial.audit = audit_load(lab, requests, AUDIT_SECONDS_MAX, stateful=stateful, slack_seconds=slack)
    else:
        trial.audit = audit_lab(lab, deadline_seconds=AUDIT_SECONDS_MAX)
    explain(trial, stranded.failed_flows(folder, requests))
    with silent():
        for node in subject.nodes:
            unknown.forget(lab.bridge, node, trial.run)
    count(trial, requests.head(written.height))
    further = Counter(requests.tail(requests.height - written.height)["resolved"])
    trial.unexplained += further["unknown"]
    trial.unrecorded = further["ok"]


def explain(trial: Trial, flows: Sequence[FailedFlow]) -> None:
    """Enter which transactions of the notary alone were stranded by flows that failed."""
    alone = [only_at_notary(violation) for violation in (trial.audit.violations if trial.audit else ())]
    explained = [stranded.stranded(transaction, flows) for transaction in alone if transaction is not None]
    trial.stranded = tuple(one for one in explained if one is not None)


def count(trial: Trial, requests: pl.DataFrame) -> None:
    """Enter the number of requests by outcome, and of those with an unknown one by what became of them."""
    unsure = requests.filter(pl.col("outcome") == "unknown")
    resolved = Counter(unsure["resolved"].fill_null("unknown"))
    trial.outcomes = dict(requests.group_by("outcome").len().sort("outcome").iter_rows())
    trial.resolved = dict(sorted(resolved.items()))
    trial.unexplained = resolved["unknown"]


def ask(rows: pl.DataFrame, bridge: Bridge, subject: Subject, users: int) -> Answers:
    """Ask the nodes of a load, which are at rest, about its flows that the rows leave open, and those without a row."""
    answers: dict[str, FlowStatus] = {}
    for node in subject.nodes:
        asked = open_clients(rows.filter(pl.col("node") == node), users, partial(bridge.flow_status, node))
        # A request without a row may have been for any of the nodes. Those that never got it say nothing about it.
        answers |= {client: one for client, one in asked.items() if answers.get(client, _ABSENT).state == "absent"}
    return answers


def open_clients(rows: pl.DataFrame, users: int, status: Callable[[str], FlowStatus]) -> Answers:
    """Ask what became of each request with an unknown outcome, and of those that were killed with their generator.

    A generator process numbers its requests from 1. Requests without a row are the numbers that are missing, and those
    after the last. Each user has one request in flight, so after that many absent ones in a row, there are no more.
    """
    if not rows.height:
        return {}
    answers = {client: status(client) for client in rows.filter(pl.col("outcome") == "unknown")["client_id"]}
    prefix = rows["client_id"][0].rpartition("-")[0]
    recorded = {int(client.rpartition("-")[2]) for client in rows["client_id"]}
    absent, number = 0, 1
    while number <= max(recorded) or absent <= users:
        if number not in recorded:
            client = f"{prefix}-{number}"
            answers[client] = status(client)
            absent = absent + 1 if answers[client].state == "absent" else 0
        number += 1
    return answers


def with_answers(rows: pl.DataFrame, answers: Answers) -> pl.DataFrame:
    """The rows with what the nodes answered as their resolutions, then a row for each flow without one.

    Without the latter, an audit would take their transactions for those of another client.
    """
    known = set(rows["client_id"])
    further = [client for client, one in answers.items() if client not in known and one.state != "absent"]
    columns = {"client_id": further, "outcome": ["unknown"] * len(further)}
    added = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    resolutions = {
        client: Resolution(unknown.RESOLVED.get(one.state, "unknown"), time.time(), one.transaction)
        for client, one in answers.items()
    }
    return with_resolutions(pl.concat([rows, added], how="diagonal"), resolutions)


@contextmanager
def silent() -> Iterator[None]:
    """Print nothing of what a run prints."""
    kept, ui.console.quiet = ui.console.quiet, True
    try:
        yield
    finally:
        ui.console.quiet = kept
