"""Which repeats of a sweep share a start of the nodes, and what their intervals lack therefore."""

from collections.abc import Sequence

from corda_lab.figures.forms import in_form
from corda_lab.figures.repeat import Form, Repeat
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.points import points_of

LACK = "So the intervals leave out how much two starts differ, and contain how much nodes change with their age."
SHARED_START = f"Repeats of one run share a start of the nodes. {LACK}"
SHARED_STARTS = (
    "Each run started the nodes only where the shape of the lab changed. Its repeats go forwards and backwards in "
    f"turn, so neighbours may share a start. {LACK}"
)
"""The same where the labs of a sweep have several shapes."""


def are_of_one_start(sweep: SweepFile, repeats: Sequence[Repeat]) -> bool:
    """Return whether two or more repeats all ran on one start of the nodes.

    They are of one run, whose labs have one shape, and are not started again for a repeat.
    """
    if len(repeats) < 2 or len({one.run for one in repeats}) > 1:
        return False
    return _starts_once_a_shape(sweep, repeats[0].form) and _shapes(sweep, repeats[0].form) == 1


def shared_words(sweep: SweepFile, form: Form) -> str:
    """Return what the intervals of repeats lack that share starts of the nodes; empty if each repeat has its own."""
    if not _starts_once_a_shape(sweep, form):
        return ""
    return SHARED_START if _shapes(sweep, form) == 1 else SHARED_STARTS


def _starts_once_a_shape(sweep: SweepFile, form: Form) -> bool:
    return in_form(sweep, form).fields.fresh == "shape"


def _shapes(sweep: SweepFile, form: Form) -> int:
    """Return how many shapes the labs of a sweep have."""
    return len({point.shape_key for point in points_of(in_form(sweep, form))})
