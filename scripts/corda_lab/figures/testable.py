"""Which claims this machine and its settings can test, before anything is measured."""

from collections.abc import Sequence

from corda_lab.figures.collect import is_enterprise_image
from corda_lab.figures.file import Figure
from corda_lab.figures.forms import FULL
from corda_lab.figures.judge import ClaimVerdict, judge, lacks
from corda_lab.figures.repeat import Repeat, RepeatMachine
from corda_lab.figures.sweep import corda_versions
from corda_lab.figures.verdict import NOT_TESTABLE
from corda_lab.host import machine
from corda_lab.lab.cordapps import platform_version
from corda_lab.lab.settings import Settings
from corda_lab.sweeps.file import SweepFile


def this_machine() -> RepeatMachine:
    """Return this machine as repeats store it."""
    return RepeatMachine(cpu=machine.cpu_model(), cores=machine.cores() or 1, memory_bytes=machine.memory_total_bytes())


def is_this_machine(repeat: Repeat, here: RepeatMachine) -> bool:
    """Return whether a repeat was measured on a machine like this one. A few megabytes of memory make no difference."""
    there = repeat.machine
    return (there.cpu, there.cores, _gigabytes(there)) == (here.cpu, here.cores, _gigabytes(here))


def _gigabytes(one: RepeatMachine) -> int | None:
    return None if one.memory_bytes is None else round(one.memory_bytes / 1e9)


def expected(sweep: SweepFile, settings: Settings) -> Repeat:
    """Return what is known of a repeat before it is measured: its machine and its nodes. It has no points."""
    versions = corda_versions(sweep.fields) or [settings["CORDA_VERSION"]]
    platforms = (platform_version(version) for version in versions)
    return Repeat(
        sweep=sweep.name,
        form=FULL,
        repeat=1,
        at="",
        run="",
        lab_version="",
        commit=None,
        machine=this_machine(),
        images={},
        platform=max((version for version in platforms if version is not None), default=None),
        enterprise=is_enterprise_image(settings.recorded_image),
        sweep_digest="",
        points=[],
    )


def lacking(figure: Figure, settings: Settings) -> list[ClaimVerdict]:
    """Return the claims of a figure that cannot be tested here."""
    repeat = expected(figure.sweep, settings)
    return [
        one
        for one in judge(figure, [])
        if one.verdict == NOT_TESTABLE and (one.claim.only_published or lacks(one.claim.needs, repeat, figure))
    ]


def is_testable(figure: Figure, settings: Settings) -> bool:
    """Return whether any claim of a figure can be tested here."""
    return len(lacking(figure, settings)) < len(figure.fields.claims)


def testable(figures: Sequence[Figure], settings: Settings) -> list[Figure]:
    """Return the figures of which a claim can be tested here."""
    return [figure for figure in figures if is_testable(figure, settings)]
