"""``lab chaos``: draws the faults of trials or reads those of a run, makes the trials, and prints what they gave."""

from collections.abc import Sequence
from pathlib import Path

from corda_lab.audit import audit_lab
from corda_lab.chaos import draw, trial
from corda_lab.chaos.trial import Trial, audit_problems
from corda_lab.errors import LabError, reason_of
from corda_lab.faults import inject
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, stored
from corda_lab.runs import preflight
from corda_lab.runs.running import deployed
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.load import SEED_LIMIT, Load
from lab_workload.subject import Subject


def make(load: Load, settings: Settings, *, trials: int, faults: int, kinds: str, targets: str) -> bool:
    """Make trials with faults that are drawn, each with a seed of its own. Returns whether all passed.

    ``load`` has the workload, the users and the first seed. Raises LabError.
    """
    lab = deployed(settings)
    if load.seed + trials > SEED_LIMIT:
        raise LabError(f"--seed: {load.seed} leaves no room for {trials} seeds", "Use a smaller one.")
    among = draw.choices_of(lab.settings, kinds, targets)
    return run([draw.with_faults(load, load.seed + number, faults, among) for number in range(trials)], lab)


def replay(identity: str, settings: Settings) -> bool:
    """Make the trial of a run again, with or without results. Returns whether it passed. Raises LabError."""
    unfinished = folders.find_unfinished(identity)
    folder = unfinished[-1] if unfinished else folders.find_run(identity)
    return run([load_of(folder)], deployed(settings))


def load_of(folder: Path) -> Load:
    """The load of a run with faults. Raises LabError if it has none, or is a sweep."""
    load = stored.read_manifest(folder).load
    if load is None:
        raise LabError(f"{folder.name} is a sweep, whose faults are in its file", "Repeat the sweep, or name a run.")
    if not load.faults:
        raise LabError(f"{folder.name}: the run has no faults", "Choose one that `scripts/lab chaos` has made.")
    return load


def run(loads: Sequence[Load], lab: Lab) -> bool:
    """Make a trial of each load, then audit all of them again. Returns whether all passed. Raises LabError."""
    subject = checked(loads, lab)
    trials: list[Trial] = []
    with ui.phase(f"{plural(len(loads), 'trial')} of some {sum(load.total_seconds for load in loads) / 60:.0f} min"):
        for number, load in enumerate(loads, start=1):
            faults = "; ".join(fault.words() for fault in load.faults)
            ui.note(f"trial {number} of {len(loads)}, seed {load.seed}, {load.total_seconds} s: {faults}")
            trials.append(trial.make(lab, subject, load))
            ui.note(line(trials[-1]))
            if trials[-1].audit is None:
                # The lab is not back, or its nodes do not say what they did.
                break
    failed = [line(one) for one in trials if one.problems]
    failed += [f"after the last trial: {problem}" for problem in lost_later(trials[:-1], lab)]
    ui.say(headline(trials), "bold")
    for problem in failed:
        ui.say(f"failed: {problem}", "red")
    if not failed:
        ui.say("all trials passed", "green")
    ui.note(f"the runs: {', '.join(one.run for one in trials if one.run) or 'none'}")
    return not failed


def checked(loads: Sequence[Load], lab: Lab) -> Subject:
    """Make all checks of the loads before the first of them, and return their flows and nodes. Raises LabError."""
    folders.require_writable()
    with ui.phase("Checking the trials"):
        for load in loads:
            inject.check(load.faults, lab.settings, lab.hosts)
        subject = preflight.plan(preflight.prepare(loads[0]), lab.settings, lab, lab.bridge).subject
        nodes = lab.bridge.nodes()
        if not all(nodes[node].keeps_client_ids for node in subject.nodes):
            raise LabError(
                "Corda before 4.6 keeps no client ids, so nobody can say what became of a flow whose answer was lost",
                "Start a lab of a later version: `scripts/lab down --volumes`, `scripts/lab up --corda 4.10`.",
            )
    return subject


def lost_later(earlier: Sequence[Trial], lab: Lab) -> list[str]:
    """What the ledgers lack now that trials with results were told of, and had when these passed."""
    problems = []
    for one in earlier:
        if one.reason is None and not one.problems:
            try:
                audit = audit_lab(lab, folders.find_run(one.run), trial.AUDIT_SECONDS_MAX)
                now = one.model_copy(update={"audit": audit})
                problems += [f"seed {one.seed}: {text}" for text in audit_problems(now)]
            except Exception as error:
                # What the trials have found must not be lost with it.
                problems.append(f"seed {one.seed}: {reason_of(error)}")
    return problems


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


def headline(trials: Sequence[Trial]) -> str:
    """What all trials came to: ``2 trials, 8 faults, 812 acknowledged flows: 0 violations, 1 stranded, …``."""
    faults = plural(sum(len(one.made) for one in trials), "fault")
    acknowledged = plural(sum(one.acknowledged for one in trials), "acknowledged flow")
    violations = plural(sum(len(one.violations) for one in trials), "violation")
    stranded, unexplained = sum(len(one.stranded) for one in trials), sum(one.unexplained for one in trials)
    trials_made = plural(len(trials), "trial")
    return f"{trials_made}, {faults}, {acknowledged}: {violations}, {stranded} stranded, {unexplained} unexplained"
