"""The verb ``sweep``."""

from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, forced_images
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.text import ui


def sweep(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A sweep file, or the name of one in configs/sweeps/.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan and how long it takes.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Every point once, for 20 s after 30 s: to see that it works, not for numbers."),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished sweep, or the newest of FILE.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Run nothing more: make a run and its report of an unfinished sweep.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget a lab that is there, with its ledger: every sweep starts anew.")
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Run every step of a sweep file, on a lab that is started for it, and make one report of them all.

    Each step is kept as it ends. Ctrl-C, a crash or a power cut lose the step under way and nothing else: --resume goes on.
    Status 0: every step is without errors, its counts agree and its thresholds are kept, or a search has confirmed a rate;
    1: not so.

    Example: `scripts/lab sweep configs/sweeps/smoke.yaml`
    """
    from corda_lab.sweeps import command as sweep_command

    if sum((dry_run, resume, finish)) > 1:
        raise LabError("--dry-run, --resume, --finish: only one of them can be given", "Leave the others out.")
    if quick and (resume or finish):
        raise LabError("--quick: an unfinished sweep goes on as it began", "Leave it out.")
    settings = load_settings()
    wanted = sweep_command.SweepRequest(file, forced_images(images), replace, quick)
    if dry_run:
        sweep_command.dry_run(wanted, settings)
        return
    if finish:
        outcome = sweep_command.finish(wanted)
    else:
        outcome = (sweep_command.resume if resume else sweep_command.begin)(wanted, settings)
    for problem in outcome.problems:
        ui.console.print(f"failed: {problem}", style="red", markup=False)
    if outcome.folder is not None:
        ui.console.print(f"[bold]report[/bold]       {outcome.folder / 'report.html'}")
    if outcome.problems:
        raise typer.Exit(1)
