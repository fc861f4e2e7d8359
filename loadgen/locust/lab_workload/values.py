"""The values that templates use: random numbers that follow from the seed, parties, and prepared items."""

import random
from collections.abc import Mapping
from typing import Any

from lab_workload.names import canonical, did_you_mean
from lab_workload.prepared import Prepared, Share
from lab_workload.problems import TemplateError


class Draws:
    """The random numbers and the counter of one worker. Values for several nodes share them."""

    def __init__(self, seed: int, share: Share) -> None:
        self._random = random.Random(seed if share.count == 1 else f"{seed}/{share.worker}")
        self._share = share
        self._count = 0

    def next_count(self) -> int:
        self._count += 1
        return self._share.number(self._count)

    def random_int(self, lowest: int, highest: int) -> int:
        """Return a number between the bounds, inclusive. Raises ``TemplateError`` if they are not valid."""
        if type(lowest) is not int or type(highest) is not int:
            raise TemplateError(f"random_int({lowest!r}, {highest!r}): both bounds must be whole numbers")
        if lowest > highest:
            raise TemplateError(f"random_int({lowest}, {highest}): the first bound is above the second")
        return self._random.randint(lowest, highest)

    def pick(self, choices: list[Any]) -> Any:
        """Return one item of a list. Raises ``TemplateError`` if there is none."""
        if not isinstance(choices, (list, tuple)) or not choices:
            raise TemplateError(f"pick({choices!r}): needs a list with at least one item")
        return self._random.choice(choices)


class Values:
    """The values that templates can use in one run.

    ``node``, ``counterparty`` and ``notary`` are X.500 names; ``parties`` has the X.500 name of every party by its
    name. If ``counterparty`` or ``notary`` is None, templates cannot use that name. Each worker has its own random
    sequence, and no number of ``counter`` occurs in two workers. ``draws`` has both, for values that share them; by
    default they are new.
    """

    def __init__(
        self,
        *,
        seed: int,
        node: str,
        counterparty: str | None,
        notary: str | None = None,
        parties: Mapping[str, str] | None = None,
        users: int = 1,
        needed: int | None = None,
        run_id: str = "",
        prepared: Prepared | None = None,
        draws: Draws | None = None,
    ) -> None:
        self._prepared = prepared or Prepared()
        share = self._prepared.share
        draws = draws or Draws(seed, share)
        self._user = 1
        self._parties = dict(parties or {})
        self.names: dict[str, Any] = {
            "counter": draws.next_count,
            "pick": draws.pick,
            "random_int": draws.random_int,
            "party": self._party,
            "parties": [name for name in self._parties.values() if name != node],
            "take": self._prepared.take,
            "mine": self._mine,
            "setup": _Steps(self._prepared),
            "run_id": run_id,
            "users": users,
            "user": share.number(1),
            "node": node,
        }
        if counterparty is not None:
            self.names["counterparty"] = counterparty
        if notary is not None:
            self.names["notary"] = notary
        if needed is not None:
            self.names["needed"] = needed

    @property
    def are_prepared(self) -> bool:
        """Whether the results of the set-up are available."""
        return bool(self._prepared.results)

    def for_user(self, ordinal: int) -> "Values":
        """Switch to this worker's user ``ordinal``, from 1, until the next call, and return the values."""
        self._user = ordinal
        self.names["user"] = self._prepared.share.number(ordinal)
        return self

    def _party(self, name: str | list[str]) -> str | list[str]:
        """Return the X.500 name of a party; for a list of parties, the list of theirs. Raises ``TemplateError``."""
        return [self._x500_name(one) for one in name] if isinstance(name, list) else self._x500_name(name)

    def _x500_name(self, name: str) -> str:
        found = name if name in self._parties else canonical(str(name), self._parties)
        if found is None:
            hint = did_you_mean(str(name), self._parties) or f"; choose from {', '.join(self._parties)}"
            raise TemplateError(f"party({name!r}): unknown party{hint}")
        return self._parties[found]

    def _mine(self, step: str, item: str | list[str] | None = None) -> Any:
        return self._prepared.mine(self._user, step, item)


class _Steps:
    """The results of a step, as ``setup.coins``. It is no dict, because a step may have the name of a dict's method."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared

    def __getitem__(self, step: str) -> Any:
        return self._prepared.results[step]
