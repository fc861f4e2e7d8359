"""The client of Prometheus, with a small server that answers like it. monitoring/ has the tests with a real one."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from corda_lab.clients.prometheus import SERIES, Alert, Prometheus
from corda_lab.errors import LabError

BEGAN = 1767323045.123456
"""The beginning of each alert, to the microsecond. Prometheus also says the nanoseconds."""


class Server:
    """Answers every request with ``data``, and keeps the paths that were asked for."""

    def __init__(self) -> None:
        self.data: Any = None
        self.paths: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.paths.append(self.path)
                body = json.dumps({"status": "success", "data": server.data}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Print nothing."""

        return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as made:
        yield made


def active(name: str, state: str, **labels: str) -> dict[str, Any]:
    return {
        "labels": {"alertname": name, "severity": "warning", **labels},
        "annotations": {"summary": f"What to do about {name}."},
        "state": state,
        "activeAt": "2026-01-02T03:04:05.123456789Z",
        "value": "1e+00",
    }


def rules(*alerts: dict[str, Any]) -> dict[str, Any]:
    return {"groups": [{"name": "alerts", "rules": [{"type": "alerting", "alerts": list(alerts)}]}]}


def test_only_alerts_that_fire_are_returned_in_order(server: Server) -> None:
    server.data = rules(
        active("NodeDown", "firing", node="PartyB"),
        active("NodeDown", "pending", node="PartyC"),
        active("CpuStolen", "firing"),
    )
    with closing(Prometheus(server.url)) as prometheus:
        found = prometheus.alerts()
    assert found == [
        Alert("CpuStolen", "", "warning", "What to do about CpuStolen.", BEGAN),
        Alert("NodeDown", "PartyB", "warning", "What to do about NodeDown.", BEGAN),
    ]
    assert server.paths == ["/api/v1/rules?type=alert"]


def test_a_prometheus_without_rules_does_not_look_healthy(server: Server) -> None:
    server.data = {"groups": []}
    with closing(Prometheus(server.url)) as prometheus, pytest.raises(LabError, match="has no alerts"):
        prometheus.alerts()


def test_what_is_recorded_is_stored_under_the_names_that_reports_know() -> None:
    recorded = {name for name, query in SERIES.items() if ":" in query and "(" not in query}
    assert recorded >= {"node_cpu_cores", "node_gc_share", "node_flows_in_flight", "artemis_queue_messages"}
