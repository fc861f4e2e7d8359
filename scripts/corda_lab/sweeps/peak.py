"""Rates that are multiples of the peak: which steps measure it, and that these come first in every repeat."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Offered(Protocol):
    """A point or a step, as far as it says whether its rate is a multiple of what others measure."""

    @property
    def workload(self) -> str: ...
    @property
    def is_peak(self) -> bool: ...
    @property
    def is_multiple(self) -> bool: ...
    @property
    def shape_key(self) -> tuple[tuple[str, str], ...]: ...


AnyOffered = TypeVar("AnyOffered", bound=Offered)


def peak_sources(one: Offered, others: Iterable[AnyOffered]) -> list[AnyOffered]:
    """Return those of one repeat whose highest throughput is the peak for a rate that is a multiple of it.

    They run the same workload at rates that are no multiples. Named steps with ``peak`` come before others, and those
    on the same shape before those on other shapes.
    """
    known = [other for other in others if other.workload == one.workload and not other.is_multiple]
    known = [other for other in known if other.is_peak] or known
    return [other for other in known if other.shape_key == one.shape_key] or known


def peaks_first(groups: Sequence[Sequence[AnyOffered]]) -> list[AnyOffered]:
    """Return the points of a repeat in order, but each that is a multiple of what others measure after those.

    ``groups`` are the points by shape. Shapes stay together unless each of two shapes needs a point of the other.
    """
    points = [point for group in groups for point in group]
    if not any(point.is_multiple for point in points):
        return points

    def place(point: AnyOffered) -> int:
        return 0 if point.is_peak else 2 if point.is_multiple else 1

    def depends(group: Sequence[AnyOffered]) -> bool:
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
