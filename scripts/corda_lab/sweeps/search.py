"""Find the highest rate that a system sustains, one question at a time: a state machine without input or output.

The caller asks for the ``next`` rate, offers it to the system, and ``tell``s whether it was sustained. *Probes* double the rate
until one is not sustained, then halve the gap on a geometric scale (the next rate is √(low × high)) until the edges are no
further apart than the precision. One wrong answer must not decide: both edges are asked again until two answers agree, best of
three, and an edge that falls reopens the search on that side. Then the lower edge is *confirmed* by a longer run;
where that fails, the rate is lowered by the precision and confirmed again, at most ``CONFIRMATIONS_MAX`` times.

Everything is worked out from the answers so far, so a search can be repeated from the answers stored with its run.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["probe", "confirm"]

CONFIRMATIONS_MAX = 4
AGREEING = 2
"""How many answers have to agree at an edge before it is believed."""

PRECISION_MIN = 0.005
RATE_DIGITS = 4
"""Rates are asked with so many significant digits: names of steps and reports show what was really offered."""


@dataclass(frozen=True)
class RateAnswer:
    """What one step of the search showed."""

    rate: float
    sustained: bool
    phase: Phase


@dataclass(frozen=True)
class SearchFindings:
    """What the search found.

    ``rate`` is the highest confirmed rate, None where nothing was confirmed. ``low`` and ``high`` are the highest rate that the
    probes saw sustained and the lowest above it that they did not; None where there is none. ``reason`` is a sentence for
    people.
    """

    rate: float | None
    low: float | None
    high: float | None
    reason: str
    answers: tuple[RateAnswer, ...]


@dataclass
class Search:
    """A search between two rates, to a precision (0.05: the edges are at most 5 % apart), in at most ``steps_max`` steps.

    The last step is kept for a confirmation. From ``rate_min`` to 32 times of it and a precision of 5 % a search takes
    6 probes to bracket, 4 within, 2 to 4 at the edges, and 1 to 4 confirmations.
    """

    rate_min: float
    rate_max: float
    precision: float = 0.05
    steps_max: int = 24
    _answers: list[RateAnswer] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.rate_min <= self.rate_max < math.inf:
            raise ValueError(f"rates must be 0 < rate_min <= rate_max: {self.rate_min}, {self.rate_max}")
        if not PRECISION_MIN <= self.precision <= 1:
            raise ValueError(f"precision must be from {PRECISION_MIN} to 1: {self.precision}")
        if self.steps_max < 2:
            raise ValueError(f"steps_max must leave room for a probe and a confirmation: {self.steps_max}")

    def next(self) -> float | None:
        """The rate to offer now; None when the search has ended. Asking again without an answer gives the same rate."""
        question = self._question()
        return None if isinstance(question, str) else question[0]

    @property
    def phase(self) -> Phase | None:
        """What the next rate is for: a "confirm" step should be longer than a "probe". None when the search has ended."""
        question = self._question()
        return None if isinstance(question, str) else question[1]

    def tell(self, rate: float, sustained: bool) -> None:
        """Answer the question that ``next`` asked; ``rate`` guards against answering another one."""
        question = self._question()
        if isinstance(question, str) or question[0] != rate:
            raise ValueError(f"rate {rate} was not asked: {question}")
        self._answers.append(RateAnswer(rate, sustained, question[1]))

    @property
    def outcome(self) -> SearchFindings | None:
        """What was found; None until the search has ended."""
        return self.so_far if isinstance(self._question(), str) else None

    @property
    def so_far(self) -> SearchFindings:
        """What was found, or what is known of it while the search has not ended."""
        question = self._question()
        reason = question if isinstance(question, str) else f"The search broke off after {len(self._answers)} steps."
        low, high = self._edges()
        confirmed = (answer.rate for answer in self._answers if answer.phase == "confirm" and answer.sustained)
        return SearchFindings(next(confirmed, None), low, high, reason, tuple(self._answers))

    def _counts(self, rate: float) -> tuple[int, int]:
        """How many probes of this rate were answered "sustained", and how many were not."""
        probes = [answer.sustained for answer in self._answers if answer.phase == "probe" and answer.rate == rate]
        return sum(probes), len(probes) - sum(probes)

    def _edges(self) -> tuple[float | None, float | None]:
        """The highest rate seen sustained, and the lowest above it that was not.

        A rate whose answers disagree is settled before any other is asked, so the answers are always in order.
        """
        rates = {answer.rate for answer in self._answers if answer.phase == "probe"}
        lead = {rate: sustained - failed for rate in rates for sustained, failed in [self._counts(rate)]}
        low = max((rate for rate in rates if lead[rate] > 0), default=None)
        high = min((rate for rate in rates if lead[rate] < 0 and (low is None or rate > low)), default=None)
        return low, high

    def _question(self) -> tuple[float, Phase] | str:
        """The next rate and what it is for, or the sentence with which the search ends."""
        if not self._answers:
            return self.rate_min, "probe"
        if self._answers[-1].phase == "confirm":
            return self._after_confirmation(self._answers[-1])
        low, high = self._edges()
        probe = self._probe(low, high)
        if probe is not None and len(self._answers) < self.steps_max - 1:
            return probe, "probe"
        if low is not None:
            return low, "confirm"
        if probe is not None:
            return f"The {self.steps_max} steps allowed were not enough to see a rate sustained."
        return f"Not even the lowest rate, {self.rate_min:g}, was sustained."

    def _probe(self, low: float | None, high: float | None) -> float | None:
        """The rate to probe, None when probes have said all they can."""
        last = self._answers[-1].rate
        sustained, failed = self._counts(last)
        if sustained == failed:
            return last
        if low is not None and high is None and low < self.rate_max:
            return min(2 * low, self.rate_max)
        if low is not None and high is not None and high / low > 1 + self.precision:
            return _rounded(math.sqrt(low * high))
        edges = (rate for rate in (high, low) if rate is not None)
        return next((rate for rate in edges if max(self._counts(rate)) < AGREEING), None)

    def _after_confirmation(self, last: RateAnswer) -> tuple[float, Phase] | str:
        low, high = self._edges()
        if last.sustained:
            if high is None:
                return f"{last.rate:g} was confirmed, the highest rate that was to be tried: the limit may lie above."
            if low is not None and high / low > 1 + self.precision:
                return f"{last.rate:g} was confirmed, but the steps ran out: the limit may lie anywhere below {high:g}."
            return f"{last.rate:g} was confirmed; {high:g} was not sustained."
        lower = _rounded(last.rate / (1 + self.precision))
        failed = sum(answer.phase == "confirm" for answer in self._answers)
        if failed < CONFIRMATIONS_MAX and len(self._answers) < self.steps_max and lower >= self.rate_min:
            return lower, "confirm"
        return (
            f"No rate was confirmed: probes saw {low:g} sustained, {failed} longer runs down to {last.rate:g} did not."
        )


def _rounded(rate: float) -> float:
    return float(f"{rate:.{RATE_DIGITS}g}")
