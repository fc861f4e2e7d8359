"""The items that the set-up has prepared, and their distribution to requests, users and workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab_workload.problems import TemplateError

Results = Sequence[Any] | Mapping[str, Sequence[Any]]
"""The results of one step in the order of its starts; for a step with ``each``, by item."""


@dataclass(frozen=True)
class Share:
    """The share of one worker, numbered from 1, among ``count``. A single-process generator is worker 0 of 1."""

    worker: int = 0
    count: int = 1

    @property
    def offset(self) -> int:
        return max(0, self.worker - 1)

    def number(self, ordinal: int) -> int:
        """Convert this worker's own ``ordinal``, from 1, to a number that is unique among all workers."""
        return self.offset + 1 + (ordinal - 1) * self.count

    def of(self, items: Sequence[Any]) -> list[Any]:
        """Return the items of this worker: every ``count``-th, so that no two workers share an item."""
        return list(items[self.offset :: self.count])


ALONE = Share()
"""The share of a single-process generator: all items."""


@dataclass
class Prepared:
    """The results of all steps. ``take`` and ``mine`` use only the items in this worker's share."""

    results: Mapping[str, Results] = field(default_factory=dict)
    share: Share = ALONE
    rate_max: float | None = None
    _taken: dict[tuple[str, str | None], int] = field(default_factory=dict)
    _shares: dict[tuple[str, str | None], list[Any]] = field(default_factory=dict)

    def take(self, step: str, item: str | Sequence[str] | None = None) -> Any:
        """Return the next item of ``step`` that has not been taken yet. Raises ``TemplateError`` if none is left.

        For several items of a step with ``each``, return a list with the next one of each.
        """
        if item is not None and not isinstance(item, str):
            return [self.take(step, one) for one in item]
        items = self._share_of("take", step, item)
        taken = self._taken.get((step, item), 0)
        if taken >= len(items):
            raise TemplateError(_none_left(step, item, len(items), self.rate_max))
        self._taken[step, item] = taken + 1
        return items[taken]

    def mine(self, ordinal: int, step: str, item: str | Sequence[str] | None = None) -> Any:
        """Return the item of this worker's user ``ordinal``, from 1. Raises ``TemplateError`` if there is none.

        For several items of a step with ``each``, return a list with the user's own one of each.
        """
        if item is not None and not isinstance(item, str):
            return [self.mine(ordinal, step, one) for one in item]
        items = self._share_of("mine", step, item)
        if ordinal > len(items):
            named = _named(step, item)
            raise TemplateError(f"mine({named}): no item for user {ordinal}; only {len(items)} items are prepared")
        return items[ordinal - 1]

    def _share_of(self, function: str, step: str, item: str | None) -> list[Any]:
        key = (step, item)
        if key not in self._shares:
            self._shares[key] = self.share.of(items_of(function, self.results, step, item))
        return self._shares[key]


def items_of(function: str, results: Mapping[str, Results], step: str, item: str | None) -> Sequence[Any]:
    """Return the list from which ``function(step, item)`` takes items. Raises ``TemplateError`` if there is none."""
    found = results.get(step)
    named = _named(step, item)
    if found is None:
        raise TemplateError(f"{function}({named}): there is no step {step!r}")
    if not isinstance(found, Mapping):
        if item is not None:
            raise TemplateError(f"{function}({named}): the step has no 'each', so it has no items to choose from")
        return found
    if item is None or item not in found:
        raise TemplateError(f"{function}({named}): choose one of the step's items {', '.join(map(repr, found))}")
    return found[item]


def count_items(results: Results) -> int:
    return sum(map(len, results.values())) if isinstance(results, Mapping) else len(results)


def _named(step: str, item: str | None) -> str:
    return repr(step) if item is None else f"{step!r}, {item!r}"


def _none_left(step: str, item: str | None, count: int, rate_max: float | None) -> str:
    if rate_max is None:
        reason = "requests took more than expected; increase the count of the step"
    else:
        reason = f"rate_max={rate_max:g} requests/s is too low; increase rate_max"
    return f"take({_named(step, item)}): all {count} prepared items are taken: {reason}"
