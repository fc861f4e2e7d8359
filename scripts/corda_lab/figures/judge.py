"""Judges the claims of a figure: from the repeats of its sweep, and from the published values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from corda_lab.figures import on_published, store
from corda_lab.figures.file import Figure
from corda_lab.figures.forms import FULL, QUICK, SweepNames, are_of_one_start, corda_versions, in_form, names_of
from corda_lab.figures.on_published import PublishedVerdict
from corda_lab.figures.repeat import Form, Repeat, RepeatPoint
from corda_lab.figures.schema import OUTCOME, ClaimFields, FoundFields, NeedsFields
from corda_lab.figures.statistics import (
    NoPoint,
    NoStatistic,
    Wanted,
    chosen,
    place,
    series_of,
    statistic_of,
    unresolved,
)
from corda_lab.figures.verdict import (
    NOT_MEASURED,
    NOT_TESTABLE,
    REPEATS_MIN,
    Decision,
    Verdict,
    agreed,
    decide,
)
from corda_lab.stats.intervals import Interval
from corda_lab.text.words import plural

ONLY_PUBLISHED = "only the published values can decide it"
FURTHER_MAX = 20
"""More further repeats than this are not practical, and no command is printed for them."""


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
    verdict: Verdict
    values: tuple[RepeatValue, ...]
    interval: Interval | None
    """None for fewer than two values, and for an outcome."""
    further: int | None
    """How many more repeats would decide, at the scatter seen; 0 if it is decided, None if no number does."""
    why: str
    """Why it did not hold, or cannot be told or tested; empty if it held."""
    command: str
    """The command that would decide it: with further repeats, in the other form, or elsewhere. Empty if it is decided,
    or if no practical command does."""
    published: PublishedVerdict | None
    """The same check on the published values; None if there are none."""
    found: FoundFields | None = None
    """What a person found who looked at the evidence; None if nobody wrote it, or if a judged repeat is of a later day
    than the text, which may be about others."""
    is_of_one_start: bool = False
    """Whether all judged repeats ran on one start of the nodes."""

    @property
    def n(self) -> int:
        """The number of repeats that the verdict is made of."""
        return sum(one.value is not None or one.broke for one in self.values)

    @property
    def is_measured(self) -> bool:
        """Whether any repeat was to measure it. Without one, the verdict is *cannot tell*."""
        return bool(self.values)

    @property
    def estimate(self) -> float | None:
        """The mean over the repeats, geometric for ratios and levels; None without values and for an outcome."""
        known = [one.value for one in self.values if one.value is not None]
        if self.claim.level == OUTCOME or not known:
            return None
        return known[0] if self.interval is None else self.interval.estimate


def judge(figure: Figure, repeats: Sequence[Repeat]) -> list[ClaimVerdict]:
    """Judge every claim of a figure from repeats of one kind (``Repeat.kind``), in the order of the file.

    Raises ValueError if the repeats are of several kinds, or of another sweep.
    """
    kinds = {one.kind for one in repeats}
    if len(kinds) > 1 or any(one.sweep != figure.fields.sweep for one in repeats):
        raise ValueError(f"{figure.name}: repeats of several kinds cannot be judged together: {sorted(kinds)}")
    names = names_of(in_form(figure.sweep, repeats[0].form) if repeats else figure.sweep)
    published = judge_published(figure)
    newest = max((one.day for one in repeats), default="")
    is_of_one_start = are_of_one_start(figure.sweep, repeats)
    return [
        replace(
            _judge(claim, figure, repeats, names),
            published=theirs,
            found=claim.found if claim.found is not None and claim.found.date >= newest else None,
            is_of_one_start=is_of_one_start,
        )
        for claim, theirs in zip(figure.fields.claims, published, strict=True)
    ]


def judge_published(figure: Figure) -> list[PublishedVerdict | None]:
    """Judge every claim on the published values; None where it has no such check. Raises NoStatistic."""
    names = names_of(figure.sweep)
    return [on_published.judge_published(claim, figure.fields, figure.rows, names) for claim in figure.fields.claims]


def _judge(claim: ClaimFields, figure: Figure, repeats: Sequence[Repeat], names: SweepNames) -> ClaimVerdict:
    if claim.only_published:
        return _untested(claim, ONLY_PUBLISHED, "")
    able = [one for one in repeats if not lacks(claim.needs, one, figure)]
    if claim.needs is not None and not able:
        lacking = lacks(claim.needs, repeats[-1] if repeats else None, figure)
        return _untested(claim, f"needs {' and '.join(lacking)}", elsewhere(claim, figure))
    if claim.statistic is None:
        return _untested(claim, "no value that the lab measures decides it", "")
    left_out = unresolved(claim, figure.fields, names) if repeats and repeats[0].form == "quick" else ""
    values = () if left_out else tuple(_value(claim, figure, one, names) for one in able)
    decision = _decide(claim, values)
    return ClaimVerdict(
        claim,
        decision.verdict,
        values,
        decision.interval,
        decision.further,
        f"the short form does not measure it: {left_out}" if left_out else _why(decision, values),
        command=_command(decision, values, figure),
        published=None,
    )


def _command(decision: Decision, values: Sequence[RepeatValue], figure: Figure) -> str:
    """Return the command that would decide a claim; empty if it is decided, or if no practical command does."""
    if not values:
        # Nothing was measured, or the short form does not measure it.
        return measure_command(figure.name)
    if not decision.further or decision.further > FURTHER_MAX:
        return ""
    return measure_command(figure.name, values[0].repeat.form, decision.further)


def _decide(claim: ClaimFields, values: Sequence[RepeatValue]) -> Decision:
    known = [one.value for one in values if one.value is not None]
    if claim.level == OUTCOME:
        return agreed(bool(claim.broken), [bool(value) for value in known])
    broke = sum(one.broke for one in values)
    if claim.broken and broke:
        # Where the point broke, the claim held in that repeat, and there is no number.
        return agreed(True, [True] * broke + [claim.region[0] <= one <= claim.region[1] for one in known])
    return decide(known, claim.region, "values" if claim.statistic == "exponent" else "logarithms")


def _value(claim: ClaimFields, figure: Figure, repeat: Repeat, names: SweepNames) -> RepeatValue:
    points = repeat.points
    series = series_of(claim, figure.fields, names)
    try:
        if claim.level == OUTCOME:
            return _outcome(repeat, chosen(points, place(claim.at or {}, OUTCOME, series)))
        return RepeatValue(repeat, statistic_of(claim, figure.fields, points, names))
    except NoPoint as error:
        return RepeatValue(repeat, None, f"{error}{_left_out(repeat)}")
    except NoStatistic as error:
        return RepeatValue(repeat, None, str(error), claim.broken is True and _has_broken(claim, points, series))


def _left_out(repeat: Repeat) -> str:
    """Return what this machine could not have, which may be the point that is missing."""
    labels = [f"{one.label} ({one.reason})" for one in repeat.left_out]
    return f"; this machine leaves out {', '.join(labels)}" if labels else ""


def _outcome(repeat: Repeat, point: RepeatPoint) -> RepeatValue:
    """Return whether a point broke. One that lived, but did not do all of its work, has neither outcome."""
    if point.outcome != "passed":
        return RepeatValue(repeat, 1.0 if point.outcome == "broke" else None, point.why)
    if point.failed:
        return RepeatValue(repeat, None, f"no node ended, and {plural(point.failed, 'request')} failed")
    return RepeatValue(repeat, 0.0)


def _has_broken(claim: ClaimFields, points: Sequence[RepeatPoint], series: Wanted) -> bool:
    """Return whether the first point of a ratio, or the point of a level, broke."""
    try:
        return chosen(points, place(claim.of or claim.at or {}, claim.metrics[0], series)).outcome == "broke"
    except NoStatistic:
        return False


def lacks(needs: NeedsFields | None, repeat: Repeat | None, figure: Figure) -> list[str]:
    """Return what a claim of a figure needs, each in words, and a repeat does not have; without one, all of it."""
    if needs is None:
        return []
    lacking = []
    if needs.enterprise and not (repeat and repeat.enterprise):
        lacking.append("Corda Enterprise")
    if needs.cores is not None and (repeat is None or repeat.machine.cores < needs.cores):
        lacking.append(f"{needs.cores} cores" + (f" (this machine has {repeat.machine.cores})" if repeat else ""))
    if needs.platform is not None and (repeat is None or (repeat.platform or 0) < needs.platform):
        has = f" (these nodes have {repeat.platform})" if repeat and repeat.platform else ""
        lacking.append(f"nodes of platform version {needs.platform}{has}")
    users = int(figure.sweep.fields.load.given("users") or 0)
    if needs.users is not None and (repeat is None or users < needs.users):
        file = f"configs/sweeps/{figure.fields.sweep}.yaml"
        lacking.append(f"{plural(needs.users, 'user')} in {file}" + (f" (it has {users})" if repeat else ""))
    if needs.software:
        lacking.append(f"{needs.software}, which is not part of the lab")
    return lacking


def _untested(claim: ClaimFields, why: str, command: str) -> ClaimVerdict:
    return ClaimVerdict(claim, NOT_TESTABLE, (), None, None, why, command, None)


def _why(decision: Decision, values: Sequence[RepeatValue]) -> str:
    """Return that nothing was measured, or why repeats have no value; empty if all have one."""
    if not values:
        return NOT_MEASURED
    missing = list(dict.fromkeys(one.why for one in values if one.value is None and not one.broke))
    if missing:
        missing.insert(0, f"{decision.n} of {plural(len(values), 'repeat')} have a value for it")
    return "; ".join(missing)


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

    def repeats_of(self, form: Form) -> tuple[Repeat, ...]:
        """Return its repeats if they are of this form."""
        return self.repeats if self.form == form else ()


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
