"""Stage rows: joined to requests, summed up, and the consensus latency of their transactions."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from corda_lab.runs import stage_rows
from corda_lab.steps import rows, stages
from corda_lab.steps.entry import Distribution, StagesEntry
from corda_lab.steps.reasons import sentences
from corda_lab.steps.rows import Window
from support import simulation

WINDOW = Window(simulation.ORIGIN + 10, simulation.ORIGIN + 60)
FLOWS = {"Iou": "org.cordalab.flows.Iou"}
STAGE_JAVA = ROOT / "cordapps/workflows/src/main/java/org/cordalab/timing/Stage.java"


def test_the_stages_are_those_that_the_cordapp_times() -> None:
    names = re.findall(r"^    ([A-Z_]+)[,;]$", STAGE_JAVA.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(name.lower() for name in names) == stages.STAGES


def simulated(tmp_path: Path, **about: Any) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    content = simulation.closed_rows(4, 60, simulation.fixed(0.1), **about)
    return rows.read_rows([simulation.write_rows(tmp_path / "rows.ndjson", content)]), content


def values_of(tmp_path: Path, **about: Any) -> StagesEntry:
    requests, content = simulated(tmp_path, **about)
    table = stage_rows.read_stages(simulation.write_stage_rows(tmp_path, content), simulation.nodes())
    return stages.stage_values(requests, table, WINDOW, FLOWS, is_on=True, dropped={"PartyA": 0})


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
    assert {line.stage for line in table.stages} == {"sign", "record"}


def test_consensus_latency_ends_with_the_last_commit(tmp_path: Path) -> None:
    found = values_of(tmp_path)
    latency = found.consensus_latency_ms
    assert latency.p50 == pytest.approx(1000 * simulation.COMMIT_SECONDS, abs=0.01)
    assert latency.count == found.flows[0].rows
    assert found.consensus_left_out == 0


def test_a_transaction_that_lacks_a_party_s_row_has_no_consensus_latency(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    paths = simulation.write_stage_rows(tmp_path, content)
    lines = paths[1].read_text(encoding="utf-8").splitlines(keepends=True)
    paths[1].write_text("".join(lines[::2]), encoding="utf-8")
    table = stage_rows.read_stages(paths, simulation.nodes())
    found = stages.stage_values(requests, table, WINDOW, FLOWS, is_on=True, dropped={})
    assert found.consensus_latency_ms.p50 == pytest.approx(1000 * simulation.COMMIT_SECONDS, abs=0.01)
    assert found.consensus_left_out == pytest.approx(found.flows[0].rows / 2, abs=1)


def test_a_sum_that_is_off_and_missing_rows_are_warnings(tmp_path: Path) -> None:
    found = values_of(tmp_path)
    (table,) = found.flows
    short = table.model_copy(update={"difference_percent": -14.0, "rows": table.requests - 3})
    lossy = found.model_copy(update={"flows": [short], "rows_dropped": {"PartyA": 7}})
    words = " ".join(sentences(stages.warnings(lossy)))
    assert "-14 %" in words
    assert "3 of" in words
    assert "PartyA dropped 7 stage rows" in words


@pytest.mark.parametrize(
    ("flow", "is_on", "words"),
    [
        ("com.example.MyFlow", True, "Only the flows of the lab's own CorDapp"),
        ("org.cordalab.flows.Iou", False, "LAB_STAGES_FILE is not set"),
        ("org.cordalab.flows.Iou", True, "wrote no stage row"),
    ],
)
def test_says_why_there_is_no_table(tmp_path: Path, flow: str, is_on: bool, words: str) -> None:
    requests, _ = simulated(tmp_path)
    found = stages.stage_values(requests, None, WINDOW, {"Iou": flow}, is_on=is_on, dropped={})
    assert words in str(found.reason)
    assert stages.warnings(found) == []


def test_stage_rows_of_other_flows_make_no_table(tmp_path: Path) -> None:
    requests, content = simulated(tmp_path)
    others = [{**one, "flow_id": "another", "tx_id": "AA"} for one in content[:3]]
    table = stage_rows.read_stages(simulation.write_stage_rows(tmp_path, others), simulation.nodes())
    found = stages.stage_values(requests, table, WINDOW, FLOWS, is_on=True, dropped={})
    assert found.reason == "No stage row belongs to a request of the measuring window."


def test_a_row_that_was_cut_off_is_left_out_and_a_broken_one_refused(tmp_path: Path) -> None:
    _, content = simulated(tmp_path)
    path = simulation.write_stage_rows(tmp_path, content[:5])[0]
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + '{"flow_id": "cut', encoding="utf-8")
    table = stage_rows.read_stages([path], simulation.nodes())
    assert table is not None
    assert table.height == 5
    assert table["node"].unique().to_list() == ["PartyA"]
    broken = {**json.loads(whole.splitlines()[0]), "stages": None}
    path.write_text(json.dumps(broken) + "\n", encoding="utf-8")
    with pytest.raises(LabError, match="a stage row cannot be parsed"):
        stage_rows.read_stages([path], simulation.nodes())
    path.write_text("", encoding="utf-8")
    assert stage_rows.read_stages([path], simulation.nodes()) is None


def test_the_stages_of_a_flow_keep_their_order_and_times(tmp_path: Path) -> None:
    row = next(stage_row for _, stage_row in simulation.stage_rows(simulation.closed_rows(1, 1, simulation.fixed(0.1))))
    repeated = [["wait", 0.0], ["build", 1.5], ["finalise", 20.25], ["build", 30.0], [None, 40.0]]
    path = tmp_path / "stages.partya.ndjson"
    path.write_text(f"{json.dumps({**row, 'entries': repeated})}\n", encoding="utf-8")
    table = stage_rows.read_stages([path], simulation.nodes())
    assert table is not None
    assert table[stages.ENTRY_STAGES].to_list() == [["wait", "build", "finalise", "build", None]]
    assert table[stages.ENTRY_OFFSETS].to_list() == [[0.0, 1.5, 20.25, 30.0, 40.0]]
    assert "entry_stages" not in stages.ordered_stages(table.columns)
    table.write_parquet(tmp_path / "stages.parquet")
    assert pl.read_parquet(tmp_path / "stages.parquet").equals(table)


def test_rows_that_killed_nodes_have_torn_are_left_out_and_no_others(tmp_path: Path) -> None:
    (path, *_) = simulation.write_stage_rows(tmp_path, simulation.closed_rows(2, 20, simulation.fixed(0.5)))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # What was written of the fourth line when the node was killed is followed by the fifth.
    path.write_text("".join(lines[:3]) + lines[3][:40] + "".join(lines[4:]), encoding="utf-8")
    table = stage_rows.read_stages([path], simulation.nodes(), torn_max=1)
    assert table is not None
    assert table.height == len(lines) - 2
    path.write_text("{\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(LabError, match="a stage row cannot be parsed"):
        stage_rows.read_stages([path], simulation.nodes(), torn_max=1)


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
