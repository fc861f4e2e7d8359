"""The switches on a scripted Docker client and a small server that answers like Prometheus: everything ends on."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from corda_lab.bench.overhead import switches as switches_module
from corda_lab.bench.overhead.measurement import PARTS
from corda_lab.bench.overhead.switches import Switches
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from support.docker import docker_client

SERVICES = ("prometheus", "partya", "partyb")
ROW = '{"Service": "NAME", "Name": "lab-NAME-1", "State": "running", "ExitCode": 0}'
DOCKER = """echo "$@" >> {log}
case "$1 $5" in
compose*) echo '{rows}' ;;
pause*) : > {paused} ;;
unpause*) /bin/rm {paused} ;;
container*) if [ -e {paused} ]; then echo paused; else echo running; fi ;;
"exec touch"*) {touch} ;;
"exec rm"*) /bin/rm -f {off} ;;
esac"""


class Lab:
    """What is off in the scripted lab, and the commands that Docker got."""

    def __init__(self, folder: Path) -> None:
        self.log, self.paused, self.off = folder / "log", folder / "paused", folder / "off"
        self.reports_timing = True

    @property
    def commands(self) -> list[str]:
        return self.log.read_text().splitlines()

    @property
    def is_all_on(self) -> bool:
        return not self.paused.exists() and not self.off.exists()

    def answer(self) -> dict[str, object]:
        """The newest sample of ``corda_stage_timing_on``."""
        sample = [time.time(), "0" if self.off.exists() else "1"]
        series = {"metric": {"node": "PartyA"}, "values": [sample]}
        return {"status": "success", "data": {"result": [series] if self.reports_timing else []}}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(tmp_path)
    script_of(made, tmp_path, monkeypatch, touch=f": > {made.off}")
    return made


def script_of(lab: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch, *, touch: str) -> None:
    rows = "\n".join(ROW.replace("NAME", name) for name in SERVICES)
    docker_client(
        folder, monkeypatch, DOCKER.format(log=lab.log, rows=rows, paused=lab.paused, off=lab.off, touch=touch)
    )


@pytest.fixture
def switches(lab: Lab) -> Iterator[Switches]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(lab.answer()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    prometheus = Prometheus(f"http://127.0.0.1:{server.server_port}")
    yield Switches(Compose(load_settings(environment={})), prometheus, ["PartyA", "PartyB"])
    prometheus.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_everything_is_off_in_the_block_and_on_after_it(lab: Lab, switches: Switches) -> None:
    with switches.off(PARTS["everything"]):
        assert lab.paused.exists()
        assert lab.off.exists()
        assert switches.is_monitoring_off()
    assert lab.is_all_on
    for node in ("lab-partya-1", "lab-partyb-1"):
        assert [line for line in lab.commands if line.startswith(f"exec {node} sh -c touch")]


def test_a_part_that_is_not_named_stays_on(lab: Lab, switches: Switches) -> None:
    with switches.off(PARTS["recording"]):
        assert lab.is_all_on
    with switches.off(PARTS["stages"]):
        assert not lab.paused.exists()
    with switches.off(PARTS["monitoring"]):
        assert not lab.off.exists()
    assert lab.is_all_on


@pytest.mark.parametrize("failure", [LabError("the load failed"), KeyboardInterrupt()])
def test_everything_is_on_after_a_failure(lab: Lab, switches: Switches, failure: BaseException) -> None:
    with pytest.raises(type(failure)), switches.off(PARTS["everything"]):
        raise failure
    assert lab.is_all_on


def test_everything_is_on_if_only_a_part_of_it_could_be_switched_off(
    lab: Lab, switches: Switches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_of(lab, tmp_path, monkeypatch, touch=f": > {lab.off}; echo read-only file system >&2; exit 1")
    with pytest.raises(LabError, match="read-only file system"), switches.off(PARTS["everything"]):
        raise AssertionError("the block must not run")
    assert lab.is_all_on


def test_nodes_that_do_not_report_their_timing_are_one_clear_error(
    lab: Lab, switches: Switches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switches_module, "NOTICED_SECONDS_MAX", 0.0)
    lab.reports_timing = False
    with pytest.raises(LabError, match="No node reports") as raised, switches.off(PARTS["stages"]):
        raise AssertionError("the block must not run")
    assert "scripts/lab up" in raised.value.remedy
    assert lab.is_all_on
