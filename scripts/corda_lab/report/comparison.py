"""The page, the Markdown and the JSON of ``lab compare``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.analysis.circumstances import fingerprint
from corda_lab.analysis.comparison import Comparison, RunComparison
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import SearchResult
from corda_lab.analysis.values import interval_shown, ratio_words, with_interval
from corda_lab.paths import RESULTS
from corda_lab.report import page, tables
from corda_lab.report.chart import Chart, Line, bounded, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.results.folders import SCHEMA
from corda_lab.text.words import listed, plural

FOLDER = "comparisons"
NAME_LENGTH_MAX = 200
TITLES = ("point", "baseline", "contender", "ratio", "verdict")
ENVIRONMENT_TITLES = ("kind", "setting", "baseline", "contender")


def write(comparison: Comparison, *, results_folder: Path | None = None) -> Path:
    """Write the page, the Markdown and the JSON into a folder of their own, and return it."""
    name = "--".join(run.identity for run in comparison.runs)
    name = name if len(name) <= NAME_LENGTH_MAX else f"{name[: NAME_LENGTH_MAX - 13]}-{fingerprint(name)}"
    folder = (results_folder or RESULTS) / FOLDER / name
    texts = {
        "compare.html": html(comparison),
        "compare.md": markdown(comparison),
        "compare.json": json.dumps(as_dict(comparison), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    for name, text in texts.items():
        atomic.write_text(folder / name, text)
    return folder


def environment_headline(other: RunComparison) -> str:
    """Whether the environments of two runs differ, and in which kinds of settings."""
    if other.first.folder == other.second.folder:
        return "Both are the same run."
    if not other.environment_differences:
        return "The environments are the same: shape, load, images, host, versions and commit."
    kinds = listed(list(dict.fromkeys(difference.kind for difference in other.environment_differences)))
    return f"The environments differ ({kinds}), which may explain any difference below."


def environment_rows(other: RunComparison) -> list[tuple[str, str, str, str]]:
    """The rows of a table with ``ENVIRONMENT_TITLES``."""
    return [(entry.kind, entry.name, entry.first, entry.second) for entry in other.environment_differences]


def headline(other: RunComparison, metric: str) -> str:
    """How many points have each verdict, and what of the runs may explain a difference."""
    verdicts = other.verdicts(metric)
    counts = [f"{verdict} at {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts)]
    what = f"{METRICS[metric].title.capitalize()} of {other.second.identity}"
    text = f"{what}: {', '.join(counts)} of {plural(len(verdicts), 'point')}."
    if other.missing:
        text += f" Without a value now: {'; '.join(other.missing)}."
    runs = [run for run in (other.first, other.second) if run.is_sweep]
    shared = dict.fromkeys(run.identity for run in runs if run.sweep.repeats > 1 and run.sweep.fresh == "shape")
    if shared and {"slower", "faster"} & {*verdicts}:
        text += (
            f" In {listed(list(shared))}, all repeats of a shape used the same start of the lab, and two starts differ"
            " too. To exclude this, measure both runs with `fresh: repeat`."
        )
    return text


def rows_of(other: RunComparison, metric: str) -> list[tuple[str, str, str, str, str]]:
    """The rows of a table with ``TITLES``: the points by a metric, then the searches."""
    points = [
        (
            row.second.label,
            with_interval(row.first, metric),
            with_interval(row.second, metric),
            ratio_words(row),
            row.verdict,
        )
        for row in other.rows[metric]
    ]
    searches = [
        (
            f"{rates.first.label}, highest confirmed rate",
            rate_words(rates.first),
            rate_words(rates.second),
            "–" if rates.ratio is None else f"{rates.ratio:.2f} ×, no interval",
            rates.verdict,
        )
        for rates in other.rates
    ]
    return points + searches


def rate_words(search: SearchResult) -> str:
    """``16/s (probes: 16.3/s sustained, 17/s not sustained)``."""
    rate = "none confirmed" if search.rate is None else f"{search.rate:g}/s"
    sustained = [f"{search.low:g}/s sustained"] if search.low is not None else []
    failed = [f"{search.high:g}/s not sustained"] if search.high is not None else []
    bracket = ", ".join(sustained + failed)
    return f"{rate} (probes: {bracket})" if bracket else rate


def markdown(comparison: Comparison) -> str:
    lines = [f"### Baseline: {comparison.runs[0].identity}"]
    for other in comparison.others:
        lines += ["", f"#### Contender: {other.second.identity}", "", environment_headline(other)]
        differences = environment_rows(other)
        lines += tables.markdown_table(ENVIRONMENT_TITLES, differences) if differences else []
        lines += ["", headline(other, comparison.metric)]
        lines += tables.markdown_table(TITLES, rows_of(other, comparison.metric))
        lines += ["", *(f"- not compared: {label}" for label in other.alone)] if other.alone else []
    return "\n".join([*lines, *(["", comparison.threshold_words] if comparison.threshold_words else [])]) + "\n"


def html(comparison: Comparison) -> str:
    sections = [
        {
            "other": other,
            "environment_headline": environment_headline(other),
            "environment_rows": environment_rows(other),
            "headline": headline(other, comparison.metric),
            "charts": [chart(other, metric, number) for metric, rows in other.rows.items() if rows],
            "tables": {
                METRICS[metric].title: rows_of(other, metric)
                # Two searches have no points, and need one table.
                for metric in ([name for name, rows in other.rows.items() if rows] or [comparison.metric])
            },
        }
        for number, other in enumerate(comparison.others)
    ]
    run = {"id": f"{comparison.runs[0].identity} compared"}
    titles = {"titles": TITLES, "environment_titles": ENVIRONMENT_TITLES}
    return page.html("compare.html", {"run": run, "comparison": comparison, "sections": sections, **titles})


def chart(other: RunComparison, metric: str, number: int) -> Chart:
    rows = []
    for row in other.rows[metric]:
        if row.difference is not None:
            low, high = interval_shown(row.difference.low, row.difference.high)
            ends = {"low": low, "high": high, "is_hollow": low is None}
            label = f"{row.second.label}: {ratio_words(row)}, {row.verdict}"
            rows.append({"series": "ratio", "x": row.second.label, "y": row.difference.ratio, **ends, "label": label})
    better = "above" if METRICS[metric].higher_is_better else "below"
    drawn = Chart(
        f"ratio-{number}-{metric}",
        f"Ratio of {METRICS[metric].title}",
        f"Contender ÷ baseline with its interval; {better} 1 is better. No difference is seen if it includes 1.",
        "ratio",
        points_frame(rows, is_category=True),
        {"ratio": look_of(0, "single")},
        x_title="",
        width="wide" if metric == "throughput" else "third",
        axis="category",
        lines=[Line("y", 1, "equal")],
        is_y_from_zero=False,
    )
    return bounded(drawn)


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON."""
    return {
        "schema": SCHEMA,
        "runs": [run.identity for run in comparison.runs],
        "metric": comparison.metric,
        "threshold": comparison.threshold,
        "regressions": comparison.regressions,
        "comparisons": [
            {
                "run": other.second.identity,
                "against": other.first.identity,
                "environment_differences": [asdict(difference) for difference in other.environment_differences],
                "headline": headline(other, comparison.metric),
                "points": [
                    {
                        "label": row.second.label,
                        "workload": row.second.workload,
                        "point": row.second.values,
                        "metric": metric,
                        "first": tables.estimate_data(row.first.estimate(metric)),
                        "second": tables.estimate_data(row.second.estimate(metric)),
                        "difference": asdict(row.difference) if row.difference else None,
                        "verdict": row.verdict,
                    }
                    for metric, rows in other.rows.items()
                    for row in rows
                ],
                "rates": [
                    {
                        "label": rates.first.label,
                        **{
                            side: {"rate": search.rate, "low": search.low, "high": search.high}
                            for side, search in (("first", rates.first), ("second", rates.second))
                        },
                        "ratio": rates.ratio,
                        "verdict": rates.verdict,
                    }
                    for rates in other.rates
                ],
                "missing": other.missing,
                "alone": other.alone,
            }
            for other in comparison.others
        ],
    }
