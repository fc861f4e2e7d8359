"""The rows of the tab *Corda nodes*, and when they are asked for."""

import pytest

from lab_load.node_watch import Seen
from lab_load.nodes_tab import COLUMNS, is_watched, rows
from lab_workload.node_state import LastFailure, NodeState

PAGE = "http://localhost:8089/"
FAILURE = LastFailure("Iou", "flow_exception", "FlowException: below 100", 1795176000.25)


@pytest.mark.parametrize(
    ("referrer", "state", "expected"),
    [
        (f"{PAGE}?tab=corda-nodes", "running", True),
        (f"{PAGE}?tab=corda-nodes", "spawning", True),
        (f"{PAGE}?tab=stats", "running", False),
        (PAGE, "running", False),
        (f"{PAGE}?tab=stats", "stopping", True),
        (f"{PAGE}?tab=stats", "stopped", True),
        (f"{PAGE}?tab=corda-nodes", "ready", False),
        (None, "running", False),
        (None, "stopped", False),
    ],
)
def test_only_a_page_that_can_show_the_nodes_is_a_reason_to_ask(
    referrer: str | None, state: str, expected: bool
) -> None:
    assert is_watched(referrer, state) is expected


def test_a_row_has_every_column() -> None:
    state = NodeState(
        name="PartyA",
        is_ready=True,
        is_scraped=True,
        outstanding_flows=7,
        flows_in_flight=12,
        flows_per_second=3.14159,
        cpu_cores=0.512,
        heap_used_bytes=400,
        heap_max_bytes=1000,
        queue_messages=11,
        last_failure=FAILURE,
    )

    [row] = rows(Seen((state,)))

    assert row == {
        "name": "PartyA",
        "health": "ready",
        "flows": 12,
        "rate": 3.14,
        "cpu": 0.51,
        "heap": 40,
        "queue": 11,
        "failure": "2026-11-20 12:00:00 UTC, Iou: FlowException: below 100",
    }
    assert row.keys() == COLUMNS.keys()


def test_a_value_that_is_not_known_is_no_zero() -> None:
    [row] = rows(Seen((NodeState("PartyA", is_ready=False),)))
    assert (row["health"], row["flows"], row["heap"], row["failure"]) == ("not ready", "–", "–", "")


def test_who_did_not_answer_has_a_row() -> None:
    assert rows(Seen((), "does not answer: refused", "no answer within 1.5 s")) == [
        {"name": "bridge", "health": "does not answer: refused"},
        {"name": "Prometheus", "health": "no answer within 1.5 s"},
    ]
