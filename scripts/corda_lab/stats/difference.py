"""Whether two points differ: the ratio of their values with its interval, and a verdict.

Both tests are Student's t on logarithms, as is the interval of a single point. The *paired* test is for interleaved
repeats (repeat 1 of both points, then repeat 2 of both): a machine that gets slower affects both points alike, and the
ratio stays the same. *Welch's* test (1947) is for all others: the two points may vary differently, and every repeat
counts on its own.

"No difference seen" does not mean "equal". The interval shows how large a difference could be without being seen.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corda_lab.stats.intervals import CONFIDENCE, LOGARITHM_MAX, t_quantile

TOO_FEW: Literal["too few repeats to tell"] = "too few repeats to tell"
Verdict = Literal["no difference seen", "faster", "slower", "too few repeats to tell"]
Word = Literal["faster", "slower"]

ALPHA = 1 - CONFIDENCE
PAIRED = "paired t on logarithms"
WELCH = "Welch's t on logarithms"


@dataclass(frozen=True)
class Difference:
    """The ratio b ÷ a, its interval at ``confidence``, and the verdict on b.

    ``p_value`` is two-sided; ``holm`` adjusts it. ``n_a`` and ``n_b`` are the numbers of repeats used. With fewer than
    two repeats (or pairs), the verdict is ``TOO_FEW``, and the interval, the p-value and the degrees of freedom are
    None.
    """

    ratio: float
    low: float | None
    high: float | None
    p_value: float | None
    verdict: Verdict
    confidence: float
    n_a: int
    n_b: int
    method: str
    higher_is: Word
    standard_error: float | None
    freedom: float | None

    def turned(self) -> "Difference":
        """The same comparison in the other direction: a ÷ b."""
        words: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        other = replace(
            self, ratio=1 / self.ratio, verdict=words.get(self.verdict, self.verdict), n_a=self.n_b, n_b=self.n_a
        )
        low, high = _ends(other, self.confidence)
        return replace(other, low=low, high=high)


def paired(a: Mapping[int, float], b: Mapping[int, float], *, higher_is: Word) -> Difference:
    """Compare two points whose repeats were interleaved. ``a`` and ``b`` map the number of a repeat to its value.

    Repeats that only one side has are left out. ``higher_is`` says what a higher value means: "faster" for throughput,
    "slower" for a latency. Raises ValueError if the sides share no repeat, or if a value is not positive.
    """
    common = sorted(a.keys() & b.keys())
    logs = _logarithms([b[repeat] / a[repeat] if a[repeat] > 0 else math.nan for repeat in common])
    n = len(logs)
    error, freedom = (statistics.stdev(logs) / math.sqrt(n), n - 1.0) if n > 1 else (None, None)
    return _judge(statistics.fmean(logs), error, freedom, n, n, PAIRED, higher_is)


def unpaired(a: Sequence[float], b: Sequence[float], *, higher_is: Word) -> Difference:
    """Compare two points whose repeats are independent. ``higher_is`` and errors are as for ``paired``."""
    logs_a, logs_b = _logarithms(a), _logarithms(b)
    error, freedom = None, None
    if len(a) > 1 and len(b) > 1:
        part_a, part_b = statistics.variance(logs_a) / len(a), statistics.variance(logs_b) / len(b)
        error = math.sqrt(part_a + part_b)
        # Welch and Satterthwaite. Their formula needs some spread; without it, take the pooled degrees of freedom.
        spread = part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1)
        freedom = (part_a + part_b) ** 2 / spread if spread > 0 else len(a) + len(b) - 2.0
    ratio_log = statistics.fmean(logs_b) - statistics.fmean(logs_a)
    return _judge(ratio_log, error, freedom, len(a), len(b), WELCH, higher_is)


def holm(differences: Sequence[Difference]) -> list[Difference]:
    """Judge comparisons together, so that a false alarm in any of them is as improbable as in a single one.

    Source: Holm (1979), *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics
    6. The p-values become the adjusted ones. Every interval is computed at the confidence at which Holm's procedure
    decided on it, which is never below ``CONFIDENCE``. So an interval never contradicts its verdict: it excludes 1
    exactly where a difference is seen.
    """
    testable = sorted((one.p_value, index) for index, one in enumerate(differences) if one.p_value is not None)
    judged, adjusted, stake = list(differences), 0.0, 1
    for place, (p_value, index) in enumerate(testable):
        one, left = differences[index], len(testable) - place
        if adjusted <= ALPHA:  # the first test that is not rejected ends the procedure, at its level for all the others
            stake = left
        adjusted = min(1.0, max(adjusted, left * p_value))
        confidence = 1 - ALPHA / stake
        low, high = _ends(one, confidence)
        judged[index] = replace(
            one,
            low=low,
            high=high,
            p_value=adjusted,
            confidence=confidence,
            verdict=_verdict(one.ratio, adjusted, one.higher_is),
        )
    return judged


def t_tail(t: float, freedom: float) -> float:
    """Two-sided p-value: the probability that Student's t is beyond ±``t``. ``freedom`` may be fractional."""
    from scipy.special import stdtr  # see t_quantile

    return 2 * float(stdtr(freedom, -abs(t)))


def _logarithms(values: Sequence[float]) -> list[float]:
    if not values or any(not 0 < value < math.inf for value in values):
        raise ValueError(f"a ratio needs positive values: {values}")
    return [math.log(value) for value in values]


def _judge(
    ratio_log: float,
    error: float | None,
    freedom: float | None,
    n_a: int,
    n_b: int,
    method: str,
    higher_is: Word,
) -> Difference:
    ratio = math.exp(ratio_log)
    undecided = Difference(ratio, None, None, None, TOO_FEW, CONFIDENCE, n_a, n_b, method, higher_is, error, freedom)
    if error is None or freedom is None:
        return undecided
    p_value = t_tail(ratio_log / error, freedom) if error > 0 else float(ratio_log == 0)
    low, high = _ends(undecided, CONFIDENCE)
    verdict = _verdict(ratio, p_value, higher_is)
    return replace(undecided, low=low, high=high, p_value=p_value, verdict=verdict)


def _ends(one: Difference, confidence: float) -> tuple[float | None, float | None]:
    if one.standard_error is None or one.freedom is None:
        return None, None
    middle, half = math.log(one.ratio), t_quantile(confidence, one.freedom) * one.standard_error
    return math.exp(max(-LOGARITHM_MAX, middle - half)), math.exp(min(LOGARITHM_MAX, middle + half))


def _verdict(ratio: float, p_value: float, higher_is: Word) -> Verdict:
    if p_value > ALPHA:
        return "no difference seen"
    lower_is: Word = "slower" if higher_is == "faster" else "faster"
    return higher_is if ratio > 1 else lower_is
