"""The commands that a report prints to repeat its steps."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.report import commands
from corda_lab.results import stored
from corda_lab.steps.entry import NodeValues
from corda_lab.steps.load import LOAD_OPTIONS

NOT_PRINTED = {"name", "warm_up_max", "nodes"}
"""A repeated run has a name of its own, and the warm-up that the step really had. It has either a node or nodes."""


def test_every_option_of_the_load_is_repeated(stored_run: Callable[..., Path]) -> None:
    step = stored.read(stored_run()).steps[0]
    everything = {
        option.stored: 2 if getattr(step.load, option.stored) is None else getattr(step.load, option.stored)
        for option in LOAD_OPTIONS.values()
        if option.stored
    }
    load = step.load.model_copy(update={**everything, "arrivals": "poisson"})
    printed = commands.run(step.updated(load=load)).split()
    flags = {word for word in printed if word.startswith("--")}
    assert flags == {option.flag for option in LOAD_OPTIONS.values() if option.name not in NOT_PRINTED}


def test_several_nodes_take_the_place_of_one(stored_run: Callable[..., Path]) -> None:
    step = stored.read(stored_run()).steps[0]
    by_node = [
        NodeValues(node=node, throughput_per_second=1.0, latency_ms=step.latency_ms) for node in ("PartyA", "PartyB")
    ]
    changed = step.updated(node="PartyA, PartyB", counterparty="PartyB, PartyA", by_node=by_node)
    printed = commands.run(changed)
    assert "--nodes PartyA --nodes PartyB" in printed
    assert "--node " not in printed
    assert "--counterparty" not in printed, "it is the ring again"
