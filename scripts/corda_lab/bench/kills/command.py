"""``lab bench kills``: makes the trials, prints what was seen, and stores it."""

from collections.abc import Sequence
from dataclasses import replace

from corda_lab import __version__
from corda_lab.bench.file import store
from corda_lab.bench.kills import show
from corda_lab.bench.kills.measurement import KillsBench, Target
from corda_lab.bench.kills.trial import trial
from corda_lab.errors import LabError
from corda_lab.lab import environment, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.runs import preflight
from corda_lab.runs.running import RunningLab
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.plan import RunPlan
from corda_lab.text import ui


def checked(plan: RunPlan) -> RunPlan:
    """The plan of the load, if its flows can be told apart on the ledger. Raises LabError."""
    parts = plan.subject.parts
    if len(parts) != 1 or plan.subject.others or plan.workload.setup or not parts[0].changes:
        raise LabError(
            f"--workload: {plan.workload.name} has several flows or nodes, a set-up, or no states to look for",
            "Choose a workload with one flow on one node, no set-up and `state:`, such as iou.",
        )
    if any(change <= 0 for nodes in parts[0].changes.values() for change in nodes.values()):
        raise LabError(
            f"--workload: {plan.workload.name} consumes states, so its transactions cannot be counted in the vaults",
            "Choose a workload that only adds states, such as iou.",
        )
    return plan


def run(options: LoadOptions, targets: Sequence[Target], settings: Settings, *, trials: int) -> bool:
    """Make ``trials`` trials of each target in turns, and store them. Returns whether all passed. Raises LabError."""
    folders.require_writable()
    lab = RunningLab.of(settings, Compose(shape.of_running(settings)))
    with ui.phase("Checking the trials"):
        plan = checked(preflight.plan(preflight.prepare(options), lab.settings, lab.compose, lab.bridge))
        bench = KillsBench(
            id=folders.run_id("kills"),
            lab_version=__version__,
            workload=plan.workload.name,
            users=options.users,
            warm_up_seconds=options.warm_up_seconds,
            duration_seconds=options.duration_seconds,
            environment=environment.read_environment(lab.compose),
        )
    with ui.phase(f"Killing {' and '.join(targets)}, {trials} times each"):
        for number in range(trials):
            for target in targets:
                seeded = replace(options, seed=options.seed + number, name=f"kill-{target}")
                made = trial(lab, plan.subject, seeded, target)
                ui.note(show.line(made))
                bench = bench.model_copy(update={"trials": (*bench.trials, made)})
                # Stored after every trial, so that an interrupted command keeps what it has.
                path = store(bench)
    show.summary(bench)
    ui.note(f"stored in {path}")
    return not any(each.problems for each in bench.trials)
