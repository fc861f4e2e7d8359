"""Spans of Corda: the stages of a flow, and what others did while it waited for them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.runs import spans as files
from corda_lab.steps import spans
from corda_lab.steps.spans import Segment
from corda_lab.steps.stages import STAGES
from support import simulation

TRACE = "ab" * 16
CORE = "net.corda.core.flows."
RECEIVE = "net.corda.node.services.statemachine.FlowSessionImpl#receive"
AT = simulation.ORIGIN
"""Later times are in milliseconds from here."""


def span(name: str, start: float, end: float, around: dict[str, Any]) -> dict[str, Any]:
    return simulation.span(TRACE, name, AT + start / 1000, AT + end / 1000, parentSpanId=around["spanId"])


def flow(name: str, flow_id: str, begin: float, start: float, end: float, parent: str | None) -> dict[str, Any]:
    stages = {"wait": (start - begin) / 1000, "other": (end - start) / 1000}
    (found,) = simulation.flow_spans(TRACE, name, flow_id, AT + begin / 1000, stages, parent=parent)
    return found


def by_name(found: pl.DataFrame) -> dict[str, spans.FlowSpan]:
    ((trace, flows),) = spans.flows_of(found)
    assert trace == TRACE
    return {one.name.rpartition(".")[2]: one for one in flows}


@pytest.fixture
def flows(tmp_path: Path) -> dict[str, spans.FlowSpan]:
    """A payment that waits for a party from 20 to 60, of which the party's flow is busy from 30 to 50; by name."""
    pays = flow("com.example.Pays", "f1", 0, 5, 100, None)
    finality = span(f"{CORE}FinalityFlow", 10, 90, pays)
    answers = flow("com.example.Answers", "f2", 28, 30, 55, pays["spanId"])
    found = simulation.spans(
        tmp_path,
        [
            ("PartyA", [pays, finality, span(RECEIVE, 20, 60, finality), span(RECEIVE, 92, 95, pays)]),
            ("PartyB", [answers, span(RECEIVE, 50, 55, answers)]),
        ],
    )
    return by_name(found)


def told(segments: list[Segment]) -> list[tuple[str, str, int, bool]]:
    return [(one.node, one.stage, round((one.end - one.begin) / 1e6), one.is_waiting) for one in segments]


def test_every_instant_belongs_to_the_innermost_stage(flows: dict[str, spans.FlowSpan]) -> None:
    found = [(stage, length, waits) for _, stage, length, waits in told(list(spans.segments(flows["Pays"])))]
    assert found == [
        ("wait", 5, False),
        ("other", 5, False),
        ("finalise", 10, False),
        ("finalise", 40, True),
        ("finalise", 30, False),
        ("other", 2, False),
        ("peer", 3, True),
        ("other", 5, False),
    ]


def test_while_a_flow_waits_what_others_do_counts_and_the_rest_is_messages(flows: dict[str, spans.FlowSpan]) -> None:
    assert told(spans.path_of(flows["Pays"], flows.values())) == [
        ("PartyA", "wait", 5, False),
        ("PartyA", "other", 5, False),
        ("PartyA", "finalise", 10, False),
        ("PartyA", "finalise", 8, True),
        ("PartyB", "wait", 2, False),
        ("PartyB", "other", 20, False),
        ("PartyA", "finalise", 10, True),
        ("PartyA", "finalise", 30, False),
        ("PartyA", "other", 2, False),
        ("PartyA", "peer", 3, True),
        ("PartyA", "other", 5, False),
    ]


def test_a_batch_that_was_cut_off_is_left_out_and_a_damaged_one_refused(tmp_path: Path) -> None:
    content = simulation.closed_rows(2, 20, simulation.fixed(0.5))
    (path, *_) = simulation.write_spans(tmp_path, simulation.spans_of(content))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # What was written of the fourth line when the node was killed is followed by the fifth.
    path.write_text("".join(lines[:3]) + lines[3][:40] + "".join(lines[4:]) + '{"resource', encoding="utf-8")
    requests = simulation.frame(tmp_path, content)
    found = files.read([path], simulation.nodes(), requests)
    assert found["trace_id"].n_unique() == len(lines) - 2
    assert found["node"].unique().to_list() == ["PartyA"]
    assert files.read([path], simulation.nodes(), requests.head(2))["trace_id"].n_unique() == 2
    path.write_text("{}\n" * (files.TORN_MAX + 1), encoding="utf-8")
    with pytest.raises(LabError, match=r"spans\.partya\.ndjson: spans cannot be parsed"):
        files.read([path], simulation.nodes(), requests)
    assert files.read([], {}, requests).height == 0


def test_every_pattern_of_a_stage_is_of_a_stage_with_a_meaning() -> None:
    known = {stage for _, stage in spans.declared()}
    assert known <= set(STAGES)
    assert spans.stage_of("net.corda.node.services.keys.BasicHSMKeyManagementService#sign") == "sign"
    assert spans.stage_of("net.corda.node.services.transactions.NonValidatingNotaryFlow#call:commitInputStates") == (
        "commit"
    )
    assert (spans.stage_of("com.example.Pays"), spans.stage_of("verify")) == (None, "verify")


def test_of_a_long_load_the_traces_that_are_read_are_spread_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = [{**simulation.row(n, float(n), n + 0.1), "trace_id": f"ab{n:030x}"} for n in range(20)]
    requests = simulation.frame(tmp_path, content)
    assert files.limited(requests).equals(requests)
    monkeypatch.setattr(files, "TRACES_MAX", 6)
    limited = files.limited(requests)
    assert limited.drop_nulls("trace_id")["request_id"].to_list() == [0, 4, 8, 12, 16]
    paths = simulation.write_spans(tmp_path, simulation.spans_of(content))
    found = files.read(paths, simulation.nodes(), limited)
    assert set(found["trace_id"]) == set(limited["trace_id"].drop_nulls())
    assert found.height == 5 * len([span for _, own in simulation.spans_of(content[:1]) for span in own])


def test_a_node_that_started_again_has_dropped_what_it_counts_since() -> None:
    assert files.dropped_over({"PartyA": 5, "PartyB": 9}, {"PartyA": 7, "PartyB": 2, "PartyC": 1}) == {
        "PartyA": 2,
        "PartyB": 2,
        "PartyC": 1,
    }


def test_a_flow_that_a_context_was_left_to_is_a_flow_of_its_own(tmp_path: Path) -> None:
    pays = flow("com.example.Pays", "f1", 0, 0, 100, None)
    stranger = flow("com.example.Scheduled", "f9", 20, 20, 60, pays["spanId"])
    found = by_name(simulation.spans(tmp_path, [("PartyA", [pays, stranger])]))
    assert set(found) == {"Pays", "Scheduled"}
    assert found["Pays"].children == []


def test_spans_that_overlap_or_outlast_their_flow_add_up_to_it(tmp_path: Path) -> None:
    pays = flow("com.example.Pays", "f1", 0, 0, 100, None)
    inside = [span(f"{CORE}FinalityFlow", 10, 60, pays), span(f"{CORE}CollectSignaturesFlow", 40, 130, pays)]
    found = by_name(simulation.spans(tmp_path, [("PartyA", [pays, *inside])]))["Pays"]
    assert told(list(spans.segments(found))) == [
        ("PartyA", "other", 10, False),
        ("PartyA", "finalise", 50, False),
        ("PartyA", "collect_signatures", 40, False),
    ]


def test_a_flow_that_a_node_began_again_has_one_row(tmp_path: Path) -> None:
    first, again = (flow("com.example.Pays", "f1", 0, start, start + 20, None) for start in (0, 50))
    requests = pl.DataFrame({"flow_id": ["f1"], "trace_id": [TRACE]})
    found = spans.stage_rows(simulation.spans(tmp_path, [("PartyA", [first, again])]), requests)
    assert found is not None
    assert (found["ended_at"] - found["created_at"]).to_list() == pytest.approx([0.07], abs=1e-4)
    assert found["stage_wait_ms"].to_list() == pytest.approx([50], abs=0.01)


def test_a_flow_may_wait_for_thousands_of_others(tmp_path: Path) -> None:
    count = 2_000
    pays = flow("com.example.Pays", "f0", 0, 0, count, None)
    asking = span(RECEIVE, 0, count, pays)
    answers = [flow("com.example.Answers", f"f{n}", n, n, n + 2, pays["spanId"]) for n in range(count)]
    ((_, found),) = spans.flows_of(simulation.spans(tmp_path, [("PartyA", [pays, asking]), ("PartyB", answers)]))
    path = spans.path_of(next(one for one in found if one.flow_id == "f0"), found)
    assert [one.begin for one in path[1:]] == [one.end for one in path[:-1]]
    assert sum(one.end - one.begin for one in path if one.node == "PartyB") / 1e6 == pytest.approx(count, abs=0.01)
