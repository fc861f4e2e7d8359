"""The waterfalls in the report of a run: of the slowest, the median and a failed request, and a page of any."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from corda_lab.report import palette, rendering, waterfall
from corda_lab.results.stored import StoredRun
from corda_lab.steps import waterfall as steps_waterfall
from corda_lab.steps.chosen_requests import Chosen, chosen, find
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import Window
from corda_lab.steps.waterfall import Row, Waterfall, number
from corda_lab.text.words import plural

SEVERAL_CLOCKS = "The actors ran on several hosts: compare only spans of one host, because the clocks may differ."


def of_requests(run: StoredRun, stages: pl.DataFrame | None, rows: Sequence[Row], step: int) -> list[Waterfall]:
    """The waterfalls of requests of one step. ``stages`` are the stage rows of the run."""
    own = None if stages is None else stages.filter(pl.col("step") == step)
    requested_at = run.notary_requests(step)
    found = [steps_waterfall.of_request(row, own, requested_at) for row in rows]
    is_placed = any(run.environment(one).placement for one in run.steps if one.index == step)
    return [replace(one, notes=(*one.notes, SEVERAL_CLOCKS)) for one in found] if is_placed else found


def by_identity(run: StoredRun, identity: str) -> Waterfall:
    """The waterfall of the request with a flow id, client id or transaction id. Raises LabError."""
    stages = run.stage_rows()
    row = find(identity, run.table("requests"), stages)
    return of_requests(run, stages, [row], int(number(row, "step") or 1))[0]


def view(found: Waterfall, title: str) -> dict[str, object]:
    headline = waterfall.headline(found)
    return {
        "title": title,
        "headline": headline,
        "largest": waterfall.largest_words(found),
        "identity": waterfall.identity(found),
        "svg": waterfall.svg(found, f"{title}: {headline}"),
        "spans": found.spans,
        "notes": found.notes,
    }


def title_of(one: Chosen) -> str:
    if one.choice == "failed":
        return "A failed request" if one.of == 1 else f"A failed request, of {one.of:,}"
    return f"The {one.choice} of {plural(one.of, 'request')}"


def of_run(run: StoredRun, step: StepEntry) -> list[dict[str, object]]:
    window = Window(step.window.started_at, step.window.ended_at)
    rows = run.table("requests")
    found = chosen(rows, window, step.judged_latency_column, step.load.flows_after)
    waterfalls = of_requests(run, run.stage_rows(), [one.row for one in found], step.index)
    return [view(each, title_of(one)) for each, one in zip(waterfalls, found, strict=True)]


def page(found: Waterfall, title: str, run: str) -> str:
    return rendering.template("flow.html").render(
        run=run,
        view=view(found, title),
        error=found.error or "",
        clock=waterfall.CLOCK,
        style=palette.css_of_system() + rendering.text_of("report.css"),
    )
