"""The rows of a run become requests with one status each, and its steps become windows."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from corda_lab.audit.command import SETTLING_SECONDS, load_of, loads_of
from corda_lab.audit.model import Load, Request, RequestStatus, Window
from corda_lab.results import stored


def rows(**columns: list[object]) -> pl.DataFrame:
    """Two rows of a load, with these columns in place of the usual ones."""
    usual: dict[str, list[object]] = {
        "client_id": ["run-1", "run-2"],
        "node": ["PartyA", "PartyB"],
        "flow_id": ["flow-1", None],
        "tx_id": ["ab12", None],
        "outcome": ["ok", "unknown"],
        "started_at": [10.0, 9.5],
        "ended_at": [11.0, 12.5],
    }
    return pl.DataFrame({**usual, **columns})


def load(**columns: list[object]) -> Load:
    found = load_of(rows(**columns))
    assert found is not None
    return found


def test_an_acknowledged_request_names_its_transaction_as_ledgers_do() -> None:
    first, second = load().requests
    assert first == Request("run-1", "PartyA", "acknowledged", "flow-1", "AB12")
    assert second == Request("run-2", "PartyB", "unknown", None, None)


@pytest.mark.parametrize(
    ("outcome", "resolved", "status"),
    [
        ("ok", None, "acknowledged"),
        ("expected", None, "other"),
        ("failed", None, "other"),
        ("unknown", None, "unknown"),
        ("unknown", "unknown", "unknown"),
        ("unknown", "ok", "acknowledged"),
        ("unknown", "failed", "failed"),
        ("unknown", "not_started", "other"),
    ],
)
def test_what_the_node_said_later_decides_an_unknown_outcome(
    outcome: str, resolved: str | None, status: RequestStatus
) -> None:
    _, found = load(
        outcome=["ok", outcome], resolved=[None, resolved], resolved_at=[None, 13.0], resolved_tx_id=[None, "cd34"]
    ).requests
    assert (found.status, found.transaction) == (status, "CD34")


@pytest.mark.parametrize(("part", "names"), [("Iou", True), ("Empty", False), (None, True)])
def test_a_request_of_a_part_that_names_states_says_so(part: str | None, names: bool) -> None:
    found = load_of(rows(part=[part, "Iou"]), stateful={"Iou"}, number=3)
    assert found is not None
    first, _ = found.requests
    assert (first.part, first.load, first.names_states) == (part or "", 3, names)


def test_a_load_that_has_just_ended_has_no_end() -> None:
    assert load().window == Window(9.5, None)
    assert load_of(rows().clear()) is None


@pytest.mark.parametrize(
    ("resolved_at", "at_rest", "until"),
    [(None, 14.0, 14.0), (None, 12.0, 12.5), (90.0, 14.0, 90.0), (12.0, 14.0, 14.0)],
)
def test_the_window_of_a_load_lasts_until_the_lab_was_at_rest_and_unknown_outcomes_were_resolved(
    resolved_at: float | None, at_rest: float, until: float
) -> None:
    columns: dict[str, list[object]] = {} if resolved_at is None else {"resolved_at": [None, resolved_at]}
    found = load_of(rows(**columns), at_rest=at_rest, slack_seconds=1.0)
    assert found is not None
    assert found.window == Window(8.5, until + SETTLING_SECONDS)


def test_a_stored_run_has_a_load_for_each_step(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    table = run.table("requests")
    [load] = loads_of(run.steps, table)
    window = load.window
    assert window.since == table["started_at"].min()
    assert window.until is not None
    assert window.contains(run.steps[0].window.load_ended_at)
    assert not window.contains(window.since - 0.001)
    assert len(load.requests) == table.height
    assert {one.part for one in load.requests} == {"Iou"}
    assert all(one.names_states for one in load.requests)
