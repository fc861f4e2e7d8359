"""The commands that read stored runs: ``report``, ``compare``, ``list``."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from corda_lab.cli import by_hand
from corda_lab.cli.options import JsonOption, MetricName
from corda_lab.errors import LabError
from corda_lab.results import folders as results
from corda_lab.text import tables, ui
from corda_lab.text.words import plural

if TYPE_CHECKING:
    from corda_lab.analysis.comparison import Comparison
    from corda_lab.analysis.listing import DamagedRun, RunSummary
    from corda_lab.results.evidence import UnfinishedRun
    from corda_lab.results.folders import UnfinishedSweep


def report(
    run_name: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Name of a run, the beginning of a name, or latest.")
    ] = "latest",
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the main charts into this folder, as PNG and SVG.")
    ] = None,
    web_ui: by_hand.WebUiOption = False,
    warm_up: by_hand.WarmUpOption = None,
    duration: by_hand.DurationOption = None,
    name: by_hand.NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the report and the summaries of a run from its stored files, and print the path of the report.

    For a run that failed or was interrupted, it says why, and stores its rows as a table.

    With --web-ui, it makes a run of a load that was started in the Locust web UI, with everything that `lab run`
    stores. Its load must have ended, and the lab must be up.

    Example: `scripts/lab report latest --charts paper/charts`

    A load of the web UI: `scripts/lab report --web-ui`
    """
    from corda_lab.report import page, print_charts, unfinished
    from corda_lab.results import stored

    if web_ui:
        if charts is not None:
            raise LabError(
                "--charts: is not for loads of the web UI",
                "Make a run of the load first, then draw its charts: `scripts/lab report latest --charts DIR`.",
            )
        by_hand.report(run_name, warm_up=warm_up, duration=duration, name=name, as_json=as_json)
        return
    by_hand.require_none(warm_up=warm_up, duration=duration, name=name)
    try:
        folder = results.find_run(run_name)
    except LabError:
        if (found := unfinished.find(run_name)) is None:
            raise
        _show_unfinished(found, as_json)
        return
    path = page.render(folder)
    drawn = print_charts.write(stored.read(folder), charts) if charts else []
    if as_json:
        summary = results.read_json(folder / "summary.json")
        print(json.dumps({**summary, "report": str(path), "charts": [str(one) for one in drawn]}, indent=2))
        return
    ui.console.print(f"report: {path}", markup=False)
    for one in drawn:
        ui.console.print(f"chart: {one}", markup=False)


def _show_unfinished(folder: Path, as_json: bool) -> None:
    from corda_lab.report import unfinished

    seen = unfinished.report(folder)
    if as_json:
        print(json.dumps(seen.as_dict(), indent=2))
        return
    for name, text in unfinished.lines(seen):
        ui.console.print(f"{name:<12} {text}", markup=False)


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
    metric: Annotated[MetricName, typer.Option(help="The metric that is judged.")] = MetricName.THROUGHPUT,
    as_json: JsonOption = False,
) -> None:
    """Compare runs point by point: first their environments, then the ratios of their values, with intervals.

    Writes a page, Markdown and JSON to results/comparisons/. A point with a single measurement has no interval, so no
    difference is shown there. For searches, the confirmed rates are compared.

    Example: `scripts/lab compare 20260102T030405Z-before latest --threshold 5%`
    """
    from corda_lab.analysis.comparison import compare_runs, parse_share
    from corda_lab.report import comparison

    if len(run_names) < 2:
        raise LabError("CONTENDER: is missing; two runs are needed", "`scripts/lab list` shows all runs.")
    limit = None if threshold is None else parse_share(threshold, option="--threshold")
    folders = [results.find_run(name) for name in run_names]
    found = compare_runs(folders, metric=metric.value, threshold=limit)
    folder = comparison.write(found)
    if as_json:
        print(json.dumps({**comparison.as_dict(found), "folder": str(folder)}, indent=2))
    else:
        _show_comparison(found, folder)
    if found.regressions:
        raise typer.Exit(1)


def _show_comparison(found: "Comparison", folder: Path) -> None:
    from corda_lab.report import comparison

    for one in found.others:
        ui.console.print(f"baseline {one.first.identity}, contender {one.second.identity}", style="bold", markup=False)
        ui.console.print(
            comparison.environment_headline(one), style="yellow" if one.environment_differences else None, markup=False
        )
        for entry in one.environment_differences:
            ui.console.print(f"  {entry.kind} {entry.name}: {entry.first} → {entry.second}", markup=False)
        ui.console.print()
        table = tables.table("point", "baseline", "contender", "ratio", "verdict")
        for cells in comparison.shown_rows(one, found.metric):
            style = {"slower": "red", "faster": "green"}.get(cells["verdict"])
            table.add_row(*(cells[name] for name in ("label", "first", "second", "ratio", "verdict")), style=style)
        tables.show(table)
        for label in one.alone:
            ui.console.print(f"not compared: {label}", markup=False)
        ui.console.print(comparison.headline(one, found.metric), markup=False)
        ui.console.print()
    if found.threshold is not None:
        style = {"bad": "red", "warning": "yellow", "good": "green"}[found.state]
        ui.console.print(comparison.threshold_words(found), style=style, markup=False)
    ui.console.print(f"comparison: {folder / 'compare.html'}", markup=False)


def list_runs(as_json: JsonOption = False) -> None:
    """List the runs in results/, newest last, and the runs and sweeps that are in progress, failed or interrupted.

    A sweep shows the values of its best point; a search shows those of the rate that it confirmed. Loads that were
    started in the Locust web UI, and of which no run was made yet, come last.

    Example: `scripts/lab list`
    """
    from corda_lab.analysis import listing
    from corda_lab.results import evidence
    from corda_lab.runs import by_hand as hand_loads

    summaries = listing.summaries()
    runs, sweeps = evidence.unfinished_runs(), results.unfinished()
    found = hand_loads.here()
    if as_json:
        loads = [load.listed(number) for number, load in enumerate(found.loads, start=1)]
        print(json.dumps([one.model_dump() for one in (*summaries, *runs, *sweeps, *loads)], indent=2))
        return
    if not summaries and not runs and not sweeps and not found.loads:
        ui.console.print("There is no run yet. Start one with `scripts/lab run iou`.", markup=False)
        return
    if summaries:
        tables.show(_table_of_runs(summaries))
    if any(isinstance(one, listing.RunSummary) and not one.valid for one in summaries):
        ui.console.print("* no step is valid, so the values show nothing about the system", markup=False)
    for run in runs:
        style = {"in progress": None, "failed": "red", "interrupted": "yellow"}[run.state]
        ui.console.print(_unfinished_words(run), style=style, markup=False)
    _show_unfinished_sweeps(sweeps)
    by_hand.show_loads(found)


def _show_unfinished_sweeps(sweeps: "Sequence[UnfinishedSweep]") -> None:
    for sweep in sweeps:
        if sweep.state == "in progress":
            ui.console.print(f"in progress: {sweep.run}, {sweep.steps} steps are complete", markup=False)
            continue
        if sweep.damaged:
            ui.console.print(f"unfinished: {sweep.run}, cannot be resumed: {sweep.damaged}", style="red", markup=False)
            continue
        # A search does not know its steps in advance.
        planned = f" of {sweep.steps_planned}" if sweep.steps_planned else ""
        ui.console.print(
            f"unfinished: {sweep.run}, {sweep.steps}{planned} steps; continue with `scripts/lab sweep --resume`",
            style="yellow",
            markup=False,
        )


def _unfinished_words(run: "UnfinishedRun") -> str:
    """Describe a run without results in one line of ``lab list``."""
    if run.state == "in progress":
        return f"in progress: {run.run}"
    kept = "its rows may still be in the lab's volume" if run.rows is None else plural(run.rows, "row")
    return f"{run.state}: {run.run}, {run.damaged or run.reason}; {kept}; see `scripts/lab report {run.run}`"


def _table_of_runs(summaries: "Sequence[RunSummary | DamagedRun]") -> Table:
    from corda_lab.analysis.listing import DamagedRun

    numbers = ("flows/s", "p50", "p99", "failed")
    table = tables.table("run", "kind", "load", *numbers, "counts", numbers=numbers)
    for summary in summaries:
        if isinstance(summary, DamagedRun):
            table.add_row(summary.run, "cannot be read", summary.damaged, style="red")
            continue
        mark = "" if summary.valid else "*"
        rate = summary.throughput_per_second
        table.add_row(
            summary.run,
            _kind_words(summary),
            _load_words(summary),
            "–" if rate is None else f"{rate:.2f}{mark}",
            *(f"{_ms(value)}{mark if value is not None else ''}" for value in (summary.p50_ms, summary.p99_ms)),
            str(summary.failed + summary.unknown),
            "differ" if not summary.counts_agree else "agree" if summary.counts_known else "not known",
        )
    return table


def _kind_words(summary: "RunSummary") -> str:
    if summary.kind == "sweep":
        return f"sweep, {summary.steps_valid}/{summary.steps} valid"
    return "run" if summary.started == "command line" else f"run, {summary.started}"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return "none" if math.isinf(value) else f"{value:,.0f} ms"


def _load_words(summary: "RunSummary") -> str:
    """The load to which the values in a line of ``lab list`` belong."""
    if rates := summary.rates_confirmed_per_second:
        return "highest: " + ", ".join("none" if rate is None else f"{rate:g}/s" for rate in rates.values())
    if summary.kind == "sweep":
        return f"best: {summary.label}" if summary.label else "no valid step"
    if summary.arrivals is None:
        return plural(summary.users, "user")
    if summary.rate_per_second is None:
        return f"{summary.arrivals} of {summary.users}"
    return f"{summary.rate_per_second:g}/s {summary.arrivals}"
