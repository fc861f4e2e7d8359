"""One trial: a load as ``lab run`` makes it, with faults, and what its counts and its audit say."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.audit import audit_lab, audit_load
from corda_lab.audit.requests import Load, load_of
from corda_lab.chaos import asked
from corda_lab.chaos.model import Trial, problems_of, store
from corda_lab.chaos.stranded import Logs, explained_by
from corda_lab.errors import LabError
from corda_lab.faults.inject import TOO_LATE
from corda_lab.lab.deployed import is_here
from corda_lab.lab.settings import Settings
from corda_lab.results import evidence, folders, stored
from corda_lab.results import faults as stored_faults
from corda_lab.results.audits import Audit
from corda_lab.results.faults import LoadFaults
from corda_lab.results.manifest import CLOCKS_APART_SECONDS_MAX
from corda_lab.runs import execute, faulty, unknown
from corda_lab.runs.running import RunningLab
from corda_lab.steps import rows
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.resolutions import COLUMNS
from corda_lab.text import ui
from lab_workload.subject import Subject

AUDIT_SECONDS_MAX = 180.0
"""Time limit of an audit. Ledgers grow from trial to trial."""
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
    load: Load | None = None


def make(lab: RunningLab, subject: Subject, options: LoadOptions, number: int) -> Made:
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


def run_load(options: LoadOptions, settings: Settings) -> Outcome:
    """Run a load as ``lab run`` does. It fails if its generator is killed."""
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


def judged_rows(
    trial: Trial, folder: Path, lab: RunningLab, subject: Subject, users: int
) -> tuple[Trial, pl.DataFrame]:
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
    answers = asked.ask(written, lab.bridge, subject, users)
    requests = asked.with_answers(written, answers)
    audit = audited(lab, subject, requests)
    explained = explained_by(Logs.of(folder), requests, audit, ())
    with silent():
        for node in subject.nodes:
            unknown.forget(lab.bridge, node, trial.run)
    unrecorded = asked.without_row(written, answers).values()
    unexplained = sum(one.state in asked.OPEN_STATES for one in unrecorded)
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


def audited(lab: RunningLab, subject: Subject, requests: pl.DataFrame) -> Audit:
    """Audit what a load without results has recorded. Without any row, the whole ledgers. Raises LabError."""
    if not requests.height:
        return audit_lab(lab.compose, deadline_seconds=AUDIT_SECONDS_MAX)
    stateful = frozenset(part.name for _, part in subject.starts if part.changes)
    return audit_load(lab.compose, requests, AUDIT_SECONDS_MAX, stateful=stateful, slack_seconds=slack_seconds(lab))


def slack_seconds(lab: RunningLab) -> float:
    """By how much a clock of the lab may differ from that of the load generator."""
    return 0.0 if is_here(lab.compose) else CLOCKS_APART_SECONDS_MAX


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
    """The trial with everything that fails it, and with a warning for each fault that could not be made."""
    not_made = [f"{one.name}: {one.problem}" for one in trial.faults if not one.was_made and one.problem != TOO_LATE]
    return trial.model_copy(
        update={"warnings": (*trial.warnings, *not_made), "problems": (*others, *problems_of(trial))}
    )


def faults_of(folder: Path) -> LoadFaults:
    """The faults of a load as its folder has them; none if it ended before its begin. Raises LabError if damaged."""
    if not (folder / folders.FAULTS).is_file():
        return LoadFaults(seed=0, faults=())
    return stored_faults.read(folder).loads[0]


@contextmanager
def silent() -> Iterator[None]:
    """Print nothing of what a run prints."""
    kept, ui.console.quiet = ui.console.quiet, True
    try:
        yield
    finally:
        ui.console.quiet = kept
