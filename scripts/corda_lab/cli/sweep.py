"""The verb ``sweep``, and its modes ``plan``, ``resume`` and ``finish``."""

from pathlib import Path
from typing import Annotated

import typer

from corda_lab.cli.options import (
    AnywayOption,
    ImagesOption,
    PlacementOption,
    forced_images,
    refuse_beside_like,
)
from corda_lab.errors import LabError
from corda_lab.lab import project
from corda_lab.lab.settings import load_settings
from corda_lab.results import folders, stored
from corda_lab.results.sweep import QUICK_REPEATS_MIN
from corda_lab.sweeps import command
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.like import sweep_like
from corda_lab.sweeps.run import problems_of
from corda_lab.text import ui

FileArgument = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Path of a sweep file, or its name in configs/sweeps/.")
]
KeptArgument = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="The sweep file. Default: the latest unfinished sweep.")
]
QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="The short form that `quick` in the sweep file describes: fewer points or seconds, but at least "
        f"{QUICK_REPEATS_MIN} repeats.",
    ),
]
ReplaceOption = Annotated[
    bool,
    typer.Option(
        "--replace", help="Delete the existing lab and its ledger first; every sweep starts from an empty ledger."
    ),
]


def sweep(
    file: FileArgument = None,
    quick: QuickOption = False,
    replace: ReplaceOption = False,
    images: ImagesOption = None,
    placement: PlacementOption = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Repeat this sweep to the letter, from its first step. If anything has changed since, nothing runs, "
            "and the changes are listed.",
        ),
    ] = None,
    anyway: AnywayOption = False,
) -> None:
    """Run every step of a sweep file, each on a lab of the shape that it needs, and write one report.

    Every step is stored as soon as it ends. After Ctrl-C, a crash or a power cut, only the current step is lost;
    continue with `scripts/lab sweep resume`.

    With --on, each lab is a stack on several hosts. A resumed sweep goes on where it began.

    Exit status 0 if no request failed, all counts agree and every threshold is met (for a search: a rate was
    confirmed), otherwise 1.

    Example: `scripts/lab sweep configs/sweeps/smoke.yaml`

    The same again: `scripts/lab sweep --like latest`
    """
    request = SweepRequest(file, forced_images(images), replace, quick, placement=placement)
    if like is not None:
        others = {"FILE": file, "--quick": quick, "--on": placement}
        refuse_beside_like([flag for flag, value in others.items() if value])
        project.settle()
        run = stored.read(folders.find_run(like))
        if not run.is_sweep:
            raise LabError(f"--like: {run.identity} is no sweep", f"Use `scripts/lab run --like {like}`.")
        _show(sweep_like(run, request, load_settings(), anyway=anyway))
        return
    if anyway:
        raise LabError("--anyway: is only for --like", "Leave it out.")
    project.settle()
    _show(command.begin(request, load_settings()))


def plan(
    file: FileArgument = None,
    quick: QuickOption = False,
    detect: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Instead, show how many repeats it takes to see a difference this small, such as 5%.",
        ),
    ] = None,
    placement: PlacementOption = None,
) -> None:
    """Show the steps of a sweep and how long they take. Nothing runs.

    Example: `scripts/lab sweep plan smoke`
    """
    request = SweepRequest(file, quick=quick, placement=placement)
    if detect is not None:
        command.show_detection(request, detect)
    else:
        command.dry_run(request, load_settings())


def resume(file: KeptArgument = None, replace: ReplaceOption = False, images: ImagesOption = None) -> None:
    """Run the missing steps of an unfinished sweep, on the hosts on which it began.

    Example: `scripts/lab sweep resume`
    """
    project.settle()
    _show(command.resume(SweepRequest(file, forced_images(images), replace), load_settings()))


def finish(file: KeptArgument = None) -> None:
    """Store and report an unfinished sweep as it is. No more steps run.

    Example: `scripts/lab sweep finish`
    """
    _show(command.finish(SweepRequest(file)))


def _show(folder: Path) -> None:
    problems = problems_of(stored.read(folder))
    for problem in problems:
        ui.say(f"failed: {problem}", "red")
    ui.console.print(f"[bold]report[/bold]       {folder / 'report.html'}")
    if problems:
        raise typer.Exit(1)
