"""The verb ``reproduce``, and its modes ``list``, ``judge`` and ``book``."""

from typing import Annotated

import typer

from corda_lab.errors import LabError
from corda_lab.figures import command
from corda_lab.figures.figure import Places
from corda_lab.lab import project
from corda_lab.lab.settings import load_settings
from corda_lab.runs.running import machine_only

ADD_MAX = 100
ALL = "all"
"""In place of a figure: every figure that can be tested here and does not have its repeats yet."""

FIGURE_HELP = (
    "Name of a figure in configs/figures/, or path of a figure file of your own, with its sweep in sweeps/ beside it. "
    "all: every figure that can be tested here and does not have its repeats yet."
)
QUICK_HELP = "Run the short form of the sweep. Its repeats are judged apart from those of the whole sweep."
ADD_HELP = "Measure this many further repeats, and judge them together with those that are stored. Not with all."


def reproduce(
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help=FIGURE_HELP)] = None,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK_HELP)] = False,
    add: Annotated[int | None, typer.Option(min=1, max=ADD_MAX, metavar="N", help=ADD_HELP)] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete the existing lab and its ledger first, as `lab sweep` does.")
    ] = False,
) -> None:
    """Repeat a published figure, and judge every claim that was made about it.

    Runs the sweep of the figure, draws its curve beside the published one, and gives the verdict on every claim: held,
    did not hold, cannot tell, or not testable here. Each repeat becomes a small file in docs/reproduction/, so that
    repeats of several days add up. An interrupted measurement continues with the same command.

    A claim that does not hold is a result, and the exit status is 0. It is 1 if steps could not be measured.

    Example: `scripts/lab reproduce iitb-latency --quick`
    """
    if figure is None:
        raise LabError(
            "FIGURE: is missing",
            "For example: `scripts/lab reproduce iitb-latency --quick`. `scripts/lab reproduce list` shows all.",
        )
    if figure == ALL and add is not None:
        raise LabError(f"--add: does not apply to {ALL}", "Name the figure that needs more repeats.")
    project.settle()
    settings = load_settings()
    machine_only(settings)
    options = command.Options("quick" if quick else "full", add, replace=replace)
    if figure == ALL:
        if not command.everything(options, settings):
            raise typer.Exit(1)
        return
    places, name = Places.of_figure(figure)
    command.one(name, options, settings, places)


def list_figures() -> None:
    """Show every figure: its claims, how long it takes, and its last verdicts.

    Example: `scripts/lab reproduce list`
    """
    command.list_figures(load_settings())


def judge(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, the beginning of a name, or latest.")],
) -> None:
    """Judge the figures of an existing run of their sweep. Nothing is measured.

    Example: `scripts/lab reproduce judge latest`
    """
    command.from_run(run_name)


def book() -> None:
    """Write docs/reproduction.md and the page of every figure from the stored repeats. Nothing is measured.

    Example: `scripts/lab reproduce book`
    """
    command.write_book()
