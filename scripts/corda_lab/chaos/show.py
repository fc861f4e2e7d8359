"""The trials of ``lab chaos`` in lines."""

from collections.abc import Sequence

from corda_lab.chaos.measurement import DOUBLED, LOST, VALUE, ChaosFile, ChaosTrial
from corda_lab.text import tables, ui
from corda_lab.text.words import plural

TITLES = ("trials", "faults", "acknowledged", "lost", "doubled", "value", "other", "stranded", "unexplained", "passed")


def line(trial: ChaosTrial) -> str:
    """One trial in one line, with the seed that repeats it."""
    outcomes = ", ".join(f"{count} {name}" for name, count in trial.outcomes.items()) or "no row"
    resolved = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in trial.resolved.items())
    parts = [
        f"seed {trial.seed}: {plural(len(trial.made), 'fault')}, {outcomes}",
        f"unknown: {resolved}" if resolved else "",
        f"{trial.unrecorded} without a row" if trial.unrecorded else "",
        "" if trial.keeps_client_ids else "no client ids: counted on the ledger",
        f"started again: {', '.join(trial.restarted)}" if trial.restarted else "",
        f"audit: {trial.audit.verdict} in {trial.audit.seconds:.0f} s" if trial.audit else "",
        f"stranded by Corda: {', '.join(sorted(trial.stranded_ids))}" if trial.stranded else "",
        *([f"FAILED: {'; '.join(trial.problems)}"] if trial.problems else ["passed"]),
    ]
    return "; ".join(part for part in parts if part)


def together(file: ChaosFile) -> str:
    """The audit of all trials together in one line."""
    if file.audit is None:
        return "the trials were not audited together"
    verdict = f"FAILED: {'; '.join(file.audit.problems)}" if file.audit.problems else file.audit.verdict
    return f"all ledgers after {plural(file.audit.trials, 'trial')}: {verdict}, in {file.audit.seconds:.0f} s"


def sums(trials: Sequence[ChaosTrial]) -> tuple[str, ...]:
    """The sums over some trials, in the order of ``TITLES``."""
    return tuple(
        f"{count:,}"
        for count in (
            len(trials),
            sum(len(trial.made) for trial in trials),
            sum(trial.acknowledged for trial in trials),
            sum(trial.violating(LOST) for trial in trials),
            sum(trial.violating(DOUBLED) for trial in trials),
            sum(trial.violating(VALUE) for trial in trials),
            sum(trial.violating_otherwise for trial in trials),
            sum(len(trial.stranded) for trial in trials),
            sum(trial.unexplained for trial in trials),
            sum(not trial.problems for trial in trials),
        )
    )


def summary(file: ChaosFile) -> None:
    """Print the sums, and which trials failed."""
    made = tables.table(*TITLES, numbers=TITLES)
    made.add_row(*sums(file.trials))
    ui.console.print()
    tables.show(made)
    failed = [trial for trial in file.trials if trial.problems]
    for trial in failed:
        ui.console.print(f"failed: {line(trial)}", style="red", markup=False)
    if len(file.confirmed) < len(file.trials):
        ui.console.print(f"failed: {together(file)}", style="red", markup=False)
    if file.has_passed:
        ui.console.print("all trials passed", style="green", markup=False)
