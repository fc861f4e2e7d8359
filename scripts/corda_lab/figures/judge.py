"""Judges the claims of a figure: from the repeats of its sweep, and from the published values."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from corda_lab.figures import store
from corda_lab.figures.file import Figure
from corda_lab.figures.published import PublishedRow
from corda_lab.figures.repeat import Form, Repeat, Site
from corda_lab.figures.schema import OUTCOME, ClaimFields, FigureFields, FoundFields, NeedsFields
from corda_lab.figures.statistic import (
    NoPoint,
    NoStatistic,
    choose,
    on_curve,
    published_statistic,
    statistic,
    unresolved,
)
from corda_lab.figures.store import FULL, QUICK, SweepNames, are_of_one_start, corda_versions, in_form, names_of
from corda_lab.figures.verdict import (
    CANNOT_TELL,
    NOT_TESTABLE,
    REPEATS_MIN,
    Decision,
    Verdict,
    agree,
    decide,
    verdict_of,
)
from corda_lab.stats.intervals import Interval
from corda_lab.text.words import plural

NOT_MEASURED = "not measured yet"
"""How a claim is told that no repeat was to measure. Its verdict is *cannot tell*."""

FURTHER_MAX = 20
"""More further repeats than this are not practical, and no command is printed for them."""

# The published values.


@dataclass(frozen=True)
class PublishedVerdict:
    """The statistic of a claim on the published values, the range that their errors allow, and the verdict."""

    value: float
    low: float
    high: float
    verdict: Verdict


def judge_published(
    claim: ClaimFields, figure: FigureFields, rows: Sequence[PublishedRow], names: SweepNames
) -> PublishedVerdict | None:
    """Judge a claim on the published rows of its figure; None if it has no such check. Raises NoStatistic.

    The errors of the values are taken as independent: each value is moved by its error both ways, and the changes of
    the statistic are added as squares.
    """
    if claim.on_published is None or claim.statistic is None:
        return None
    value = published_statistic(claim, figure, rows, names)
    on_logs = claim.statistic != "exponent" and value > 0
    scale: Callable[[float], float] = math.log if on_logs else float
    squares = 0.0
    for index, row in enumerate(rows):
        if row.value is None or row.error == 0:
            continue
        ends = []
        for sign in (-1, 1):
            moved = [*rows[:index], replace(row, value=row.value + sign * row.error), *rows[index + 1 :]]
            try:
                ends.append(scale(published_statistic(claim, figure, moved, names)))
            except (NoStatistic, ValueError):
                # The error is larger than the value: only the other end has a logarithm.
                ends.append(scale(value))
        squares += ((ends[1] - ends[0]) / 2) ** 2
    half = math.sqrt(squares)
    low, high = (value * math.exp(-half), value * math.exp(half)) if on_logs else (value - half, value + half)
    return PublishedVerdict(value, low, high, verdict_of(low, high, claim.region))


# The claims of a figure.


@dataclass(frozen=True)
class RepeatValue:
    """The statistic of a claim in one repeat; None with the reason if the repeat has none.

    For an outcome, ``value`` is 1 if the point broke and 0 if it did not.
    """

    repeat: Repeat
    value: float | None
    why: str = ""
    broke: bool = False
    """Whether the value is missing because the point broke."""


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim, and everything that it was made of."""

    claim: ClaimFields
    """With its points on the curve that it is about."""
    verdict: Verdict
    why: str
    """Why it did not hold, or cannot be told or tested; empty if it held."""
    command: str = ""
    """The command that would decide it: with further repeats, in the other form, or elsewhere. Empty if it is decided,
    or if no practical command does."""
    values: tuple[RepeatValue, ...] = ()
    interval: Interval | None = None
    """None for fewer than two values, and for an outcome."""
    further: int | None = None
    """How many more repeats would decide, at the scatter seen; 0 if it is decided, None if no number does."""
    published: PublishedVerdict | None = None
    """The same check on the published values; None if there is none."""
    found: FoundFields | None = None
    """What a person found who looked at the evidence; None if a judged repeat is newer."""
    is_of_one_start: bool = False
    """Whether all repeats ran on one start of the nodes."""

    @property
    def n(self) -> int:
        """The number of repeats that say something about the claim."""
        return sum(each.value is not None or each.broke for each in self.values)

    @property
    def is_measured(self) -> bool:
        """Whether any repeat was to measure it. Without one, the verdict is *cannot tell*."""
        return bool(self.values)

    @property
    def estimate(self) -> float | None:
        """The mean over the repeats, geometric for ratios and levels; None without values and for an outcome."""
        known = [each.value for each in self.values if each.value is not None]
        if self.claim.level == OUTCOME or not known:
            return None
        return known[0] if self.interval is None else self.interval.estimate


def judge(figure: Figure, repeats: Sequence[Repeat]) -> list[ClaimVerdict]:
    """Judge every claim of a figure from repeats of one kind (``Repeat.kind``), in the order of the file.

    Raises ValueError if the repeats are of several kinds, or of another sweep.
    """
    kinds = {repeat.kind for repeat in repeats}
    if len(kinds) > 1 or any(repeat.sweep != figure.fields.sweep for repeat in repeats):
        raise ValueError(f"{figure.name}: repeats of several kinds cannot be judged together: {sorted(kinds)}")
    fields, whole = figure.fields, names_of(figure.sweep)
    names = names_of(in_form(figure.sweep, repeats[0].form)) if repeats else whole
    newest = max((repeat.day for repeat in repeats), default="")
    is_of_one_start = are_of_one_start(figure.sweep, repeats)
    return [
        replace(
            _judge(on_curve(claim, fields.chart, names), figure, repeats, names),
            published=judge_published(claim, fields, figure.rows, whole),
            found=claim.found if claim.found is not None and claim.found.date >= newest else None,
            is_of_one_start=is_of_one_start,
        )
        for claim in fields.claims
    ]


def _judge(claim: ClaimFields, figure: Figure, repeats: Sequence[Repeat], names: SweepNames) -> ClaimVerdict:
    if claim.only_published:
        return ClaimVerdict(claim, NOT_TESTABLE, "only the published values can decide it")
    able = [repeat for repeat in repeats if not lacks(claim.needs, repeat.site, figure)]
    if claim.needs is not None and not able:
        lacking = lacks(claim.needs, repeats[-1].site if repeats else None, figure)
        return ClaimVerdict(claim, NOT_TESTABLE, f"needs {' and '.join(lacking)}", elsewhere(claim, figure))
    if claim.statistic is None:
        return ClaimVerdict(claim, NOT_TESTABLE, "no value that the lab measures decides it")
    left_out = unresolved(claim, names) if repeats and repeats[0].form == QUICK else ""
    if left_out or not able:
        why = f"the short form does not measure it: {left_out}" if left_out else NOT_MEASURED
        return ClaimVerdict(claim, CANNOT_TELL, why, measure_command(figure.name), further=REPEATS_MIN)
    values = tuple(_value(claim, repeat, names) for repeat in able)
    decision = _decide(claim, values)
    is_practical = decision.further is not None and 0 < decision.further <= FURTHER_MAX
    command = measure_command(figure.name, able[0].form, decision.further) if is_practical else ""
    missing = list(dict.fromkeys(each.why for each in values if each.value is None and not each.broke))
    if missing:
        missing.insert(0, f"{decision.n} of {plural(len(values), 'repeat')} have a value for it")
    return ClaimVerdict(
        claim, decision.verdict, "; ".join(missing), command, values, decision.interval, decision.further
    )


def _decide(claim: ClaimFields, values: Sequence[RepeatValue]) -> Decision:
    known = [each.value for each in values if each.value is not None]
    if claim.level == OUTCOME:
        return agree([bool(value) == claim.broken for value in known])
    if broke := sum(each.broke for each in values):
        # Where the point broke, the claim held in that repeat, and there is no number.
        return agree([True] * broke + [claim.region[0] <= value <= claim.region[1] for value in known])
    return decide(known, claim.region, "values" if claim.statistic == "exponent" else "logarithms")


def _value(claim: ClaimFields, repeat: Repeat, names: SweepNames) -> RepeatValue:
    try:
        if claim.level == OUTCOME:
            return _outcome(claim, repeat)
        return RepeatValue(repeat, statistic(claim, repeat.points, names))
    except NoPoint as error:
        # This machine may not be able to have the point that is missing.
        left_out = ", ".join(f"{each.label} ({each.reason})" for each in repeat.left_out)
        return RepeatValue(repeat, None, f"{error}; this machine leaves out {left_out}" if left_out else str(error))
    except NoStatistic as error:
        return RepeatValue(repeat, None, str(error), claim.broken is True and _broke(claim, repeat))


def _outcome(claim: ClaimFields, repeat: Repeat) -> RepeatValue:
    """Return whether a point broke. One that lived, but did not do all of its work, has neither outcome."""
    point = choose(repeat.points, claim.at or {}, OUTCOME)
    if point.outcome != "passed":
        return RepeatValue(repeat, 1.0 if point.outcome == "broke" else None, point.why)
    if point.failed:
        return RepeatValue(repeat, None, f"no node ended, and {plural(point.failed, 'request')} failed")
    return RepeatValue(repeat, 0.0)


def _broke(claim: ClaimFields, repeat: Repeat) -> bool:
    """Return whether the first point of a ratio, or the point of a level, broke."""
    try:
        return choose(repeat.points, claim.of or claim.at or {}, claim.metrics[0]).outcome == "broke"
    except NoStatistic:
        return False


def lacks(needs: NeedsFields | None, site: Site | None, figure: Figure) -> list[str]:
    """Return what a claim of a figure needs, each in words, and a site does not have; without one, all of it."""
    if needs is None:
        return []
    lacking = []
    if needs.enterprise and not (site and site.enterprise):
        lacking.append("Corda Enterprise")
    if needs.cores is not None and (site is None or site.cores < needs.cores):
        lacking.append(f"{needs.cores} cores" + (f" (this machine has {site.cores})" if site else ""))
    if needs.platform is not None and (site is None or (site.platform or 0) < needs.platform):
        has = f" (these nodes have {site.platform})" if site and site.platform else ""
        lacking.append(f"nodes of platform version {needs.platform}{has}")
    users = int(figure.sweep.fields.load.given("users") or 0)
    if needs.users is not None and (site is None or users < needs.users):
        file = f"configs/sweeps/{figure.fields.sweep}.yaml"
        lacking.append(f"{plural(needs.users, 'user')} in {file}" + (f" (it has {users})" if site else ""))
    if needs.software:
        lacking.append(f"{needs.software}, which is not part of the lab")
    return lacking


def measure_command(name: str, form: Form | None = None, add: int | None = None) -> str:
    """Return the command that measures a figure in a form, the whole sweep by default, with further repeats."""
    quick = " --quick" if form == QUICK else ""
    further = "" if add is None else f" --add {add}"
    return f"./scripts/lab reproduce {name}{quick}{further}"


def elsewhere(claim: ClaimFields, figure: Figure) -> str:
    """Return the command that tests a claim on one's own image or machine; empty if no command does."""
    needs = claim.needs
    if claim.statistic is None or needs is None or needs.software:
        return ""
    image = ""
    if needs.enterprise or needs.platform is not None:
        # Every version is another image, whose name has to say which.
        several = len(corda_versions(figure.sweep.fields)) > 1
        image = "CORDA_IMAGE='<your image>:${CORDA_VERSION}' " if several else "CORDA_IMAGE=<your image> "
    return f"{image}{measure_command(figure.name)}"


@dataclass(frozen=True)
class Judged:
    """A figure and what its repeats say. Without repeats, ``form`` is None."""

    figure: Figure
    form: Form | None
    repeats: tuple[Repeat, ...]
    verdicts: tuple[ClaimVerdict, ...]
    outdated: tuple[store.Outdated, ...] = ()
    """The stored repeats of its sweep that do not count, because they measured something else."""

    @property
    def name(self) -> str:
        """The name of the figure."""
        return self.figure.name

    @property
    def names(self) -> SweepNames:
        """What varies in its sweep, in the form that was measured."""
        return names_of(in_form(self.figure.sweep, self.form or FULL))


def judged(figure: Figure, repeats: Iterable[Repeat], outdated: tuple[store.Outdated, ...] = ()) -> Judged:
    """Judge a figure from repeats of one form of its sweep. ``outdated`` are those that do not count."""
    given = tuple(sorted(repeats, key=lambda repeat: (repeat.at, repeat.repeat)))
    return Judged(figure, given[0].form if given else None, given, tuple(judge(figure, given)), outdated)


def judged_in(figure: Figure, form: Form, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of a form. Those of an earlier sweep file do not count."""
    kept = store.kept(figure.sweep, stored)
    return judged(figure, kept.of(form), kept.outdated)


def judged_latest(figure: Figure, stored: Sequence[Repeat]) -> Judged:
    """Judge a figure from its stored repeats of the whole sweep; if they are too few, from those of its short form."""
    kept = store.kept(figure.sweep, stored)
    full, quick = kept.of(FULL), kept.of(QUICK)
    return judged(figure, full if len(full) >= REPEATS_MIN or not quick else quick, kept.outdated)
