"""Prepared items: each is taken once, by one worker, and what is missing is told."""

import itertools
from typing import Any

import pytest

from lab_workload.prepared import Prepared, Share
from lab_workload.problems import TemplateError
from lab_workload.templates import Arguments
from lab_workload.values import Values

RESULTS: dict[str, Any] = {"coins": [f"coin-{n}" for n in range(7)], "cash": {"PartyB": ["b1", "b2"], "PartyC": ["c1"]}}
STEPS = ("cash", "coins")


def values(share: Share | None = None, rate_max: float | None = None) -> Values:
    prepared = Prepared(RESULTS, share or Share(), rate_max)
    return Values(seed=1, node="O=PartyA", counterparty=None, prepared=prepared, users=3, needed=5, run_id="run")


def rendered(template: str, drawn_from: Values | None = None) -> Any:
    return Arguments({"value": template}, steps=STEPS).render(drawn_from or values())["value"]


def test_take_gives_every_item_once_in_order() -> None:
    drawn_from = values()

    assert [rendered("{{ take('coins') }}", drawn_from) for _ in range(7)] == RESULTS["coins"]
    with pytest.raises(
        TemplateError, match=r"take\('coins'\): all 7 prepared items are taken: requests took more than"
    ):
        rendered("{{ take('coins') }}", drawn_from)


def test_running_dry_names_rate_max() -> None:
    drawn_from = values(rate_max=2.5)
    rendered("{{ take('cash', 'PartyC') }}", drawn_from)

    with pytest.raises(TemplateError, match=r"rate_max=2.5 requests/s is too low; increase rate_max"):
        rendered("{{ take('cash', 'PartyC') }}", drawn_from)


def test_no_item_is_two_workers_and_none_is_lost() -> None:
    taken = []
    for worker in (1, 2, 3):
        drawn_from = values(Share(worker, 3))
        taken.append([rendered("{{ take('coins') }}", drawn_from) for _ in range(3 if worker == 1 else 2)])

    assert sorted(itertools.chain(*map(list, taken))) == RESULTS["coins"]


def test_mine_is_the_user_s_own_in_every_request_and_nobody_else_s_on_any_worker() -> None:
    own = {
        values(Share(worker, 2)).for_user(user).names["user"]: rendered(
            "{{ mine('coins') }}", values(Share(worker, 2)).for_user(user)
        )
        for worker in (1, 2)
        for user in (1, 2, 3)
    }

    assert own == {number: f"coin-{number - 1}" for number in range(1, 7)}
    with pytest.raises(TemplateError, match=r"mine\('coins'\): no item for user 4; only 3 items are prepared"):
        rendered("{{ mine('coins') }}", values(Share(2, 2)).for_user(4))


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ setup.coins[2] }}", "coin-2"),
        ("{{ setup['coins'] | length }}", 7),
        ("{{ setup.cash.PartyC[0] }}", "c1"),
        ("{{ setup.cash['PartyB'] }}", ["b1", "b2"]),
        ("{{ take('cash', 'PartyB') }}", "b1"),
        ("{{ users }} of {{ needed }} in {{ run_id }}", "3 of 5 in run"),
    ],
)
def test_results_are_reached_by_step_and_item(template: str, value: object) -> None:
    assert rendered(template) == value


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ take('cash') }}", "take('cash'): choose one of the step's items 'PartyB', 'PartyC'"),
        ("{{ take('cash', 'PartyD') }}", "take('cash', 'PartyD'): choose one of the step's items"),
        (
            "{{ take('coins', 'PartyB') }}",
            "take('coins', 'PartyB'): the step has no 'each', so it has no items to choose from",
        ),
        ("{{ party('PartyZ') }}", "party('PartyZ'): unknown party; choose from "),
    ],
)
def test_what_is_not_there_is_told(template: str, message: str) -> None:
    with pytest.raises(TemplateError) as raised:
        rendered(template)

    assert str(raised.value).startswith(message)


def test_counters_of_workers_never_meet() -> None:
    counted = [rendered("{{ counter() }}", values(Share(worker, 2))) for worker in (1, 2)]

    assert counted == [1, 2]
    drawn_from = values(Share(2, 2))
    assert [rendered("{{ counter() }}", drawn_from) for _ in range(3)] == [2, 4, 6]
