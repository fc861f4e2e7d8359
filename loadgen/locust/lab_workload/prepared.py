"""What the set-up has prepared, and how it is dealt out: to requests, to users, to workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab_workload.problems import TemplateError

Results = Sequence[Any] | Mapping[str, Sequence[Any]]
"""Results of one step in the order of its starts; of a step with ``each`` by item."""


@dataclass(frozen=True)
class Share:
    """One of ``count`` workers, from 1; worker 0 of 1 is a generator of a single process."""

    worker: int = 0
    count: int = 1

    @property
    def offset(self) -> int:
        """How many come before this one."""
        return max(0, self.worker - 1)

    def number(self, ordinal: int) -> int:
        """The number that this worker's own ``ordinal``, from 1, has among those of all workers."""
        return self.offset + 1 + (ordinal - 1) * self.count

    def of(self, items: Sequence[Any]) -> list[Any]:
        """The items that are this worker's: every so manyth, so that no item is two workers'."""
        return list(items[self.offset :: self.count])


ALONE = Share()
"""The share of a generator of a single process: everything."""


@dataclass
class Prepared:
    """Results of all steps; every item is taken at most once.

    ``setup`` is whole in every worker, ``take`` and ``mine`` deal out the worker's share.
    """

    results: Mapping[str, Results] = field(default_factory=dict)
    share: Share = ALONE
    rate_max: float | None = None
    _taken: dict[tuple[str, str | None], int] = field(default_factory=dict)
    _shares: dict[tuple[str, str | None], list[Any]] = field(default_factory=dict)

    def take(self, step: str, item: str | None = None) -> Any:
        """The next item of ``step`` that nobody has taken. Raises ``TemplateError`` when there is none left."""
        items = self._share_of("take", step, item)
        taken = self._taken.get((step, item), 0)
        if taken >= len(items):
            raise TemplateError(_ran_dry(step, item, len(items), self.rate_max))
        self._taken[step, item] = taken + 1
        return items[taken]

    def mine(self, ordinal: int, step: str, item: str | None = None) -> Any:
        """The item of this worker's user ``ordinal``, from 1. Raises ``TemplateError`` when there are more users."""
        items = self._share_of("mine", step, item)
        if ordinal > len(items):
            named = _named(step, item)
            raise TemplateError(f"mine({named}): there are {len(items)} items, user {ordinal} has none; prepare more")
        return items[ordinal - 1]

    def _share_of(self, function: str, step: str, item: str | None) -> list[Any]:
        key = (step, item)
        if key not in self._shares:
            self._shares[key] = self.share.of(items_of(function, self.results, step, item))
        return self._shares[key]


def items_of(function: str, results: Mapping[str, Results], step: str, item: str | None) -> Sequence[Any]:
    """The list that ``function(step, item)`` draws from. Raises ``TemplateError`` when it names none."""
    found = results.get(step)
    named = _named(step, item)
    if found is None:
        raise TemplateError(f"{function}({named}): there is no step {step!r}")
    if not isinstance(found, Mapping):
        if item is not None:
            raise TemplateError(f"{function}({named}): the step has no 'each', so name no item")
        return found
    if item is None or item not in found:
        raise TemplateError(f"{function}({named}): name one of the step's items {', '.join(map(repr, found))}")
    return found[item]


def count_items(results: Results) -> int:
    """How many items a step has prepared."""
    return sum(map(len, results.values())) if isinstance(results, Mapping) else len(results)


def _named(step: str, item: str | None) -> str:
    return repr(step) if item is None else f"{step!r}, {item!r}"


def _ran_dry(step: str, item: str | None, count: int, rate_max: float | None) -> str:
    reason = f"rate_max, now {rate_max:g} requests/s, is too low" if rate_max else "more are taken than were expected"
    return f"take({_named(step, item)}): all {count} prepared items are taken: {reason}; raise rate_max"
