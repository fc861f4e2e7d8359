"""Statistics, regions and verdicts in words, for the terminal, the page and the book."""

import math

from corda_lab.figures.commands import FURTHER_MAX
from corda_lab.figures.judge import ClaimVerdict
from corda_lab.figures.metrics import unit_of
from corda_lab.figures.on_published import EXPONENT_DECIMALS
from corda_lab.figures.schema import OUTCOME, ClaimFields
from corda_lab.figures.verdict import CANNOT_TELL, NOT_MEASURED, REPEATS_MAX, REPEATS_MIN, Region
from corda_lab.text.words import amount, percent, plural

DIGITS = 3
BYTES_PER_KB, MS_PER_SECOND = 1000, 1000
MS_BELOW = 1.0
"""A time is told in ms if it is less than this many seconds."""
FACTOR_FROM = 2.0
"""From here on, a difference is told as a factor."""


def number(claim: ClaimFields, value: float) -> str:
    """A value of a claim's statistic without its unit: an exponent to two decimals, others to three digits."""
    if claim.statistic == "exponent":
        return f"{value:.{EXPONENT_DECIMALS}f}"
    value *= scale_of(claim)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Rounded first, because 9.996 becomes 10.0.
    rounded = float(f"{value:.{DIGITS - 1}e}")
    return f"{rounded:,.{max(0, DIGITS - 1 - math.floor(math.log10(abs(rounded))))}f}"


def statistic_words(claim: ClaimFields, text: str) -> str:
    """A value of a claim's statistic with its unit: ``exponent 0.94``, ``11.9 ×``, ``8.62 flows/s``."""
    match claim.statistic:
        case "exponent":
            return f"exponent {text}"
        case "ratio":
            return f"{text} ×"
    return f"{text} {_unit_of(claim)}".strip()


def scale_of(claim: ClaimFields) -> float:
    """What a value of a claim's statistic is multiplied with where it is told."""
    return _scale_and_unit(claim)[0]


def _unit_of(claim: ClaimFields) -> str:
    return _scale_and_unit(claim)[1]


def _scale_and_unit(claim: ClaimFields) -> tuple[float, str]:
    """Return how a level is told: a size in KB, a time in ms if its region is short. Others have no unit of their own.

    The number, its interval and its region are told in the same unit.
    """
    unit = unit_of(claim.metrics[0]) if claim.statistic == "level" and claim.metrics else ""
    if unit == "bytes":
        return 1 / BYTES_PER_KB, "KB"
    ends = [abs(end) for end in claim.region if math.isfinite(end)]
    if unit == "s" and ends and max(ends) < MS_BELOW:
        return MS_PER_SECOND, "ms"
    return 1.0, unit


def here_words(found: ClaimVerdict) -> str:
    """What was measured: ``11.9 × (9.8 to 14.5, n = 3)``, or how often a point broke. Empty without a value.

    Where all repeats ran on one start of the nodes, it says so: ``n = 3, one start``.
    """
    if found.claim.level == OUTCOME:
        broke = sum(one.value == 1 for one in found.values)
        return f"broke in {broke} of {plural(found.n, 'repeat')}" if found.n else ""
    broke = sum(one.broke for one in found.values)
    also = f"; broke in {broke} of {plural(found.n, 'repeat')}" if broke else ""
    if found.estimate is None:
        return also.removeprefix("; ")
    if found.interval is None:
        between = f"n = {found.n - broke}"
    else:
        low, high = (number(found.claim, end) for end in (found.interval.low, found.interval.high))
        between = f"{low} to {high}, n = {found.interval.n}{', one start' if found.is_of_one_start else ''}"
    return f"{statistic_words(found.claim, number(found.claim, found.estimate))} ({between}){also}"


def published_words(found: ClaimVerdict) -> str:
    """What the published values give: ``0.87, held``. Empty without such a check."""
    theirs = found.published
    if theirs is None:
        return ""
    return f"{statistic_words(found.claim, theirs.text(scale_of(found.claim)))}, {theirs.verdict}"


def asked_words(claim: ClaimFields) -> str:
    """The region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``; for an outcome, what has to happen."""
    if claim.level == OUTCOME:
        return "that it breaks" if claim.broken else "that it does not break"
    if claim.within is None:
        return ""
    scale = scale_of(claim)
    low, high = claim.region
    words = region_words((low * scale, high * scale), _unit_of(claim))
    return words + (", or it breaks" if claim.broken else "")


def region_words(region: Region, unit: str = "") -> str:
    """A region: ``0.7 to 1.3``, ``4 or more``, ``at most 10 flows/s``."""
    low, high = region
    after = f" {unit}" if unit else ""
    if math.isinf(high):
        return f"{low:,g}{after} or more"
    if math.isinf(low):
        return f"at most {high:,g}{after}"
    return f"{low:,g}{after}" if low == high else f"{low:,g} to {high:,g}{after}"


def why_words(found: ClaimVerdict) -> str:
    """What is known of why a claim did not hold, or cannot be told or tested, and what would tell. Empty if it held."""
    if found.verdict == CANNOT_TELL and not found.is_measured:
        return "" if found.why == NOT_MEASURED else f"{found.why}; {found.command} does"
    return "; ".join(filter(None, (found.why, values_words(found), visible_words(found), next_words(found))))


def visible_words(found: ClaimVerdict) -> str:
    """How small a difference the repeats of a ratio that cannot be told do not show. Empty for others."""
    interval = found.interval
    if found.verdict != CANNOT_TELL or found.claim.statistic != "ratio" or interval is None or interval.low <= 0:
        return ""
    half = math.sqrt(interval.high / interval.low)
    size = percent(100 * (half - 1)) if half < FACTOR_FROM else f"a factor of {amount(half)}"
    return f"the repeats scatter too much to show a difference of less than {size}"


def values_words(found: ClaimVerdict) -> str:
    """What each repeat of a claim that cannot be told gave, in their order. Empty for others, and for an outcome."""
    known = [number(found.claim, one.value) for one in found.values if one.value is not None]
    if found.verdict != CANNOT_TELL or found.claim.level == OUTCOME or len(known) < 2:
        return ""
    return f"one repeat after the other: {', '.join(known)}"


def next_words(found: ClaimVerdict) -> str:
    """How many more repeats would do, with the command; empty if it is decided.

    ``5 more repeats would decide if they scatter like these: ./scripts/lab reproduce iitb-latency --quick --add 5``
    """
    if found.verdict != CANNOT_TELL or not found.is_measured:
        return ""
    if not found.n and any(one.repeat.left_out for one in found.values):
        # A point that this machine cannot have does not come with more repeats.
        return ""
    if found.further is None:
        return f"not even {REPEATS_MAX} repeats would decide at this scatter" if found.interval is not None else ""
    count = plural(found.further, "more repeat")
    if found.further > FURTHER_MAX:
        return f"{count} would decide if they scatter like these, which are too many to be practical"
    if found.n < REPEATS_MIN:
        return f"at least {count}: {found.command}"
    they = "it scatters" if found.further == 1 else "they scatter"
    return f"{count} would decide if {they} like these: {found.command}"
