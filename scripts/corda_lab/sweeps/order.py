"""The order in which the points of a sweep are measured."""

import random
from collections.abc import Sequence

from corda_lab.sweeps.planned import peak_sources
from corda_lab.sweeps.points import SweepPoint
from corda_lab.sweeps.schema import Fresh


def ordered(
    points: Sequence[SweepPoint], *, order: str, repeats: int, seed: int, fresh: Fresh
) -> list[tuple[SweepPoint, int]]:
    """Return the points with their repeat numbers, in the order in which they run.

    - ``listed``: all repeats of a point one after another.
    - ``interleaved``: all points once, then all again in reverse order, and so on. With an even number of repeats, a
      steady drift affects all points equally. Repeats whose own seed (``seed`` for the first) is even are the reverse
      ones, so that repeats that are added later go on in turn.
    - ``randomised``: for every repeat, the shapes and the points of each shape are shuffled. With ``fresh: shape``, the
      shape that is running comes first, which saves a restart.

    Points of the same shape run together where the order permits it. A point whose rate is a multiple of what others
    measure follows them in every repeat.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[SweepPoint]] = {}
    for point in points:
        shapes.setdefault(point.shape_key, []).append(point)
    groups = list(shapes.values())
    if order == "listed":
        return [(point, repeat) for point in _peaks_first(groups) for repeat in range(1, repeats + 1)]
    source = random.Random(seed)
    steps: list[tuple[SweepPoint, int]] = []
    last: list[SweepPoint] | None = None
    for repeat in range(1, repeats + 1):
        if order == "interleaved":
            is_reverse = (seed + repeat - 1) % 2 == 0
            turn = [group[::-1] for group in groups[::-1]] if is_reverse else groups
            steps += [(point, repeat) for point in _peaks_first(turn)]
            continue
        turn = source.sample(groups, len(groups))
        if last is not None and fresh == "shape":
            turn.insert(0, turn.pop(turn.index(last)))
        shuffled = _peaks_first([source.sample(group, len(group)) for group in turn])
        last = shapes[shuffled[-1].shape_key]
        steps += [(point, repeat) for point in shuffled]
    return steps


def _peaks_first(groups: Sequence[Sequence[SweepPoint]]) -> list[SweepPoint]:
    """Return the points of a repeat in order, but each that is a multiple of what others measure after those.

    ``groups`` are the points by shape. Shapes stay together unless each of two shapes needs a point of the other.
    """
    points = [point for group in groups for point in group]
    if not any(point.is_multiple for point in points):
        return points

    def place(point: SweepPoint) -> int:
        return 0 if point.is_peak else 2 if point.is_multiple else 1

    def depends(group: Sequence[SweepPoint]) -> bool:
        return any(
            source.shape_key != point.shape_key
            for point in group
            if point.is_multiple
            for source in peak_sources(point, points)
        )

    together = [point for group in sorted(groups, key=depends) for point in sorted(group, key=place)]
    for number, point in enumerate(together):
        needed = peak_sources(point, points) if point.is_multiple else []
        if any(source not in together[:number] for source in needed):
            return sorted(together, key=place)
    return together
