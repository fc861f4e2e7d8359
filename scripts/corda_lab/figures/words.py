"""Claims, their numbers and verdicts in words, for the terminal, the page and the book."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from corda_lab.analysis.metrics import metric
from corda_lab.figures.judge import FURTHER_MAX, NOT_MEASURED, ClaimVerdict, Judged
from corda_lab.figures.schema import BEST, FIRST, LAST, OURS, OUTCOME, ChartFields, ClaimFields, FigureFields
from corda_lab.figures.statistic import any_of, choose, line, value_at
from corda_lab.figures.store import SweepNames
from corda_lab.figures.verdict import CANNOT_TELL, NOT_TESTABLE, REPEATS_MAX, REPEATS_MIN, VERDICTS, interval_of
from corda_lab.steps.parameters import AT, value_words
from corda_lab.text.words import amount, decimal_size, listed, milliseconds, parameter_name, plural

DIGITS_MIN, DIGITS_MAX = 2, 3
"""How many digits a value is told with."""
EXPONENT_DECIMALS = 2
DECIMALS_MAX = 6
"""Ends of regions have no more decimals than these."""
BYTES_PER_KB, MS_PER_SECOND = 1000, 1000
MS_BELOW = 1.0
"""A time is told in ms if it is less than this many seconds."""
ENDS = {FIRST: "lowest", LAST: "highest", BEST: "best of all"}
"""How a value is called that is found among those measured."""

TITLES = {
    "iitb-2019": "IIT Bombay 2019",
    "r3-results": "R3, results",
    "r3-sizing": "R3, sizing",
    "r3-blog-2020": "R3, blog 2020",
    "r3-attachments-2020": "R3, attachments 2020",
    "coconut": "COCONUT",
}
"""The documents, as users see them."""

LABELS = (*VERDICTS, NOT_MEASURED)
"""How claims are told, in the order of tables and counts."""


# The verdict on a claim.


def label(verdict: ClaimVerdict) -> str:
    """Return the verdict on a claim in words. A claim that no repeat was to measure is not measured yet."""
    return verdict.verdict if verdict.is_measured or verdict.verdict != CANNOT_TELL else NOT_MEASURED


def counts(verdicts: Iterable[ClaimVerdict]) -> str:
    """Return the claims by verdict: ``3 held, 1 did not hold``."""
    labels = [label(verdict) for verdict in verdicts]
    return ", ".join(f"{labels.count(name)} {name}" for name in LABELS if name in labels)


def total(figures: Sequence[Judged]) -> str:
    """Return the number of figures and claims, and the claims by verdict."""
    verdicts = [verdict for figure in figures for verdict in figure.verdicts]
    counted = f"{plural(len(figures), 'figure')}, {plural(len(verdicts), 'claim')}"
    return f"{counted}: {counts(verdicts)}" if verdicts else counted


def summary(verdict: ClaimVerdict) -> str:
    """Return what follows the verdict on a claim in the terminal."""
    if verdict.verdict == NOT_TESTABLE:
        return _joined(verdict.why, verdict.command)
    theirs = published_words(verdict)
    return _joined(
        here_words(verdict),
        f"asked for: {asked_words(verdict.claim)}",
        theirs and f"published values {theirs}",
        why_words(verdict),
        found_words(verdict),
    )


def _joined(*parts: str, by: str = "; ") -> str:
    return by.join(filter(None, parts))


def found_words(verdict: ClaimVerdict) -> str:
    """Return what a person found, with the day; empty if nobody did, or if a judged repeat is newer than the text."""
    return "" if verdict.found is None else f"found on {_day_words(verdict.found.date)}: {verdict.found.text}"


def added_words(claim: ClaimFields) -> str:
    """Return that a claim is younger than the first run of its figure, with the day; empty if it is not."""
    return "" if claim.added is None else f"added on {_day_words(claim.added)}, after the first run"


def _day_words(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%b %Y}"


def sentence(claim: ClaimFields, fields: FigureFields) -> str:
    """Return the sentence of the source that a claim is about; for one of ours, that nobody published it."""
    return "our own expectation" if claim.says == OURS else fields.words[int(claim.says) - 1].text


def sentences(fields: FigureFields) -> list[tuple[str, str]]:
    """Return the sentences of a figure, each with a remark: its document if it is another, and that it has no claim."""
    claimed = {claim.says for claim in fields.claims}
    return [
        (
            each.text,
            _joined(
                f"in {TITLES[each.document]}" if each.document else "", "" if number in claimed else "no claim", by=", "
            ),
        )
        for number, each in enumerate(fields.words, start=1)
    ]


def source(fields: FigureFields) -> str:
    """Return where a figure is published: ``R3, results, figure 2``."""
    return f"{TITLES[fields.source.document]}, {fields.source.place}"


def why_words(verdict: ClaimVerdict) -> str:
    """Return why a claim did not hold, or cannot be told or tested, and what would tell. Empty if it held."""
    if verdict.verdict != CANNOT_TELL:
        return verdict.why
    if not verdict.is_measured:
        return "" if verdict.why == NOT_MEASURED else f"{verdict.why}; {verdict.command} does"
    known = [number(verdict.claim, each.value) for each in verdict.values if each.value is not None]
    has_values = verdict.claim.level != OUTCOME and len(known) >= 2
    values = f"one repeat after the other: {', '.join(known)}" if has_values else ""
    return _joined(verdict.why, values, next_words(verdict))


def next_words(verdict: ClaimVerdict) -> str:
    """Return how many more repeats would decide a claim that was measured, with the command."""
    if not verdict.n and any(each.repeat.left_out for each in verdict.values):
        # A point that this machine cannot have does not come with more repeats.
        return ""
    if verdict.further is None:
        return f"not even {REPEATS_MAX} repeats would decide at this scatter" if verdict.interval is not None else ""
    count = plural(verdict.further, "more repeat")
    if verdict.further > FURTHER_MAX:
        return f"{count} would decide if they scatter like these, which are too many to be practical"
    if verdict.n < REPEATS_MIN:
        return f"at least {count}: {verdict.command}"
    they = "it scatters" if verdict.further == 1 else "they scatter"
    return f"{count} would decide if {they} like these: {verdict.command}"


# The number of a claim.


def in_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit: a time in ms or s, bytes with a decimal unit, others as they are."""
    if value is None:
        return "–"
    if unit == "ms":
        return milliseconds(value)
    if unit in ("bytes", "B"):
        return decimal_size(value)
    if unit == "s" and 0 < abs(value) < MS_BELOW:
        return f"{amount(MS_PER_SECOND * value)} ms"
    return f"{amount(value)} {unit}".rstrip()


def _scale_and_unit(claim: ClaimFields) -> tuple[float, str]:
    """Return how a level is told: a size in KB, a time in ms if its region is short. Others have no unit of their own.

    The number, its interval and its region are told in the same unit.
    """
    unit = metric(claim.level).unit if claim.level and claim.level != OUTCOME else ""
    if unit == "bytes":
        return 1 / BYTES_PER_KB, "KB"
    ends = [abs(end) for end in claim.region if math.isfinite(end)]
    if unit == "s" and ends and max(ends) < MS_BELOW:
        return MS_PER_SECOND, "ms"
    return 1.0, unit


def number(claim: ClaimFields, value: float) -> str:
    """Return a value of a claim's statistic without its unit: an exponent to two decimals, others to three digits."""
    if claim.statistic == "exponent":
        return f"{value:.{EXPONENT_DECIMALS}f}"
    value *= _scale_and_unit(claim)[0]
    if value == 0:
        return "0"
    # Rounded first, because 9.996 becomes 10.0.
    rounded = float(f"{value:.{DIGITS_MAX - 1}e}")
    return f"{rounded:,.{max(0, DIGITS_MAX - 1 - math.floor(math.log10(abs(rounded))))}f}"


def _with_unit(claim: ClaimFields, text: str) -> str:
    """Return a value of a claim's statistic with its unit: ``exponent 0.94``, ``11.9 ×``, ``8.62 flows/s``."""
    match claim.statistic:
        case "exponent":
            return f"exponent {text}"
        case "ratio":
            return f"{text} ×"
    return f"{text} {_scale_and_unit(claim)[1]}".strip()


def here_words(verdict: ClaimVerdict) -> str:
    """Return what was measured: ``11.9 × (9.8 to 14.5, n = 3, one start)``, or how often a point broke.

    Empty without a value.
    """
    claim, interval = verdict.claim, verdict.interval
    is_outcome = claim.level == OUTCOME
    broke = sum(each.value == 1 if is_outcome else each.broke for each in verdict.values)
    breaking = f"broke in {broke} of {plural(verdict.n, 'repeat')}" if broke or (is_outcome and verdict.n) else ""
    if verdict.estimate is None:
        return breaking
    between = f"n = {verdict.n - broke}"
    if interval is not None:
        start = ", one start" if verdict.is_of_one_start else ""
        between = f"{number(claim, interval.low)} to {number(claim, interval.high)}, {between}{start}"
    return _joined(f"{_with_unit(claim, number(claim, verdict.estimate))} ({between})", breaking)


def published_words(verdict: ClaimVerdict) -> str:
    """Return what the published values give: ``0.87, held``. Empty without such a check.

    The value has as many digits as its error allows, but at least the decimals of the ends of its region, from which it
    could not be told apart otherwise.
    """
    claim, theirs = verdict.claim, verdict.published
    if theirs is None:
        return ""
    scale, _ = _scale_and_unit(claim)
    error = (theirs.high - theirs.low) / 2 * scale
    decimals_max = EXPONENT_DECIMALS if claim.statistic == "exponent" else None
    decimals_min = max(decimals_of(end * scale) for end in claim.region)
    return f"{_with_unit(claim, honest(theirs.value * scale, error, decimals_max, decimals_min))}, {theirs.verdict}"


def decimals_of(end: float) -> int:
    """Return how many decimals the end of a region has: 3 for ``0.985``, 0 for ``10`` and for no end."""
    return len(f"{end:.{DECIMALS_MAX}f}".rstrip("0").partition(".")[2]) if math.isfinite(end) else 0


def honest(value: float, error: float, decimals_max: int | None = None, decimals_min: int = 0) -> str:
    """Return a value up to the first digit in which its error is seen, but with two or three digits.

    It has no more decimals than ``decimals_max``, but at least ``decimals_min``.
    """
    if value == 0:
        return "0"
    place = math.floor(math.log10(abs(value)))
    seen = DIGITS_MAX - 1 - place if error <= 0 else -math.floor(math.log10(error))
    decimals = max(DIGITS_MIN - 1 - place, min(DIGITS_MAX - 1 - place, seen))
    if decimals_max is not None:
        decimals = min(decimals, decimals_max)
    if decimals_min > 0:
        decimals = max(decimals, decimals_min)
    return f"{round(value, decimals):.{max(0, decimals)}f}"


def asked_words(claim: ClaimFields) -> str:
    """Return the region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``; for an outcome, what has to happen."""
    if claim.level == OUTCOME:
        return "that it breaks" if claim.broken else "that it does not break"
    if claim.within is None:
        return ""
    scale, unit = _scale_and_unit(claim)
    low, high = (end * scale for end in claim.region)
    after = f" {unit}" if unit else ""
    if math.isinf(high):
        words = f"{low:,g}{after} or more"
    elif math.isinf(low):
        words = f"at most {high:,g}{after}"
    else:
        words = (f"{low:,g}" if low == high else f"{low:,g} to {high:,g}") + after
    return words + (", or it breaks" if claim.broken else "")


def number_words(claim: ClaimFields, chart: ChartFields) -> str:
    """Return what the number of a claim is: ``mean latency in the node, Corda 3.3: 70 users ÷ 1 user``.

    Empty for a claim without a statistic. The claim is ``on_curve``.
    """
    match claim.statistic:
        case "ratio":
            return _ratio_words(claim)
        case "exponent":
            return _exponent_words(claim, chart)
        case "level":
            what = "whether a node ends" if claim.level == OUTCOME else metric(claim.metrics[0]).title
            return f"{what}, {_point_words(claim.at or {})}"
    return ""


def _ratio_words(claim: ClaimFields) -> str:
    of, to = claim.of or {}, claim.second or {}
    shared = {key: value for key, value in of.items() if to.get(key) == value}
    first, second = (
        _point_words({key: value for key, value in point.items() if key not in shared}) for point in (of, to)
    )
    above, below = metric(claim.metrics[0]).title, metric(claim.metrics[-1]).title
    if above == below:
        return f"{_joined(above, _point_words(shared), by=', ')}: {first} ÷ {second}"
    words = f"{_joined(above, first, by=', ')} ÷ {_joined(below, second, by=', ')}"
    return words + (f": {_point_words(shared)}" if shared else "")


def _exponent_words(claim: ClaimFields, chart: ChartFields) -> str:
    # Without spaces, so that no line of a document begins with one of its signs.
    over = "".join((claim.over or "").split())
    title = chart.x_title if over == chart.x and chart.x_title else over
    least = claim.from_words.replace(" x peak", " × the peak")
    return _joined(
        f"exponent of {metric(claim.metrics[0]).title} over {title}",
        _point_words(claim.where),
        "" if claim.from_ is None else f"from {least}",
        "" if claim.above is None else f"each less the value at {_point_words(claim.above).removeprefix('at ')}",
        by=", ",
    )


def _point_words(wanted: Mapping[str, object]) -> str:
    """Return a point in words, as reports name it: ``70 users, Corda 3.3``."""
    return ", ".join(
        ("at " if key == AT else "") + listed([_value_words(key, each) for each in any_of(value)])
        for key, value in wanted.items()
    )


def _value_words(key: str, value: object) -> str:
    if isinstance(value, str) and value in ENDS:
        name = "" if key == AT else parameter_name(key)
        return f"{ENDS[value]} {name}".rstrip() + ("s" if value == BEST and not name.endswith("s") else "")
    return str(value) if key == AT else value_words(key, value if isinstance(value, str | int | float) else str(value))


def points_words(verdict: ClaimVerdict, names: SweepNames) -> str:
    """Return the values of the points of a claim, means over the repeats that have its number.

    ``4.56 s ÷ 113 ms`` for a ratio, ``10: 165 ms, 40: 2.51 s`` for an exponent. What the lowest or highest of a ratio
    was follows: ``; highest: 8 participants``. Empty for a level, whose number is the value itself, and without values.
    """
    claim = verdict.claim
    repeats = [each.repeat.points for each in verdict.values if each.value is not None]
    if claim.statistic == "exponent":
        by_x: dict[float, list[float]] = {}
        for points in repeats:
            for x, y in line(claim, points, names):
                by_x.setdefault(x, []).append(y)
        return ", ".join(f"{x:g}: {_mean(by_x[x], claim.metrics[0])}" for x in sorted(by_x))
    if claim.statistic != "ratio" or not repeats:
        return ""
    means, ends = [], []
    for wanted, name in ((claim.of or {}, claim.metrics[0]), (claim.second or {}, claim.metrics[-1])):
        means.append(_mean([value_at(points, wanted, name) for points in repeats], name))
        values = choose(repeats[-1], wanted, name).values
        ends += [
            f"{ENDS[str(end)]}: {value_words(key, values[key])}"
            for key, end in wanted.items()
            if end in (FIRST, LAST) and key != AT
        ]
    return _joined(" ÷ ".join(means), *dict.fromkeys(ends))


def _mean(values: Sequence[float], name: str) -> str:
    interval = interval_of(values)
    return in_unit(values[0] if interval is None else interval.estimate, metric(name).unit)
