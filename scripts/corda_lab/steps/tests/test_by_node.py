"""A load whose flows several nodes start: what the generator is told, and the values of each node."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.report import commands
from corda_lab.steps import rows
from corda_lab.steps.broken import BrokenLoad, broken_step
from corda_lab.steps.build import node_values
from corda_lab.steps.load import check_load, read_load, with_limit
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.subject import Subject
from support import simulation
from support.runs import measured_of, part, plan_of

OPTIONS = Load(workload="iou", users=4, duration_seconds=60, warm_up_seconds=15)
NODES = ("PartyA", "PartyB")


def plan_for(*nodes: str) -> Plan:
    first, *others = (Subject(node, (part("Iou"),)) for node in nodes)
    subject = replace(first, others=tuple(others))
    return plan_of(OPTIONS.updated(nodes=nodes)).model_copy(update={"subject": subject})


def rows_of_both(users: int = 4) -> list[dict[str, object]]:
    """The rows of a load whose odd users are those of PartyA, and whose even users are those of PartyB."""
    content = simulation.closed_rows(users, 75, simulation.fixed(0.5))
    return [{**one, "node": NODES[int(one["user_id"]) % 2]} for one in content]


@pytest.mark.parametrize("given", [["PartyA,PartyB"], ["PartyA", "PartyB"], "PartyA, PartyB", "PartyA PartyB"])
def test_names_are_separated_by_commas_or_spaces_or_given_one_by_one(given: str | list[str]) -> None:
    assert OPTIONS.updated(nodes=given).nodes == NODES


@pytest.mark.parametrize("change", [{"node": "PartyA", "nodes": NODES}, {"nodes": ()}, {"nodes": NODES * 20}])
def test_nodes_exclude_a_node_and_have_limits(change: dict[str, object]) -> None:
    with pytest.raises(LabError, match=r"^--set nodes: "):
        check_load(read_load({**dict(OPTIONS), **change}))


def test_each_node_has_its_own_values_and_they_add_up(tmp_path: Path) -> None:
    frame = simulation.frame(tmp_path, rows_of_both())
    window = rows.Window(simulation.ORIGIN + 15, simulation.ORIGIN + 75)
    first, second = node_values(frame, window, NODES, window.seconds)
    assert (first.node, second.node) == NODES
    total = rows.outcome_values(frame, window).throughput_per_second
    assert first.throughput_per_second + second.throughput_per_second == pytest.approx(total)
    assert min(first.throughput_per_second, second.throughput_per_second) > 0
    assert first.latency_ms.count + second.latency_ms.count == rows.outcome_values(frame, window).latency_ms.count
    assert node_values(frame, window, NODES[:1], window.seconds) == (), "the step itself has those of the only node"


def test_a_step_names_all_nodes(tmp_path: Path) -> None:
    simulated = rows_of_both()
    plan = plan_for(*NODES)
    step = measured_of(tmp_path, plan, simulated, simulation.end_words(simulated, 4, 75)).step
    assert step.node == "PartyA, PartyB"
    assert tuple(one.node for one in step.by_node) == NODES
    assert step.value("bridge_in_flight_mean") is None, "only one of the two nodes has samples"
    assert type(step).model_validate_json(step.model_dump_json()).by_node == step.by_node


def test_the_throughputs_of_the_nodes_in_bursts_add_up_to_that_of_the_step(tmp_path: Path) -> None:
    content = simulation.burst_rows(20, 3, simulation.fixed(0.05))
    simulated = [{**one, "node": NODES[int(one["request_id"]) % 2]} for one in content]
    options = with_limit(Load(workload="iou", users=20, arrivals="burst", bursts=3, nodes=NODES), ())
    plan = plan_for(*NODES).model_copy(update={"load": options})
    step = measured_of(tmp_path, plan, simulated, simulation.counted_end(simulated, 20)).step
    assert step.throughput_per_second == pytest.approx(20, rel=0.06), "within a burst, without the rests"
    assert [one.throughput_per_second for one in step.by_node] == pytest.approx([step.throughput_per_second / 2] * 2)


def test_a_step_that_broke_names_all_nodes_too(tmp_path: Path) -> None:
    simulated = rows_of_both()
    frame = simulation.frame(tmp_path, simulated)
    plan = plan_for(*NODES)
    load = BrokenLoad(plan.load, "iou", plan.subject, [], frame, simulation.ORIGIN, simulation.ORIGIN + 75)
    step = broken_step(load, "PartyA ended with exit status 134")
    assert (step.node, tuple(one.node for one in step.by_node)) == ("PartyA, PartyB", NODES)
    assert "--set nodes=PartyA,PartyB" in commands.run(step)
