"""What a load that conditioned the nodes came to, and which nodes are cold, asked of a real HTTP server."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from corda_lab.clients.prometheus import Prometheus
from corda_lab.results.folders import check_name
from corda_lab.runs import conditioning, preflight
from corda_lab.runs.collect import Collected
from corda_lab.stats.steady import WarmUp
from corda_lab.steps import rows
from corda_lab.steps.entry import ConditioningEntry
from corda_lab.steps.load import Conditioning
from corda_lab.steps.rows import NO_DROPS
from lab_workload.load import Load
from support import simulation
from support.runs import part, plan_of

CLOSED = Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15)
OPEN = Load(workload="iou", users=50, duration_seconds=60, warm_up_seconds=15, arrivals="poisson", rate=5.0)


def entry(
    folder: Path, options: Load, simulated: list[dict[str, Any]], decided: WarmUp | None = None
) -> ConditioningEntry:
    """The entry of a load of 60 s with these rows."""
    run = preflight.prepare(Conditioning(options, 45, 60).until_steady)
    frame = rows.read_rows([simulation.write_rows(folder / "rows.ndjson", simulated)])
    end = simulation.end_words(simulated or [simulation.row(1, 0, 1)], options.users, 60)
    return conditioning.entry_of(run, Collected(frame, NO_DROPS, end), decided)


def test_a_load_of_a_constant_pace_was_steady(tmp_path: Path) -> None:
    found = entry(tmp_path, CLOSED, simulation.closed_rows(8, 60, simulation.fixed(0.2)))
    assert found.steady
    assert (found.workload, found.load.users, found.seconds) == ("iou", 8, 60)
    assert (found.seconds_min, found.seconds_max) == (45, 60)
    assert found.flows == pytest.approx(300, abs=10)


def test_a_load_that_became_faster_to_its_end_was_not_steady(tmp_path: Path) -> None:
    found = entry(tmp_path, CLOSED, simulation.closed_rows(8, 60, lambda at: 0.5 - at / 150))
    assert not found.steady


def test_a_load_that_was_ended_because_it_was_steady_was_steady(tmp_path: Path) -> None:
    rising = simulation.closed_rows(8, 60, lambda at: 0.5 - at / 150)
    assert entry(tmp_path, CLOSED, rising, WarmUp(20.0, True)).steady


def test_a_load_without_a_completed_flow_was_not_steady(tmp_path: Path) -> None:
    found = entry(tmp_path, CLOSED, simulation.failing_rows(8, 60))
    assert (found.flows, found.steady) == (0, False)


@pytest.mark.parametrize(("second_half", "is_steady"), [(90, True), (100, False)])
def test_the_halves_of_open_load_may_differ_by_chance(tmp_path: Path, second_half: int, is_steady: bool) -> None:
    first_half = 160 - second_half
    ends = [30 + 15 * (number + 0.5) / first_half for number in range(first_half)]
    ends += [45 + 15 * (number + 0.5) / second_half for number in range(second_half)]
    simulated = [simulation.row(number, at - 0.1, at, intended=at - 0.1) for number, at in enumerate(ends, start=1)]
    assert entry(tmp_path, OPEN, simulated).steady == is_steady


@contextmanager
def prometheus_with(flows: dict[str, list[int]]) -> Iterator[Prometheus]:
    """A Prometheus whose nodes have completed so many flows, by node and kind of flow."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            (query,) = parse_qs(urlsplit(self.path).query)["query"]
            result = [
                {"metric": {"node": node, "flow": str(number)}, "values": [[1.0, str(count)]]}
                for node, counts in flows.items()
                for number, count in enumerate(counts)
                if f'node="{node}"' in query
            ]
            body = json.dumps({"status": "success", "data": {"result": result}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with closing(Prometheus(f"http://127.0.0.1:{server.server_port}")) as client:
            yield client
    finally:
        server.shutdown()
        server.server_close()


def test_a_node_with_few_flows_is_cold_and_the_coldest_is_named() -> None:
    subject = plan_of(CLOSED, part("Iou")).subject
    with prometheus_with({"PartyA": [200, 150], "PartyB": [12], "PartyC": [0]}) as prometheus:
        (warning,) = conditioning.cold_nodes(prometheus, subject)
        assert conditioning.completed_flows(prometheus, "PartyA") == 350
    assert "PartyB had completed only 12 flows since its start" in str(warning)
    assert "--condition" in str(warning)


def test_nodes_with_many_flows_are_not_cold() -> None:
    subject = plan_of(CLOSED, part("Iou")).subject
    with prometheus_with({"PartyA": [200, 150], "PartyB": [300]}) as prometheus:
        assert conditioning.cold_nodes(prometheus, subject) == []


def test_a_new_node_has_no_series_yet_and_is_cold() -> None:
    with prometheus_with({}) as prometheus:
        (warning,) = conditioning.cold_nodes(prometheus, plan_of(CLOSED).subject)
    assert "only 0 flows" in str(warning)


@pytest.mark.parametrize("name", [None, "short", "a" * 60])
def test_the_load_before_a_run_has_a_name_of_its_own(name: str | None) -> None:
    found = conditioning.before_run(
        Load(workload="cash_x", users=8, duration_seconds=60, warm_up_seconds=15, name=name)
    ).options.name
    assert found is not None
    assert found.startswith("condition-")
    check_name(found, option="--name")


def test_a_stored_run_is_conditioned_again_as_it_was(tmp_path: Path) -> None:
    before = entry(tmp_path, CLOSED, simulation.closed_rows(8, 60, simulation.fixed(0.2)))
    found = conditioning.again(CLOSED, before)
    assert found is not None
    assert (found.seconds_min, found.seconds_max) == (45, 60)
    assert conditioning.again(CLOSED, None) is None
