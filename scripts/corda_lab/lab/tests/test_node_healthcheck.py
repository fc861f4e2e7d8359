"""The health check of a node that has started: its JVM must answer."""

import socket
import subprocess
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

SCRIPT = ROOT / "nodes" / "bin" / "healthcheck"
HEADERS = "HTTP/1.0 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (HEADERS + 'corda_node_status{status="STARTED"} 1.0\n', 0),
        (HEADERS + 'corda_node_status{status="STARTING"} 1.0\n', 1),
        (HEADERS, 1),
        # A JVM that hangs: the kernel accepts the connection, and nothing comes.
        (None, 1),
    ],
)
def test_a_node_is_healthy_as_long_as_its_jvm_answers(tmp_path: Path, answer: str | None, status: int) -> None:
    (tmp_path / "platform-version").write_text("12\n", encoding="utf-8")
    (tmp_path / "started").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = (
            SCRIPT.read_text(encoding="utf-8")
            .replace("/tmp/", f"{tmp_path}/")
            .replace("/network/bin/", f"{tmp_path}/")
            .replace("9404", str(server.getsockname()[1]))
        )
        process = subprocess.Popen(["bash", "-c", script])
        connection, _ = server.accept()
        with connection:
            if answer is not None:
                connection.recv(1024)
                connection.sendall(answer.encode())
                connection.shutdown(socket.SHUT_WR)
            assert process.wait(timeout=15) == status
    assert (tmp_path / "healthy").exists() == (status == 0)
