"""The conclusions of a sweep in sentences: headline, plan, differences, limits, validity and notes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.analysis import saturation
from corda_lab.analysis.differences import differences
from corda_lab.analysis.headline import headline
from corda_lab.analysis.limits import failure_sentence, limits
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.notes import Note, notes
from corda_lab.analysis.points import Estimate, Point, measured_metrics, searched
from corda_lab.analysis.saturation import Utilisation
from corda_lab.analysis.significance import MetricComparisons, judge
from corda_lab.analysis.wording import joined, sentence, steps_words
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import NOT_ANSWERED, ParameterValue
from corda_lab.text.words import length, listed, parameter_name, plural

VALUES_SHOWN_MAX = 8


@dataclass(frozen=True)
class Conclusion:
    """The top of the report: a headline, (topic, sentence) pairs below it, and warnings (``notes``)."""

    headline: str
    sentences: list[tuple[str, str]]
    notes: list[Note]
    judged: MetricComparisons
    uses: dict[str, list[Utilisation]]

    def is_top(self, point: Point) -> bool:
        """Whether a point is the best of its stratum."""
        return any(top is point for top in self.judged.tops)


def conclude(run: StoredRun, points: Sequence[Point], samples: pl.DataFrame) -> Conclusion:
    """The conclusions of a sweep. ``samples`` has the rows of ``metrics.parquet`` for ``saturation.SERIES``."""
    judged = judge(run, points)
    searches = searched(run, points) if run.sweep.find_max else []
    uses = {point.key: saturation.uses(run, point, samples) for point in points}
    entries = [
        ("Varied", varied(run)),
        *(("Differences", one) for one in ([] if searches else differences(judged))),
        ("Why no higher rate", failure_sentence(searches)),
        *(("Limit", one) for one in limits(run, points, judged, searches, uses)),
        ("Validity", validity_words(run)),
    ]
    return Conclusion(
        headline(run, judged, searches),
        [(name, sentence(text)) for name, text in entries if text],
        notes(run),
        judged,
        uses,
    )


def varied(run: StoredRun) -> str:
    """What was varied, with how many repeats, in which order, and how long it took."""
    names = []
    for name, values in run.sweep.vary.items():
        texts = [_plain(value) for value in values]
        if len(texts) > VALUES_SHOWN_MAX + 1:
            texts = [*texts[: VALUES_SHOWN_MAX - 1], "…", texts[-1]]
        names.append(f"{parameter_name(name)} ({', '.join(texts)})")
    what = listed(names) or "nothing"
    if run.sweep.find_max:
        what = "the rate, in a search" + (f" for each combination of {what}" if names else "")
    first, last = points_first_last(run)
    repeats = run.sweep.repeats
    each = f"{repeats} repeats of each point, in interleaved order" if repeats > 1 else "one repeat of each point"
    workloads = listed(list(dict.fromkeys(step.workload for step in run.steps)))
    total = f"{plural(len(run.steps), 'step')} of {workloads} in {length(last - first)}"
    return joined([what, total if run.sweep.find_max and repeats == 1 else f"{each}: {total}"])


def _plain(value: ParameterValue) -> str:
    """A value as it stands in a sweep file."""
    if isinstance(value, list):
        return " and ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def points_first_last(run: StoredRun) -> tuple[float, float]:
    """The start of the first load and the end of the last, in unix seconds."""
    windows = [step.window for step in run.steps]
    return min(window.load_started_at for window in windows), max(window.load_ended_at for window in windows)


def validity_words(run: StoredRun) -> str:
    """How many steps are valid, in how many the counts agree, how many requests failed, and which steps were rerun."""
    count = sum(step.validity.valid for step in run.steps)
    # What failed in a step that broke is its result.
    passed = [step for step in run.steps if step.outcome == "passed"]
    agree = sum(step.counts.agree for step in passed)
    errors = sum(step.requests.failed for step in passed)
    unknown = sum(step.requests.unknown for step in passed)
    failed = "no request failed" if not errors else f"{plural(errors, 'request')} failed"
    failed += f", the outcome of {unknown:,} was unknown" if unknown else ""
    are = "is" if len(run.steps) == 1 else "are"
    found = [f"{count} of {plural(len(run.steps), 'step')} {are} valid", f"the four counts agree in {agree}", failed]
    if broke := [str(step.index) for step in run.steps if step.outcome == "broke"]:
        found.append(f"{steps_words(broke)} broke the lab, which is a result without other values")
    if unsteady := [str(step.index) for step in run.steps if step.validity.valid and step.unsteady]:
        are = "is" if len(unsteady) == 1 else "are"
        found.append(f"{steps_words(unsteady)} {are} unsteady, and in every mean")
    if count < len(run.steps):
        found.append("invalid steps are drawn as crosses and left out of every mean")
    if again := [str(step.index) for step in run.steps if step.measured_again]:
        found.append(f"{steps_words(again)} {'was' if len(again) == 1 else 'were'} rerun because of the host")
    return joined(found)


def values_of(point: Point) -> dict[str, dict[str, object]]:
    """Every value of a point with its interval, its number of valid steps and its unit, by metric.

    ``steady`` is the same without the unsteady steps, if there are some.
    """
    found = {}
    for name in measured_metrics([point]):
        steady = point.steady_estimate(name)
        found[name] = {
            **_stored(point.estimate(name)),
            "unit": METRICS[name].unit,
            **({"steady": _stored(steady)} if steady else {}),
        }
    return found


def _stored(found: Estimate) -> dict[str, object]:
    return {**vars(found), "value": NOT_ANSWERED if found.value == math.inf else found.value}
