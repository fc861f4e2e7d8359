"""The entry of a step that ended a node: a result without values, with what its rows show until then."""

from pathlib import Path

import polars as pl
import pytest

from corda_lab.steps import resolutions, rows
from corda_lab.steps.broken import BrokenLoad, as_broken, broken_step, why_overloaded
from corda_lab.steps.entry import SetupEntry, StepEntry
from corda_lab.steps.reasons import reason
from lab_workload.load import Load
from support import simulation
from support.entries import changed
from support.runs import measured_of, plan_of

WHY = "PartyA ended with exit status 134"
PLAN = plan_of(Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1))
SIMULATED = simulation.closed_rows(2, 5, simulation.fixed(0.05))


def broken_load(requests: pl.DataFrame, ended_at: float) -> BrokenLoad:
    setup = [SetupEntry(name="coins", items=3, seconds=1.5)]
    return BrokenLoad(PLAN.load, "iou", PLAN.subject, setup, requests, simulation.ORIGIN, ended_at)


def test_the_rows_until_a_node_ended_are_counted(tmp_path: Path) -> None:
    requests = simulation.frame(tmp_path, SIMULATED)
    found = broken_step(broken_load(requests, float(requests["ended_at"].sort()[-1])), WHY)
    assert (found.outcome, found.broke) == ("broke", WHY)
    assert (found.requests.total, found.requests.ok, found.setup[0].items) == (len(SIMULATED), len(SIMULATED), 3)
    assert found.window.load_ended_at == requests["ended_at"].max()
    assert StepEntry.model_validate_json(found.model_dump_json()) == found


def test_a_load_that_never_began_has_no_request_and_no_latency() -> None:
    nothing = pl.DataFrame(schema={**rows.ROW_SCHEMA, **resolutions.COLUMNS})
    found = broken_step(broken_load(nothing, simulation.ORIGIN + 30), WHY)
    assert (found.requests.total, found.latency_ms.p50, found.window.seconds) == (0, None, 30)


LEFT_BEHIND = {
    "load.arrivals": "poisson",
    "counts.at_rest": False,
    "counts.rest_seconds": 1320.4,
    "resolved.unknown": 300,
    "requests.total": 1000,
}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "the lab was not at rest 1320 s after the load, and 300 flows were left"),
        ({"counts.at_rest": True}, None),
        # In the flow hospital, a flow waits for a person.
        ({"resolved.unknown": 1}, None),
        ({"resolved.unknown": 0, "requests.total": 0}, None),
        ({"load.arrivals": "burst"}, None),
        ({"load.arrivals": "closed"}, None),
        ({"validity.machine": [{"code": "swapped", "values": {"pages": 300}}]}, None),
        ({"generator.cpu_percent_max": 99.0}, None),
    ],
)
def test_open_load_that_leaves_flows_behind_breaks_a_lab_whose_nodes_live(
    tmp_path: Path, changes: dict[str, object], why: str | None
) -> None:
    step = measured_of(tmp_path, PLAN, SIMULATED, simulation.end_words(SIMULATED, 2, 5)).step
    assert why_overloaded(changed(step, {**LEFT_BEHIND, **changes})) == why


def test_nothing_of_a_step_that_broke_is_held_against_it(tmp_path: Path) -> None:
    step = measured_of(tmp_path, PLAN, SIMULATED, simulation.end_words(SIMULATED, 2, 5)).step
    trouble = reason("swapped", pages=300)
    invalid = {"validity": {"valid": False, "reasons": [trouble], "machine": [trouble]}, "flags": [trouble]}
    found = as_broken(changed(step, invalid), WHY)
    assert (found.validity.valid, found.validity.machine, found.flags) == (True, [], [])
    assert (found.verdict.passed, found.thresholds.passed, found.counts.at_rest) == (True, True, False)
