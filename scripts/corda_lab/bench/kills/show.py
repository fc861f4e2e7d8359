"""The trials of ``lab bench kills`` in lines and tables."""

from collections.abc import Sequence

from corda_lab.bench.kills.measurement import TARGETS, KillsBench, KillTrial
from corda_lab.text import tables, ui
from corda_lab.text.words import plural

Row = tuple[str, ...]

TITLES = ("killed", "trials", "passed", "acknowledged", "on the ledger", "unknown", "resolved", "without a row")
TRIAL_TITLES = (
    "killed",
    "seed",
    "at s",
    "ok",
    "failed",
    "unknown: ok",
    "unknown: failed",
    "unknown: not started",
    "without a row",
    "on the ledger",
    "kept as",
    "result",
)


def line(trial: KillTrial) -> str:
    """One trial in one line, with what repeats it."""
    outcomes = ", ".join(f"{count} {name}" for name, count in trial.outcomes.items()) or "no row"
    resolved = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in trial.resolved.items())
    parts = [
        f"{trial.target} at {trial.moment_seconds:.2f} s, seed {trial.seed}: {outcomes}",
        f"unknown: {resolved}" if resolved else "",
        f"{trial.unrecorded} without a row" if trial.unrecorded else "",
        f"{trial.on_ledger} on the ledger",
        "report" if trial.stored else "unfinished run",
        *([f"FAILED: {'; '.join(trial.problems)}"] if trial.problems else ["passed"]),
    ]
    return "; ".join(part for part in parts if part)


def rows(bench: KillsBench) -> list[Row]:
    """The sums over the trials of each target."""
    found: list[Row] = []
    for target in TARGETS:
        trials = bench.of(target)
        if not trials:
            continue
        unknown = sum(each.outcomes.get("unknown", 0) for each in trials)
        resolved = sum(count for each in trials for state, count in each.resolved.items() if state != "unknown")
        found.append(
            (
                target,
                str(len(trials)),
                str(sum(not each.problems for each in trials)),
                str(sum(each.acknowledged for each in trials)),
                str(sum(each.on_ledger for each in trials)),
                str(unknown),
                str(resolved),
                str(sum(each.unrecorded for each in trials)),
            )
        )
    return found


def trial_rows(bench: KillsBench) -> list[Row]:
    """One row for every trial."""
    return [
        (
            each.target,
            str(each.seed),
            f"{each.moment_seconds:.2f}",
            *(str(each.outcomes.get(name, 0)) for name in ("ok", "failed")),
            *(str(each.resolved.get(name, 0)) for name in ("ok", "failed", "not_started")),
            str(each.unrecorded),
            str(each.on_ledger),
            "run" if each.stored else "unfinished run",
            "failed" if each.problems else "passed",
        )
        for each in bench.trials
    ]


def failures(bench: KillsBench) -> Sequence[str]:
    """One line for each trial that failed."""
    return [line(each) for each in bench.trials if each.problems]


def summary(bench: KillsBench) -> None:
    """Print the sums, and which trials failed."""
    made = tables.table(*TITLES, numbers=TITLES[1:])
    for row in rows(bench):
        made.add_row(*row)
    ui.console.print()
    tables.show(made)
    failed = len(failures(bench))
    words = "all trials passed" if not failed else f"{plural(failed, 'trial')} failed"
    ui.console.print(words, style="red" if failed else "green", markup=False)
