"""Finds the highest rate that a system sustains. A state machine without I/O, which asks for one rate at a time.

The caller asks for the ``next`` rate, offers it to the system and passes to ``tell`` whether it was sustained. *Probes*
double the rate until one is not sustained. Then they halve the gap on a geometric scale (the next rate is
√(low × high)) until the edges are no further apart than the precision. A single wrong answer must not decide: both
edges are probed again until two answers agree, best of three. If an edge falls, the search continues on that side.
Then the lower edge is *confirmed* by a longer step. If that fails, the rate is lowered by the precision and confirmed
again, at most ``CONFIRMATIONS_MAX`` times.

Everything is derived from the answers so far, so a search can be repeated from the answers stored with its run.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from corda_lab.results.manifest import SearchAnswer, SearchOutcome

Phase = Literal["probe", "confirm"]

CONFIRMATIONS_MAX = 4
AGREEING = 2
"""Number of equal answers that decide an edge."""

PRECISION_MIN = 0.005
RATE_DIGITS = 4
"""Significant digits of the rates. Names of steps and reports then show exactly the rate that was offered."""


@dataclass
class Search:
    """A search between two rates, in at most ``steps_max`` steps. With precision 0.05, the edges are at most 5 % apart.

    The last step is reserved for a confirmation. If ``rate_max`` is 32 times ``rate_min`` and the precision is 5 %, a
    search takes 6 probes to find the bracket, 4 to narrow it, 2 to 4 at its edges, and 1 to 4 confirmations.
    """

    rate_min: float
    rate_max: float
    precision: float = 0.05
    steps_max: int = 24
    _answers: list[SearchAnswer] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.rate_min <= self.rate_max < math.inf:
            raise ValueError(f"rates must be 0 < rate_min <= rate_max: {self.rate_min}, {self.rate_max}")
        if not PRECISION_MIN <= self.precision <= 1:
            raise ValueError(f"precision must be from {PRECISION_MIN} to 1: {self.precision}")
        if self.steps_max < 2:
            raise ValueError(f"steps_max must leave room for a probe and a confirmation: {self.steps_max}")

    def next(self) -> float | None:
        """Return the rate to offer now; None if the search has ended. The rate changes only after an answer."""
        question = self._question()
        return None if isinstance(question, str) else question[0]

    @property
    def phase(self) -> Phase | None:
        """The purpose of the next rate: "confirm" (a longer step) or "probe". None if the search has ended."""
        question = self._question()
        return None if isinstance(question, str) else question[1]

    def tell(self, rate: float, sustained: bool) -> None:
        """Answer whether the rate of ``next`` was sustained. Raises ValueError if ``rate`` is another rate."""
        question = self._question()
        if isinstance(question, str) or question[0] != rate:
            raise ValueError(f"rate {rate} was not asked: {question}")
        self._answers.append(SearchAnswer(rate=rate, sustained=sustained, phase=question[1]))

    @property
    def outcome(self) -> SearchOutcome | None:
        """The outcome; None until the search has ended."""
        return self.so_far if isinstance(self._question(), str) else None

    @property
    def so_far(self) -> SearchOutcome:
        """The outcome, or what is known so far if the search has not ended."""
        question = self._question()
        reason = question if isinstance(question, str) else f"The search stopped after {len(self._answers)} steps."
        low, high = self._edges()
        confirmed = (answer.rate for answer in self._answers if answer.phase == "confirm" and answer.sustained)
        return SearchOutcome(rate=next(confirmed, None), low=low, high=high, reason=reason, answers=list(self._answers))

    def _counts(self, rate: float) -> tuple[int, int]:
        """Return how many probes of this rate were sustained, and how many were not."""
        probes = [answer.sustained for answer in self._answers if answer.phase == "probe" and answer.rate == rate]
        return sum(probes), len(probes) - sum(probes)

    def _edges(self) -> tuple[float | None, float | None]:
        """Return the highest rate that was sustained in probes, and the lowest above it that was not.

        If the answers for a rate disagree, it is decided before any other rate is probed. So the answers are ordered.
        """
        rates = {answer.rate for answer in self._answers if answer.phase == "probe"}
        lead = {rate: sustained - failed for rate in rates for sustained, failed in [self._counts(rate)]}
        low = max((rate for rate in rates if lead[rate] > 0), default=None)
        high = min((rate for rate in rates if lead[rate] < 0 and (low is None or rate > low)), default=None)
        return low, high

    def _question(self) -> tuple[float, Phase] | str:
        """Return the next rate and its purpose, or the sentence with which the search ends."""
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
            return f"No rate was sustained within the limit of {self.steps_max} steps."
        return f"Not even the lowest rate, {self.rate_min:g}, was sustained."

    def _probe(self, low: float | None, high: float | None) -> float | None:
        """Return the rate to probe; None if no further probe is useful."""
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

    def _after_confirmation(self, last: SearchAnswer) -> tuple[float, Phase] | str:
        low, high = self._edges()
        if last.sustained:
            if high is None:
                return f"{last.rate:g} was confirmed. It is the maximum of the search, so the limit may be higher."
            if low is not None and high / low > 1 + self.precision:
                return (
                    f"{last.rate:g} was confirmed, but the search ended after {self.steps_max} steps: the limit may be"
                    f" anywhere up to {high:g}."
                )
            return f"{last.rate:g} was confirmed; {high:g} was not sustained."
        lower = _rounded(last.rate / (1 + self.precision))
        failed = sum(answer.phase == "confirm" for answer in self._answers)
        if failed < CONFIRMATIONS_MAX and len(self._answers) < self.steps_max and lower >= self.rate_min:
            return lower, "confirm"
        return (
            f"No rate was confirmed: {low:g} was sustained in probes, but not in {failed} longer steps down to"
            f" {last.rate:g}."
        )


def _rounded(rate: float) -> float:
    return float(f"{rate:.{RATE_DIGITS}g}")
