"""Claims, their numbers and verdicts in words, for the terminal, the page and the book."""

import math
from collections.abc import Iterable, Sequence
from datetime import date

from corda_lab.analysis.metrics import metric
from corda_lab.figures.claims import CANNOT_TELL, VERDICTS, Claim, Exponent, Level, Number, Outcome, Ratio
from corda_lab.figures.figure import ChartFields, Document, FigureFields
from corda_lab.figures.judge import FURTHER_MAX, NOT_MEASURED, REPEATS_MAX, ClaimVerdict, Judged
from corda_lab.figures.points import FIRST, LAST, label_of, text_of
from corda_lab.text.words import amount, decimal_size, milliseconds, plural

DIGITS_MIN, DIGITS_MAX = 2, 3
"""How many digits a value is told with."""
EXPONENT_DECIMALS = 2
DECIMALS_MAX = 6
"""Ends of regions have no more decimals than these."""
MS_BELOW = 1.0
"""A time is told in ms if it is less than this many seconds."""
TITLES: dict[Document, str] = {
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


def joined(*parts: str, by: str = "; ") -> str:
    return by.join(filter(None, parts))


def counts(verdicts: Iterable[ClaimVerdict]) -> str:
    """Return the claims by verdict: ``3 held, 1 did not hold``."""
    labels = [verdict.label for verdict in verdicts]
    return ", ".join(f"{labels.count(name)} {name}" for name in LABELS if name in labels)


def total(figures: Sequence[Judged]) -> str:
    """Return the number of figures and claims, and the claims by verdict."""
    verdicts = [verdict for figure in figures for verdict in figure.verdicts]
    return f"{plural(len(figures), 'figure')}, {plural(len(verdicts), 'claim')}: {counts(verdicts) or 'none'}"


def source(fields: FigureFields) -> str:
    """Return where a figure is published: ``R3, results, figure 2``."""
    return f"{TITLES[fields.source.document]}, {fields.source.place}"


def sentence(claim: Claim, fields: FigureFields) -> str:
    """Return the sentence of the source that a claim is about; for one of ours, that nobody published it."""
    return fields.words[claim.says - 1].text if isinstance(claim.says, int) else "our own expectation"


def day(iso: str) -> str:
    """Return a day: ``22 Nov 2026``."""
    given = date.fromisoformat(iso)
    return f"{given.day} {given:%b %Y}"


def found(verdict: ClaimVerdict) -> str:
    """Return what a person found, with the day; empty if nobody did, or if a judged repeat is newer than the text."""
    return "" if verdict.found is None else f"found on {day(verdict.found.date)}: {verdict.found.text}"


def why(verdict: ClaimVerdict) -> str:
    """Return why a claim did not hold, or cannot be told or tested, and what would tell. Empty if it held."""
    if verdict.why == NOT_MEASURED:
        return ""
    if verdict.verdict != CANNOT_TELL:
        return verdict.why
    if not verdict.values:
        return joined(verdict.why, verdict.command)
    has_values = verdict.interval is not None
    numbers = ", ".join(number(verdict.claim, value) for value in verdict.numbers)
    return joined(verdict.why, f"one repeat after the other: {numbers}" if has_values else "", _further(verdict))


def _further(verdict: ClaimVerdict) -> str:
    if not verdict.n and any(each.repeat.left_out for each in verdict.values):
        # A point that this machine cannot have does not come with more repeats.
        return ""
    if verdict.further is None:
        return f"not even {REPEATS_MAX} repeats would decide at this scatter" if verdict.interval else ""
    needed = f"{plural(verdict.further, 'more repeat')} would decide at this scatter"
    if verdict.further > FURTHER_MAX:
        return f"{needed}, which are too many to be practical"
    return f"{needed if verdict.interval else 'it needs ' + plural(verdict.further, 'more repeat')}: {verdict.command}"


# Numbers.


def in_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit: a time in ms or s, bytes with a decimal unit, others as they are."""
    if value is None:
        return "–"
    if unit == "ms":
        return milliseconds(value)
    if unit in ("bytes", "B"):
        return decimal_size(value)
    if unit == "s" and 0 < abs(value) < MS_BELOW:
        return f"{amount(1000 * value)} ms"
    return f"{amount(value)} {unit}".rstrip()


def _scale_and_unit(claim: Claim) -> tuple[float, str]:
    """Return how the number of a claim, its interval and its region are told: a size in KB, a short time in ms."""
    if not isinstance(claim, Level):
        return 1.0, "×" if isinstance(claim, Ratio) else ""
    unit = metric(claim.level).unit
    if unit == "bytes":
        return 1e-3, "KB"
    is_short = max(abs(end) for end in claim.within if math.isfinite(end)) < MS_BELOW
    return (1000.0, "ms") if unit == "s" and is_short else (1.0, unit)


def number(claim: Claim, value: float) -> str:
    """Return the number of a claim without its unit: an exponent to two decimals, others to three digits."""
    if isinstance(claim, Exponent):
        return f"{value:.{EXPONENT_DECIMALS}f}"
    value *= _scale_and_unit(claim)[0]
    if value == 0:
        return "0"
    # Rounded first, because 9.996 becomes 10.0.
    rounded = float(f"{value:.{DIGITS_MAX - 1}e}")
    return f"{rounded:,.{max(0, DIGITS_MAX - 1 - math.floor(math.log10(abs(rounded))))}f}"


def _with_unit(claim: Claim, text: str) -> str:
    return f"exponent {text}" if isinstance(claim, Exponent) else f"{text} {_scale_and_unit(claim)[1]}".rstrip()


def here(verdict: ClaimVerdict) -> str:
    """Return what was measured: ``11.9 × (9.8 to 14.5, n = 3, one start)``, or how often a point broke.

    Empty without a value.
    """
    claim, interval = verdict.claim, verdict.interval
    broke = f"broke in {verdict.broke} of {plural(verdict.n, 'repeat')}"
    broke = broke if verdict.broke or (isinstance(claim, Outcome) and verdict.n) else ""
    if verdict.estimate is None:
        return broke
    between = f"n = {len(verdict.numbers)}"
    if interval is not None:
        start = ", one start" if verdict.is_of_one_start else ""
        between = f"{number(claim, interval.low)} to {number(claim, interval.high)}, {between}{start}"
    return joined(f"{_with_unit(claim, number(claim, verdict.estimate))} ({between})", broke)


def published(verdict: ClaimVerdict) -> str:
    """Return what the published values give: ``0.87, held``. Empty without such a check.

    The value has as many digits as its error allows, but at least the decimals of the ends of its region, from which it
    could not be told apart otherwise.
    """
    claim, theirs = verdict.claim, verdict.published
    if theirs is None or not isinstance(claim, Number):
        return ""
    scale, _ = _scale_and_unit(claim)
    error = (theirs.high - theirs.low) / 2 * scale
    decimals_max = EXPONENT_DECIMALS if isinstance(claim, Exponent) else None
    decimals_min = max(decimals_of(end * scale) for end in claim.within)
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


def asked(claim: Claim) -> str:
    """Return the region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``; for an outcome, what has to happen."""
    if isinstance(claim, Outcome):
        return "that it breaks" if claim.broken else "that it does not break"
    if not isinstance(claim, Number):
        return ""
    scale, unit = _scale_and_unit(claim)
    low, high = (end * scale for end in claim.within)
    after = f" {unit}" if unit and unit != "×" else ""
    if math.isinf(high):
        words = f"{low:,g}{after} or more"
    elif math.isinf(low):
        words = f"at most {high:,g}{after}"
    else:
        words = (f"{low:,g}" if low == high else f"{low:,g} to {high:,g}") + after
    return words + (", or it breaks" if getattr(claim, "broken", None) else "")


# What a number is made of.


def definition(claim: Claim, chart: ChartFields) -> str:
    """Return what the number of a claim is: ``mean latency: load.users 70 ÷ load.users 1``; empty if it has none."""
    titles = [metric(name).title for name in claim.metrics]
    match claim:
        case Ratio():
            of, to = label_of(claim.of), label_of(claim.points("to"))
            return f"{titles[0]}: {of} ÷ {to}" if titles[0] == titles[1] else f"{titles[0]} ÷ {titles[1]}: {of} ÷ {to}"
        case Exponent():
            # Without spaces, so that its signs are no Markdown.
            over = chart.x_title if claim.over == chart.x and chart.x_title else "".join(claim.over.split())
            least = "" if claim.from_ is None else f"from {text_of(claim.from_)}"
            above = "" if claim.above is None else f"each less the value at {label_of(claim.above)}"
            return joined(f"exponent of {titles[0]} over {over}: {label_of(claim.where)}", least, above, by=", ")
        case Level():
            return f"{titles[0]}: {label_of(claim.at)}"
        case Outcome():
            return f"whether a node ends: {label_of(claim.at)}"
    return ""


def parts(verdict: ClaimVerdict) -> str:
    """Return the values that a number is made of, means over the repeats: ``4.56 s ÷ 113 ms``, ``10: 165 ms, 40: 2 s``.

    Empty for a level, whose number is the value itself, and without values.
    """
    claim = verdict.claim
    if isinstance(claim, Exponent):
        unit = metric(claim.exponent).unit
        return ", ".join(f"{part.place:g}: {in_unit(part.value, unit)}" for part in verdict.parts)
    if not isinstance(claim, Ratio):
        return ""
    units = [metric(name).unit for name in claim.metrics]
    values = " ÷ ".join(in_unit(part.value, units[place]) for place, part in enumerate(verdict.parts))
    is_found = any(value in (FIRST, LAST) for name in claim.POINTS for value in claim.points(name).values())
    labels = " ÷ ".join(part.label for part in verdict.parts) if is_found else ""
    return joined(values, labels)
