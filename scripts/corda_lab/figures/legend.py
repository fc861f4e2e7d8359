"""What stands beside the tables of the book, so that its signs and verdicts are not read for more than they say."""

from corda_lab.figures.verdict import REPEATS_MIN
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import percent, plural

NOTE = "†"
"""The mark of a claim that has a note: what a person found who looked at the evidence."""

NOTE_LEGEND = f"{NOTE} a note in the figure's section says what else stands behind the verdict."

_OTHER = percent(100 * (1 - (1 - CONFIDENCE) ** (1 / REPEATS_MIN)))
OUTCOME_LEGEND = (
    f"For an outcome, such as whether a node ends, {REPEATS_MIN} of {REPEATS_MIN} repeats leave up to {_OTHER} "
    f"(one-sided, {percent(100 * CONFIDENCE)}) for the chance of the other outcome: they tell what was seen."
)

ERRORS = (
    "It is one standard deviation where one is published (R3 does not say of what), else the error of reading the "
    "value off a picture, or of rounding it. It is not a 95 % interval."
)
"""What the error of a published value is."""


def at_95_percent(claims: int) -> str:
    """Return what judging many claims at 95 % means, and adding repeats until one is decided."""
    return (
        f"{plural(claims, 'claim')} {'is' if claims == 1 else 'are'} measured here, each judged at "
        f"{percent(100 * CONFIDENCE)}: of so many verdicts, one in {1 / (1 - CONFIDENCE):.0f} may be wrong. Adding "
        "repeats until an interval clears the end of its region raises the chance of a wrong verdict above "
        f"{100 * (1 - CONFIDENCE):.0f} %."
    )
