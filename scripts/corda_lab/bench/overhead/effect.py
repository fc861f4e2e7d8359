"""What the switched parts cost: ratios of pairs, the smallest loss that could be seen, and the promise about it.

A pair is two measurements that follow one another in a block, one with the part on and one with it off. The ratio is
flows/s with it on ÷ flows/s with it off. Its interval is that of Student's t on logarithms. A pair of which one
measurement failed is left out.
"""

from corda_lab.bench.overhead.measurement import OverheadBench, State, Switchable
from corda_lab.bench.peers.compare import Check, Estimate, at_least
from corda_lab.stats.difference import paired

EVERYTHING: Switchable = "everything"
LOSS_PERCENT_MAX = 3.0
"""The largest loss of throughput that the lab allows itself, with recording, monitoring and stage timing together."""


def rates(bench: OverheadBench, subject: Switchable, state: State) -> dict[int, float]:
    """Return flows/s by pair. Measurements that failed have none."""
    return {each.pair: each.flows_per_second for each in bench.of(subject, state) if each.problem is None}


def ratio(bench: OverheadBench, subject: Switchable) -> Estimate | None:
    """Return the geometric mean of the ratios of all pairs. None if no pair is whole."""
    off, on = rates(bench, subject, "off"), rates(bench, subject, "on")
    if not off.keys() & on.keys():
        return None
    found = paired(off, on, higher_is="faster")
    return Estimate(found.ratio, found.low, found.high, found.n_a)


def loss_percent(found: Estimate) -> float:
    """Return the loss of throughput in percent of that without the part. It is negative if throughput was higher."""
    return 100 * (1 - found.value)


def smallest_loss_percent(found: Estimate) -> float | None:
    """Return the smallest loss that could be seen, in percent; None for a single pair.

    It is half the width of the interval: with this loss, the interval would just exclude a ratio of 1.
    """
    return None if found.high is None else 100 * (1 - found.value / found.high)


def in_words(found: Estimate | None) -> str:
    """Say what the pairs show of a cost: ``costs 2.1 % (1.0 to 3.2 %)``."""
    if found is None:
        return "nothing was measured"
    smallest = smallest_loss_percent(found)
    if smallest is None or found.low is None or found.high is None:
        return "a single pair does not show a loss"
    visible = f"the smallest loss that could be seen is {smallest:.1f} %"
    if found.high < 1:
        return f"costs {loss_percent(found):.1f} % ({100 * (1 - found.high):.1f} to {100 * (1 - found.low):.1f} %)"
    if found.low > 1:
        return f"no loss: throughput was higher with it on; {visible}"
    return f"no loss seen; {visible}"


def checks(bench: OverheadBench) -> list[Check]:
    """Return the promise about everything together, judged. Empty if the bench did not measure that."""
    if EVERYTHING not in bench.subjects:
        return []
    found, wanted = ratio(bench, EVERYTHING), 1 - LOSS_PERCENT_MAX / 100
    what = "flows/s with recording, monitoring and stage timing ÷ flows/s without them"
    return [Check(what, f"≥ {wanted:g}", found, at_least(found, wanted))]
