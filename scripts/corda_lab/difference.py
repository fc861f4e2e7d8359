"""Whether two samples of repeats differ. A thin placeholder for the module of the same name and signatures."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}


@dataclass(frozen=True)
class Difference:
    """``b`` against ``a`` as a ratio; low, high and p_value are None when not known."""

    ratio: float
    low: float | None
    high: float | None
    n_a: int
    n_b: int
    p_value: float | None
    verdict: str


def paired(a: Mapping[int, float], b: Mapping[int, float], *, higher_is: str, confidence: float = 0.95) -> Difference:
    """Compare by number of repeat."""
    common = sorted(a.keys() & b.keys())
    each = [math.log(b[repeat] / a[repeat]) for repeat in common]
    n = len(each)
    error = statistics.stdev(each) / math.sqrt(n) if n > 1 else 0.0
    return _judge(statistics.fmean(each), error, n, n, n, higher_is)


def unpaired(a: Sequence[float], b: Sequence[float], *, higher_is: str, confidence: float = 0.95) -> Difference:
    """Compare repeats that have nothing to do with one another."""
    logs_a, logs_b = [math.log(value) for value in a], [math.log(value) for value in b]
    n = min(len(a), len(b))
    error = math.sqrt(sum(statistics.variance(s) / len(s) for s in (logs_a, logs_b))) if n > 1 else 0.0
    return _judge(statistics.fmean(logs_b) - statistics.fmean(logs_a), error, n, len(a), len(b), higher_is)


def _judge(middle: float, error: float, n: int, n_a: int, n_b: int, higher_is: str) -> Difference:
    if n < 2:
        return Difference(math.exp(middle), None, None, n_a, n_b, None, "cannot tell")
    half = _T95.get(n - 1, 2.1) * error
    verdict = "no difference seen"
    if abs(middle) > half:
        verdict = "faster" if (middle > 0) == (higher_is == "faster") else "slower"
    p_value = min(1.0, math.erfc(abs(middle) / error / math.sqrt(2))) if error else float(middle == 0)
    return Difference(math.exp(middle), math.exp(middle - half), math.exp(middle + half), n_a, n_b, p_value, verdict)


def holm(differences: list[Difference]) -> list[Difference]:
    """The same differences, with the verdicts that stand when all are judged together."""
    return differences
