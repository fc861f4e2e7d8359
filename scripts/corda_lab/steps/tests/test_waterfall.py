"""The waterfall of a request: every span where the rows say, nested in order, and gaps that are not hidden."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.runs import stage_rows
from corda_lab.steps import waterfall
from corda_lab.steps.stages import ENTRY_OFFSETS, ENTRY_STAGES
from corda_lab.steps.waterfall import Span, Waterfall
from support import simulation

TRANSACTION = "AB" * 32


def rows_of(tmp_path: Path, *stage_row: tuple[str, dict[str, Any]]) -> pl.DataFrame:
    """The table of some stage rows."""
    texts: dict[str, list[dict[str, Any]]] = {}
    for node, row in stage_row:
        texts.setdefault(node, []).append(row)
    paths = [simulation.write_rows(tmp_path / f"stages.{node.lower()}.ndjson", found) for node, found in texts.items()]
    table = stage_rows.read_stages(paths, simulation.nodes())
    assert table is not None
    return table


@pytest.fixture
def request_row() -> dict[str, Any]:
    """A request of 400 ms."""
    return simulation.row(1, 10.0, 10.4)


@pytest.fixture
def stages(tmp_path: Path, request_row: dict[str, Any]) -> pl.DataFrame:
    return rows_of(tmp_path, *simulation.stage_rows([request_row]))


def named(found: Waterfall, actor: str, name: str) -> Span:
    (span,) = (span for span in found.spans if (span.actor, span.name) == (actor, name))
    return span


def shape(found: Waterfall) -> list[tuple[int, str, str]]:
    return [(span.depth, span.actor, span.name) for span in found.spans]


def test_spans_are_nested_from_the_client_to_the_parties_in_the_order_of_their_starts(
    request_row: dict[str, Any], stages: pl.DataFrame
) -> None:
    found = waterfall.of_request(request_row, stages)
    assert shape(found)[:6] == [
        (0, "client", "request"),
        (1, "client", "not timed"),
        (1, "bridge", "request"),
        (2, "bridge", "not timed"),
        (2, "PartyA", "Iou"),
        (3, "PartyB", "IouResponder"),
    ]
    stages_of_a = [span.name for span in found.spans if span.actor == "PartyA" and span.kind == "part"]
    assert stages_of_a == ["wait", "build", "verify", "sign", "collect signatures", "finalise", "other"]
    stages_of_b = [span.name for span in found.spans if span.actor == "PartyB" and span.kind == "part"]
    assert stages_of_b == ["sign", "record", "other"]
    assert found.notes == ()


def test_all_times_are_from_the_start_of_the_request(request_row: dict[str, Any], stages: pl.DataFrame) -> None:
    found = waterfall.of_request(request_row, stages)
    whole, bridge = named(found, "client", "request"), named(found, "bridge", "request")
    flow = named(found, "PartyA", "Iou")
    assert (whole.start_ms, whole.end_ms) == pytest.approx((0, 400))
    assert (bridge.start_ms, bridge.end_ms) == pytest.approx((0.6, 399), abs=0.01)
    assert (flow.start_ms, flow.end_ms) == pytest.approx((1, 399), abs=0.01)
    collecting = named(found, "PartyA", "collect signatures")
    assert collecting.length_ms == pytest.approx(0.45 * 398, abs=0.01)
    assert collecting.start_ms == pytest.approx(1 + 0.15 * 398, abs=0.01)
    committed = sorted(span.start_ms for span in found.spans if span.name == "transaction committed")
    assert committed == [pytest.approx(200 + 15, abs=0.1), pytest.approx(200 + 30, abs=0.1)]


def test_what_the_client_waited_for_adds_up_to_the_latency(request_row: dict[str, Any], stages: pl.DataFrame) -> None:
    found = waterfall.of_request(request_row, stages)
    assert sum(length for _, length in found.largest) == pytest.approx(400, abs=0.2)
    assert found.largest[0][0] == "collect signatures"
    # Here the node creates the flow as soon as the call begins, so nothing of the call is a wait of its own.
    assert dict(found.largest)["start by RPC"] == pytest.approx(0, abs=0.01)
    late = stages.with_columns(pl.col("created_at") + 0.002)
    assert dict(waterfall.of_request(request_row, late).largest)["start by RPC"] == pytest.approx(2, abs=0.01)


def test_time_that_nothing_measures_is_a_gap_with_what_lies_there(
    request_row: dict[str, Any], stages: pl.DataFrame
) -> None:
    found = waterfall.of_request(request_row, stages)
    gaps = {(span.actor, span.note): span.length_ms for span in found.spans if span.kind == "gap"}
    assert gaps == {
        ("client", "HTTP: on the way to the bridge"): pytest.approx(0.6, abs=0.01),
        ("client", "HTTP: the answer on the way to the client"): pytest.approx(1, abs=0.01),
        ("bridge", "the bridge reads and converts the request"): pytest.approx(0.4, abs=0.01),
    }


def test_a_stage_that_was_entered_twice_is_drawn_twice_and_a_cut_list_ends_in_a_gap(
    request_row: dict[str, Any], stages: pl.DataFrame
) -> None:
    listed: list[str | None] = ["wait", "build", "finalise", "build", None]
    own = stages.filter(pl.col("role") == "initiator").with_columns(
        pl.Series(ENTRY_STAGES, [listed]), pl.Series(ENTRY_OFFSETS, [[0.0, 10.0, 20.0, 100.0, 300.0]])
    )
    found = waterfall.of_request(request_row, own)
    inside = [(span.name, round(span.length_ms)) for span in found.spans if span.depth == 3 and span.kind != "mark"]
    assert inside == [("wait", 10), ("build", 10), ("finalise", 80), ("build", 200), ("not timed", 98)]
    assert dict(found.largest)["build"] == pytest.approx(210, abs=0.1)


def test_a_refused_request_shows_the_party_that_refused(tmp_path: Path, request_row: dict[str, Any]) -> None:
    failed = {**request_row, "outcome": "failed", "tx_id": None, "error": "flow-failed: no"}
    found = waterfall.of_request(failed, rows_of(tmp_path, *simulation.refused_stage_rows(failed, TRANSACTION)))
    refusing = named(found, "PartyB", "IouResponder")
    asking = named(found, "PartyA", "collect signatures")
    assert refusing.note == "responder, failed"
    assert asking.start_ms <= refusing.start_ms < refusing.end_ms <= asking.end_ms
    assert (found.tx_id, found.error, found.notes) == (TRANSACTION, "flow-failed: no", ())


def test_a_party_whose_row_names_no_transaction_is_said_to_be_missing(
    tmp_path: Path, request_row: dict[str, Any]
) -> None:
    failed = {**request_row, "outcome": "failed", "tx_id": None}
    (_, asked), (_, refused) = simulation.refused_stage_rows(failed, TRANSACTION)
    table = rows_of(tmp_path, ("PartyA", asked), ("PartyB", {**refused, "tx_id": None}))
    found = waterfall.of_request(failed, table)
    assert not any(span.actor == "PartyB" for span in found.spans)
    assert found.notes == (waterfall.NO_RESPONDER,)


def test_a_flow_that_does_not_time_its_stages_has_client_bridge_and_node(request_row: dict[str, Any]) -> None:
    found = waterfall.of_request({**request_row, "flow": "com.example.MyFlow"}, None)
    assert [one for one in shape(found) if one[2] != "not timed"] == [
        (0, "client", "request"),
        (1, "bridge", "request"),
        (2, "bridge", "start by RPC"),
        (2, "PartyA", "MyFlow"),
    ]
    node = named(found, "PartyA", "MyFlow")
    assert (node.start_ms, node.end_ms) == pytest.approx((4, 399), abs=0.01)
    assert found.notes == (waterfall.NO_STAGES,)


def test_a_request_of_which_nothing_is_known_is_one_gap(request_row: dict[str, Any]) -> None:
    times = ("bridge_rpc_ms", "bridge_flow_ms", "bridge_received_at", "bridge_started_at", "flow_id", "tx_id")
    found = waterfall.of_request({**request_row, **dict.fromkeys(times), "outcome": "unknown"}, None)
    assert [(span.kind, span.length_ms) for span in found.spans] == [("whole", 400.0), ("gap", 400.0)]
    assert found.spans[1].note == waterfall.NOTHING_KNOWN


def test_a_request_that_started_late_begins_before_zero(stages: pl.DataFrame) -> None:
    found = waterfall.of_request(simulation.row(1, 10.0, 10.4, intended=9.75), stages)
    assert found.spans[0].name == "late start"
    assert found.spans[0].start_ms == pytest.approx(-250)
    assert found.start_ms == pytest.approx(-250)


def test_the_wait_for_the_notary_is_divided_when_the_notary_logged_the_request(
    request_row: dict[str, Any], stages: pl.DataFrame
) -> None:
    own = stages.with_columns(
        pl.Series(ENTRY_STAGES, [["wait", "notarise", "finalise"]] * 2),
        pl.Series(ENTRY_OFFSETS, [[0.0, 100.0, 300.0]] * 2),
    ).filter(pl.col("role") == "initiator")
    logged = {request_row["tx_id"]: request_row["started_at"] + 0.251}
    found = waterfall.of_request(request_row, own, logged)
    there, back = named(found, "Notary", "reach the notary"), named(found, "Notary", "commit and answer")
    assert there.depth == 4
    assert (there.length_ms, back.length_ms) == pytest.approx((150, 50))
    # Without stages, the moment is all that is known.
    mark = named(waterfall.of_request(request_row, None, logged), "Notary", "request logged")
    assert mark.kind == "mark"
    assert mark.start_ms == pytest.approx(251)
