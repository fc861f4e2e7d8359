"""The verbs ``report`` and ``compare``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corda_lab.analysis.comparison import Comparison, compare_runs, parse_share
from corda_lab.analysis.metrics import COMPARED
from corda_lab.cli.options import JsonOption
from corda_lab.cli.summary import show_run
from corda_lab.errors import LabError, chosen
from corda_lab.lab import lock, project
from corda_lab.lab.settings import load_settings
from corda_lab.report import comparison, drawing, page, unfinished
from corda_lab.results import folders, stored
from corda_lab.runs import by_hand_run, execute
from corda_lab.runs.by_hand_run import Made
from corda_lab.text import tables, ui
from corda_lab.text.durations import parse_duration

WARM_UP_HELP = "Length of the warm-up, such as 15s. Default: until throughput is steady."
DURATION_HELP = "Length of the measuring window, such as 1m. Default: the rest of the load."


def report(
    run_name: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Name of a run, the beginning of a name, or latest.")
    ] = "latest",
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the main charts into this folder, as PNG and SVG.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the report and the summaries of a run from its stored files, and print the path of the report.

    For a run that failed or was interrupted, it says why, and stores its rows as a table.

    Example: `scripts/lab report latest --charts paper/charts`
    """
    try:
        folder = folders.find_run(run_name)
    except LabError:
        if (found := unfinished.find(run_name)) is None:
            raise
        if not unfinished.lacks_report(found):
            _show_unfinished(found, as_json)
            return
        folder = execute.finish(found, stored.read_manifest(found))
    path = page.render(folder)
    drawn = drawing.write(page.printed_charts(stored.read(folder)), charts) if charts else []
    if as_json:
        summary = folders.read_json(folder / "summary.json")
        ui.print_json({**summary, "report": str(path), "charts": [str(one) for one in drawn]})
        return
    ui.say(f"report: {path}")
    for one in drawn:
        ui.say(f"chart: {one}")


def _show_unfinished(folder: Path, as_json: bool) -> None:
    seen = unfinished.report(folder)
    if as_json:
        ui.print_json(asdict(seen))
        return
    for name, text in unfinished.lines(seen):
        ui.say(f"{name:<12} {text}")


def web_ui(
    load: Annotated[
        str,
        typer.Argument(metavar="[LOAD]", help="Number of the load in `lab list`, its id, or all. Default: the newest."),
    ] = "latest",
    warm_up: Annotated[str | None, typer.Option(help=WARM_UP_HELP)] = None,
    duration: Annotated[str | None, typer.Option(help=DURATION_HELP)] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run. Default: web- and that of the workload.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a run of a load that was started in the Locust web UI, with everything that `lab run` stores.

    The load must have ended, and the lab must be up. Exit status 1 if the run failed, or if none can be made.

    Example: `scripts/lab report web-ui`
    """
    wanted = by_hand_run.Wanted(
        load,
        None if warm_up is None else parse_duration(warm_up, option="--warm-up"),
        None if duration is None else parse_duration(duration, option="--duration", seconds_min=1.0),
        name,
    )
    ui.console.quiet = as_json
    project.settle()
    settings = load_settings()
    try:
        with lock.held(settings.project):
            made = by_hand_run.report(wanted, settings)
    finally:
        ui.console.quiet = False
    if as_json:
        shown = [_as_dict(one) for one in made]
        ui.print_json(shown if len(shown) > 1 else shown[0])
    else:
        for one in made:
            _show(one)
    if not all(one.step is not None and one.step.verdict.passed for one in made):
        raise typer.Exit(1)


def _show(one: Made) -> None:
    if one.step is not None:
        show_run(one.folder, one.step)
    else:
        ui.say(f"no run can be made of it; its rows are kept: `scripts/lab report {one.folder.name}`", "yellow")


def _as_dict(one: Made) -> dict[str, object]:
    if one.step is None:
        return asdict(unfinished.report(one.folder))
    return {**folders.read_object(one.folder / "summary.json"), "report": str(one.folder / "report.html")}


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
