"""The order in which the points of a sweep are measured."""

from collections.abc import Sequence

from corda_lab.sweeps.points import SweepPoint


def ordered(points: Sequence[SweepPoint], *, repeats: int, seed: int) -> list[tuple[SweepPoint, int]]:
    """Return the points with their repeat numbers, in the order in which they run.

    All points are measured once, then all again in reverse order, and so on. With an even number of repeats, a steady
    drift affects all points equally. Repeats whose own seed (``seed`` for the first) is even are the reverse ones, so
    that repeats that are added later go on in turn.

    Points of the same shape run together. Among them, those that show the peak come first in every repeat, because the
    rates of others are multiples of it.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[SweepPoint]] = {}
    for point in points:
        shapes.setdefault(point.shape_key, []).append(point)
    groups = list(shapes.values())
    steps: list[tuple[SweepPoint, int]] = []
    for repeat in range(1, repeats + 1):
        is_reverse = (seed + repeat - 1) % 2 == 0
        turn = [group[::-1] for group in groups[::-1]] if is_reverse else groups
        steps += [(point, repeat) for group in turn for point in sorted(group, key=lambda point: not point.is_peak)]
    return steps
