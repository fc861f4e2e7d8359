"""What counts as saturated, and with which evidence."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from corda_lab.analysis import points, saturation
from corda_lab.analysis.saturation import Resource
from corda_lab.results import stored
from support.entries import changed
from support.runs import ENVIRONMENT


def test_a_growing_queue_and_a_full_heap_are_seen(sweep: Path) -> None:
    run = stored.read(sweep)
    point = points.points(run)[0]
    first = changed(point.steps[0], {"values.node_gc_share": {"PartyA": 0.9, "PartyB": 0.1}})
    point = replace(point, steps=(first, *point.steps[1:]))
    window = first.window
    times = [window.started_at + number for number in range(0, 60, 5)]
    grown = pl.DataFrame(
        {
            "step": pl.Series([first.index] * 12, dtype=pl.Int32),
            "name": "artemis_queue_messages",
            "node": "PartyB",
            "labels": '{"broker": "P2P", "queue": "inbound"}',
            "time": times,
            "value": [float(10 * number) for number in range(12)],
        }
    )
    used = {use.resource: use for use in saturation.uses(run, point, grown)}
    assert used[Resource.QUEUE].is_saturated
    assert used[Resource.QUEUE].text == "PartyB 20 → 95 messages"
    assert used[Resource.GC].is_saturated
    assert not used[Resource.GENERATOR].is_saturated


@pytest.mark.parametrize(
    ("shape", "evidence"),
    [
        ({"NODE_CPUSET": "0,2-3"}, "all nodes 2.30 of 3 cores (0,2-3)"),
        ({"NODE_CPUSET": "0-1"}, "all nodes 2.30 of 2 cores (0-1)"),
        ({"NODE_CPUSET": "0", "NODE_CORES": "2"}, "all nodes 2.30 of 1 cores (0)"),
        ({"NODE_CORES": "2"}, "PartyA 1.80 of 2 cores"),
        ({}, "PartyA 1.80 of 8 cores"),
    ],
)
def test_a_node_s_limit_is_its_own_and_that_of_the_cores_it_is_bound_to(
    sweep: Path, shape: dict[str, str], evidence: str
) -> None:
    point = points.points(stored.read(sweep))[0]
    steps = [changed(point.steps[0], {"values.node_cpu_cores": {"PartyA": 1.8, "PartyB": 0.5}})]
    host = ENVIRONMENT.host.model_copy(update={"cpu_count": 8})
    whole_shape = {"NODE_CORES": "0", "NODE_CPUSET": "", **shape}
    environment = ENVIRONMENT.model_copy(update={"shape": whole_shape, "host": host})
    assert saturation.node_cpu(steps, environment).text == evidence
