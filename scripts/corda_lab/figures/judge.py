"""Judges the claims of a figure, from the repeats of its sweep and from the published values.

Each repeat gives one number to a claim. The interval of these numbers decides, by where it lies.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from corda_lab.figures.claims import (
    Claim,
    Finding,
    Needs,
    Region,
    Verdict,
)
from corda_lab.figures.figure import Figure, Form, on_curve, published_number, unresolved
from corda_lab.figures.points import NoValue, Plan, choose, plan_of
from corda_lab.figures.repeats import REPEATS_MIN, Repeat, Site, are_of_one_start
from corda_lab.stats.intervals import (
    CONFIDENCE,
    ON_LOGARITHMS,
    ON_VALUES,
    Interval,
    around_mean,
    repeats_interval,
    t_quantile,
)
from corda_lab.text.words import listed, plural

NOT_MEASURED = "not measured yet"
"""How a claim is told that no repeat was to measure. Its verdict is *cannot tell*."""
REPEATS_MAX = 100
"""The most repeats that are ever asked for."""
ROUNDING = 1e-9
"""How far a value may be beyond the end of a region, relative to that end, because numbers are rounded."""


class PublishedVerdict(NamedTuple):
    """The number of a claim on the published values, and the range that their errors allow."""

    value: float
    low: float
    high: float
    verdict: Verdict


class RepeatNumber(NamedTuple):
    """The number of a claim in one repeat; None with the reason if the repeat has none."""

    repeat: Repeat
    value: float | None
    why: str = ""
    broke: bool = False
    """Whether the value is missing because the point broke."""


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim, and everything that it was made of."""

    claim: Claim
    """With its points on the curve that it is about."""
    verdict: Verdict
    why: str = ""
    """Why it cannot be told or tested."""
    values: tuple[RepeatNumber, ...] = ()
    parts: tuple[tuple[float, float], ...] = ()
    """The values that its number is made of, means over the repeats, each with its place."""
    interval: Interval | None = None
    """None for fewer than two values, and for an outcome."""
    further: int | None = None
    """How many more repeats would decide, at the scatter seen; 0 if it is decided, None if no number does."""
    published: PublishedVerdict | None = None
    """The same check on the published values; None if there is none."""
    found: Finding | None = None
    """What a person found who looked at the evidence; None if a judged repeat is newer."""
    is_of_one_start: bool = False
    """Whether all repeats ran on one start of the nodes."""

    @property
    def numbers(self) -> list[float]:
        return [each.value for each in self.values if each.value is not None]

    @property
    def n(self) -> int:
        """The number of repeats that say something about the claim."""
        return len(self.numbers) + sum(each.broke for each in self.values)

    @property
    def broke(self) -> int:
        """The number of repeats in which the point broke."""
        return self.numbers.count(1) if self.claim.kind == "outcome" else sum(each.broke for each in self.values)

    @property
    def label(self) -> str:
        """The verdict in words. A claim that no repeat was to measure is not measured yet."""
        return self.verdict if self.values or self.verdict != "cannot tell" else NOT_MEASURED

    @property
    def estimate(self) -> float | None:
        """The mean over the repeats, geometric for ratios and levels; None without values and for an outcome."""
        if self.claim.kind == "outcome" or not self.numbers:
            return None
        return self.numbers[0] if self.interval is None else self.interval.estimate


@dataclass(frozen=True)
class Judged:
    """A figure and what its repeats say. Without repeats, ``form`` is None."""

    figure: Figure
    form: Form | None
    repeats: tuple[Repeat, ...]
    verdicts: tuple[ClaimVerdict, ...]
    plan: Plan
    """What varies in its sweep, in the form that was measured."""
    outdated: tuple[str, ...] = ()
    """The stored repeats of its sweep that do not count, and why."""

    @property
    def name(self) -> str:
        return self.figure.name

    @property
    def not_counted(self) -> list[str]:
        """The stored repeats that do not count, those of the same runs too, and why."""
        spoilt = {(repeat.run, number): why for repeat in self.repeats for number, why in repeat.spoilt.items()}
        return [*self.outdated, *(f"repeat {number} of {run}: {why}" for (run, number), why in spoilt.items())]


def judge(figure: Figure, repeats: Sequence[Repeat], outdated: Sequence[str] = ()) -> Judged:
    """Judge every claim of a figure from repeats of one form of its sweep, in the order of the file.

    ``outdated`` says which do not count. Raises ValueError if the repeats are not of one kind.
    """
    kinds = {(repeat.form, repeat.sweep_digest) for repeat in repeats}
    if len(kinds) > 1 or any(repeat.sweep != figure.fields.sweep for repeat in repeats):
        raise ValueError(f"{figure.name}: repeats of several kinds cannot be judged together")
    given = sorted(repeats, key=lambda repeat: (repeat.at, repeat.repeat))
    form = given[0].form if given else None
    plan = plan_of(figure.in_form(form))
    newest = max((repeat.at[:10] for repeat in given), default="")
    verdicts = tuple(
        replace(
            _judge(on_curve(claim, figure.fields.chart, plan), figure, given, plan),
            published=judge_published(claim, figure),
            found=claim.found if claim.found and claim.found.date >= newest else None,
            is_of_one_start=are_of_one_start(figure, given),
        )
        for claim in figure.fields.claims
    )
    return Judged(figure, form, tuple(given), verdicts, plan, tuple(outdated))


def _judge(claim: Claim, figure: Figure, repeats: Sequence[Repeat], plan: Plan) -> ClaimVerdict:
    able = [repeat for repeat in repeats if not lacks(claim.needs, figure, repeat.site)]
    if claim.needs is not None and not able:
        lacking = lacks(claim.needs, figure, repeats[-1].site if repeats else None)
        return ClaimVerdict(claim, "not testable here", f"needs {listed(lacking)}")
    if claim.kind == "untested":
        return ClaimVerdict(claim, "not testable here", "no value that the lab measures decides it")
    left_out = unresolved(claim, plan) if able and able[0].form == "quick" else ""
    if left_out or not able:
        why = f"the short form does not measure it: {left_out}" if left_out else ""
        return ClaimVerdict(claim, "cannot tell", why, further=REPEATS_MIN)
    values = tuple(_number_of(claim, repeat) for repeat in able)
    verdict, interval, further = _decide(claim, values)
    why = "; ".join(dict.fromkeys(each.why for each in values if each.value is None and not each.broke))
    return ClaimVerdict(claim, verdict, why, values, _parts(claim, values), interval, further)


def _number_of(claim: Claim, repeat: Repeat) -> RepeatNumber:
    try:
        return RepeatNumber(repeat, claim.number(repeat.points))
    except NoValue as error:
        # This machine may not be able to have the point that is missing.
        left_out = ", ".join(f"{label} ({reason})" for label, reason in repeat.left_out.items())
        why = f"{error}; this machine leaves out {left_out}" if left_out else str(error)
        return RepeatNumber(repeat, None, why, _is_broken(claim, repeat))


def _is_broken(claim: Claim, repeat: Repeat) -> bool:
    """Return whether a repeat has no number because the point broke, so that the claim held."""
    if claim.kind != "ratio" or not claim.broken:
        return False
    try:
        return choose(repeat.points, claim.points["of"], claim.metrics[0]).outcome == "broke"
    except NoValue:
        return False


def _parts(claim: Claim, values: Sequence[RepeatNumber]) -> tuple[tuple[float, float], ...]:
    parts: dict[float, list[float]] = {}
    for each in values:
        for place, value in claim.parts(each.repeat.points) if each.value is not None else ():
            parts.setdefault(place, []).append(value)
    return tuple((place, mean_of(own)) for place, own in sorted(parts.items()))


# The verdict on numbers.


Decision = tuple[Verdict, Interval | None, int | None]
"""The verdict, the interval and how many more repeats would decide, as in ``ClaimVerdict``."""


def _decide(claim: Claim, values: Sequence[RepeatNumber]) -> Decision:
    numbers = [each.value for each in values if each.value is not None]
    if claim.kind == "outcome":
        return agree([bool(value) == claim.broken for value in numbers])
    if broke := sum(each.broke for each in values):
        # Where the point broke, the claim held in that repeat, and there is no number.
        low, high = claim.region
        return agree([True] * broke + [low <= value <= high for value in numbers])
    return decide(numbers, claim.region, on_logs=claim.kind != "exponent")


def decide(values: Sequence[float], region: Region, *, on_logs: bool) -> Decision:
    """Judge numbers, one of each repeat, by Student's interval."""
    n, interval = len(values), interval_of(values, on_logs=on_logs)
    if interval is None:
        return ("cannot tell", None, REPEATS_MIN - n)
    verdict = verdict_of(interval.low, interval.high, region)
    if n < REPEATS_MIN or verdict == "cannot tell":
        return ("cannot tell", interval, _further(values, region, interval))
    return (verdict, interval, 0)


def agree(as_asked: Sequence[bool]) -> Decision:
    """Judge an outcome, such as whether a point broke: every repeat has to agree, at least ``REPEATS_MIN`` of them."""
    n = len(as_asked)
    if len(set(as_asked)) > 1:
        return ("cannot tell", None, None)
    if n < REPEATS_MIN:
        return ("cannot tell", None, REPEATS_MIN - n)
    return ("held" if as_asked[0] else "did not hold", None, 0)


def interval_of(values: Sequence[float], *, on_logs: bool = True) -> Interval | None:
    """Return Student's interval over repeats; None for fewer than two.

    It is taken on logarithms if that is asked for and no value is negative.
    """
    if len(values) < 2:
        return None
    if on_logs and min(values) >= 0:
        return repeats_interval(values)
    return Interval(*around_mean(values, CONFIDENCE), CONFIDENCE, len(values), ON_VALUES)


def mean_of(values: Sequence[float]) -> float:
    """Return the estimate over repeats, of which there is at least one."""
    interval = interval_of(values)
    return values[0] if interval is None else interval.estimate


def verdict_of(low: float, high: float, region: Region) -> Verdict:
    """Return the verdict on an interval: inside the region, wholly outside of it, or neither."""
    least, most = (end + sign * abs(end) * ROUNDING for end, sign in zip(region, (-1, 1), strict=True))
    if least <= low and high <= most:
        return "held"
    return "did not hold" if high < least or low > most else "cannot tell"


def _further(values: Sequence[float], region: Region, interval: Interval) -> int | None:
    """Return how many more repeats with the same mean and scatter move the interval to one side."""
    on_logs = interval.method == ON_LOGARITHMS
    given = [math.log(value) for value in values] if on_logs else values
    mean, deviation = statistics.fmean(given), statistics.stdev(given)
    for n in range(max(REPEATS_MIN, len(values) + 1), REPEATS_MAX + 1):
        half = t_quantile(CONFIDENCE, n - 1) * deviation / math.sqrt(n)
        low, high = (math.exp(end) if on_logs else end for end in (mean - half, mean + half))
        if verdict_of(low, high, region) != "cannot tell":
            return n - len(values)
    return None


# The published values.


def judge_published(claim: Claim, figure: Figure) -> PublishedVerdict | None:
    """Judge a claim on the published rows of its figure; None if it has no such check.

    The errors of the values are taken as independent: each value is moved by its error both ways, and the changes of
    the number are added as squares.
    """
    if claim.on_published is None:
        return None
    rows, x = figure.fields.rows, figure.fields.chart.x
    value = published_number(claim, x, rows)
    on_logs = claim.kind != "exponent" and value > 0
    scale: Callable[[float], float] = math.log if on_logs else float

    def moved(place: int, sign: int) -> float:
        row = {**rows[place], "value": rows[place]["value"] + sign * rows[place]["error"]}
        try:
            return scale(published_number(claim, x, [*rows[:place], row, *rows[place + 1 :]]))
        except (NoValue, ValueError):
            # The error is larger than the value: only the other end has a logarithm.
            return scale(value)

    known = [place for place, row in enumerate(rows) if row["value"] is not None]
    half = math.hypot(*((moved(place, 1) - moved(place, -1)) / 2 for place in known))
    low, high = (value * math.exp(-half), value * math.exp(half)) if on_logs else (value - half, value + half)
    return PublishedVerdict(value, low, high, verdict_of(low, high, claim.region))


# What a claim needs.


def lacks(needs: Needs | None, figure: Figure, site: Site | None) -> list[str]:
    """Return what a claim of a figure needs, each in words, and a site does not have; without one, all of it."""
    if needs is None:
        return []
    lacking = []
    if needs.enterprise and not (site and site.enterprise):
        lacking.append("Corda Enterprise")
    if needs.cores is not None and (site is None or site.cores < needs.cores):
        lacking.append(f"{needs.cores} cores")
    users = int(figure.sweep.fields.load.given("users") or 0)
    if needs.users is not None and (site is None or users < needs.users):
        lacking.append(f"{plural(needs.users, 'user')} in configs/sweeps/{figure.fields.sweep}.yaml")
    return [*lacking, needs.other] if needs.other else lacking


def measure_command(name: str, form: Form | None = None, add: int | None = None) -> str:
    """Return the command that measures a figure in a form, the whole sweep by default, with further repeats."""
    further = "" if add is None else f" --add {add}"
    return f"./scripts/lab reproduce {name}{' --quick' if form == 'quick' else ''}{further}"
