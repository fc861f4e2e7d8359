"""The health check of the bridge: it waits for nodes that start, and not for one that has ended."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

SCRIPT = ROOT / "loadgen" / "bridge" / "bin" / "healthcheck"
WAITING = "still waiting"


@contextmanager
def bridge(answering: dict[str, bool]) -> Iterator[int]:
    """A bridge that some nodes answer. Yields its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"status": "x", "nodes": answering}, separators=(",", ":")).encode()
            self.send_response(200 if all(answering.values()) else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    Handler.protocol_version = "HTTP/1.1"
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check(folder: Path, port: int, *there: str) -> tuple[int | str, str]:
    """The status of the check and what it prints. The names of the nodes that are ``there`` are known."""
    getent = folder / "bin" / "getent"
    getent.parent.mkdir()
    getent.write_text(f'#!/bin/sh\ncase "$2" in {"|".join(there) or "none"}) ;; *) exit 2 ;; esac\n', encoding="utf-8")
    getent.chmod(0o755)
    environment = {
        "PATH": f"{getent.parent}:{os.environ['PATH']}",
        "BRIDGE_PORT": str(port),
        "BRIDGE_NODES": "Notary=notary:10003,Soci%C3%A9t%C3%A9=partya:10003",
    }
    script = SCRIPT.read_text(encoding="utf-8").replace("/tmp/", f"{folder}/")
    try:
        done = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=4
        )
    except subprocess.TimeoutExpired:
        return WAITING, ""
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("answering", "there", "status", "printed"),
    [
        ((True, True), ("notary", "partya"), 0, ""),
        ((False, False), ("notary", "partya"), WAITING, ""),
        ((True, False), ("notary", "partya"), WAITING, ""),
        # One has ended, and the other may still become ready.
        ((False, False), ("notary",), WAITING, ""),
        ((True, False), ("notary",), 1, "not there: partya"),
        ((False, False), (), 1, "not there: notary partya"),
    ],
)
def test_waits_for_nodes_that_start_and_not_for_those_that_have_ended(
    tmp_path: Path, answering: tuple[bool, bool], there: tuple[str, ...], status: int | str, printed: str
) -> None:
    with bridge(dict(zip(("Notary", "Société"), answering, strict=True))) as port:
        assert check(tmp_path, port, *there) == (status, printed)


def test_a_bridge_that_does_not_answer_yet_is_awaited_as_long_as_nodes_are_there(tmp_path: Path) -> None:
    assert check(tmp_path, 1, "notary", "partya") == (WAITING, "")
