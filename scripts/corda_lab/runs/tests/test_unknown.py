"""What became of requests with an unknown outcome, asked of a real HTTP server."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import polars as pl
import pytest

from corda_lab.clients.bridge import Bridge
from corda_lab.runs import unknown
from corda_lab.steps import resolutions, rows
from corda_lab.steps.build import resolved_entry
from corda_lab.steps.counts import succeeded_by_part
from support import simulation

ANSWERS: dict[str, list[tuple[int, dict[str, str]]]] = {
    "client-1": [(202, {"status": "running"}), (200, {"flowId": "f", "txId": "A1"})],
    "client-2": [(502, {"type": "urn:corda-lab:problem:flow-failed"})],
    "client-3": [(404, {"type": "urn:corda-lab:problem:not-found"})],
    "client-4": [(503, {"type": "urn:corda-lab:problem:node-unavailable"})],
}
"""The answers to each client id, in order. The last one is repeated."""


class Asked:
    """A bridge that says what became of flows."""

    def __init__(self) -> None:
        self.client_ids: list[str] = []
        self.keeps_client_ids = True
        asked = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/v1/nodes":
                    node = {"name": "PartyA", "ready": True, "clientIdSupported": asked.keeps_client_ids}
                    self._send(200, {"nodes": [node]})
                    return
                client_id = self.path.removeprefix("/v1/nodes/PartyA/flows/")
                answers = ANSWERS[client_id]
                number = min(asked.client_ids.count(client_id), len(answers) - 1)
                asked.client_ids.append(client_id)
                self._send(*answers[number])

            def _send(self, status: int, content: object) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.bridge = Bridge(f"http://127.0.0.1:{self.server.server_port}")


@pytest.fixture
def asked() -> Iterator[Asked]:
    asked = Asked()
    thread = threading.Thread(target=asked.server.serve_forever, args=(0.01,))
    thread.start()
    yield asked
    asked.server.shutdown()
    asked.server.server_close()
    thread.join()


@pytest.fixture
def requests(tmp_path: Path) -> pl.DataFrame:
    """Five requests: one success, and four with an unknown outcome."""
    content = [simulation.row(number, number, number + 1, outcome="unknown" if number else "ok") for number in range(5)]
    return rows.read_rows([simulation.write_rows(tmp_path / "rows.ndjson", content)])


def test_every_unknown_outcome_is_asked_for_until_it_is_known(
    asked: Asked, requests: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unknown, "ABSENT_SECONDS_MIN", 0.05)
    found = unknown.resolve(asked.bridge, "PartyA", requests, seconds_max=2, pause=lambda _: time.sleep(0.02))
    assert {name: one.resolved for name, one in found.items()} == {
        "client-1": "ok",
        "client-2": "failed",
        "client-3": "not_started",
        "client-4": "unknown",
    }
    assert found["client-1"].transaction == "A1"
    assert asked.client_ids.count("client-2") == 1
    assert asked.client_ids.count("client-3") >= 2, "a start may have been on its way to the node"

    resolved = resolutions.with_resolutions(requests, found)
    assert resolved["resolved"].to_list() == [None, "ok", "failed", "not_started", "unknown"]
    assert succeeded_by_part(resolved) == {"PartyA": {"Iou": 2}}
    summary = resolved_entry(resolved, load_ended_at=found["client-2"].at)
    assert (summary.ok, summary.failed, summary.not_started, summary.unknown) == (1, 1, 1, 1)
    assert summary.seconds > 0


def test_a_node_without_client_ids_cannot_be_asked(asked: Asked, requests: pl.DataFrame) -> None:
    asked.keeps_client_ids = False
    found = unknown.resolve(asked.bridge, "PartyA", requests)
    assert {one.resolved for one in found.values()} == {"unknown"}
    assert asked.client_ids == []


def test_nothing_is_asked_if_every_outcome_is_known(asked: Asked, requests: pl.DataFrame) -> None:
    known = requests.filter(pl.col("outcome") == "ok")
    assert unknown.resolve(asked.bridge, "PartyA", known) == {}
    resolved = resolutions.with_resolutions(known, {})
    assert resolved["resolved"].to_list() == [None]
    assert resolved_entry(resolved, load_ended_at=0.0).seconds == 0
