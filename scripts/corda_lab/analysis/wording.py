"""The words of conclusions: sentences, values with their intervals, ratios with theirs, and names of points."""

from collections.abc import Sequence

from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Point
from corda_lab.analysis.significance import MetricComparisons, PointComparison
from corda_lab.analysis.values import TOO_FEW_REPEATS, bare, interval_shown, interval_words
from corda_lab.stats.difference import TOO_FEW
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import listed, plural

LABELS_SHOWN_MAX = 4
INTERVAL = f"{100 * CONFIDENCE:g} % interval"


def sentence(text: str) -> str:
    """``text`` with a full stop and a capital letter, unless it begins with a name such as ``numberOfStatesPerTx``."""
    word = text.partition(" ")[0]
    start = text[:1].upper() if word[1:].islower() or len(word) == 1 else text[:1]
    return ended(start + text[1:])


def ended(text: str) -> str:
    """``text`` with a full stop."""
    return text if text.endswith(".") else f"{text}."


def joined(texts: Sequence[str]) -> str:
    """The texts as sentences, one after the other."""
    return " ".join(sentence(text) for text in texts)


def some(labels: Sequence[str]) -> str:
    """A list of at most ``LABELS_SHOWN_MAX`` entries, the last of which counts the labels that are left out.

    Labels that contain commas are separated by semicolons.
    """
    shown_ones = list(labels)
    if len(shown_ones) > LABELS_SHOWN_MAX:
        shown_ones[LABELS_SHOWN_MAX - 1 :] = [f"{len(shown_ones) - LABELS_SHOWN_MAX + 1} others"]
    return "; ".join(shown_ones) if any("," in label for label in shown_ones) else listed(shown_ones)


def steps_words(indices: list[str]) -> str:
    """``step 3``, ``steps 3, 4 and 7``."""
    unique = list(dict.fromkeys(indices))
    shown_ones = unique if len(unique) <= 12 else [*unique[:11], f"{len(unique) - 11} more"]
    return f"step{'s' if len(unique) > 1 else ''} {listed(shown_ones)}"


def range_words(point: Point, metric: str) -> str:
    """``95 % interval 12.0 to 12.6, 3 repeats``, or why there is no interval."""
    found = point.estimate(metric)
    if found.low is None or found.high is None:
        return "one valid step, no interval"
    if interval_shown(found.low, found.high) is None:
        return TOO_FEW_REPEATS
    return f"{INTERVAL} {interval_words(found, metric)}, {plural(found.n, 'repeat')}"


def value_only(point: Point, metric: str) -> str:
    """``12.3 flows per second``, ``45.6 ms``."""
    value, unit = bare(point.estimate(metric).value, metric), METRICS[metric].unit_words
    return f"{value} {unit}" if unit else value


def value_with_range(point: Point, metric: str) -> str:
    """``12.3 flows per second (95 % interval …)``."""
    return f"{value_only(point, metric)} ({range_words(point, metric)})"


def metric_words(judged: MetricComparisons) -> str:
    """The metric as text: ``throughput``, ``latency p95 from the intended start``."""
    title = METRICS[judged.metric].title
    is_intended = any(step.has_intended_starts for top in judged.tops for step in top.steps)
    return f"{title} from the intended start" if is_intended and METRICS[judged.metric].unit == "ms" else title


def extreme(metric: str) -> str:
    """``highest`` or ``lowest``: how the best value of a metric compares with the others."""
    return "highest" if METRICS[metric].higher_is_better else "lowest"


def name_of(judged: MetricComparisons, point: Point) -> str:
    """The label of a point. It leaves out the workload if there are several, because the sentence names it already."""
    if len(judged.strata) == 1 or "workload" not in point.values:
        return point.label
    rest = [value_words(name, value) for name, value in point.values.items() if name != "workload"]
    return ", ".join(rest) or point.label


def too_few(judged: MetricComparisons) -> str:
    """Why points cannot be compared: their repeats were not planned, or are not valid."""
    is_single = all(len(point.steps) == 1 for stratum in judged.strata for point in stratum)
    return "each point has one repeat" if is_single else "there are fewer than two valid repeats to compare"


def is_unknown(judged: MetricComparisons, top: Point) -> bool:
    """Whether there are other points, and too few repeats to compare any of them with the best one."""
    return {one.verdict for one in judged.against(top)} == {TOO_FEW}


def ratio_words(compared: PointComparison) -> str:
    """``0.82 × (0.78 to 0.86)``."""
    found = compared.difference
    if found is None:
        return "cannot be compared"
    ratio = f"{found.ratio:.2f} ×"
    if found.low is None or found.high is None:
        return f"{ratio}, no interval"
    if interval_shown(found.low, found.high) is None and found.low <= 1 <= found.high:
        return f"{ratio} ({TOO_FEW_REPEATS})"
    return f"{ratio} ({found.low:.2f} to {found.high:.2f})"
