"""The verb ``reproduce``."""

from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, forced_images
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings

ADD_MAX = 100

NAME_HELP = (
    "Name of a figure in configs/figures/, or path of a figure file of your own, with its sweep in sweeps/ beside it."
)
LIST_HELP = "Show every figure: its claims, how long it takes, and its last verdicts."
ALL_HELP = "Measure every figure that can be tested here and does not have its repeats yet."
QUICK_HELP = "Run the short form of the sweep. Its repeats are judged apart from those of the whole sweep."
ADD_HELP = "Measure this many further repeats, and judge them together with those that are stored."
FROM_HELP = "Measure nothing; judge the figures of an existing run of their sweep."
BOOK_HELP = "Measure nothing; write docs/reproduction.md and results/reproduction.html from the stored repeats."


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help=NAME_HELP)] = None,
    list_figures: Annotated[bool, typer.Option("--list", help=LIST_HELP)] = False,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK_HELP)] = False,
    add: Annotated[int | None, typer.Option(min=1, max=ADD_MAX, metavar="N", help=ADD_HELP)] = None,
    from_run: Annotated[str | None, typer.Option("--from", metavar="RUN", help=FROM_HELP)] = None,
    book: Annotated[bool, typer.Option("--book", help=BOOK_HELP)] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete the existing lab and its ledger first, as `lab sweep` does.")
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Repeat a published figure, and judge every claim that was made about it.

    Runs the sweep of the figure, draws its curve beside the published one, and gives the verdict on every claim: held,
    did not hold, cannot tell, or not testable here. Each repeat becomes a small file in docs/reproduction/, so that
    repeats of several days add up. An interrupted measurement continues with the same command.

    A claim that does not hold is a result, and the exit status is 0. It is 1 if steps could not be measured.

    Example: `scripts/lab reproduce iitb-latency --quick`
    """
    from corda_lab.figures import command
    from corda_lab.figures.file import Places
    from corda_lab.lab import project
    from corda_lab.runs.running import machine_only

    asked = {"NAME": name is not None, "--list": list_figures, "--all": everything, "--from": from_run is not None}
    check({**asked, "--book": book}, quick=quick, add=add)
    settings = load_settings()
    if name is not None or everything:
        project.settle()
        settings = load_settings()
        machine_only(settings)
    wanted = command.Wanted("quick" if quick else "full", add, forced_images(images), replace)
    if list_figures:
        command.list_figures(settings)
    elif from_run is not None:
        command.from_run(from_run)
    elif book:
        command.write_book()
    elif everything:
        if not command.everything(wanted, settings):
            raise typer.Exit(1)
    elif name is not None:
        places, figure = Places.of_figure(name)
        command.one(figure, wanted, settings, places)


def check(asked: dict[str, bool], *, quick: bool, add: int | None) -> None:
    """Check that exactly one thing is asked for, with options that apply to it. Raises LabError."""
    chosen = [name for name, is_asked in asked.items() if is_asked]
    if not chosen:
        raise LabError("NAME: is missing", "For example: scripts/lab reproduce iitb-latency --quick, or --list")
    if len(chosen) > 1:
        raise LabError(f"{', '.join(chosen)}: exclude each other", "Pass only one of them.")
    if add is not None and chosen != ["NAME"]:
        raise LabError(f"--add: does not apply to {chosen[0]}", "Name the figure that needs more repeats.")
    if quick and chosen[0] not in ("NAME", "--all"):
        raise LabError(f"--quick: does not apply to {chosen[0]}", "Leave it out.")
