"""The loads of the tests of the pipeline, each with a system that answers in a known way.

Delays are seeded and stratified: every block of 100 successive flows has the same distribution, in another order. So
the percentiles of the list are those of any part of it.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

RATE = 200
"""Arrivals per second. A window of ten seconds has 2,000 of them, so that p99.9 is not the largest value."""
WARM_UP_SECONDS = 4
DURATION_SECONDS = 10
LATE_MAX_SECONDS = 0.2
BLOCK = 100
SPARE_SECONDS = 5
"""The list of delays is longer than the load by this time."""

Quantile = Callable[[float], float]
"""The delay in milliseconds that a share of all flows does not exceed."""


@dataclass(frozen=True)
class Stall:
    """A time in which no flow ends, in seconds from the first start."""

    at: float
    seconds: float
    drain: float = 1.0
    """The flows that were held end evenly in this time after it. If all ended at once, the percentiles would show how
    long a processor needs for hundreds of answers."""


@dataclass(frozen=True)
class Case:
    """One load on one system. Flows and requests are numbered in the order of their starts, flows from 0 and requests
    from 1."""

    name: str
    title: str
    delays_ms: tuple[float, ...]
    pool: int = 1500
    stalls: tuple[Stall, ...] = ()
    failures: frozenset[int] = field(default_factory=frozenset)
    """Numbers of the flows that end with an exception."""
    dropped: frozenset[int] = field(default_factory=frozenset)
    """Numbers of the requests whose connection breaks before the bridge gets them."""
    lost: frozenset[int] = field(default_factory=frozenset)
    """Numbers of the requests whose answer is lost, after the flow has ended."""
    is_nightly: bool = False
    """Whether it is measured at night only, because the other cases have what it has."""

    @property
    def serves_at_once(self) -> bool:
        """Whether the pool is large enough for every arrival to start at its intended time."""
        return self.pool > 1000

    def plan(self) -> dict[str, object]:
        """The plan of the stub nodes, as the bridge reads it."""
        return {
            "nodes": {"PartyA": "O=PartyA,L=London,C=GB", "PartyB": "O=PartyB,L=New York,C=US"},
            "delaysMs": list(self.delays_ms),
            "stalls": [
                {"atSeconds": stall.at, "seconds": stall.seconds, "drainSeconds": stall.drain} for stall in self.stalls
            ],
            "failures": sorted(self.failures),
        }


def fixed(ms: float) -> Quantile:
    """The same delay for every flow."""
    return lambda _: ms


def bimodal(first_ms: float, second_ms: float, share: float) -> Quantile:
    """Two delays; ``share`` of the flows has the second."""
    return lambda quantile: second_ms if quantile > 1 - share else first_ms


def uniform(low_ms: float, high_ms: float) -> Quantile:
    """Every delay between two is as likely."""
    return lambda quantile: low_ms + (high_ms - low_ms) * quantile


def heavy_tailed(median_ms: float, sigma: float) -> Quantile:
    """A log-normal delay."""
    return lambda quantile: median_ms * math.exp(sigma * NormalDist().inv_cdf(quantile))


def stratified(quantile: Quantile, count: int, seed: int) -> tuple[float, ...]:
    """``count`` delays in milliseconds. Every block of ``BLOCK`` has the same values, shuffled.

    The upper tail is refined: the largest value of each block takes turns with those of ten finer strata, so that p99.9
    is known too.
    """
    source = random.Random(seed)
    return tuple(round(one, 3) for one in _blocks(quantile, source, count))


def _blocks(quantile: Quantile, source: random.Random, count: int) -> Iterator[float]:
    made, tail = 0, [(BLOCK - 1 + (part + 0.5) / 10) / BLOCK for part in range(10)]
    number = 0
    while made < count:
        if number % 10 == 0:
            source.shuffle(tail)
        block = [quantile((place + 0.5) / BLOCK) for place in range(BLOCK - 1)] + [quantile(tail[number % 10])]
        source.shuffle(block)
        yield from block[: count - made]
        made, number = made + BLOCK, number + 1


def ramp(first_ms: float, last_ms: float, count: int) -> tuple[float, ...]:
    """Delays that grow evenly."""
    return tuple(round(first_ms + (last_ms - first_ms) * number / (count - 1), 3) for number in range(count))


def every(step: int, count: int, first: int) -> frozenset[int]:
    """``count`` numbers, ``step`` apart."""
    return frozenset(range(first, first + step * count, step))


COUNT = RATE * (WARM_UP_SECONDS + DURATION_SECONDS + SPARE_SECONDS)
END = WARM_UP_SECONDS + DURATION_SECONDS


def all_cases() -> Sequence[Case]:
    """Every load, in order."""
    return (
        Case(
            "fixed",
            "every flow takes 1 s; 1 % fail, 5 connections break, 5 answers are lost",
            stratified(fixed(1000), COUNT, seed=1),
            failures=frozenset(range(50, COUNT, 100)),
            dropped=every(173, 5, first=1010),
            lost=every(211, 5, first=1105),
        ),
        Case(
            "bimodal",
            "80 % take 0.4 s and 20 % take 1.2 s; nothing ends for 2 s in the middle of the window",
            stratified(bimodal(400, 1200, 0.2), COUNT, seed=2),
            stalls=(Stall(WARM_UP_SECONDS + DURATION_SECONDS / 2 - 1, 2),),
            is_nightly=True,
        ),
        Case(
            "heavy-tailed",
            "log-normal, median 0.4 s; nothing ends for 2 s across each edge of the window",
            stratified(heavy_tailed(400, 0.6), COUNT, seed=3),
            stalls=(Stall(WARM_UP_SECONDS - 1, 2), Stall(END - 1, 2)),
        ),
        Case("ramp", "a flow takes 0.3 s at the start and 1.5 s at the end", ramp(300, 1500, COUNT), is_nightly=True),
        Case(
            "full-pool",
            "flows take 1 to 3 s, and the pool of 320 places is too small for the rate",
            # Not all the same: if all ended in the order of their starts, a pause of milliseconds would shift every
            # later drop.
            stratified(uniform(1000, 3000), COUNT, seed=5),
            pool=320,
        ),
    )
