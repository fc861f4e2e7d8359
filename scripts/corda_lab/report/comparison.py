"""The page, the Markdown and the JSON of ``lab compare``, and their sentences."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.analysis.circumstances import fingerprint
from corda_lab.analysis.comparison import Comparison, RateComparison, RunComparison
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import SearchResult
from corda_lab.analysis.significance import CANNOT_COMPARE, PointComparison
from corda_lab.analysis.values import interval_shown, shown, with_interval
from corda_lab.analysis.wording import ratio_words
from corda_lab.paths import RESULTS
from corda_lab.report import page, tables
from corda_lab.report.chart import Chart, Line, bounded, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.results.folders import SCHEMA
from corda_lab.results.stored import StoredRun
from corda_lab.stats.difference import TOO_FEW
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import listed, plural

FOLDER = "comparisons"

NAME_LENGTH_MAX = 200


def as_dict(found: Comparison) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "runs": [run.identity for run in found.runs],
        "metric": found.metric,
        "threshold": found.threshold,
        "regressions": found.regressions,
        "comparisons": [
            {
                "run": one.second.identity,
                "against": one.first.identity,
                "unlike": [asdict(entry) for entry in one.environment_differences],
                "headline": headline(one, found.metric),
                "points_alone": one.alone,
                "points": [point_dict(one, number) for number in range(len(one.rows[found.metric]))],
                "rates": [rates_dict(rates) for rates in one.rates],
                "lost": [asdict(lost) for lost in one.missing],
            }
            for one in found.others
        ],
    }


def markdown(found: Comparison) -> str:
    lines = [f"### Baseline: {found.runs[0].identity}"]
    for one in found.others:
        lines += ["", f"#### Contender: {one.second.identity}", "", environment_headline(one)]
        lines += [""] if one.environment_differences else []
        lines += [
            f"- {entry.kind} {entry.name}: `{entry.first}` → `{entry.second}`" for entry in one.environment_differences
        ]
        lines += ["", headline(one, found.metric)]
        rows = [list(row.values()) for row in shown_rows(one, found.metric)]
        lines += tables.markdown(("point", "baseline", "contender", "ratio", "verdict"), rows)
        lines += [""] if one.alone else []
        lines += [f"- not compared: {label}" for label in one.alone]
    if found.threshold is not None:
        lines += ["", threshold_words(found)]
    return "\n".join(lines) + "\n"


def html(found: Comparison) -> str:
    charts = [
        [chart(one, metric, number) for metric, rows in one.rows.items() if rows]
        for number, one in enumerate(found.others)
    ]
    sections = [
        {
            "name": one.second.identity,
            "environment_headline": environment_headline(one),
            "environment_differences": one.environment_differences,
            "headline": headline(one, found.metric),
            "charts": drawn,
            "tables": tables_of(one),
            "alone": one.alone,
        }
        for one, drawn in zip(found.others, charts, strict=True)
    ]
    return page.html(
        "compare.html",
        {
            "run": {"id": f"{found.runs[0].identity} compared"},
            "first": found.runs[0].identity,
            "sections": sections,
            "state": found.state,
            "threshold_words": threshold_words(found),
            "confidence": f"{100 * CONFIDENCE:g} %",
        },
    )


def headline(one: RunComparison, metric: str) -> str:
    what = f"{METRICS[metric].title.capitalize()} of {one.second.identity}"
    if one.first.folder == one.second.folder:
        what = f"A run compared with itself, {METRICS[metric].title}"
    found = [f"{what}: {rows_words(one.rows[metric])}."] if one.rows[metric] else []
    found += [rates_words(rates) for rates in one.rates]
    if any(rates.ratio is not None for rates in one.rates):
        found.append("Each search is one measurement, too few to tell whether the rates differ.")
    found += [f"{lost.label}: {lost.reason}." for lost in one.missing]
    runs = [run for run in (one.first, one.second) if run.is_sweep and run.sweep.repeats > 1]
    shared = [run.identity for run in runs if run.sweep.fresh == "shape"]
    if shared and any(row.verdict in ("slower", "faster") for row in one.rows[metric]):
        found.append(
            f"In {listed(list(dict.fromkeys(shared)))}, all repeats of a shape used the same start of the lab. Two "
            "starts differ too, and may be the cause. To exclude this, measure both runs with `fresh: repeat`."
        )
    return " ".join(found)


def rows_words(rows: Sequence[PointComparison]) -> str:
    """The verdicts on the measured points, with the number of points and the largest ratio of each."""
    verdicts: dict[str, list[PointComparison]] = {}
    for row in rows:
        verdicts.setdefault(row.verdict, []).append(row)
    if set(verdicts) == {"no difference seen"}:
        return f"no difference seen at {'the point' if len(rows) == 1 else f'any of {len(rows)} points'}"
    if set(verdicts) == {TOO_FEW}:
        return "too few repeats to tell whether the runs differ"
    if set(verdicts) == {CANNOT_COMPARE}:
        return "no point can be compared, because none has values above zero in both runs"
    parts = []
    for verdict, members in verdicts.items():
        extreme = max(members, key=lambda row: abs(1 - row.difference.ratio) if row.difference else 0.0)
        detail = f", most at {extreme.second.label}: {ratio_words(extreme)}" if verdict in ("slower", "faster") else ""
        parts.append(f"{verdict} at {len(members)} of {plural(len(rows), 'point')}{detail}")
    return "; ".join(parts)


def rates_words(rates: RateComparison) -> str:
    """The highest confirmed rates of two searches, and their ratio if both confirmed one."""
    ratio = "" if rates.ratio is None else f", {rates.ratio:.2f} ×"
    contender, baseline = rate_words(rates.second), rate_words(rates.first)
    return f"Highest confirmed rate of {rates.label}: baseline {baseline}; contender {contender}{ratio}."


def rate_words(found: SearchResult) -> str:
    """``16/s (probes: 16.3/s sustained, 17/s not sustained)``."""
    rate = "none confirmed" if found.rate is None else f"{found.rate:g}/s"
    sustained = [f"{found.low:g}/s sustained"] if found.low is not None else []
    failed = [f"{found.high:g}/s not sustained"] if found.high is not None else []
    bracket = ", ".join(sustained + failed)
    return f"{rate} (probes: {bracket})" if bracket else rate


def chart(one: RunComparison, metric: str, number: int) -> Chart:
    known = [(row, row.difference) for row in one.rows[metric] if row.difference is not None]
    rows = [
        {
            "series": "ratio",
            "x": row.second.label,
            "y": found.ratio,
            **dict(zip(("low", "high"), interval_shown(found.low, found.high) or (None, None), strict=True)),
            "is_hollow": interval_shown(found.low, found.high) is None,
            "label": f"{row.second.label}: {ratio_words(row)}, {row.verdict}",
        }
        for row, found in known
    ]
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
        lines=[Line("level", 1, "equal")],
        is_y_from_zero=False,
    )
    return bounded(drawn)


def folder_name(runs: Sequence[StoredRun]) -> str:
    """The folder name of a comparison: the names of its runs. A long name is cut and gets a fingerprint."""
    name = "--".join(run.identity for run in runs)
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[: NAME_LENGTH_MAX - 13]}-{fingerprint(name)}"


def threshold_words(found: Comparison) -> str:
    """Whether the threshold was kept, and how many points could not be judged. Empty if there is no threshold."""
    if found.threshold is None:
        return ""
    limit = f"{100 * found.threshold:g} %"
    if found.regressions:
        return f"Worse by more than {limit}, or without a value: {'; '.join(found.regressions)}."
    undecided = sum(one.undecided(found.metric) for one in found.others)
    judged = sum(one.judged(found.metric) for one in found.others)
    if undecided and not judged:
        return f"The threshold of {limit} could not be applied, because no point has an interval. Measure more repeats."
    rest = f" {undecided} of {plural(undecided + judged, 'point')} could not be judged." if undecided else ""
    return f"No point is shown to be worse by more than {limit}.{rest}"


def environment_headline(one: RunComparison) -> str:
    """Whether the environments of two runs differ, and in which kinds of settings."""
    if one.first.folder == one.second.folder:
        return "Both are the same run."
    if not one.environment_differences:
        return "The environments are the same: shape, load, images, host, versions and commit."
    kinds = listed(list(dict.fromkeys(entry.kind for entry in one.environment_differences)))
    return f"The environments differ ({kinds}), which may explain any difference below."


def tables_of(one: RunComparison) -> list[tuple[str, list[dict[str, str]]]]:
    """The tables of a comparison, as (title, rows): the confirmed rates of searches, then one table for each metric."""
    found = [
        (METRICS[metric].title, [row_dict(row, metric) for row in rows]) for metric, rows in one.rows.items() if rows
    ]
    rates = [("highest confirmed rate", [rates_row(rates) for rates in one.rates])] if one.rates else []
    return rates + found


def shown_rows(one: RunComparison, metric: str) -> list[dict[str, str]]:
    return [row_dict(row, metric) for row in one.rows[metric]] + [rates_row(rates) for rates in one.rates]


def row_dict(row: PointComparison, metric: str) -> dict[str, str]:
    return {
        "label": row.second.label,
        "first": with_interval(row.first, metric),
        "second": with_interval(row.second, metric),
        "ratio": ratio_words(row),
        "verdict": row.verdict,
    }


def rates_row(rates: RateComparison) -> dict[str, str]:
    return {
        "label": rates.label,
        "first": rate_words(rates.first),
        "second": rate_words(rates.second),
        "ratio": "–" if rates.ratio is None else f"{rates.ratio:.2f} ×, no interval",
        "verdict": rates.verdict,
    }


def rates_dict(rates: RateComparison) -> dict[str, Any]:
    sides = {
        name: {"rate": found.rate, "low": found.low, "high": found.high}
        for name, found in (("first", rates.first), ("second", rates.second))
    }
    return {"label": rates.label, **sides, "ratio": rates.ratio, "verdict": rates.verdict}


def point_dict(one: RunComparison, number: int) -> dict[str, Any]:
    first = next(iter(one.rows.values()))[number]
    return {
        "label": first.second.label,
        "workload": first.second.workload,
        "point": first.second.values,
        "metrics": {
            metric: {
                "first": asdict(rows[number].first.estimate(metric)),
                "second": asdict(rows[number].second.estimate(metric)),
                "difference": asdict(found) if (found := rows[number].difference) else None,
                "verdict": rows[number].verdict,
                "shown": [shown(p.estimate(metric).value, metric) for p in (rows[number].first, rows[number].second)],
            }
            for metric, rows in one.rows.items()
        },
    }


def write(found: Comparison, *, results_folder: Path | None = None) -> Path:
    folder = (results_folder or RESULTS) / FOLDER / folder_name(found.runs)
    makers: dict[str, Callable[[], str]] = {
        "compare.html": lambda: html(found),
        "compare.md": lambda: markdown(found),
        "compare.json": lambda: json.dumps(as_dict(found), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    made = {name: make() for name, make in makers.items()}
    for name, text in made.items():
        atomic.write_text(folder / name, text)
    return folder
