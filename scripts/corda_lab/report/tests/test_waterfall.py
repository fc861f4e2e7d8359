"""The waterfall of a request: every span where it was, nested in order, and what the client waited for."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.report import palette, waterfall
from corda_lab.report.waterfall import Span, Waterfall, ticks
from corda_lab.results import stored
from corda_lab.results.audits import Audit, Violation, ViolationKind
from corda_lab.steps.spans import NO_SPANS
from support import simulation
from support.pages import report_html, without_scripts


@pytest.fixture
def request_row() -> dict[str, Any]:
    """A request of 400 ms."""
    return simulation.row(1, 10.0, 10.4)


@pytest.fixture
def spans(tmp_path: Path, request_row: dict[str, Any]) -> pl.DataFrame:
    return simulation.spans(tmp_path, simulation.spans_of([request_row]))


def named(found: Waterfall, actor: str, name: str) -> Span:
    (span,) = (span for span in found.spans if (span.actor, span.name) == (actor, name))
    return span


def shape(found: Iterable[Span]) -> list[tuple[int, str, str]]:
    return [(span.depth, span.actor, span.name) for span in found]


def test_spans_are_nested_from_the_client_to_the_parties_in_the_order_of_their_starts(
    request_row: dict[str, Any], spans: pl.DataFrame
) -> None:
    found = waterfall.of_request(request_row, spans)
    assert shape(found.spans) == [
        (0, "client", "request"),
        (1, "bridge", "request"),
        (2, "bridge", "start by RPC"),
        (2, "PartyA", "Iou"),
        (3, "PartyA", "wait"),
        (3, "PartyB", "IouResponder"),
        (4, "PartyB", "sign"),
        (4, "PartyB", "finalise"),
        (3, "PartyA", "build"),
        (3, "PartyA", "verify"),
        (3, "PartyA", "sign"),
        (3, "PartyA", "collect_signatures"),
        (3, "PartyA", "finalise"),
    ]
    assert found.notes == ()


def test_all_times_are_from_the_start_of_the_request(request_row: dict[str, Any], spans: pl.DataFrame) -> None:
    found = waterfall.of_request(request_row, spans)
    whole, bridge = named(found, "client", "request"), named(found, "bridge", "request")
    flow = named(found, "PartyA", "Iou")
    assert (whole.start_ms, whole.end_ms) == pytest.approx((0, 400))
    assert (bridge.start_ms, bridge.end_ms) == pytest.approx((0.6, 399), abs=0.01)
    assert (flow.start_ms, flow.end_ms) == pytest.approx((1, 399), abs=0.01)
    collecting = named(found, "PartyA", "collect_signatures")
    assert collecting.length_ms == pytest.approx(0.45 * 398, abs=0.01)
    assert collecting.start_ms == pytest.approx(1 + 0.15 * 398, abs=0.01)


def test_what_the_client_waited_for_adds_up_to_the_latency(request_row: dict[str, Any], spans: pl.DataFrame) -> None:
    found = waterfall.of_request(request_row, spans)
    assert sum(length for _, length in found.largest) == pytest.approx(400, abs=0.01)
    assert [piece.start_ms for piece in found.path[1:]] == [piece.end_ms for piece in found.path[:-1]]
    name, length = found.largest[0]
    assert (name, round(length, 1)) == ("PartyA: collect signatures", 0.45 * 398)


def test_a_refused_request_shows_the_party_that_refused(tmp_path: Path, request_row: dict[str, Any]) -> None:
    failed = {**request_row, "outcome": "failed", "tx_id": None, "error": "flow-failed: no"}
    found = waterfall.of_request(failed, simulation.spans(tmp_path, simulation.refused_spans(failed)))
    refusing = named(found, "PartyB", "IouResponder")
    asking = named(found, "PartyA", "collect_signatures")
    assert refusing.note == "answers, refused"
    assert asking.start_ms <= refusing.start_ms < refusing.end_ms <= asking.end_ms
    assert (found.tx_id, found.text("error"), found.notes) == ("", "flow-failed: no", ())


@pytest.mark.parametrize(
    ("trace", "note"), [(None, waterfall.NOT_TRACED), ("ab" * 16, waterfall.NO_FLOW)], ids=["not traced", "lost"]
)
def test_a_request_without_spans_has_client_bridge_and_node(
    request_row: dict[str, Any], trace: str | None, note: str
) -> None:
    found = waterfall.of_request({**request_row, "flow": "com.example.MyFlow", "trace_id": trace}, NO_SPANS)
    assert shape(found.spans) == [
        (0, "client", "request"),
        (1, "bridge", "request"),
        (2, "bridge", "start by RPC"),
        (2, "PartyA", "MyFlow"),
    ]
    node = named(found, "PartyA", "MyFlow")
    assert (node.start_ms, node.end_ms) == pytest.approx((4, 399), abs=0.01)
    assert found.notes == (note,)


def test_a_flow_that_has_not_ended_shows_what_it_has_done(request_row: dict[str, Any], spans: pl.DataFrame) -> None:
    done = spans.filter(pl.col("name").is_in(["build", "verify", "collect_signatures"]))
    found = waterfall.of_request({**request_row, "outcome": "unknown"}, done)
    drawn = [(span.depth, span.actor, span.name) for span in found.spans[3:]]
    assert drawn == [(2, "PartyA", name) for name in ("Iou", "build", "verify", "collect_signatures")]
    assert found.notes == (waterfall.NO_FLOW,)


def test_a_flow_that_was_left_on_a_node_is_shown_as_such(request_row: dict[str, Any], spans: pl.DataFrame) -> None:
    """At any party of the request: the flow that it started, or one that answered that."""
    answering = spans.filter(pl.col("node") == "PartyB")["flow_id"].drop_nulls().to_list()[0]
    suspended, ill, of_another = (
        Violation(kind=kind, node="PartyB", ids=(identity,), text=f"flow {identity} is left")
        for kind, identity in (
            (ViolationKind.FLOW_SUSPENDED, request_row["client_id"]),
            (ViolationKind.FLOW_IN_HOSPITAL, answering),
            (ViolationKind.FLOW_IN_HOSPITAL, "that of another request"),
        )
    )
    audit = Audit(verdict="violations", violations=(suspended, of_another, ill))
    notes = waterfall.ledger_notes(waterfall.of_request(request_row, spans), spans, audit)
    assert notes == [f"Audit of the ledgers: {violation.text}." for violation in (suspended, ill)]


def test_a_request_of_which_nothing_is_known_is_one_span(request_row: dict[str, Any]) -> None:
    times = ("bridge_rpc_ms", "bridge_flow_ms", "bridge_received_at", "bridge_started_at", "flow_id", "tx_id")
    unknown = {**request_row, **dict.fromkeys(times), "trace_id": None, "outcome": "unknown"}
    found = waterfall.of_request(unknown, NO_SPANS)
    assert [(span.kind, span.length_ms) for span in found.spans] == [("whole", 400.0)]
    assert [(name, round(length, 6)) for name, length in found.largest] == [("client: not known", 400.0)]


def test_the_flow_of_a_party_is_shown_although_what_caused_it_is_too_short(
    request_row: dict[str, Any], spans: pl.DataFrame
) -> None:
    asking = spans.filter(pl.col("name") == "collect_signatures")["span_id"].item()
    begin = spans.filter(pl.col("span_id") == asking)["start_ns"].item()
    brief = pl.when(pl.col("span_id") == asking).then(begin + 1000).otherwise("end_ns").alias("end_ns")
    answers = pl.when(pl.col("node") == "PartyB", pl.col("created_ns").is_not_null()).then(pl.lit(asking))
    found = waterfall.of_request(
        request_row, spans.with_columns(brief, answers.otherwise("parent_id").alias("parent_id"))
    )
    assert "collect_signatures" not in [span.name for span in found.spans]
    assert named(found, "PartyB", "IouResponder").depth == 3


def test_a_bridge_whose_clock_is_behind_is_still_the_bridge(request_row: dict[str, Any], spans: pl.DataFrame) -> None:
    behind = {**request_row, "bridge_received_at": request_row["started_at"] - 0.002}
    found = waterfall.of_request(behind, spans)
    assert found.spans[0].actor == "client"
    assert named(found, "bridge", "request").start_ms == pytest.approx(-2, abs=0.01)
    assert sum(length for _, length in found.largest) == pytest.approx(400, abs=0.01)


def test_a_request_that_started_late_begins_before_zero(spans: pl.DataFrame) -> None:
    found = waterfall.of_request(simulation.row(1, 10.0, 10.4, intended=9.75), spans)
    assert found.spans[0].name == "late start"
    assert found.spans[0].start_ms == pytest.approx(-250)
    assert found.start_ms == pytest.approx(-250)


# In the report of a run.


def section(run: Path) -> str:
    text = without_scripts(report_html(run))
    return text.partition('id="waterfalls"')[2].partition("</article>")[0]


def pictures(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(picture) for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def test_the_slowest_and_the_median_request_are_drawn_with_a_table_of_the_same_numbers(
    stored_run: Callable[..., Path],
) -> None:
    run = stored_run()
    text = section(run)
    (step,) = stored.read(run).steps
    titles = re.findall(r"<h3>(.*?) <span>(.*?)</span>", text)
    assert [title.split(" of ")[0] for title, _ in titles] == ["The slowest", "The median"]
    for (_, words), value in zip(titles, (step.latency_ms.max, step.latency_ms.p50), strict=True):
        assert words == f"Iou on PartyA: ok after {value:,.1f} ms"
    for picture, table in zip(pictures(text), text.split("<table")[1:], strict=True):
        assert len(picture.findall("{*}g")) == table.count("<tr class=") > 10
        assert picture.attrib["role"] == "img"
    assert re.search(r"Most of it: PartyA: collect signatures [\d,.]+ ms \(4\d %\)", text)
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", text)) <= palette.ROLES.keys()
    for actor in ("client", "bridge", "Notary", "Notary3", "PartyK", "another"):
        assert waterfall.role_of(actor) in palette.ROLES


def test_a_failed_request_is_drawn_too(stored_run: Callable[..., Path]) -> None:
    text = section(stored_run(error_every=50))
    assert re.search(r"<h3>A failed request, of \d+ <span>Iou on PartyA: failed after", text)
    assert len(pictures(text)) == 3


def test_the_axis_has_few_round_times() -> None:
    assert ticks(0.0, 0.7) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert ticks(-250.0, 1100.0) == [-200.0, 0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
    for length in (factor * 10**exponent for exponent in range(7) for factor in (1.0, 1.7, 3.0, 7.9)):
        assert 2 <= len(ticks(0.0, length)) <= waterfall.TICKS_MAX + 1


def test_on_several_hosts_nothing_is_said_of_what_the_client_waited_for(tmp_path: Path) -> None:
    row = {**simulation.row(1, 10.0, 10.4), "step": 1}
    spans = simulation.spans(tmp_path, simulation.spans_of([row])).with_columns(step=pl.lit(1))
    run = MagicMock(steps=[MagicMock(index=1)])
    (found,) = waterfall.of_requests(run, spans, [row], 1)
    assert (found.path, waterfall.largest_words(found)) == ((), "")
    assert waterfall.SEVERAL_CLOCKS in found.notes
    run.environment.return_value.placement = None
    assert waterfall.of_requests(run, spans, [row], 1)[0].path
