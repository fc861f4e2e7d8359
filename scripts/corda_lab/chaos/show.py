"""The trials of ``lab chaos`` in lines and in a table."""

from collections.abc import Sequence

from corda_lab.chaos.model import DOUBLED, LOST, VALUE, Trial
from corda_lab.results.audits import ViolationKind
from corda_lab.text import tables, ui

TITLES = ("trials", "faults", "acknowledged", "lost", "doubled", "value", "other", "stranded", "unexplained", "passed")


def line(trial: Trial) -> str:
    """One trial in one line, with the seed that repeats it."""
    outcomes = ", ".join(f"{count} {name}" for name, count in trial.outcomes.items()) or "no row"
    resolved = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in trial.resolved.items())
    parts = [
        f"seed {trial.seed}: {len(trial.made)} of {len(trial.faults)} faults made, {outcomes}",
        f"unknown: {resolved}" if resolved else "",
        f"{trial.unrecorded} without a row" if trial.unrecorded else "",
        f"started again: {', '.join(trial.restarted)}" if trial.restarted else "",
        f"audit: {trial.audit.verdict}" if trial.audit else "",
        f"stranded by Corda: {', '.join(sorted(trial.stranded_ids))}" if trial.stranded else "",
        f"FAILED: {'; '.join(trial.problems)}" if trial.problems else "passed",
    ]
    return "; ".join(part for part in parts if part)


def sums(trials: Sequence[Trial]) -> tuple[int, ...]:
    """The sums over some trials, in the order of ``TITLES``."""
    others = set(ViolationKind) - {*LOST, *DOUBLED, *VALUE}
    return (
        len(trials),
        sum(len(trial.made) for trial in trials),
        sum(trial.acknowledged for trial in trials),
        *(sum(trial.violating(kinds) for trial in trials) for kinds in (LOST, DOUBLED, VALUE, others)),
        sum(len(trial.stranded) for trial in trials),
        sum(trial.unexplained for trial in trials),
        sum(not trial.problems for trial in trials),
    )


def summary(trials: Sequence[Trial], together: Sequence[str]) -> None:
    """Print the sums, which trials failed, and what the audit of all of them found."""
    made = tables.table(*TITLES, numbers=TITLES)
    made.add_row(*(f"{count:,}" for count in sums(trials)))
    ui.console.print()
    tables.show(made)
    failed = [line(trial) for trial in trials if trial.problems]
    failed += [f"all ledgers after the last trial: {problem}" for problem in together]
    for problem in failed:
        ui.console.print(f"failed: {problem}", style="red", markup=False)
    if not failed:
        ui.console.print("all trials passed", style="green", markup=False)
