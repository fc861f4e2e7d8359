"""Judges the claims of a figure, from the repeats of its sweep and from the published values.

The entry is ``judge``. The interval of the number of a claim over the repeats decides, by where it lies.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from corda_lab.figures.claims import (
    CANNOT_TELL,
    DID_NOT_HOLD,
    HELD,
    NOT_TESTABLE,
    Claim,
    Exponent,
    Finding,
    Needs,
    Number,
    Outcome,
    Region,
    Untested,
    Verdict,
)
from corda_lab.figures.figure import Figure, Form, on_curve, unresolved
from corda_lab.figures.points import NoValue, Plan, plan_of
from corda_lab.figures.published import published_number
from corda_lab.figures.repeats import REPEATS_MIN, Repeat, Site, are_of_one_start
from corda_lab.results.sweep import SweepFields
from corda_lab.stats.intervals import (
    CONFIDENCE,
    ON_LOGARITHMS,
    ON_VALUES,
    Interval,
    around_mean,
    repeats_interval,
    t_quantile,
)
from corda_lab.text.words import plural

NOT_MEASURED = "not measured yet"
"""How a claim is told that no repeat was to measure. Its verdict is *cannot tell*."""
REPEATS_MAX = 100
"""The most repeats that are ever asked for."""
FURTHER_MAX = 20
"""More further repeats than this are not practical, and no command is printed for them."""
ROUNDING = 1e-9
"""How far a value may be beyond the end of a region, relative to that end, because numbers are rounded."""


@dataclass(frozen=True)
class PublishedVerdict:
    """The number of a claim on the published values, and the range that their errors allow."""

    value: float
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class RepeatValue:
    """The number of a claim in one repeat; None with the reason if the repeat has none.

    For an outcome, ``value`` is 1 if the point broke and 0 if it did not.
    """

    repeat: Repeat
    value: float | None
    why: str = ""
    broke: bool = False
    """Whether the value is missing because the point broke."""


class ValuePart(NamedTuple):
    """A value that the number of a claim is made of, with its ``place`` on the line of an exponent."""

    place: float
    label: str
    """The point in words, in the last of the repeats."""
    value: float
    """The mean over the repeats that have the number."""


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim, and everything that it was made of."""

    claim: Claim
    """With its points on the curve that it is about."""
    verdict: Verdict
    why: str = ""
    """Why it did not hold, or cannot be told or tested; empty if it held."""
    command: str = ""
    """The command that would decide it: with further repeats, in the other form, or elsewhere. Empty if it is decided,
    or if no practical command does."""
    values: tuple[RepeatValue, ...] = ()
    parts: tuple[ValuePart, ...] = ()
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
        return self.numbers.count(1) if isinstance(self.claim, Outcome) else sum(each.broke for each in self.values)

    @property
    def label(self) -> str:
        """The verdict in words. A claim that no repeat was to measure is not measured yet."""
        return self.verdict if self.values or self.verdict != CANNOT_TELL else NOT_MEASURED

    @property
    def estimate(self) -> float | None:
        """The mean over the repeats, geometric for ratios and levels; None without values and for an outcome."""
        if isinstance(self.claim, Outcome) or not self.numbers:
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
    verdict = ClaimVerdict(claim, NOT_TESTABLE)
    able = [repeat for repeat in repeats if not lacks(claim.needs, repeat.site, figure)]
    if isinstance(claim, Number) and claim.only_published:
        return replace(verdict, why="only the published values can decide it")
    if claim.needs is not None and not able:
        lacking = lacks(claim.needs, repeats[-1].site if repeats else None, figure)
        return replace(verdict, why=f"needs {' and '.join(lacking)}", command=elsewhere(claim, figure))
    if isinstance(claim, Untested):
        return replace(verdict, why="no value that the lab measures decides it")
    left_out = unresolved(claim, plan) if able and able[0].form == "quick" else ""
    if left_out or not able:
        why = f"the short form does not measure it: {left_out}" if left_out else NOT_MEASURED
        command = measure_command(figure.name)
        return replace(verdict, verdict=CANNOT_TELL, why=why, command=command, further=REPEATS_MIN)
    values = tuple(_repeat_value(claim, repeat, plan) for repeat in able)
    decision = _decide(claim, values)
    verdict = replace(verdict, **decision._asdict(), values=values, parts=_parts(claim, values, plan))
    if missing := list(dict.fromkeys(each.why for each in values if each.value is None and not each.broke)):
        has_value = f"{verdict.n} of {plural(len(values), 'repeat')} have a value for it"
        verdict = replace(verdict, why="; ".join((has_value, *missing)))
    if 0 < (decision.further or 0) <= FURTHER_MAX:
        verdict = replace(verdict, command=measure_command(figure.name, able[0].form, decision.further))
    return verdict


def _repeat_value(claim: Claim, repeat: Repeat, plan: Plan) -> RepeatValue:
    try:
        return RepeatValue(repeat, claim.number(repeat.points, plan))
    except NoValue as error:
        # This machine may not be able to have the point that is missing.
        left_out = ", ".join(f"{each.label} ({each.reason})" for each in repeat.left_out)
        why = f"{error}; this machine leaves out {left_out}" if left_out else str(error)
        return RepeatValue(repeat, None, why, claim.is_broken(repeat.points))


def _parts(claim: Claim, values: Sequence[RepeatValue], plan: Plan) -> tuple[ValuePart, ...]:
    parts: dict[float, list[tuple[str, float]]] = {}
    for each in values:
        for place, point, value in claim.parts(each.repeat.points, plan) if each.value is not None else ():
            parts.setdefault(place, []).append((point.label, value))
    return tuple(
        ValuePart(place, own[-1][0], mean_of([value for _, value in own])) for place, own in sorted(parts.items())
    )


# The verdict on numbers.


class Decision(NamedTuple):
    """A verdict on the numbers of repeats.

    ``interval`` is None for fewer than two repeats, and for an outcome. ``further`` is how many more repeats decide at
    the scatter seen; 0 if it is decided, None if more than ``REPEATS_MAX`` in all would be needed.
    """

    verdict: Verdict
    interval: Interval | None
    further: int | None


def _decide(claim: Claim, values: Sequence[RepeatValue]) -> Decision:
    numbers = [each.value for each in values if each.value is not None]
    if isinstance(claim, Outcome):
        return agree([bool(value) == claim.broken for value in numbers])
    assert isinstance(claim, Number)
    if broke := sum(each.broke for each in values):
        # Where the point broke, the claim held in that repeat, and there is no number.
        low, high = claim.within
        return agree([True] * broke + [low <= value <= high for value in numbers])
    return decide(numbers, claim.within, on_logs=not isinstance(claim, Exponent))


def decide(values: Sequence[float], region: Region, *, on_logs: bool) -> Decision:
    """Judge numbers, one of each repeat, by Student's interval."""
    n, interval = len(values), interval_of(values, on_logs=on_logs)
    if interval is None:
        return Decision(CANNOT_TELL, None, REPEATS_MIN - n)
    verdict = verdict_of(interval.low, interval.high, region)
    if n < REPEATS_MIN or verdict == CANNOT_TELL:
        return Decision(CANNOT_TELL, interval, _further(values, region, interval))
    return Decision(verdict, interval, 0)


def agree(as_asked: Sequence[bool]) -> Decision:
    """Judge an outcome, such as whether a point broke: every repeat has to agree, at least ``REPEATS_MIN`` of them."""
    n = len(as_asked)
    if len(set(as_asked)) > 1:
        return Decision(CANNOT_TELL, None, None)
    if n < REPEATS_MIN:
        return Decision(CANNOT_TELL, None, REPEATS_MIN - n)
    return Decision(HELD if as_asked[0] else DID_NOT_HOLD, None, 0)


def interval_of(values: Sequence[float], *, on_logs: bool = True) -> Interval | None:
    """Return Student's interval over repeats; None for fewer than two. Equal values have an interval without width.

    It is taken on logarithms if that is asked for and no value is negative.
    """
    if len(values) < 2:
        return None
    if min(values) == max(values):
        # Through logarithms and back, 3 becomes 3.0000000000000004, which is outside [3, 3].
        return Interval(values[0], values[0], values[0], CONFIDENCE, len(values), ON_VALUES)
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
        return HELD
    return DID_NOT_HOLD if high < least or low > most else CANNOT_TELL


def _further(values: Sequence[float], region: Region, interval: Interval) -> int | None:
    """Return how many more repeats with the same mean and scatter move the interval to one side."""
    on_logs = interval.method == ON_LOGARITHMS
    given = [math.log(value) for value in values] if on_logs else values
    mean, deviation = statistics.fmean(given), statistics.stdev(given)
    for n in range(max(REPEATS_MIN, len(values) + 1), REPEATS_MAX + 1):
        half = t_quantile(CONFIDENCE, n - 1) * deviation / math.sqrt(n)
        low, high = (math.exp(end) if on_logs else end for end in (mean - half, mean + half))
        if verdict_of(low, high, region) != CANNOT_TELL:
            return n - len(values)
    return None


# The published values.


def judge_published(claim: Claim, figure: Figure) -> PublishedVerdict | None:
    """Judge a claim on the published rows of its figure; None if it has no such check.

    The errors of the values are taken as independent: each value is moved by its error both ways, and the changes of
    the number are added as squares.
    """
    if not isinstance(claim, Number) or claim.on_published is None:
        return None
    rows, plan, x = figure.fields.rows, plan_of(figure.sweep), figure.fields.chart.x
    value = published_number(claim, x, rows, plan)
    on_logs = not isinstance(claim, Exponent) and value > 0
    scale: Callable[[float], float] = math.log if on_logs else float

    def moved(place: int, sign: int) -> float:
        row = {**rows[place], "value": rows[place]["value"] + sign * rows[place]["error"]}
        try:
            return scale(published_number(claim, x, [*rows[:place], row, *rows[place + 1 :]], plan))
        except (NoValue, ValueError):
            # The error is larger than the value: only the other end has a logarithm.
            return scale(value)

    known = [place for place, row in enumerate(rows) if row["value"] is not None]
    half = math.hypot(*((moved(place, 1) - moved(place, -1)) / 2 for place in known))
    low, high = (value * math.exp(-half), value * math.exp(half)) if on_logs else (value - half, value + half)
    return PublishedVerdict(value, low, high, verdict_of(low, high, claim.within))


# What a claim needs, and where it can be tested.


def lacks(needs: Needs | None, site: Site | None, figure: Figure) -> list[str]:
    """Return what a claim of a figure needs, each in words, and a site does not have; without one, all of it."""
    if needs is None:
        return []
    lacking = []
    if needs.enterprise and not (site and site.enterprise):
        lacking.append("Corda Enterprise")
    if needs.cores is not None and (site is None or site.cores < needs.cores):
        lacking.append(f"{needs.cores} cores" + (f" (this machine has {site.cores})" if site else ""))
    users = int(figure.sweep.fields.load.given("users") or 0)
    if needs.users is not None and (site is None or users < needs.users):
        file = f"configs/sweeps/{figure.fields.sweep}.yaml"
        lacking.append(f"{plural(needs.users, 'user')} in {file}" + (f" (it has {users})" if site else ""))
    if needs.software:
        lacking.append(f"{needs.software}, which is not part of the lab")
    return lacking


def measure_command(name: str, form: Form | None = None, add: int | None = None) -> str:
    """Return the command that measures a figure in a form, the whole sweep by default, with further repeats."""
    further = "" if add is None else f" --add {add}"
    return f"./scripts/lab reproduce {name}{' --quick' if form == 'quick' else ''}{further}"


def elsewhere(claim: Claim, figure: Figure) -> str:
    """Return the command that tests a claim on one's own image or machine; empty if no command does."""
    needs = claim.needs
    if isinstance(claim, Untested) or needs is None or needs.software:
        return ""
    image = ""
    if needs.enterprise:
        # Every version is another image, whose name has to say which.
        several = len(corda_versions(figure.sweep.fields)) > 1
        image = "CORDA_IMAGE='<your image>:${CORDA_VERSION}' " if several else "CORDA_IMAGE=<your image> "
    return f"{image}{measure_command(figure.name)}"


def corda_versions(fields: SweepFields) -> list[str]:
    """Return the versions of Corda that a sweep sets; none if it starts that of ``.env``."""
    own = [each.shape.model_dump().get("corda") for each in (fields, *(fields.steps or ()))]
    return list(dict.fromkeys(str(version) for version in (*fields.vary.get("shape.corda", []), *own) if version))
