"""``lab chaos``: makes the trials, prints what was seen, and stores it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from corda_lab import __version__
from corda_lab.bench.file import store
from corda_lab.bench.kills.command import checked
from corda_lab.chaos import show
from corda_lab.chaos.measurement import CHAOS, KIND, ChaosFile
from corda_lab.chaos.trial import trial, verdict_of_all
from corda_lab.chaos.verdict import LedgerAuditor
from corda_lab.errors import LabError
from corda_lab.faults import inject
from corda_lab.lab import environment, shape
from corda_lab.lab.deployed import hosts_of
from corda_lab.lab.settings import Settings
from corda_lab.results import evidence, folders
from corda_lab.results import faults as stored_faults
from corda_lab.results.evidence import LoadFile
from corda_lab.results.manifest import Manifest
from corda_lab.runs import preflight
from corda_lab.runs.running import RunningLab
from corda_lab.steps.fault_schedule import Choice, choices, drawn, load_seconds
from corda_lab.steps.faults import KINDS, FaultKind, known_targets, links_of
from corda_lab.steps.load import SEED_LIMIT, LoadOptions
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.names import canonical, did_you_mean, names_in

WARM_UP_SECONDS = 2.0
NAME = "chaos"
NO_IDS = (
    "Corda before 4.6 keeps no client ids, so nobody can say what became of a flow whose answer was lost. The "
    "criterion there: every acknowledged flow is on the ledger, and at most one transaction more for each that was not."
)


@dataclass(frozen=True)
class Asked:
    """What a campaign was asked for. Empty kinds and targets stand for all that the lab can have."""

    trials: int
    faults: int
    kinds: str = ""
    targets: str = ""


def read_kinds(text: str) -> tuple[FaultKind, ...]:
    """The kinds in ``kill,pause``; all if it is empty. Raises LabError."""
    names = names_in(text)
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        hint = did_you_mean(unknown[0], KINDS)
        raise LabError(f"--kinds: there is no fault {unknown[0]!r}{hint}", f"Choose from {', '.join(KINDS)}.")
    return tuple(kind for kind in KINDS if kind in names) or KINDS


def choices_of(settings: Settings, asked: Asked) -> list[Choice]:
    """The faults that a campaign may draw on a lab. Raises LabError if a name is unknown, or if there are none."""
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


def with_faults(options: LoadOptions, seed: int, count: int, among: Sequence[Choice]) -> LoadOptions:
    """A load with the faults that a seed draws, long enough to recover from them."""
    faults = drawn(seed, count, among)
    seconds = load_seconds(faults)
    duration = seconds - WARM_UP_SECONDS
    return replace(
        options, seed=seed, name=NAME, warm_up_seconds=WARM_UP_SECONDS, duration_seconds=duration, faults=faults
    )


def campaign(options: LoadOptions, asked: Asked, settings: Settings) -> bool:
    """Make the trials of a campaign, each with a seed of its own, and store them. Returns whether all passed.

    ``options`` has the workload, the users and the first seed. Raises LabError.
    """
    settings = shape.of_running(settings)
    if options.seed + asked.trials > SEED_LIMIT:
        raise LabError(f"--seed: {options.seed} leaves no room for {asked.trials} seeds", "Use a smaller one.")
    among = choices_of(settings, asked)
    loads = [with_faults(options, options.seed + number, asked.faults, among) for number in range(asked.trials)]
    return run(loads, settings)


def replay(run_name: str, settings: Settings) -> bool:
    """Make one trial with the load and the faults of a run. Returns whether it passed. Raises LabError."""
    return run([options_of(find(run_name))], shape.of_running(settings))


def find(run_name: str) -> Path:
    """The folder of a run, or of the evidence of one without results. Raises LabError."""
    unfinished = evidence.find(run_name)
    return unfinished if unfinished is not None else folders.find_run(run_name)


def options_of(folder: Path) -> LoadOptions:
    """The load of a run with faults. Raises LabError if it has none, or is a sweep."""
    stored_faults.read(folder)
    if (folder / evidence.LOAD).is_file():
        given = folders.read_model(folder / evidence.LOAD, LoadFile).options
        try:
            return TypeAdapter(LoadOptions).validate_python(given)
        except ValidationError as error:
            raise LabError(f"{folder / evidence.LOAD}: {error.errors()[0]['msg']}", "Choose another run.") from None
    load = folders.read_model(folder / "run.json", Manifest).load
    if load is None:
        raise LabError(
            f"--replay: {folder.name} is a sweep, whose faults are in its file",
            f"Use `scripts/lab rerun {folder.name}`.",
        )
    return load


def run(loads: Sequence[LoadOptions], settings: Settings) -> bool:
    """Make a trial of each load, and store them in one file. Returns whether all passed. Raises LabError.

    After every trial, all of them are audited together too, so that an interrupted command has that verdict.
    """
    folders.require_writable()
    lab = RunningLab.of(settings)
    inject.heal_left(lab.compose.project)
    with ui.phase("Checking the trials"):
        for load in loads:
            inject.check(load.faults, lab.settings, hosts_of(lab.compose))
        plan = preflight.plan(preflight.prepare(loads[0]), lab.settings, lab.compose, lab.bridge)
        nodes = lab.bridge.nodes()
        if not all(nodes[node].keeps_client_ids for node in plan.subject.nodes):
            checked(plan)
            ui.warn(NO_IDS)
        file = ChaosFile(
            id=folders.run_id(KIND),
            lab_version=__version__,
            workload=plan.workload.name,
            users=loads[0].users,
            pacing_seconds=loads[0].pacing_seconds,
            cuts_both_ways=True,
            environment=environment.read_environment(lab.compose),
        )
    auditor = LedgerAuditor()
    with ui.phase(f"{plural(len(loads), 'trial')} of some {sum(load.total_seconds for load in loads) / 60:.0f} min"):
        for number, load in enumerate(loads, start=1):
            # In one line, which the suite repeats every minute while the trial runs.
            faults = "; ".join(fault.words() for fault in load.faults)
            ui.note(f"trial {number} of {len(loads)}, seed {load.seed}, {load.total_seconds} s: {faults}")
            made = trial(lab, plan.subject, load, auditor)
            ui.note(show.line(made))
            file = file.model_copy(update={"trials": (*file.trials, made)})
            # Stored after every trial, so that an interrupted command keeps what it has.
            path = store(file, CHAOS)
            if made.audit is None:
                if number < len(loads):
                    ui.warn("The trial was not audited, and later audits would not know its flows: no more are made")
                break
            file = file.model_copy(update={"audit": verdict_of_all(auditor, lab, file.trials)})
            path = store(file, CHAOS)
            ui.note(show.together(file))
    show.summary(file)
    ui.note(f"stored in {path}")
    return file.has_passed
