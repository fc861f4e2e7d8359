"""The plan of a load: the file that the command line writes is what the generator reads."""

from pathlib import Path

import pytest

from lab_workload.flows import Party
from lab_workload.load import Load
from lab_workload.network import Roles
from lab_workload.plan import Plan
from lab_workload.subject import LoadPart, Subject

WORKLOAD = """\
description: Pay with prepared coins.
node: PartyA
flow: Pay
args: {coin: "{{ take('coins') }}"}
setup: [{name: coins, flow: Prepare, args: {count: "{{ needed }}"}}]
rate_max: 10
"""
PARTIES = {"PartyA": "O=A", "PartyB": "O=B"}
FIRST, SECOND = Party("PartyA", "O=A"), Party("PartyB", "O=B")
STARTERS = (Roles(FIRST, SECOND, PARTIES, ("PartyA", "PartyB")), Roles(SECOND, FIRST, PARTIES, ("PartyA", "PartyB")))


def plan(load: Load, seconds: float | None = 20.0, starters: tuple[Roles, ...] = STARTERS[:1]) -> Plan:
    part = LoadPart("Pay", "com.example.Pay", "Pay", changes={"com.example.Coin": {"PartyA": -1}})
    return Plan(
        identity="run",
        load=load,
        workload_text=WORKLOAD,
        starters=starters,
        subject=Subject("PartyA", (part,)),
        seconds=seconds,
    )


def test_a_plan_is_read_as_it_was_written() -> None:
    load = Load(workload="pay", nodes=("PartyA", "PartyB"), arrivals="poisson", rate=20.0, overrides={"a": "{{ 1 }}"})
    results = {"PartyA": {"coins": ["a", "b"], "cash": {"PartyB": [{"ref": 1}]}}, "PartyB": {"coins": ["c"]}}
    whole = plan(load, None, STARTERS).model_copy(update={"results": results})
    assert Plan.model_validate_json(whole.model_dump_json()) == whole


def test_the_workload_has_the_values_that_the_load_sets() -> None:
    load = Load(workload="pay", overrides={"rate_max": "5"})
    assert (plan(load).workload.rate_max, plan(load).workload.source.path) == (5, Path("pay.yaml"))


@pytest.mark.parametrize(
    ("load", "seconds", "nodes", "needed"),
    [
        (Load(workload="pay", users=3), 20.0, 1, 203),
        (Load(workload="pay", users=3), None, 1, None),
        (Load(workload="pay", users=3, flows=10, flows_after=2), None, 2, 12),
        (Load(workload="pay", users=5, arrivals="burst", bursts=3, pool=2), None, 2, 8),
        (Load(workload="pay", users=3, arrivals="constant", rate=10), 20.0, 2, 114),
    ],
)
def test_as_many_requests_are_prepared_as_one_node_may_start(
    load: Load, seconds: float | None, nodes: int, needed: int | None
) -> None:
    assert plan(load, seconds, STARTERS[:nodes]).needed == needed


def test_every_worker_has_the_same_number_of_users() -> None:
    assert plan(Load(workload="pay", users=5, workers=2)).users == 6
    assert plan(Load(workload="pay", users=70, arrivals="burst", pool=8)).users == 8
