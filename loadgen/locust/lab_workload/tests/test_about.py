"""What a workload does, in words."""

from pathlib import Path

import pytest

from lab_workload.about import about
from lab_workload.problems import WorkloadError
from lab_workload.workload import workload_names

WORKLOADS = Path(__file__).resolve().parents[4] / "configs" / "workloads"


def test_says_what_is_started_where_and_what_can_be_changed() -> None:
    found = about(WORKLOADS, "settlement")

    facts = dict(found.facts)
    assert facts["starts on"] == "PartyA"
    assert facts["flow"] == "org.cordalab.flows.Settlement, counts as a transaction, makes 2 states"
    assert facts["needs"] == "3 parties, a run time, or a number of flows"
    assert [text for title, text in found.facts if title == "prepares first"] == [
        "cash: org.cordalab.flows.AssetPrepare",
        "stock: org.cordalab.flows.AssetPrepare",
    ]
    values = {value.key: (value.text, value.choices) for value in found.values}
    assert values["participants"] == ("2", "2, 4, 6, 8, 10")
    assert values["asset"] == ("cash | stock", "")
    assert "rate_max" in values


def test_a_mix_has_its_shares_and_a_refused_flow_its_failure() -> None:
    flows = [text for title, text in about(WORKLOADS, "mixed").facts if title == "flow"]
    assert flows[0] == "60 %: org.cordalab.flows.Iou, counts as a transaction"
    assert dict(about(WORKLOADS, "mixed").facts)["starts on"] == "PartyA, with PartyB, PartyC"
    assert dict(about(WORKLOADS, "iou-refused").facts)["flow"].endswith('is expected to fail with "below 100"')


@pytest.mark.parametrize("name", workload_names(WORKLOADS))
def test_every_workload_of_the_lab_is_described(name: str) -> None:
    assert about(WORKLOADS, name).facts


def test_a_file_with_problems_is_not_described(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("description: nothing else", encoding="utf-8")
    with pytest.raises(WorkloadError, match="node: is missing"):
        about(tmp_path, "own")
