"""The headline of a sweep: the best point of each workload, or the highest rate that a search confirmed."""

from collections.abc import Sequence

from corda_lab.analysis.points import Point, SearchResult
from corda_lab.analysis.significance import MetricComparisons
from corda_lab.analysis.wording import (
    extreme,
    is_unknown,
    joined,
    metric_words,
    name_of,
    sentence,
    some,
    too_few,
    value_only,
    value_with_range,
)
from corda_lab.results.stored import StoredRun
from corda_lab.text.words import per_second, plural


def headline(run: StoredRun, judged: MetricComparisons, searches: Sequence[SearchResult]) -> str:
    """The headline of a sweep: one sentence for each workload."""
    if searches:
        return search_headline(searches)
    if not judged.tops:
        return "No step of this sweep is valid, so it shows nothing about throughput."
    found = [best_words(judged, top) for top in judged.tops]
    if all(is_unknown(judged, top) for top in judged.tops):
        found.append(f"{too_few(judged)}, too few to tell which point is best")
    return joined(found)


def best_words(judged: MetricComparisons, top: Point) -> str:
    """The sentence about the best point. It is called the best only if every other point is shown to be worse."""
    value, others = value_with_range(top, judged.metric), judged.against(top)
    whose = f" of {top.workload}" if len(judged.strata) > 1 else ""
    what, name = metric_words(judged) + whose, name_of(judged, top)
    if top.collapsed and len(top.collapsed) == len(top.valid):
        return f"no flow{whose} was completed in the measuring window"
    if not others:
        return f"{top.label}: {value}"
    most = extreme(judged.metric)
    if not judged.sees_difference(judged.stratum_of(top)) and {one.verdict for one in others} == {"no difference seen"}:
        return (
            f"No difference in {what} was seen between {plural(len(others) + 1, 'point')}. The {most} was measured "
            f"with {name}: {value}"
        )
    equals = [name_of(judged, one.second) for one in others if not one.is_worse]
    if not equals:
        return f"{what} was best with {name}: {value}"
    first = f"the {most} {what} was measured with {name}"
    if is_unknown(judged, top):
        return f"{first}: {value_only(top, judged.metric) if len(top.valid) == 1 else value}"
    return f"{first}: {value}. It is not shown to be better than {some(equals)}"


def search_headline(searches: Sequence[SearchResult]) -> str:
    """The highest rate that was confirmed, for each group."""
    if all(found.rate is None for found in searches):
        return "No rate was confirmed."
    rates = []
    for found in searches:
        where = f" with {found.group_label}" if found.group_label else ""
        if found.rate is None:
            rates.append(f"none{where}")
            continue
        completed = found.confirmed.estimate("throughput").value if found.confirmed else None
        done = f" ({per_second(completed)} flows per second completed)" if completed is not None else ""
        rates.append(f"{found.rate:g} arrivals per second{where}{done}")
    return sentence("highest confirmed rate: " + "; ".join(rates))
