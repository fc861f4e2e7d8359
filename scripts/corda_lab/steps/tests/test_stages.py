"""Stage rows: joined to requests, summed up, and the consensus latency of their transactions."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.steps import stages
from corda_lab.steps.entry import Distribution, StagesEntry
from corda_lab.steps.reasons import sentences
from corda_lab.steps.rows import Window
from corda_lab.steps.spans import stage_rows
from corda_lab.steps.stages import Tracing
from support import simulation

WINDOW = Window(simulation.ORIGIN + 10, simulation.ORIGIN + 60)
PARTS = ["Iou"]


def simulated(tmp_path: Path, **about: Any) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    content = simulation.closed_rows(4, 60, simulation.fixed(0.1), **about)
    return simulation.frame(tmp_path, content), content


def values_of(tmp_path: Path, **about: Any) -> StagesEntry:
    requests, content = simulated(tmp_path, **about)
    table = stage_rows(simulation.spans(tmp_path, simulation.spans_of(content)), requests)
    return stages.stage_values(requests, table, WINDOW, PARTS, Tracing(True, {"PartyA": 0}))


def test_the_stages_add_up_to_the_flow_s_time(tmp_path: Path) -> None:
    found = values_of(tmp_path)
    (table,) = found.flows
    assert table.rows == table.requests > 400
    # Four users behind one server of 100 ms: 400 ms, of which 1 ms on either side is not the flow's.
    assert sum(line.mean_ms or 0.0 for line in table.stages) == pytest.approx(398, abs=0.1)
    assert table.sum_ms_mean == pytest.approx(table.request_ms_mean) == pytest.approx(400, abs=0.1)
    shares = [table.start_share_percent, *(line.share_percent for line in table.stages), table.end_share_percent]
    assert sum(share or 0.0 for share in shares) == pytest.approx(100)
    assert table.difference_percent == pytest.approx(0, abs=0.01)
    assert table.start_ms.p50 == pytest.approx(1, abs=0.01)
    assert table.end_ms.p50 == pytest.approx(1, abs=0.01)
    assert stages.warnings(found) == []


def test_stages_stand_in_the_order_of_a_flow_with_their_share(tmp_path: Path) -> None:
    (table,) = values_of(tmp_path).flows
    assert [line.stage for line in table.stages] == list(simulation.STAGE_SHARES)
    shares = {line.stage: line.share_percent for line in table.stages}
    assert shares["collect_signatures"] == pytest.approx(45 * 398 / 400, abs=0.1)
    assert stages.ordered_stages(["stage_other_ms", "stage_own_ms", "flow_id", "stage_wait_ms"]) == [
        "wait",
        "other",
        "own",
    ]


def test_the_nodes_that_answered_have_tables_of_their_own(tmp_path: Path) -> None:
    (table,) = values_of(tmp_path).responders
    assert (table.flow, table.node) == ("org.cordalab.flows.IouResponder", "PartyB")
    assert {line.stage for line in table.stages} == {"sign", "finalise", "other"}


def test_consensus_latency_ends_with_the_last_commit(tmp_path: Path) -> None:
    found = values_of(tmp_path)
    latency = found.consensus_latency_ms
    assert latency.p50 == pytest.approx(1000 * simulation.COMMIT_SECONDS, abs=0.01)
    assert latency.count == found.flows[0].rows
    assert found.consensus_left_out == 0


def test_a_transaction_that_lacks_a_party_s_flow_has_no_consensus_latency(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    by_node = [(node, found) for place, (node, found) in enumerate(simulation.spans_of(content)) if place % 4 != 1]
    table = stage_rows(simulation.spans(tmp_path, by_node), requests)
    found = stages.stage_values(requests, table, WINDOW, PARTS, Tracing(True))
    assert found.consensus_latency_ms.p50 == pytest.approx(1000 * simulation.COMMIT_SECONDS, abs=0.01)
    assert found.consensus_left_out == pytest.approx(found.flows[0].rows / 2, abs=1)


def test_a_single_further_party_leaves_the_others_complete(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    found = list(simulation.spans_of(content))
    # A third node records one transaction, and the second node records another one twice.
    for node, one in (("PartyC", content[200]), ("PartyB", content[201])):
        moments = {"record": one["ended_at"]}
        about = ("further", f"further on {node}", one["started_at"], {"sign": 0.1})
        found.append((node, simulation.flow_spans(one["trace_id"], *about, moments=moments)))
    table = stage_rows(simulation.spans(tmp_path, found), requests)
    values = stages.stage_values(requests, table, WINDOW, PARTS, Tracing(True))
    assert values.consensus_left_out == 1
    assert values.consensus_latency_ms.count == values.flows[0].rows - 1


def test_flows_that_return_no_transaction_have_responders_and_consensus(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    table = stage_rows(simulation.spans(tmp_path, simulation.spans_of(content)), requests)
    without = requests.with_columns(pl.lit(None, pl.String).alias("tx_id"))
    found = stages.stage_values(without, table, WINDOW, PARTS, Tracing(True))
    assert found == stages.stage_values(requests, table, WINDOW, PARTS, Tracing(True))
    assert found.responders
    assert found.consensus_latency_ms.count


def test_a_sum_that_is_off_and_missing_rows_are_warnings(tmp_path: Path) -> None:
    found = values_of(tmp_path)
    (table,) = found.flows
    short = table.model_copy(update={"difference_percent": -14.0, "rows": table.requests - 3})
    lossy = found.model_copy(update={"flows": [short], "spans_dropped": {"PartyA": 7}})
    words = " ".join(sentences(stages.warnings(lossy)))
    assert "-14 %" in words
    assert "3 of" in words
    assert "PartyA dropped 7 spans" in words


@pytest.mark.parametrize(
    ("every", "is_on", "words"),
    [
        (1, False, "The nodes keep no spans"),
        (0, True, "No request of the measuring window was traced"),
        (1, True, "No span of a request"),
    ],
)
def test_says_why_there_is_no_table(tmp_path: Path, every: int, is_on: bool, words: str) -> None:
    requests, _ = simulated(tmp_path)
    if not every:
        requests = requests.with_columns(pl.lit(None, pl.String).alias("trace_id"))
    found = stages.stage_values(requests, None, WINDOW, PARTS, Tracing(is_on))
    assert words in str(found.reason)
    assert stages.warnings(found) == []


def test_flows_of_nodes_without_spans_are_timed_and_have_no_table(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    whole = [
        (node, [{**found[0], "name": one["flow"]}]) for one in content for node, found in simulation.spans_of([one])
    ]
    ended = [(node, [{**flow, "attributes": flow["attributes"][:1]}]) for node, (flow,) in whole if node == "PartyA"]
    table = stage_rows(simulation.spans(tmp_path, ended), requests)
    found = stages.stage_values(requests, table, WINDOW, PARTS, Tracing(True))
    assert "since 4.10" in str(found.reason)
    assert stages.node_latency(requests, table, WINDOW) is not None


def test_spans_of_other_requests_make_no_row(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    others = [{**one, "flow_id": "another", "trace_id": "ab" * 16} for one in content[:3]]
    assert stage_rows(simulation.spans(tmp_path, simulation.spans_of(others)), requests) is None


def test_only_traced_requests_can_lack_spans(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    untraced = pl.when(pl.col("request_id") % 4 == 0).then("trace_id").alias("trace_id")
    sampled = requests.with_columns(untraced)
    own = [one for one in content if one["request_id"] % 4 == 0]
    table = stage_rows(simulation.spans(tmp_path, simulation.spans_of(own)), sampled)
    found = stages.stage_values(sampled, table, WINDOW, PARTS, Tracing(True))
    assert found.flows[0].rows == found.flows[0].requests == pytest.approx(125, abs=1)
    assert stages.warnings(found) == []


def test_values_between_hosts_are_left_out_and_named(tmp_path: Path) -> None:
    here = values_of(tmp_path)
    there = stages.without_values_between_hosts(here)
    (table,), (before,) = there.flows, here.flows
    assert before.start_ms.count
    assert (table.start_ms, table.end_ms, there.consensus_latency_ms) == (Distribution(),) * 3
    assert (table.start_share_percent, table.end_share_percent) == (None, None)
    assert table.stages == before.stages, "those of one node have one clock"
    assert there.clocks_left_out == ["start of Iou", "end of Iou", "consensus latency"]
    assert [one.code for one in stages.warnings(there)] == ["clocks_apart"]
    assert stages.warnings(here) == []
