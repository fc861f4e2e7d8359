"""What is checked before a run starts; the load itself is tested on the real lab."""

from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import HERE
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs.preflight import check_admission, check_no_other_load, describe, title_of, with_workers
from lab_workload.load import Load
from lab_workload.web_ui import STATUS_PATH, WebUiState, WebUiStatus
from support.runs import part, plan_of
from support.served import served


def test_says_in_a_line_what_will_run() -> None:
    plan = plan_of(
        Load(workload="iou", users=20, duration_seconds=60, warm_up_seconds=15), part("Iou"), part("IouUpdate")
    )
    assert describe(plan) == "iou: Iou, IouUpdate, PartyA → PartyB"
    assert title_of(plan.load) == "Load: 20 users for 15 s + 60 s"
    opened = Load(
        workload="iou", users=50, duration_seconds=60, warm_up_seconds=15, arrivals="poisson", rate=5, workers=2
    )
    assert title_of(opened) == "Load: poisson arrivals, 5 per second, pool of 50 on 2 workers for 15 s + 60 s"
    burst = Load(workload="iou", users=70, arrivals="burst", bursts=10)
    assert title_of(burst) == "Load: 10 bursts of 70 requests within 1 s, rest 5 s"
    assert title_of(Load(workload="iou", users=1, flows=400, flows_after=2)) == "Load: 1 user, 400 flows after 2"


def test_closed_load_with_more_users_than_the_bridge_admits_is_refused_with_the_variable() -> None:
    check_admission(Load(workload="iou", users=200), 200)
    with pytest.raises(LabError, match="--users: 201 is more than the 200 flows") as caught:
        check_admission(Load(workload="iou", users=201), 200)
    assert "--set BRIDGE_MAX_OUTSTANDING_FLOWS=201" in caught.value.remedy


def test_a_burst_that_the_bridge_would_reject_in_part_is_refused_with_a_pool_that_it_admits() -> None:
    burst = Load(workload="iou", users=201, arrivals="burst")
    with pytest.raises(LabError, match="--users: 201 is more than the 200 flows") as caught:
        check_admission(burst, 200)
    assert caught.value.remedy.startswith("Add --set pool=200. ")
    check_admission(burst.updated(pool=200), 200)
    with pytest.raises(LabError, match="--set pool: 150 is more than the 128 flows"):
        check_admission(burst.updated(pool=150), 128)


def test_every_node_that_starts_flows_admits_as_many() -> None:
    check_admission(Load(workload="iou", users=600), 200, nodes=3)
    with pytest.raises(
        LabError, match="602 is more than the 600 flows that the bridge admits on the 3 nodes"
    ) as caught:
        check_admission(Load(workload="iou", users=602), 200, nodes=3)
    assert "BRIDGE_MAX_OUTSTANDING_FLOWS=201" in caught.value.remedy, "each of them has a third of the users"


def test_open_load_may_be_rejected_in_part_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    opened = Load(workload="iou", users=200, arrivals="poisson", rate=5)
    check_admission(opened, 200)
    assert capsys.readouterr().out == ""
    check_admission(opened, 50)
    assert "the bridge admits 50 outstanding flows (BRIDGE_MAX_OUTSTANDING_FLOWS)" in capsys.readouterr().out


def test_a_load_takes_the_workers_that_the_lab_has_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Compose(load_settings(ENV_FILE, {}))
    options = Load(workload="iou", users=2)
    assert with_workers(options, lab).workers is None
    monkeypatch.setattr(Compose, "load_contexts", (HERE, "one", "one", "two"))
    assert with_workers(options, lab).workers == 2, "no more than it has users"
    assert with_workers(options.updated(users=50), lab).workers == 3
    assert with_workers(options.updated(users=50, workers=1), lab).workers == 1
    assert with_workers(Load(workload="iou", users=50, flows=400), lab).workers is None
    with pytest.raises(LabError, match="--set workers: is 4, but the placement has 3"):
        with_workers(options.updated(users=50, workers=4), lab)


def check_beside_web_ui(state: WebUiState) -> None:
    """Check for other loads in a lab without flows, whose web UI is in this state."""
    # Locust answers the page of its statistics from a cache of two seconds, so the page may be older than the state.
    pages = {STATUS_PATH: WebUiStatus(state, None).as_dict(), "/stats/requests": {"user_count": 1}}
    compose, bridge = MagicMock(), MagicMock()
    compose.load_containers.return_value, bridge.nodes.return_value = [], {}
    with served(pages.get) as port:
        check_no_other_load(compose, bridge, f"http://127.0.0.1:{port}")


def test_a_load_may_start_as_soon_as_the_web_ui_is_idle() -> None:
    check_beside_web_ui("idle")


@pytest.mark.parametrize("state", ["set-up", "running", "stopping"])
def test_no_load_starts_beside_one_of_the_web_ui(state: WebUiState) -> None:
    with pytest.raises(LabError, match=f"web UI is in progress .{state}.") as caught:
        check_beside_web_ui(state)
    assert "Wait until" in caught.value.remedy
