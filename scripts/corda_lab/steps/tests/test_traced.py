"""What traced requests waited for, and which spans took their time."""

from pathlib import Path

import polars as pl
import pytest

from corda_lab.report import waterfall
from corda_lab.steps.spans import NO_SPANS
from support import simulation


def test_slow_requests_are_set_against_usual_ones(tmp_path: Path) -> None:
    content = [simulation.row(n, n, n + (0.9 if n % 10 == 0 else 0.1)) for n in range(1, 101)]
    requests = simulation.frame(tmp_path, content)
    spans = simulation.spans(tmp_path, simulation.spans_of(content))
    waits = waterfall.waits(requests, spans, "latency_ms")
    name, *times = waits[0]
    assert name == "PartyA: collect signatures"
    assert times == pytest.approx([0.45 * 98, 0.45 * 898], abs=0.01)
    assert sum(slow_ms for *_, slow_ms in waits) == pytest.approx(900, abs=0.1)
    assert waterfall.waits(requests.head(0), spans, "latency_ms") == []


def test_the_own_time_of_spans_adds_up_to_that_of_the_flows(tmp_path: Path) -> None:
    content = simulation.closed_rows(2, 20, simulation.fixed(0.5))
    requests = simulation.frame(tmp_path, content)
    found = waterfall.self_times(requests, simulation.spans(tmp_path, simulation.spans_of(content)))
    of_a = found.filter(pl.col("node") == "PartyA")
    assert of_a["name"].to_list()[:2] == ["collect_signatures", "finalise"]
    assert of_a["share_percent"].sum() == pytest.approx(100)
    assert set(found["count"]) == {len(content)}
    # But for a millisecond before and after it, and for its wait, which is in no span, a request is in its node.
    in_spans = 1 - simulation.STAGE_SHARES["wait"]
    assert of_a["total_ms"].sum() == pytest.approx(in_spans * sum(one["latency_ms"] - 2 for one in content))
    assert waterfall.self_times(requests, NO_SPANS).is_empty()
