"""The metrics of nodes, read in the container of locust. Docker is a small program here, and each node is a page."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import node_metrics
from support.docker import docker_client
from support.labs import lab_with

PAGE = """\
# TYPE corda_flows_in_flight gauge
corda_flows_in_flight 3.0
jvm_threads_current 40.0
corda_flow_duration_seconds_count{flow="Iou",outcome="success"} 7.0
"""


class Node(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/metrics" else 503)
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Node)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def lab_of(addresses: dict[str, str]) -> Lab:
    return lab_with(Compose(load_settings(ENV_FILE, {})), None, MagicMock(addresses=lambda _: dict(addresses)))


def test_only_what_is_needed_is_read_of_the_nodes_that_answer(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = f'case "$1" in ps) echo locust-1 ;; exec) shift 3; exec "{sys.executable}" "$@" ;; esac'
    docker_client(tmp_path, monkeypatch, client)
    found = node_metrics.read(lab_of({"PartyA": f"{address}/metrics", "PartyB": f"{address}/ended"}))
    assert {node: {sample.name: sample.value for sample in samples} for node, samples in found.items()} == {
        "PartyA": {"corda_flows_in_flight": 3.0, "corda_flow_duration_seconds_count": 7.0}
    }
    assert node_metrics.in_flight(found) == {"PartyA": 3}


def test_a_container_that_cannot_be_asked_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, 'case "$1" in ps) echo locust-1 ;; *) echo "is paused" >&2; exit 1 ;; esac')
    with pytest.raises(LabError) as caught:
        node_metrics.read(lab_of({"PartyA": "http://127.0.0.1:1/metrics"}))
    assert caught.value.message == "The metrics of the nodes cannot be read from the container of locust: is paused"
