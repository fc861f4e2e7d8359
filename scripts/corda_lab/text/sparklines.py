"""Small pictures of a value over time, in a line of text."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = " "


def sparkline(values: Sequence[float | None]) -> str:
    """Return a block for each value, from the lowest for 0 to the highest for the maximum. None becomes a space.

    Values below 0 count as 0.
    """
    known = [value for value in values if value is not None]
    top = max(known, default=0.0)
    return "".join(GAP if value is None else _block(value, top) for value in values)


def _block(value: float, top: float) -> str:
    share = max(0.0, value) / top if top > 0 else 0.0
    return BLOCKS[round(share * (len(BLOCKS) - 1))]
