"""The verb ``sweep``."""

from typing import TYPE_CHECKING, Annotated

import typer

from corda_lab.cli.options import ImagesOption, OnOption, forced_images
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.sweeps.schema import QUICK_REPEATS_MIN
from corda_lab.text import ui

if TYPE_CHECKING:
    from corda_lab.sweeps.execute import SweepResult

DETECT_HELP = "Run nothing; show how many repeats it takes to see a difference this small, such as 5%."
QUICK_HELP = (
    "Run the short form that `quick` in the sweep file describes: fewer points or seconds, but at least "
    f"{QUICK_REPEATS_MIN} repeats."
)


def sweep(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Path of a sweep file, or its name in configs/sweeps/.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its duration; run nothing.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK_HELP)] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the latest unfinished sweep, or the latest one of FILE.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Run no more steps; store and report an unfinished sweep as it is.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Delete the existing lab and its ledger first; every sweep starts from an empty ledger.",
        ),
    ] = False,
    detect: Annotated[str | None, typer.Option(metavar="PERCENT", help=DETECT_HELP)] = None,
    images: ImagesOption = None,
    on: OnOption = None,
) -> None:
    """Run every step of a sweep file, each on a lab of the shape that it needs, and write one report.

    Every step is stored as soon as it ends. After Ctrl-C, a crash or a power cut, only the current step is lost;
    continue with --resume.

    With --on, each lab is a stack on the hosts of the placement. A resumed sweep goes on where it began.

    Exit status 0 if no request failed, all counts agree and every threshold is met (for a search: a rate was
    confirmed), otherwise 1.

    Example: `scripts/lab sweep configs/sweeps/smoke.yaml`
    """
    from corda_lab.lab import project
    from corda_lab.sweeps import command as sweep_command

    require_one(dry_run, resume, finish, detect is not None)
    if quick and (resume or finish):
        raise LabError("--quick: cannot be changed for an unfinished sweep", "Leave it out.")
    if not (dry_run or finish or detect):
        project.settle()
    settings = load_settings()
    wanted = sweep_command.SweepRequest(file, forced_images(images), replace, quick, placement=on)
    if detect is not None:
        sweep_command.show_detection(wanted, detect)
        return
    if dry_run:
        sweep_command.dry_run(wanted, settings)
        return
    if finish:
        outcome = sweep_command.finish(wanted)
    else:
        outcome = (sweep_command.resume if resume else sweep_command.begin)(wanted, settings)
    show(outcome)


def require_one(*given: bool) -> None:
    """Raise LabError if more than one of the options is given that say what else to do than to begin a sweep."""
    if sum(given) > 1:
        raise LabError(
            "--dry-run, --resume, --finish, --detect: these options exclude each other", "Pass only one of them."
        )


def show(outcome: "SweepResult") -> None:
    """Print why a sweep failed, and where its report is. Raises typer.Exit if it failed."""
    for problem in outcome.problems:
        ui.console.print(f"failed: {problem}", style="red", markup=False)
    if outcome.folder is not None:
        ui.console.print(f"[bold]report[/bold]       {outcome.folder / 'report.html'}")
    if outcome.problems:
        raise typer.Exit(1)
