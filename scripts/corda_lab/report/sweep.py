"""The content of the report of a sweep: conclusions, curves, the whole run over time, and every step."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from corda_lab.analysis import conclusions, notes, saturation, values, wording
from corda_lab.analysis.conclusions import Conclusion
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Point, holds, known_metrics, points, searched
from corda_lab.analysis.significance import MetricComparisons
from corda_lab.faults import effects
from corda_lab.knobs import labels
from corda_lab.report import charts_over_time, charts_sweep, commands, ledgers, tables
from corda_lab.report.chart import Chart
from corda_lab.report.facts import (
    NOTE_TITLES,
    conditioning_facts,
    ends,
    environment_facts,
    load_facts,
    more_files,
    plan_facts,
)
from corda_lab.report.run import failed_tile, tile
from corda_lab.results import node_logs
from corda_lab.results.manifest import Environment, MeasuredLink
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep_parts import NO_CONDITION
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.parameters import STEP
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, grouped_errors
from corda_lab.text.words import (
    STAGE_MEANINGS,
    count_words,
    length,
    milliseconds,
    per_second,
    percent,
    plural,
)

METRIC_NAMES = tuple(dict.fromkeys([*(panel.series for panel in charts_over_time.PANELS), *saturation.SERIES]))


def tiles(run: StoredRun, conclusion: Conclusion) -> list[dict[str, str]]:
    valid = sum(step.validity.valid for step in run.steps)
    count = len(run.steps)
    # What failed in a step that broke is its result.
    passed = [step for step in run.steps if step.outcome == "passed"]
    agree = sum(step.counts.agree for step in passed)
    failed = sum(step.requests.failed for step in passed)
    unknown = sum(step.requests.unknown for step in passed)
    total = sum(step.requests.total for step in passed)
    broke = count - len(passed)

    not_in_means = "invalid steps are in no mean" + (f"; {broke} broke, which is a result" if broke else "")
    return [
        *(tile(*words) for words in top_tiles(conclusion.judged)),
        tile("valid steps", f"{valid} / {count}", "", not_in_means, "good" if valid == count else "warning"),
        failed_tile(failed, unknown, total),
        tile(
            "four counts",
            f"{agree} / {len(passed)}",
            "agree",
            "steps without lost flows",
            "good" if agree == len(passed) else "bad",
        ),
    ]


def top_tiles(judged: MetricComparisons) -> list[tuple[str, str, str, str]]:
    """The values of the best points, as (name, value, unit, detail). A single best point has all its metrics."""

    def words(name: str, top: Point, metric: str, detail: str) -> tuple[str, str, str, str]:
        return name, *values.with_unit(top.estimate(metric).value, metric), detail

    metric = judged.metric
    name = {"ms": f"lowest {metric}"}.get(METRICS[metric].unit, f"highest {METRICS[metric].title}")
    found = []
    for top in judged.tops:
        is_search = top.phase == "confirm"
        detail = f"{top.label}: {interval_words(top, metric)}"
        found.append(words("confirmed throughput" if is_search else name, top, metric, detail))
    if len(judged.tops) == 1:
        (top,) = judged.tops
        others = [other for other in known_metrics(judged.tops) if other != metric]
        found += [
            words(f"{METRICS[other].title}, same point", top, other, interval_words(top, other)) for other in others
        ]
    return found


def interval_words(point: Point, metric: str) -> str:
    """``12.0 to 12.6``, or why there is no interval."""
    found = point.estimate(metric)
    if found.low is None or found.high is None:
        return "one valid step, no interval" if found.n else values.without_value(point)
    return values.interval_words(found, metric)


def point_rows(all_points: Sequence[Point], conclusion: Conclusion) -> list[dict[str, Any]]:
    metrics = known_metrics(all_points)
    return [
        {
            "label": point.label,
            "phase": point.phase,
            "is_best": conclusion.is_top(point),
            "values": [
                {
                    "value": values.bare(point.estimate(name).value, name),
                    "interval": interval_words(point, name),
                    "steady": values.steady_words(point, name),
                }
                for name in metrics
            ],
            "valid": len(point.valid),
            "broke": len(point.broken),
            "total": len(point.steps),
            "unsteady": len(point.valid) - len(point.steady),
            "failed": sum(step.requests.failed for step in point.steps if step.outcome == "passed"),
            "unknown": sum(step.requests.unknown for step in point.steps if step.outcome == "passed"),
            "steps": [step.index for step in point.steps],
            "holds": holds(point),
        }
        for point in all_points
    ]


def use_rows(all_points: Sequence[Point], conclusion: Conclusion) -> list[dict[str, Any]]:
    return [
        {"label": point.label, "is_best": conclusion.is_top(point), "uses": conclusion.uses[point.key]}
        for point in all_points
    ]


def step_rows(run: StoredRun) -> list[dict[str, Any]]:
    origin = charts_over_time.origin_of(run)
    found = []
    audits = run.audits()
    for step in sorted(run.steps, key=lambda step: int(step.index)):
        latency, warm_up, law = step.judged_latency, step.warm_up, step.littles_law
        has_values = step.outcome == "passed"
        found.append(
            {
                "step": step,
                "index": step.index,
                "label": step.label or step.workload,
                "repeat": step.repeat,
                "phase": step.phase,
                "at": length(step.window.load_started_at - origin),
                "conditioning": conditioning_facts(step.conditioning) if step.conditioning else "",
                "warm_up": f"{warm_up.cut_seconds:.0f} s" + ("" if warm_up.found else " (no end found)"),
                "seconds": f"{step.window.seconds:.0f} s",
                "throughput": per_second(step.throughput_per_second if has_values else None),
                "latencies": [
                    milliseconds(latency.quantile(name) if has_values else None) for name in ("p50", "p95", "p99")
                ],
                "errors": grouped_errors([*step.failures, *step.unknown_outcomes]),
                "is_valid": step.validity.valid,
                "held": step.thresholds.passed,
                "reasons": reasons_of(step),
                "counts": four_counts(step),
                "ledgers": ledgers.step_words(audits.get(step.index)),
                "law": law,
                "load": load_facts(step.load),
                "faults": effects.rows(step),
                "trends": tables.trend_rows(run, step),
                "uses": step.resources,
                "run_command": run_command(run, step),
                "up_command": commands.up(run.environment(step)),
            }
        )
    return found


def run_command(run: StoredRun, step: StepEntry) -> str:
    """The command that runs the load of a step again, on nodes that are as warm as they were."""
    shows_warming = step.warm_up.seconds_max == 0 and is_timed(run, step)
    is_conditioned = run.sweep.condition != NO_CONDITION and not shows_warming
    return commands.run(step) + (" --condition" if is_conditioned else "")


def is_timed(run: StoredRun, step: StepEntry) -> bool:
    """Whether a step was to be measured by time, and not by a number of bursts or flows."""
    named = {one.name: one.measure for one in run.sweep.steps or ()}
    return isinstance(named.get(str(step.point.get(STEP))) or run.sweep.measure, float)


def reasons_of(step: StepEntry) -> list[tuple[str, str]]:
    """Why a step broke, failed, is invalid or misses a threshold: (title, sentence), each reason once."""
    invalid, broken = step.validity.reasons, step.thresholds.reasons
    missed = "Threshold" if step.phase == "measure" else "Not sustained"
    return [
        *([("Broke", step.broke)] if step.broke else []),
        *(("Failed", str(reason)) for reason in step.verdict.reasons),
        *(("Invalid", str(reason)) for reason in invalid if reason not in step.verdict.reasons),
        *((missed, str(reason)) for reason in broken if reason not in invalid),
    ]


def four_counts(step: StepEntry) -> list[str]:
    counted = step.counts
    vaults = ", ".join(f"{node} {count_words(count)}" for node, count in counted.vaults.items()) or "–"
    return [count_words(count) for count in (counted.generator, counted.bridge, counted.node)] + [vaults]


def link_facts(environments: Sequence[Environment]) -> Iterator[tuple[str, str]]:
    measured: dict[str, list[MeasuredLink]] = {}
    for link in (link for environment in environments for link in environment.links_measured):
        measured.setdefault(link.name, []).append(link)
    for name, links in measured.items():
        through = sorted({f"{link.through_ms:.1f}" for link in links}, key=float)
        direct = sorted({f"{link.direct_ms:.1f}" for link in links}, key=float)
        yield f"Link {name}", f"round trip {ends(through)} ms, without the proxy {ends(direct)} ms"


def environment_rows(run: StoredRun) -> list[dict[str, Any]]:
    """The environments of a sweep, each with its steps.

    Environments that differ only in the measured links are shown as one, because links are measured at every start.
    """
    alike: dict[str, list[int]] = {}
    for number, environment in enumerate(run.manifest.environments):
        rest = environment.model_dump_json(exclude={"links_measured"})
        alike.setdefault(rest, []).append(number)
    found = []
    for numbers in alike.values():
        environments = [run.manifest.environments[number] for number in numbers]
        environment = environments[0]
        steps = [str(step.index) for step in run.steps if step.environment in numbers]
        found.append(
            {
                "steps": wording.steps_words(steps) if steps else "no step",
                "up_command": commands.up(environment),
                "facts": [
                    ("Shape of the lab", labels.describe(environment.shape)),
                    *link_facts(environments),
                    *environment_facts(environment),
                ],
                "images": environment.images,
                "settings": environment.settings,
            }
        )
    return found


def difference_rows(judged: MetricComparisons) -> list[dict[str, str]]:
    """The rows of the table of differences: the planned comparisons, and the best points compared with all others."""
    compared = [one.compared for one in judged.planned]
    planned = {(one.first.key, one.second.key) for one in compared}
    compared += [
        one
        for top in judged.tops
        for one in judged.against(top)
        if not {(one.first.key, one.second.key), (one.second.key, one.first.key)} & planned
    ]
    return [
        {
            "second": one.second.label,
            "first": one.first.label,
            "ratio": wording.ratio_words(one),
            "p": "–" if one.difference is None or one.difference.p_value is None else f"{one.difference.p_value:.3g}",
            "n": "–" if one.difference is None else f"{one.difference.n_b} / {one.difference.n_a}",
            "verdict": one.verdict,
        }
        for one in compared
    ]


def badge(run: StoredRun) -> tuple[str, str]:
    count = len(run.steps)
    failed = sum(bool(notes.failures(step)) for step in run.steps)
    if failed:
        return "bad", f"{failed} of {plural(count, 'step')} failed"
    if run.sweep.find_max and not all(found.rate for found in searched(run, points(run))):
        return "bad", "no rate was confirmed"
    valid = [step for step in run.steps if step.validity.valid]
    warned = sum(bool(step.flags) for step in valid)
    words = "every step is valid" if len(valid) == count else f"{len(valid)} of {plural(count, 'step')} are valid"
    is_good = len(valid) == count and not warned
    broke = sum(step.outcome == "broke" for step in run.steps)
    words += f", {broke} of them broke" if broke else ""
    return "good" if is_good else "warning", words + (f", {warned} with warnings" if warned else "")


def step_charts(run: StoredRun, rows: pl.DataFrame) -> dict[int, Sequence[Chart]]:
    by_step = {part["step"][0]: part for part in rows.partition_by("step")}
    empty = rows.clear()
    return {step.index: charts_over_time.step_charts(step, by_step.get(step.index, empty)) for step in run.steps}


def content(run: StoredRun) -> dict[str, Any]:
    all_points = points(run)
    rows = run.table("requests", charts_over_time.ROW_COLUMNS)
    samples = run.table("metrics").filter(pl.col("name").is_in(METRIC_NAMES))
    conclusion = conclusions.conclude(run, all_points, samples)
    is_search = bool(run.sweep.find_max)
    return {
        "sweep": run.sweep,
        "errors_shown": ERRORS_SHOWN_MAX,
        "conclusion": conclusion,
        "note_titles": NOTE_TITLES,
        "tiles": tiles(run, conclusion),
        "search": charts_sweep.searches(run),
        "curves": charts_sweep.curves(run, all_points),
        "over_time": charts_over_time.over_the_run(run, rows, samples),
        "breakdown": charts_sweep.breakdowns(all_points),
        "step_charts": step_charts(run, rows),
        "stage_meanings": STAGE_MEANINGS,
        "point_rows": point_rows(all_points, conclusion),
        "value_table": tables.values_by_point(all_points),
        "use_rows": use_rows(all_points, conclusion),
        "point_titles": [
            METRICS[name].unit if METRICS[name].unit != "ms" else name for name in known_metrics(all_points)
        ],
        "judged_title": wording.metric_words(conclusion.judged),
        "star": "the highest rate that was confirmed"
        if is_search
        else f"the {wording.extreme(conclusion.judged.metric)} {METRICS[conclusion.judged.metric].title}",
        "badge": badge(run),
        "difference_rows": [] if is_search else difference_rows(conclusion.judged),
        "cost_names": [title for _, title, _ in tables.COSTS],
        "cost_rows": tables.cost_rows(all_points),
        "cost_hint": tables.database_hint(run, all_points),
        "step_rows": step_rows(run),
        "trend_titles": tables.TREND_TITLES,
        "environments": environment_rows(run),
        "plan_facts": plan_facts(run),
        "has_conditioning": any(step.conditioning for step in run.steps),
        "more_files": more_files(run.folder),
        "is_open": any(step.open_load for step in run.steps),
        "busy": percent,
        "node_logs": node_logs.section(run.folder),
        "logs": node_logs,
    }
