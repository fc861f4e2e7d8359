"""The commands that a report prints to repeat its steps."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from corda_lab.report import commands
from corda_lab.results import stored
from corda_lab.steps.entry import NodeValues
from corda_lab.steps.load import flag
from lab_workload.load import FIELDS, OPTIONS

NOT_PRINTED = {"name", "nodes"}
"""A repeated run has a name of its own, and the warm-up that the step really had. It has either a node or nodes."""


def test_every_option_of_the_load_is_repeated(stored_run: Callable[..., Path]) -> None:
    step = stored.read(stored_run()).steps[0]
    values = {name: getattr(step.load, name) for name in map(FIELDS.__getitem__, OPTIONS)}
    unset = {
        "node": "PartyA",
        "nodes": "PartyA,PartyB",
        "counterparty": "PartyB",
        "name": "own",
        "database_size": "file",
    }
    given = {name: unset.get(name, 2) if value is None else value for name, value in values.items()}
    flags = set()
    for arrivals in ("closed", "poisson", "burst"):
        # A load that ends after a number of flows is repeated without times.
        for flows in (None, 2):
            asked: dict[str, Any] = {**given, "arrivals": arrivals, "flows": flows}
            load = step.load.updated(**asked)
            printed = commands.run(step.updated(load=load)).split()
            flags |= {word for word in printed if word.startswith("--") and word != "--set"}
            flags |= {f"--set {word.partition('=')[0]}" for before, word in pairwise(printed) if before == "--set"}
    assert flags == {flag(key) for key in OPTIONS if key not in NOT_PRINTED}


@pytest.mark.parametrize(
    ("kind", "words", "without"),
    [
        (
            "stored_burst_run",
            "--users 20 --arrivals burst --set within=1s --set pool=5 --set bursts=4 --set rest=5s",
            {"--flows", "--duration", "--warm-up", "--rate"},
        ),
        ("stored_counted_run", "--flows 40 --set flows_after=5", {"--duration", "--warm-up"}),
    ],
    ids=["bursts", "counted"],
)
def test_a_load_that_ends_by_count_is_repeated_without_times(
    request: pytest.FixtureRequest, kind: str, words: str, without: set[str]
) -> None:
    about = {"pool": 5} if kind == "stored_burst_run" else {}
    printed = commands.run(stored.read(request.getfixturevalue(kind)(**about)).steps[0])
    assert words in printed
    assert without.isdisjoint(printed.split())


def test_several_nodes_take_the_place_of_one(stored_run: Callable[..., Path]) -> None:
    step = stored.read(stored_run()).steps[0]
    by_node = [
        NodeValues(node=node, throughput_per_second=1.0, latency_ms=step.latency_ms) for node in ("PartyA", "PartyB")
    ]
    changed = step.updated(node="PartyA, PartyB", counterparty="PartyB, PartyA", by_node=by_node)
    printed = commands.run(changed)
    assert "--set nodes=PartyA,PartyB" in printed
    assert "--node " not in printed
    assert "counterparty" not in printed, "it is the ring again"
