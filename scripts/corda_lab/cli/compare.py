"""The verb ``compare``."""

from pathlib import Path
from typing import Annotated

import typer

from corda_lab.analysis.comparison import Comparison, compare_runs, parse_share
from corda_lab.analysis.metrics import COMPARED
from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError, chosen
from corda_lab.report import comparison
from corda_lab.results import folders
from corda_lab.text import tables, ui


def compare(
    run_names: Annotated[
        list[str],
        typer.Argument(
            metavar="BASELINE CONTENDER...",
            help="Names of runs or sweeps. Every contender is compared with the baseline.",
        ),
    ],
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Exit with status 1 if a point is missing, or is shown to be worse by more than this, such as 5%."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help=f"The metric that is judged: {', '.join(COMPARED)}.")] = COMPARED[0],
    as_json: JsonOption = False,
) -> None:
    """Compare runs point by point: first their environments, then the ratios of their values, with intervals.

    Writes a page, Markdown and JSON to results/comparisons/. A point with a single measurement has no interval, so no
    difference is shown there. For searches, the confirmed rates are compared.

    Example: `scripts/lab compare 20260102T030405Z-before latest --threshold 5%`
    """
    if len(run_names) < 2:
        raise LabError("CONTENDER: is missing; two runs are needed", "`scripts/lab list` shows all runs.")
    metric = chosen("--metric: unknown metric", metric, COMPARED)
    limit = None if threshold is None else parse_share(threshold, option="--threshold")
    compared = compare_runs([folders.find_run(name) for name in run_names], metric=metric, threshold=limit)
    folder = comparison.write(compared)
    if as_json:
        ui.print_json({**comparison.as_dict(compared), "folder": str(folder)})
    else:
        _show_comparison(compared, folder)
    if compared.regressions:
        raise typer.Exit(1)


def _show_comparison(compared: Comparison, folder: Path) -> None:
    for other in compared.others:
        ui.say(f"baseline {other.first.identity}, contender {other.second.identity}", "bold")
        ui.say(comparison.environment_headline(other), "yellow" if other.environment_differences else None)
        for difference in other.environment_differences:
            ui.say(f"  {difference.kind} {difference.name}: {difference.first} → {difference.second}")
        ui.console.print()
        table = tables.table(*comparison.TITLES)
        for cells in comparison.rows_of(other, compared.metric):
            table.add_row(*cells, style={"slower": "red", "faster": "green"}.get(cells[-1]))
        tables.show(table)
        for label in other.alone:
            ui.say(f"not compared: {label}")
        ui.say(comparison.headline(other, compared.metric))
        ui.console.print()
    if compared.threshold is not None:
        style = {"bad": "red", "warning": "yellow", "good": "green"}[compared.state]
        ui.say(compared.threshold_words, style)
    ui.say(f"comparison: {folder / 'compare.html'}")
