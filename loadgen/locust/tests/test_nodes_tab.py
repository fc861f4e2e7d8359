"""The tab *Corda nodes* of a real Locust, with a bridge and a Prometheus that answer on real sockets, or do not."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest

from lab_load.node_watch import ANSWER_SECONDS_MAX, FRESH_SECONDS
from lab_load.nodes_tab import TAB
from lab_workload.node_state import NODE_SERIES, one_query
from testkit import Locust, StubBridge, free_port, wait_until

FORM = {"user_count": 2, "spawn_rate": 10, "workload": "iou", "node": "", "counterparty": "", "pacing": 0.1}
FAILURE = {
    "flow": "Iou",
    "reason": "flow_exception",
    "detail": "FlowException: below 100",
    "at": "2026-11-20T12:00:00.250Z",
}


class StubPrometheus:
    """Answers the one query about nodes, in the form of the query API."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        """When it was asked, on the monotonic clock."""
        self.answers = threading.Event()
        """Unset: it takes requests and does not answer."""
        self.answers.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self.answers.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(prometheus) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                prometheus.asked.append(time.monotonic())
                address = urlsplit(self.path)
                if address.path != "/api/v1/query" or parse_qs(address.query)["query"] != [one_query(NODE_SERIES)]:
                    self.send_error(400)
                    return
                prometheus.answers.wait(30)
                metrics = [{"series": name, "node": "PartyA"} for name in NODE_SERIES]
                result = [{"metric": metric, "value": [1.0, "1.5"]} for metric in metrics]
                body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:
                    self.close_connection = True  # the generator waits no longer, as some tests want

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def prometheus() -> Iterator[StubPrometheus]:
    stub = StubPrometheus()
    yield stub
    stub.close()


def statistics(locust: Locust, tab: str | None = TAB) -> dict[str, Any]:
    """The statistics as a page gets them that shows this tab; None: as a program gets them."""
    page = f"http://127.0.0.1:{locust.web_port}"
    headers = {} if tab is None else {"Referer": f"{page}/?tab={tab}"}
    with urlopen(Request(f"{page}/stats/requests", headers=headers), timeout=30) as response:
        answer: dict[str, Any] = json.loads(response.read())
        return answer


def rows(locust: Locust, tab: str = TAB) -> dict[str, dict[str, Any]]:
    """The rows of the table by name."""
    [stats] = statistics(locust, tab)["extended_stats"]
    assert stats["key"] == TAB
    return {row["name"]: row for row in stats["data"]}


def start(locust: Locust, bridge: StubBridge, prometheus_url: str) -> None:
    """Start the web UI, and a load in it."""
    locust.environment["PROMETHEUS_URL"] = prometheus_url
    locust.start_web()
    assert locust.post("/swarm", **FORM)["success"]
    wait_until(lambda: bridge.starts, "the load runs")


def test_the_page_has_the_tab_and_its_table(locust: Locust) -> None:
    locust.start_web()

    page = json.loads(re.search(r"window\.templateArgs = (\{.*\})", locust.get("/"))[1])  # type: ignore[index]

    assert page["extended_tabs"] == [{"title": "Corda nodes", "key": TAB}]
    [table] = page["extended_tables"]
    assert table["key"] == TAB
    assert [column["title"] for column in table["structure"]] == [
        *("Node", "Health", "Flows in flight", "Flows/s", "CPU, cores", "Heap, %", "Queue depth", "Last error")
    ]


def test_a_page_that_shows_the_tab_gets_the_state_of_every_node(
    locust: Locust, bridge: StubBridge, prometheus: StubPrometheus
) -> None:
    bridge.last_failures["PartyB"] = FAILURE
    start(locust, bridge, prometheus.url)

    found = rows(locust)

    assert list(found) == ["PartyA", "PartyB", "PartyC"]
    assert {row["health"] for row in found.values()} == {"ready"}
    assert (found["PartyA"]["flows"], found["PartyA"]["heap"], found["PartyA"]["queue"]) == (2, 100, 3)
    assert (found["PartyB"]["flows"], found["PartyB"]["cpu"]) == ("–", "–")
    assert found["PartyB"]["failure"] == "2026-11-20 12:00:00 UTC, Iou: FlowException: below 100"
    assert statistics(locust)["stats"], "the statistics of the load are there as well"


def test_nothing_is_asked_if_nobody_looks(locust: Locust, bridge: StubBridge, prometheus: StubPrometheus) -> None:
    start(locust, bridge, prometheus.url)

    assert "extended_stats" not in statistics(locust, None)
    assert "extended_stats" not in statistics(locust, "stats")
    assert prometheus.asked == []
    locust.post("/stop")
    wait_until(lambda: statistics(locust, None)["state"] == "stopped", "the load has ended")
    assert prometheus.asked == []


def test_after_the_load_any_tab_gets_the_nodes_because_the_page_asks_only_once(
    locust: Locust, bridge: StubBridge, prometheus: StubPrometheus
) -> None:
    start(locust, bridge, prometheus.url)
    locust.post("/stop")
    wait_until(lambda: statistics(locust, None)["state"] == "stopped", "the load has ended")

    assert rows(locust, "stats")["PartyA"]["health"] == "ready"


def test_many_pages_are_one_question(locust: Locust, bridge: StubBridge, prometheus: StubPrometheus) -> None:
    start(locust, bridge, prometheus.url)
    begun = time.monotonic()
    threads = [threading.Thread(target=statistics, args=[locust]) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(prometheus.asked) <= 1 + (time.monotonic() - begun) / FRESH_SECONDS
    first = prometheus.asked[0]
    wait_until(lambda: rows(locust) and len(prometheus.asked) >= 2, "it is asked again later")
    assert prometheus.asked[1] - first > FRESH_SECONDS / 2


def test_a_prometheus_that_does_not_answer_is_shown_and_stops_nothing(
    locust: Locust, bridge: StubBridge, prometheus: StubPrometheus
) -> None:
    prometheus.answers.clear()
    start(locust, bridge, prometheus.url)
    started, begun = len(bridge.starts), time.monotonic()

    found = rows(locust)

    seconds = time.monotonic() - begun
    assert seconds < ANSWER_SECONDS_MAX + 5
    assert (found["PartyA"]["health"], found["PartyA"]["flows"]) == ("ready", "–")
    assert re.match("no answer within|does not answer", found["Prometheus"]["health"])
    assert len(bridge.starts) > started, "the load went on meanwhile"


def test_without_a_prometheus_there_is_what_the_bridge_knows(locust: Locust, bridge: StubBridge) -> None:
    start(locust, bridge, f"http://127.0.0.1:{free_port()}")

    found = rows(locust)

    assert found["PartyC"]["health"] == "ready"
    assert re.fullmatch(r"does not answer: .*refused", found["Prometheus"]["health"])


def test_a_prometheus_that_is_not_configured_is_not_asked(locust: Locust, bridge: StubBridge) -> None:
    start(locust, bridge, "")
    assert rows(locust)["Prometheus"]["health"] == "not asked: the environment variable PROMETHEUS_URL is not set"


def test_a_bridge_that_is_gone_is_shown_with_what_prometheus_knows(
    locust: Locust, bridge: StubBridge, prometheus: StubPrometheus
) -> None:
    start(locust, bridge, prometheus.url)
    bridge.close()
    try:
        found = wait_until(lambda: (seen := rows(locust)).keys() >= {"bridge"} and seen, "the bridge is missed")
    finally:
        locust.close()

    assert (found["PartyA"]["health"], found["PartyA"]["flows"]) == ("not known", 2)
    assert "does not answer" in found["bridge"]["health"]


def test_a_wrong_address_of_prometheus_is_told_at_once(locust: Locust) -> None:
    locust.environment["PROMETHEUS_URL"] = "prometheus:9090"

    status, output = locust.run_headless("--run-time", "1s")

    assert status == 2
    assert "PROMETHEUS_URL: 'prometheus:9090' is not an http:// address" in output
