"""What stands beside the tables of the book, so that its signs and verdicts are not read for more than they say."""

from corda_lab.figures.verdict import REPEATS_MIN
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import percent, plural

NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

NOTE_LEGEND = f"{NOTE} a note in the figure's section says what else stands behind the verdict."

_OTHER = percent(100 * (1 - (1 - CONFIDENCE) ** (1 / REPEATS_MIN)))
OUTCOME_LEGEND = (
    f"If an outcome, such as whether a node ends, was the same in {REPEATS_MIN} of {REPEATS_MIN} repeats, the other "
    f"one may still have a chance of up to {_OTHER} (one-sided, {percent(100 * CONFIDENCE)})."
)

PICTURE_LEGEND = (
    "In a picture with published curves, which are dashed, every curve is divided by its own value at one point, so "
    "that systems of different speed can be compared. Where a number of users is divided by a curve's own peak, that "
    "peak is its highest throughput in flows/s. A picture without published curves has the measured values."
)

ERRORS = (
    "It is one standard deviation where one is published (R3 does not say of what), else the error of reading the "
    "value off a picture, or of rounding it. It is not a 95 % interval."
)
"""What the error of a published value is."""


def at_95_percent(claims: int, without_value: int) -> str:
    """Return what judging many claims at 95 % means, and adding repeats until one is decided.

    ``without_value`` is the number of claims that were measured too, but of which no repeat has a value that counts.
    """
    more = f"{without_value} more have repeats, but no value that counts. " if without_value else ""
    return (
        f"{plural(claims, 'claim')} {'is' if claims == 1 else 'are'} measured here, each judged at "
        f"{percent(100 * CONFIDENCE)}: of so many verdicts, one in {1 / (1 - CONFIDENCE):.0f} may be wrong. {more}"
        "Adding repeats until an interval clears the end of its region raises the chance of a wrong verdict above "
        f"{100 * (1 - CONFIDENCE):.0f} %."
    )
