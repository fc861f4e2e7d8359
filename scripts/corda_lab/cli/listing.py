"""The verb ``list``: finished and unfinished runs, and loads of the web UI of which no run was made yet."""

import math
from collections.abc import Sequence

from rich.table import Table

from corda_lab.analysis import listing
from corda_lab.analysis.listing import DamagedRun, RunSummary
from corda_lab.cli.options import JsonOption
from corda_lab.results import stored
from corda_lab.results.stored import UnfinishedRun
from corda_lab.runs import by_hand
from corda_lab.runs.by_hand import HandLoad
from corda_lab.text import tables, ui
from corda_lab.text.words import plural


def list_runs(as_json: JsonOption = False) -> None:
    """List the runs in results/, newest last, and the runs and sweeps that are in progress, failed or interrupted.

    A sweep shows the values of its best point; a search shows those of the rate that it confirmed. Loads that were
    started in the Locust web UI, and of which no run was made yet, come last.

    Example: `scripts/lab list`
    """
    summaries = listing.summaries()
    unfinished = stored.unfinished()
    found = by_hand.here()
    if as_json:
        loads = [load.listed(number) for number, load in enumerate(found, start=1)]
        ui.print_json([*(one.model_dump() for one in (*summaries, *unfinished)), *loads])
        return
    if not summaries and not unfinished and not found:
        ui.say("There is no run yet. Start one with `scripts/lab run iou`.")
        return
    if summaries:
        tables.show(_table_of_runs(summaries))
    if any(isinstance(one, listing.RunSummary) and not one.valid for one in summaries):
        ui.say("* no step is valid, so the values show nothing about the system")
    for run in unfinished:
        style = {"in progress": None, "failed": "red", "interrupted": "yellow"}[run.state]
        ui.say(_unfinished_words(run), "red" if run.damaged else style)
    _show_loads(found)


def _unfinished_words(run: UnfinishedRun) -> str:
    """Describe a run or a sweep without results in one line of ``lab list``."""
    # A search does not know its steps in advance.
    planned = f" of {run.steps_planned}" if run.steps_planned else ""
    steps = f", {run.steps}{planned} steps are complete" if run.kind == "sweep" else ""
    if run.state == "in progress":
        return f"in progress: {run.run}{steps}"
    if run.damaged:
        return f"{run.state}: {run.run}, cannot be read: {run.damaged}"
    if run.kind == "sweep":
        return f"{run.state}: {run.run}{steps}; continue with `scripts/lab sweep resume`"
    kept = "its rows may still be in the lab's volume" if run.rows is None else plural(run.rows, "row")
    return f"{run.state}: {run.run}, {run.why}; {kept}; see `scripts/lab report {run.run}`"


def _table_of_runs(summaries: Sequence[RunSummary | DamagedRun]) -> Table:
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


def _kind_words(summary: RunSummary) -> str:
    if summary.kind == "sweep":
        return f"sweep, {summary.steps_valid}/{summary.steps} valid"
    return "run" if summary.started == "command line" else f"run, {summary.started}"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return "none" if math.isinf(value) else f"{value:,.0f} ms"


def _load_words(summary: RunSummary) -> str:
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


def _show_loads(loads: Sequence[HandLoad]) -> None:
    """Print the loads by hand of which no run was made yet."""
    if not loads:
        return
    ui.say("Started in the Locust web UI, without a run; make one with `scripts/lab report web-ui [NUMBER]`:")
    numbers = ("number", "users", "requests")
    table = tables.table("number", "load", "started", "workload", "users", "requests", "state", numbers=numbers)
    for number, load in enumerate(loads, start=1):
        users = "–" if load.users is None else str(load.users)
        started = load.began_at.isoformat(timespec="seconds")
        values = (load.identity, started, load.workload or "not known", users, f"{load.rows:,}", load.state)
        table.add_row(str(number), *values, style="yellow" if load.state == "cut off" else None)
    tables.show(table)
