"""``lab chaos``: draws the faults of the trials or reads those of a run, makes the trials, and prints what was seen."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.audit import audit_lab
from corda_lab.chaos import trial
from corda_lab.chaos.trial import Trial, audit_problems
from corda_lab.errors import LabError, chosen, reason_of
from corda_lab.faults import inject
from corda_lab.faults.model import BRIDGE, KINDS, LINK_KINDS, POSTGRES, PROMETHEUS, known_targets, links_of
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, stored
from corda_lab.runs import preflight
from corda_lab.runs.running import deployed
from corda_lab.text import tables, ui
from corda_lab.text.words import plural
from lab_workload.faults import ENDING_KINDS, GENERATOR, Fault, FaultKind
from lab_workload.load import SEED_LIMIT, Load
from lab_workload.names import canonical, did_you_mean, names_in
from lab_workload.subject import Subject

FIRST_SECONDS = (12.0, 18.0)
"""When the first fault begins: after some flows, so that there is a throughput to fall back to. The generator also ends
a load of which nothing has succeeded."""
GAP_SECONDS = (25.0, 35.0)
"""Time from the end of a fault to the begin of the next. A node is back some twenty seconds after its start."""
REST_SECONDS = 30.0
"""Time from the end of the last fault to the end of the load."""
LENGTH_SECONDS: dict[FaultKind, tuple[float, float]] = {
    "kill": (0.0, 6.0),
    "pause": (2.0, 15.0),
    "restart": (0.0, 6.0),
    "partition": (5.0, 20.0),
    "slow-link": (5.0, 20.0),
    "reset-link": (2.0, 10.0),
    "full-disk": (2.0, 8.0),
    "memory-limit": (5.0, 15.0),
}
"""How long a fault of each kind lasts: of kill and restart, how long the process is away."""
PARTY = "party"
"""The prefix of the parties' names. All other nodes are the notary's."""
KILL_WEIGHT = 10.0
"""How much more often than any other fault a kill of the notary, of a party, of PostgreSQL or of the bridge is drawn.
The parties share theirs."""
WARM_UP_SECONDS = 2.0
NAME = "chaos"
TITLES = ("trials", "faults", "acknowledged", "violations", "stranded", "unexplained", "passed")


@dataclass(frozen=True)
class Asked:
    """What was asked for. Empty kinds and targets stand for all that the lab can have."""

    trials: int
    faults: int
    kinds: str = ""
    targets: str = ""


@dataclass(frozen=True)
class Choice:
    """A fault that may be drawn, and how often in comparison with others."""

    kind: FaultKind
    target: str
    weight: float = 1.0


def choices_of(settings: Settings, asked: Asked) -> list[Choice]:
    """The faults that may be drawn on a lab. Raises LabError if a name is unknown, or if there are none."""
    targets = known_targets(settings.nodes, settings.values.get("DATABASE", ""))
    links = links_of(settings.values.get("LINKS", ""))
    names = {chosen("--kinds: there is no fault", name, KINDS) for name in names_in(asked.kinds)}
    kinds = [kind for kind in KINDS if kind in names or not names]
    only = [name.lower() for name in names_in(asked.targets)]
    for name in only:
        if canonical(name, [*targets, *links]) is None and any(end not in targets for end in name.split("-")):
            hint = did_you_mean(name, [*targets, *links])
            raise LabError(f"--targets: the lab has no {name!r}{hint}", f"Choose from {', '.join(targets)}.")
    choices = choices_among(targets, links, kinds, only)
    if not choices:
        raise LabError(
            f"--targets: {asked.targets} can have none of the faults {asked.kinds or 'there are'}",
            "Leave out --kinds or --targets. Links need a lab that has some: lab up --link partya-partyb=+1ms.",
        )
    return choices


def choices_among(
    targets: Sequence[str], links: Sequence[str], kinds: Sequence[FaultKind] = KINDS, only: Sequence[str] = ()
) -> list[Choice]:
    """All faults that a lab with these targets and links can have, of these kinds and at only these targets if given.

    Partitions are between one part and all others, and between two nodes.
    """
    nodes = [one for one in targets if one not in (POSTGRES, BRIDGE, GENERATOR, PROMETHEUS)]
    pairs = [f"{one}-{other}" for place, one in enumerate(nodes) for other in nodes[place + 1 :]]
    pairs += [f"{node}-{POSTGRES}" for node in nodes if POSTGRES in targets]
    choices = []
    for kind in kinds:
        places = [*links] if kind in LINK_KINDS else [*targets]
        if kind == "partition":
            places += pairs
        elif kind == "full-disk":
            places = [one for one in targets if one not in (BRIDGE, GENERATOR)]
        for place in places:
            if not only or place in only or set(place.split("-")) <= set(only):
                choices.append(Choice(kind, place, _kill_weight(place, nodes) if kind == "kill" else 1.0))
    return choices


def _kill_weight(target: str, nodes: Sequence[str]) -> float:
    if target in (GENERATOR, PROMETHEUS):
        return 1.0
    alike = [node for node in nodes if node.startswith(PARTY) == target.startswith(PARTY)]
    return KILL_WEIGHT / len(alike) if target in nodes else KILL_WEIGHT


def drawn(seed: int, count: int, among: Sequence[Choice]) -> tuple[Fault, ...]:
    """Draw ``count`` faults one after another. One that ends the load can only be the last. There is one at least.

    Times are in tenths of a second.
    """
    chance = random.Random(f"faults/{seed}")
    at, faults = chance.uniform(*FIRST_SECONDS), list[Fault]()
    for number in range(count):
        is_last = number == count - 1
        open_to = [one for one in among if is_last or one.target != GENERATOR or one.kind not in ENDING_KINDS]
        if not open_to:
            break
        (one,) = chance.choices(open_to, weights=[choice.weight for choice in open_to])
        seconds = round(chance.uniform(*LENGTH_SECONDS[one.kind]), 1)
        faults.append(Fault(kind=one.kind, target=one.target, at_seconds=round(at, 1), for_seconds=seconds))
        at += seconds + chance.uniform(*GAP_SECONDS)
    return tuple(faults)


def with_faults(options: Load, seed: int, count: int, among: Sequence[Choice]) -> Load:
    """A load with the faults that a seed draws, long enough to recover from them."""
    faults = drawn(seed, count, among)
    seconds = int(max((one.at_seconds + one.for_seconds for one in faults), default=0.0) + REST_SECONDS) + 1
    return options.updated(
        seed=seed,
        name=NAME,
        warm_up_seconds=WARM_UP_SECONDS,
        duration_seconds=seconds - WARM_UP_SECONDS,
        faults=faults,
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
    unfinished = folders.find_unfinished(identity)
    folder = unfinished[-1] if unfinished else folders.find_run(identity)
    return run([options_of(folder)], deployed(settings))


def options_of(folder: Path) -> Load:
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
        for number, options in enumerate(loads, start=1):
            faults = "; ".join(fault.words() for fault in options.faults)
            ui.note(f"trial {number} of {len(loads)}, seed {options.seed}, {options.total_seconds} s: {faults}")
            trials.append(trial.make(lab, subject, options))
            ui.note(line(trials[-1]))
            if trials[-1].audit is None:
                # The lab is not back, or its nodes do not say what they did.
                break
    lost = lost_later(trials[:-1], lab)
    show(trials, lost)
    return not lost and not any(one.problems for one in trials)


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
                problems += [
                    f"seed {one.seed}: {text}" for text in audit_problems(one.model_copy(update={"audit": audit}))
                ]
            except Exception as error:
                # What the trials have seen must not be lost with it.
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


def sums(trials: Sequence[Trial]) -> tuple[int, ...]:
    """The sums over some trials, in the order of ``TITLES``."""
    return (
        len(trials),
        sum(len(one.made) for one in trials),
        sum(one.acknowledged for one in trials),
        sum(len(one.violations) for one in trials),
        sum(len(one.stranded) for one in trials),
        sum(one.unexplained for one in trials),
        sum(not one.problems for one in trials),
    )


def show(trials: Sequence[Trial], lost: Sequence[str]) -> None:
    """Print the sums, the runs, which trials failed, and what was lost after they had passed."""
    table = tables.table(*TITLES, numbers=TITLES)
    table.add_row(*(f"{count:,}" for count in sums(trials)))
    ui.console.print()
    tables.show(table)
    failed = [line(one) for one in trials if one.problems]
    failed += [f"after the last trial: {problem}" for problem in lost]
    for problem in failed:
        ui.say(f"failed: {problem}", "red")
    if not failed:
        ui.say("all trials passed", "green")
    ui.note(f"the runs: {', '.join(one.run for one in trials if one.run) or 'none'}")
