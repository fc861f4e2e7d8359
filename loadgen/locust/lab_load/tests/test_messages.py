"""What master and workers send each other arrives as it was sent, through Locust's own encoding."""

from dataclasses import replace
from typing import Any

import msgpack

from lab_load.choice import Choice, Extent
from lab_load.end_file import ProcessSummary
from lab_load.messages import PlanMessage, plan_data, read_plan, read_summary, summary_data
from lab_workload.flows import Party
from lab_workload.network import Roles
from lab_workload.prepared import Results, Share


def sent(data: Any) -> Any:
    return msgpack.loads(msgpack.dumps(data), strict_map_key=False)


def test_a_plan_arrives_whole() -> None:
    choice = Choice("iou", "", "", 0.5, "run", 7, "http://bridge", "poisson", 20.0, overrides={"iouValue": "{{ 1 }}"})
    choice = replace(choice, nodes=("PartyA", "PartyB"))
    parties = {"PartyA": "O=A", "PartyB": "O=B"}
    first, second = Party("PartyA", "O=A"), Party("PartyB", "O=B")
    starters = (Roles(first, second, parties, choice.nodes), Roles(second, first, parties, choice.nodes))
    items: dict[str, Results] = {"coins": ["a", "b"], "cash": {"PartyB": [{"ref": 1}]}}
    results: dict[str, dict[str, Results]] = {"PartyA": items, "PartyB": {"coins": ["c"]}}
    message = PlanMessage(choice, Extent(5, None, 2), starters, None, 330.0, results, Share(2, 2))

    assert read_plan(sent(plan_data(message))) == message


def test_a_summary_arrives_whole() -> None:
    summary = ProcessSummary(
        worker=2,
        started_at=1.5,
        spawned_at=None,
        stop_at=3.0,
        ended_at=4.25,
        users=3,
        requests=10,
        rows=10,
        outcomes={"ok": 4, "expected": 2, "failed": 1, "unknown": 0},
        cpu_percent_max=12.5,
        exit_reason="completed",
        offered=11,
        late=1,
        dropped=1,
        lags=[(1000, 4), (2000, 6)],
        pool_free_min=0,
    )

    assert read_summary(sent(summary_data(summary))) == summary
