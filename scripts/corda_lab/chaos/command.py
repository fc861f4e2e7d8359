"""``lab chaos``: draws the faults of the trials or reads those of a run, makes the trials, and prints what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.audit import audit_loads
from corda_lab.audit.requests import Load as AuditedLoad
from corda_lab.chaos import trial
from corda_lab.chaos.model import DOUBLED, LOST, VALUE, Trial, audit_problems
from corda_lab.chaos.trial import Made
from corda_lab.errors import LabError, chosen, reason_of
from corda_lab.faults import inject
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results import evidence, folders
from corda_lab.results import faults as stored_faults
from corda_lab.results.audits import Audit, ViolationKind
from corda_lab.results.evidence import LoadFile
from corda_lab.results.manifest import Manifest
from corda_lab.runs import preflight
from corda_lab.runs.running import deployed
from corda_lab.steps.faults import KINDS, Choice, FaultKind, choices, drawn, known_targets, links_of, load_seconds
from corda_lab.text import tables, ui
from corda_lab.text.words import plural
from lab_workload.load import SEED_LIMIT, Load
from lab_workload.names import canonical, did_you_mean, names_in
from lab_workload.subject import Subject

WARM_UP_SECONDS = 2.0
NAME = "chaos"
TITLES = ("trials", "faults", "acknowledged", "lost", "doubled", "value", "other", "stranded", "unexplained", "passed")
TOGETHER_SECONDS_MAX = 600.0
"""Time limit of the audit of all trials together."""


@dataclass(frozen=True)
class Asked:
    """What was asked for. Empty kinds and targets stand for all that the lab can have."""

    trials: int
    faults: int
    kinds: str = ""
    targets: str = ""


def read_kinds(text: str) -> tuple[FaultKind, ...]:
    names = {chosen("--kinds: there is no fault", name, KINDS) for name in names_in(text)}
    return tuple(kind for kind in KINDS if kind in names) or KINDS


def choices_of(settings: Settings, asked: Asked) -> list[Choice]:
    """The faults that may be drawn on a lab. Raises LabError if a name is unknown, or if there are none."""
    targets = known_targets(settings.nodes, settings.values.get("DATABASE", ""))
    links = links_of(settings.values.get("LINKS", ""))
    only = [name.lower() for name in names_in(asked.targets)]
    for name in only:
        if canonical(name, [*targets, *links]) is None and any(end not in targets for end in name.split("-")):
            hint = did_you_mean(name, [*targets, *links])
            raise LabError(f"--targets: the lab has no {name!r}{hint}", f"Choose from {', '.join(targets)}.")
    found = choices(targets, links, read_kinds(asked.kinds), only)
    if not found:
        raise LabError(
            f"--targets: {asked.targets} can have none of the faults {asked.kinds or 'there are'}",
            "Leave out --kinds or --targets. Links need a lab that has some: lab up --link partya-partyb=+1ms.",
        )
    return found


def with_faults(options: Load, seed: int, count: int, among: Sequence[Choice]) -> Load:
    """A load with the faults that a seed draws, long enough to recover from them."""
    faults = drawn(seed, count, among)
    duration = load_seconds(faults) - WARM_UP_SECONDS
    return options.updated(
        seed=seed, name=NAME, warm_up_seconds=WARM_UP_SECONDS, duration_seconds=duration, faults=faults
    )


def draw(options: Load, asked: Asked, settings: Settings) -> bool:
    """Make trials with faults that are drawn, each with a seed of its own. Returns whether all passed.

    ``options`` has the workload, the users and the first seed. Raises LabError.
    """
    lab = deployed(settings)
    if options.seed + asked.trials > SEED_LIMIT:
        raise LabError(f"--seed: {options.seed} leaves no room for {asked.trials} seeds", "Use a smaller one.")
    among = choices_of(lab.settings, asked)
    return run(
        [with_faults(options, options.seed + number, asked.faults, among) for number in range(asked.trials)], lab
    )


def replay(identity: str, settings: Settings) -> bool:
    unfinished = evidence.find(identity)
    folder = folders.find_run(identity) if unfinished is None else unfinished
    return run([options_of(folder)], deployed(settings))


def options_of(folder: Path) -> Load:
    """The load of a run with faults. Raises LabError if it has none, or is a sweep."""
    stored_faults.read(folder)
    if (folder / evidence.LOAD).is_file():
        return folders.read_model(folder / evidence.LOAD, LoadFile).options
    load = folders.read_model(folder / "run.json", Manifest).load
    if load is None:
        raise LabError(f"{folder.name} is a sweep, whose faults are in its file", "Repeat the sweep, or name a run.")
    return load


def run(loads: Sequence[Load], lab: Lab) -> bool:
    """Make a trial of each load, and audit all of them together. Returns whether all passed. Raises LabError."""
    subject = checked(loads, lab)
    made: list[Made] = []
    with ui.phase(f"{plural(len(loads), 'trial')} of some {sum(load.total_seconds for load in loads) / 60:.0f} min"):
        for number, load in enumerate(loads, start=1):
            faults = "; ".join(fault.words() for fault in load.faults)
            ui.note(f"trial {number} of {len(loads)}, seed {load.seed}, {load.total_seconds} s: {faults}")
            made.append(trial.make(lab, subject, load, number))
            ui.note(line(made[-1].trial))
            if made[-1].load is None:
                if number < len(loads):
                    ui.warn("Its flows were not audited, and later audits would not know them: no more trials are made")
                break
    trials = [one.trial for one in made]
    audited = tuple(one.load for one in made if one.load is not None)
    problems = problems_together(trials, audited, lab) if 1 < len(made) == len(audited) else []
    show(trials, problems)
    ui.note(f"the runs: {', '.join(one.run for one in trials if one.run) or 'none'}")
    return not problems and not any(one.problems for one in trials)


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


def problems_together(trials: Sequence[Trial], loads: tuple[AuditedLoad, ...], lab: Lab) -> list[str]:
    """What an audit of everything since the first trial says: what one was told of, and a later one lost."""
    try:
        found = audit_loads(lab, loads, TOGETHER_SECONDS_MAX)
    except Exception as error:
        # What the trials have seen must not be lost with it.
        found = Audit(verdict="cannot tell", reasons=(reason_of(error),))
    ui.note(f"all ledgers after {plural(len(trials), 'trial')}: {found.summary}")
    return audit_problems(found, {identity for one in trials for identity in one.stranded_ids})


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


def show(trials: Sequence[Trial], together: Sequence[str]) -> None:
    """Print the sums, which trials failed, and what the audit of all of them found."""
    made = tables.table(*TITLES, numbers=TITLES)
    made.add_row(*(f"{count:,}" for count in sums(trials)))
    ui.console.print()
    tables.show(made)
    failed = [line(trial) for trial in trials if trial.problems]
    failed += [f"all ledgers after the last trial: {problem}" for problem in together]
    for problem in failed:
        ui.say(f"failed: {problem}", "red")
    if not failed:
        ui.say("all trials passed", "green")
