"""A trial: a load as ``lab run`` makes it, during which a container is killed, and what is found afterwards.

The vaults are asked here again, and compared with the rows of the run, so the proof does not rest on the run's own.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from corda_lab.analysis import listing
from corda_lab.bench.kills.kill import fault_of, made_in
from corda_lab.bench.kills.measurement import KillTrial, Target
from corda_lab.bench.kills.proof import Place, Proof, Vaults, open_clients, prove
from corda_lab.clients.bridge import FlowStatus
from corda_lab.errors import LabError
from corda_lab.lab import endings
from corda_lab.lab.settings import Settings
from corda_lab.report import unfinished
from corda_lab.results import evidence, folders, stored
from corda_lab.runs import counters, execute, unknown
from corda_lab.runs.running import RunningLab
from corda_lab.steps import rows
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import Subject
from corda_lab.text import ui

REPORTED = "the report says: "
"""Begins what the report of a run says of counts that differ."""
READY_SECONDS_MAX = 180.0
"""Time limit for the lab to be ready and at rest before and after a trial."""


@dataclass(frozen=True)
class Outcome:
    """How the run of a trial ended: its folder, whether it has results, and why it has none."""

    folder: Path | None
    stored: bool
    reason: str | None = None


def run_load(options: LoadOptions, settings: Settings) -> Outcome:
    """Run a load as ``lab run`` does. It may fail: its container, or the bridge, is killed."""
    before = {path.name for path in folders.unfinished_folders()}
    try:
        folder, _ = execute.execute(options, settings)
    except LabError as error:
        left = [path for path in folders.unfinished_folders() if path.name not in before]
        return Outcome(left[-1] if left else None, stored=False, reason=" ".join(error.message.split()))
    return Outcome(folder, stored=True)


def trial(lab: RunningLab, subject: Subject, options: LoadOptions, target: Target) -> KillTrial:
    """Make one trial. ``options.seed`` is its seed. Raises LabError if the lab is not at rest before or after it."""
    await_ready(lab)
    kill = fault_of(options.seed, target, options)
    since, before = time.time(), states_of(lab, subject)
    with silent():
        outcome = run_load(replace(options, faults=(kill,)), lab.settings)
    ended_at = time.time()
    await_ready(lab)
    rest_seconds = time.time() - ended_at
    made = made_in(outcome.folder) if outcome.folder else None
    begun = KillTrial(
        target=target,
        seed=options.seed,
        moment_seconds=kill.at_seconds,
        killed_at=made.began_at if made else None,
        run=outcome.folder.name if outcome.folder else "",
        stored=outcome.stored,
        reason=outcome.reason,
        rest_seconds=round(rest_seconds, 1),
    )
    if outcome.folder is None:
        return begun.model_copy(update={"problems": (f"the run left nothing: {outcome.reason}",)})
    table, report_problems, warnings = read(outcome)
    asked = {} if outcome.stored else open_clients(table, options.users, asker(lab, subject.node))
    vaults = vaults_of(lab, subject, since, before)
    proof = prove(table, asked, vaults, subject)
    with silent():
        unknown.forget(lab.bridge, subject.node, outcome.folder.name)
    problems = [made.problem] if made and made.problem else []
    problems += [*report_problems, *must_be_stored(target, outcome), *proof.problems]
    return described(begun, table, proof, vaults).model_copy(
        update={"warnings": tuple(warnings), "problems": tuple(problems)}
    )


def described(begun: KillTrial, table: pl.DataFrame, proof: Proof, vaults: Vaults) -> KillTrial:
    """The trial with its counts."""
    return begun.model_copy(
        update={
            "rows": table.height,
            "outcomes": dict(table.group_by("outcome").len().sort("outcome").iter_rows()),
            "resolved": proof.resolved,
            "unrecorded": proof.unrecorded,
            "acknowledged": proof.acknowledged,
            "on_ledger": vaults.transactions_max,
        }
    )


def must_be_stored(target: Target, outcome: Outcome) -> list[str]:
    """A killed bridge must not cost the run its results; a killed generator must not look like a complete run."""
    if target == "bridge" and not outcome.stored:
        return [f"the run has no results: {outcome.reason}"]
    if target == "generator" and outcome.stored:
        return ["the run looks complete, although its generator was killed"]
    return []


def read(outcome: Outcome) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Read the rows of a run as a user would. Returns them, what is wrong with its report, and its warnings."""
    assert outcome.folder is not None
    return read_stored(outcome.folder) if outcome.stored else read_unfinished(outcome.folder)


def read_stored(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Read a run with results."""
    table = pl.read_parquet(folder / "requests.parquet")
    problems = [f"{name} is missing" for name in folders.RUN_FILES if not (folder / name).is_file()]
    step = stored.read(folder).steps[0]
    problems += [f"{REPORTED}{one}" for one in step.counts.disagreements]
    if step.requests.unknown and step.verdict.passed:
        problems.append("the run passed, although outcomes were unknown")
    if not any(one.run == folder.name and isinstance(one, listing.RunSummary) for one in listing.summaries()):
        problems.append("`lab list` does not show the run")
    return table, problems, [str(one) for one in step.flags]


def read_unfinished(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Read a run without results."""
    listed = {one.run: one for one in evidence.unfinished_runs()}.get(folder.name)
    problems = []
    if listed is None or listed.state != "failed" or not listed.reason:
        problems.append("`lab list` does not show that the run failed, and why")
    elif listed.rows is None:
        problems.append("the rows of the run were not collected")
    seen = unfinished.report(folder)
    paths = evidence.rows_files(folder)
    table = rows.read_rows(paths) if paths else pl.DataFrame(schema=rows.ROW_SCHEMA)
    if seen.rows != table.height or (table.height and not Path(str(seen.table)).is_file()):
        problems.append("the report of the unfinished run lacks rows")
    return table, problems, []


def states_of(lab: RunningLab, subject: Subject) -> dict[Place, int]:
    """The number of unconsumed states at every place of a subject."""
    return {(state, node): lab.bridge.vault_unconsumed(node, state) for state, node in subject.vault_places}


def vaults_of(lab: RunningLab, subject: Subject, since: float, before: Mapping[Place, int]) -> Vaults:
    """What the load has left in the vaults, which must be at rest."""
    after = states_of(lab, subject)
    transactions = {
        (state, node): lab.bridge.vault_transactions(node, state, since) for state, node in subject.vault_places
    }
    return Vaults(transactions, {place: count - before[place] for place, count in after.items()})


def asker(lab: RunningLab, node: str) -> Callable[[str], FlowStatus]:
    """Ask a node by client id."""
    return lambda client: lab.bridge.flow_status(node, client)


def await_ready(lab: RunningLab) -> None:
    """Wait until every node answers the bridge and no flow is in flight. Raises LabError after the time limit."""
    since = time.time()
    if not endings.come_true(
        lab.compose,
        lambda: lab.bridge.is_ready() and counters.says_it_is_at_rest(lab, since),
        seconds_max=READY_SECONDS_MAX,
    ):
        remedy = "See `scripts/lab status` and `docker compose logs bridge`."
        raise LabError("The lab is not at rest", remedy, exit_code=1)


@contextmanager
def silent() -> Iterator[None]:
    """Print nothing of what a run prints."""
    kept, ui.console.quiet = ui.console.quiet, True
    try:
        yield
    finally:
        ui.console.quiet = kept
