"""``lab bench overhead``: switches parts of the lab on and off in turn, prints what it cost, and stores it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from corda_lab import __version__
from corda_lab.bench.file import store
from corda_lab.bench.overhead import show
from corda_lab.bench.overhead.measure import measure
from corda_lab.bench.overhead.measurement import (
    MEASUREMENTS_PER_BLOCK,
    SUBJECT_NAMES,
    SUBJECTS,
    OverheadBench,
    OverheadMeasurement,
    State,
    Switchable,
)
from corda_lab.bench.overhead.switches import Switches
from corda_lab.bench.warm import warmed
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
from corda_lab.text.words import listed, plural

CHECK_BLOCK = 0
"""Number of the load before the first block. It proves that every part is on, and is not stored."""
BETWEEN_SECONDS = 18
"""Estimated time between two windows apart from the warm-up, for the announcement: containers start, flows end, the
lab comes to rest."""


def run(options: LoadOptions, settings: Settings, *, blocks: int, subjects: Sequence[Switchable]) -> Path:
    """Measure every subject in blocks of on-off-off-on. Returns the stored file. Raises LabError.

    The file is stored after every measurement, so an interrupted bench keeps what it has.
    """
    lab = RunningLab.of(settings, Compose(shape.of_running(settings)))
    with ui.phase("Checking the benchmark"):
        plan = preflight.plan(preflight.prepare(options), lab.settings, lab.compose, lab.bridge)
        switches = Switches(lab.compose, lab.prometheus, lab.bridge.nodes())
        bench = described(plan, lab.settings, blocks, subjects)
        path = store(bench)
    ui.note(announcement(bench))
    bench = warmed(bench, options, plan.subject, lab)
    with switches.guarded():
        with ui.phase("Checking that everything is on"):
            # The last subject is everything together, if that was asked for.
            first = OverheadMeasurement(subject=subjects[-1], state="on", block=CHECK_BLOCK, place=1)
            problem = measure(lab, plan, switches, first).problem
            if problem:
                raise LabError(f"The load before the first block failed: {problem}", exit_code=1)
        for block in range(1, blocks + 1):
            with ui.phase(f"Block {block} of {blocks}"):
                for begun in measurements_of(block, subjects):
                    measured = measure(lab, plan, switches, begun)
                    show.progress(measured)
                    bench = bench.model_copy(update={"measurements": (*bench.measurements, measured)})
                    store(bench)
    show.results(bench)
    ui.note(f"stored in {path}")
    return path


def read_subjects(text: str | None) -> tuple[Switchable, ...]:
    """Read the option ``--only``: ``recording,stages``. Without it, all subjects. Raises LabError."""
    if text is None:
        return SUBJECTS
    words = [word.strip() for word in text.split(",")]
    if not set(words) <= set(SUBJECTS):
        raise LabError(
            f"--only: {text!r} is not a list of what can be switched",
            f"Use {listed(list(SUBJECTS))}, separated by commas.",
        )
    return tuple(subject for subject in SUBJECTS if subject in words)


def order_of(block: int) -> tuple[State, ...]:
    """Return the states of a block: on-off-off-on. Every second block is mirrored.

    Within a block, both states have the same mean place, so a steady drift of the machine cancels out. Mirrored blocks
    also cancel a drift that becomes slower, as that of a JVM that is still compiling.
    """
    return ("on", "off", "off", "on") if block % 2 else ("off", "on", "on", "off")


def measurements_of(block: int, subjects: Sequence[Switchable]) -> Iterator[OverheadMeasurement]:
    """Return the measurements of a block without their values. Each subject is first in turn."""
    first = (block - 1) % len(subjects)
    for subject in (*subjects[first:], *subjects[:first]):
        for place, state in enumerate(order_of(block), start=1):
            yield OverheadMeasurement(subject=subject, state=state, block=block, place=place)


def described(plan: RunPlan, settings: Settings, blocks: int, subjects: Sequence[Switchable]) -> OverheadBench:
    """Return the file without measurements."""
    return OverheadBench(
        id=folders.run_id("overhead"),
        lab_version=__version__,
        environment=environment.read_environment(Compose(settings)),
        workload=plan.workload.name,
        node=plan.subject.node,
        users=plan.options.users,
        seed=plan.options.seed,
        subjects=tuple(subjects),
        blocks=blocks,
        warm_up_seconds=plan.options.warm_up_seconds,
        duration_seconds=plan.options.duration_seconds,
    )


def announcement(bench: OverheadBench) -> str:
    """Describe the bench in one line."""
    count = bench.blocks * len(bench.subjects) * MEASUREMENTS_PER_BLOCK
    minutes = count * (bench.warm_up_seconds + bench.duration_seconds + BETWEEN_SECONDS) / 60
    names = listed([SUBJECT_NAMES[subject] for subject in bench.subjects])
    return (
        f"{bench.workload}: {names} on and off at {bench.users} in flight, "
        f"{plural(bench.blocks, 'block')}, about {minutes:.0f} minutes"
    )
