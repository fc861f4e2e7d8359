"""Claims, their numbers and verdicts in words, for the terminal, the page and the book."""

import math
from collections.abc import Iterable, Sequence

from corda_lab.analysis.metrics import metric
from corda_lab.figures.claims import VERDICTS, Claim
from corda_lab.figures.judge import NOT_MEASURED, REPEATS_MAX, ClaimVerdict, Judged
from corda_lab.figures.points import label_of
from corda_lab.text.words import amount, decimal_size, milliseconds, plural

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


def in_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit: a time in ms or s, bytes with a decimal unit, others as they are."""
    if value is None:
        return "–"
    if unit == "ms":
        return milliseconds(value)
    if unit in ("bytes", "B"):
        return decimal_size(value)
    if unit == "s" and 0 < abs(value) < 1:
        return f"{amount(1000 * value)} ms"
    return f"{amount(value)} {unit}".rstrip()


def number(claim: Claim, value: float) -> str:
    """Return the number of a claim: a ratio to three digits, an exponent to two decimals, a level in its unit."""
    if claim.kind == "level":
        return in_unit(value, metric(claim.metrics[0]).unit)
    return f"{value:.2f}" if claim.kind == "exponent" else amount(value)


def here(verdict: ClaimVerdict) -> str:
    """Return what was measured: ``11.9 (9.8 to 14.5, n = 3, one start)``, or how often a point broke."""
    claim, interval = verdict.claim, verdict.interval
    broke = f"broke in {verdict.broke} of {plural(verdict.n, 'repeat')}"
    broke = broke if verdict.broke or (claim.kind == "outcome" and verdict.n) else ""
    if verdict.estimate is None:
        return broke
    ends = "" if interval is None else f"{number(claim, interval.low)} to {number(claim, interval.high)}"
    start = "one start" if verdict.is_of_one_start and interval else ""
    return joined(
        f"{number(claim, verdict.estimate)} ({joined(ends, f'n = {len(verdict.numbers)}', start, by=', ')})", broke
    )


def published(verdict: ClaimVerdict) -> str:
    """Return what the published values give, with what their errors allow: ``8.5 (7.98 to 9.06), held``."""
    claim, theirs = verdict.claim, verdict.published
    if theirs is None:
        return ""
    value, low, high = (number(claim, end) for end in (theirs.value, theirs.low, theirs.high))
    return f"{value} ({low} to {high}), {theirs.verdict}"


def asked(claim: Claim) -> str:
    """Return the region: ``0.7 to 1.3``, ``4 or more``; for an outcome, what has to happen."""
    if claim.kind == "outcome":
        return "that it breaks" if claim.broken else "that it does not break"
    if claim.within is None:
        return ""
    # A ratio and an exponent as they stand in the file: 1.015 is not 1.01.
    low, high = (number(claim, end) if claim.kind == "level" else f"{end:g}" for end in claim.region)
    if math.isinf(claim.region[1]):
        region = f"{low} or more"
    else:
        region = f"at most {high}" if math.isinf(claim.region[0]) else f"{low} to {high}"
    return region + (", or it breaks" if claim.broken else "")


def further(verdict: ClaimVerdict) -> str:
    """Return how many more repeats would decide a claim that has numbers, at the scatter seen."""
    if verdict.verdict != "cannot tell" or not verdict.n:
        return ""
    if verdict.further is None:
        # An outcome that was not always the same is never decided.
        return f"over {REPEATS_MAX}" if verdict.interval else ""
    return str(verdict.further)


def definition(claim: Claim) -> str:
    """Return what the number of a claim is: ``ratio of mean latency: load.users 70 ÷ load.users 1``."""
    metrics = " ÷ ".join(dict.fromkeys(metric(name).title for name in claim.metrics))
    # Without spaces, so that its signs are no Markdown.
    over = f" over {''.join(claim.over.split())}" if claim.over else ""
    least = f" from {claim.from_}" if claim.from_ is not None else ""
    points = [f"{name} {label_of(selection)}" for name, selection in claim.points.items()]
    return f"{claim.kind} of {metrics}{over}{least}: {', '.join(points)}" if points else claim.kind


def parts(verdict: ClaimVerdict) -> str:
    """Return the values that a number is made of, means over the repeats: ``0: 4.56 s, 1: 113 ms``."""
    units = [metric(name).unit for name in verdict.claim.metrics]
    if verdict.claim.kind == "exponent":
        return ", ".join(f"{place:g}: {in_unit(value, units[0])}" for place, value in verdict.parts)
    return " ÷ ".join(in_unit(value, unit) for (_, value), unit in zip(verdict.parts, units, strict=False))
