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


def test_bursts_are_repeated_without_times(stored_burst_run: Callable[..., Path]) -> None:
    burst = commands.run(stored.read(stored_burst_run(pool=5)).steps[0])
    assert "--users 20 --arrivals burst --set within=1s --set pool=5 --set bursts=4 --set rest=5s" in burst
    assert not {"--flows", "--duration", "--warm-up", "--rate"} & set(burst.split())
    assert "pacing" not in burst


def test_a_number_of_flows_is_repeated_without_times(stored_counted_run: Callable[..., Path]) -> None:
    counted = commands.run(stored.read(stored_counted_run()).steps[0])
    assert "--flows 40 --set flows_after=5" in counted
    assert not {"--duration", "--warm-up"} & set(counted.split())
    assert "bursts" not in counted


@pytest.mark.parametrize("about", [{}, {"pool": 5}])
def test_a_run_that_is_repeated_has_the_load_that_was_stored(
    stored_burst_run: Callable[..., Path], about: dict[str, int]
) -> None:
    run = stored.read(stored_burst_run(**about))
    assert run.manifest.load is not None
    assert run.manifest.load == run.steps[0].load
    assert (run.manifest.load.duration_seconds, run.manifest.load.warm_up_seconds) == (3600, 0)


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
