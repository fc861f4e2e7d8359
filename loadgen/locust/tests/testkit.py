"""What the tests of the load generator share: a small real HTTP server that answers like the bridge, and Locust."""

import itertools
import json
import os
import shlex
import socket
import threading
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from lab_load.form import plan_of
from lab_load.generator_settings import GeneratorSettings
from lab_workload.load import Load
from lab_workload.plan import PLAN_SUFFIX, Plan
from lab_workload.web_ui import STATUS_PATH, WebUiStatus
from locust_process import LocustProcess, start_locust

Reply = tuple[int, dict[str, str], Any]
"""Status, headers and content of an answer, which is sent as JSON."""

X500_NAMES = {
    "PartyA": "O=PartyA,L=London,C=GB",
    "PartyB": "O=PartyB,L=New York,C=US",
    "PartyC": "O=PartyC,L=Paris,C=FR",
}
FLOWS: list[dict[str, Any]] = [
    {
        "flow": "org.cordalab.flows.Iou",
        "shortName": "Iou",
        "parameters": [[{"name": "iouValue", "type": "int"}, {"name": "otherParty", "type": "Party"}]],
    },
    {"flow": "org.cordalab.flows.Empty", "shortName": "Empty", "parameters": [[]]},
    {
        "flow": "org.cordalab.flows.CashPrepare",
        "shortName": "CashPrepare",
        "parameters": [
            [{"name": "count", "type": "int"}],
            [{"name": "count", "type": "int"}, {"name": "to", "type": "Party"}],
        ],
    },
    {"flow": "org.cordalab.flows.Pay", "shortName": "Pay", "parameters": [[{"name": "coin", "type": "String?"}]]},
    {
        "flow": "org.cordalab.flows.AttachmentSend",
        "shortName": "AttachmentSend",
        "parameters": [[{"name": "attachmentId", "type": "SecureHash"}]],
    },
]
PLATFORM_VERSION = 12
START_SECONDS_MAX = 60.0
"""How soon the web UI of a Locust has to answer. Its start takes seconds of CPU time, which a busy machine lacks."""
WORKLOAD = """\
description: Issue an IOU.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ random_int(1, 99) }}"
  otherParty: "{{ counterparty }}"
"""

PAY = """\
description: Pay with prepared coins.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Pay
args:
  coin: "{{ take('coins') }}"
setup:
  - name: coins
    flow: org.cordalab.flows.CashPrepare
    args: {count: "{{ needed }}"}
rate_max: 1000
"""
_COIN_NUMBERS = itertools.count(1)


def problem(status: int, slug: str, detail: str, **headers: str) -> Reply:
    """A problem as the bridge words it."""
    content = {"type": f"urn:corda-lab:problem:{slug}", "title": slug, "status": status, "detail": detail}
    return status, {"Content-Type": "application/problem+json", **headers}, content


def success(start: dict[str, Any]) -> Reply:
    """The answer to a flow start that went well; what prepares coins gives ``count`` of them, no two alike."""
    coins = start["flow"].endswith("CashPrepare")
    content = {
        "flowId": f"flow-of-{start['clientId']}",
        "clientId": start["clientId"],
        "result": [f"coin-{next(_COIN_NUMBERS)}" for _ in range(start["args"]["count"])] if coins else None,
        "txId": f"tx-of-{start['clientId']}",
        "timings": {"receivedAt": 1.7e9, "startedAt": 1.7e9, "rpcMs": 1.5, "flowMs": 20.25, "totalMs": 22},
    }
    return 200, {}, content


class StubBridge:
    """Answers on a real socket; ``reply`` decides what a flow start gets, and may block."""

    def __init__(self) -> None:
        self.outstanding: dict[str, int] = {}
        """Outstanding flows of others, by node."""
        self.starts: list[tuple[str, dict[str, Any]]] = []
        """Path and content of every flow start that arrived."""
        self.uploads: list[tuple[str, bytes]] = []
        """Path and content of every attachment that arrived."""
        self.reply: Callable[[dict[str, Any]], Reply] = success
        self.check: Callable[[dict[str, Any]], Reply] = lambda start: (200, {}, {})
        """Decides what a start gets that is only to be checked."""
        self.tokens: set[str | None] = set()
        """The Authorization headers of all requests that arrived, except those for its health."""
        self.parties: Reply = (
            200,
            {},
            {
                "parties": [
                    *({"name": name, "x500Name": x500, "notary": False} for name, x500 in X500_NAMES.items()),
                    {"name": "Notary", "x500Name": "O=Notary,L=London,C=GB", "notary": True},
                ]
            },
        )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _node(self, name: str) -> dict[str, Any]:
        outstanding = self.outstanding.get(name, 0)
        return {"name": name, "ready": True, "outstandingFlows": outstanding, "platformVersion": PLATFORM_VERSION}

    def _handler(bridge) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                bridge.tokens.add(self.headers["Authorization"])
                if self.path == "/v1/nodes":
                    self._send((200, {}, {"nodes": [bridge._node(name) for name in X500_NAMES]}))
                else:
                    self._send(bridge.parties if self.path.endswith("/parties") else (200, {}, {"flows": FLOWS}))

            def do_POST(self) -> None:
                bridge.tokens.add(self.headers["Authorization"])
                content = self.rfile.read(int(self.headers["Content-Length"]))
                if "/attachments?" in self.path:
                    bridge.uploads.append((self.path, content))
                    self._send((201, {}, {"attachmentId": sha256(content).hexdigest().upper(), "bytes": len(content)}))
                    return
                start = json.loads(content)
                if self.path.endswith("?check=true"):
                    self._send(bridge.check(start))
                    return
                bridge.starts.append((self.path, start))
                self._send(bridge.reply(start))

            def _send(self, reply: Reply) -> None:
                status, headers, content = reply
                body = json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self._headers_buffer.append(b"\r\n" + body)
                self.flush_headers()

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:
                    self.close_connection = True  # the generator went away, as some tests want

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def client_ids(bridge: StubBridge) -> list[str]:
    """The client ids of all flow starts that arrived, in their order."""
    return [start["clientId"] for _, start in bridge.starts]


def paid(bridge: StubBridge) -> list[str]:
    """The coin of every request of ``PAY``."""
    return [start["args"]["coin"] for _, start in bridge.starts if start["flow"].endswith("Pay")]


class Locust:
    """A real Locust process with the lab's locustfile."""

    def __init__(self, folder: Path, bridge_url: str) -> None:
        self.workloads = folder / "workloads"
        self.rows_folder = folder / "rows"
        self.workloads.mkdir()
        self.rows_folder.mkdir()
        (self.workloads / "iou.yaml").write_text(WORKLOAD)
        self.metrics_port = free_port()
        self.web_port = free_port()
        self.environment = {
            **os.environ,
            "BRIDGE_URL": bridge_url,
            "BRIDGE_FLOW_TIMEOUT_SECONDS": "60",
            "LAB_WORKLOADS_DIR": str(self.workloads),
            "LAB_ROWS_DIR": str(self.rows_folder),
            "LAB_METRICS_PORT": str(self.metrics_port),
        }
        self.environment.pop("PYTHONPATH", None)
        self.process: LocustProcess | None = None

    def start(self, *arguments: str, limit: Callable[[], None] | None = None) -> LocustProcess:
        folder = self.rows_folder.parent
        self.process = start_locust(folder, self.environment, folder / "locust.log", *arguments, limit=limit)
        return self.process

    def start_headless(
        self, *arguments: str, limit: Callable[[], None] | None = None, **settings: object
    ) -> LocustProcess:
        """Start a run with three users. ``settings`` are those of ``--set-parameters``."""
        words = [f"{key}={value}" for key, value in {"name": "test", **settings}.items()]
        base = ("--headless", "--only-summary", "--users", "3", "--spawn-rate", "50")
        return self.start(*base, "--set-parameters", shlex.join(words), *arguments, limit=limit)

    def run_headless(
        self, *arguments: str, limit: Callable[[], None] | None = None, **settings: object
    ) -> tuple[int, str]:
        """Exit status and everything printed."""
        self.start_headless(*arguments, limit=limit, **settings)
        return self.finish()

    def run(self, *arguments: str, **settings: object) -> None:
        """Run a load that ends well."""
        status, output = self.run_headless(*arguments, **settings)
        assert status == 0, output

    def plan(self, load: Load, seconds: float | None = None, **more: Any) -> Path:
        """Write the plan of a load as the command line does, and return its path."""
        settings = GeneratorSettings.from_environment(self.environment)
        plan = plan_of(load, "test", seconds, settings).model_copy(update=more)
        path = self.rows_folder.parent / "plan.json"
        path.write_text(plan.model_dump_json())
        return path

    def workload(self, text: str, name: str = "iou") -> None:
        """Write a workload file."""
        (self.workloads / f"{name}.yaml").write_text(text)

    def start_web(self, *arguments: str) -> None:
        web = ("--web-host", "127.0.0.1", "--web-port", str(self.web_port), "--stop-timeout", "10")
        self.start(*web, *arguments)
        wait_until(
            lambda: self.get("/worker-count"), "the web UI answers", START_SECONDS_MAX, attempts_fail_on=(URLError,)
        )

    def finish(self, timeout_seconds: float = 30) -> tuple[int, str]:
        assert self.process is not None
        return self.process.wait(timeout_seconds), self.process.log.read_text()

    def get(self, path: str, port: int | None = None) -> str:
        with urlopen(f"http://127.0.0.1:{port or self.web_port}{path}", timeout=10) as response:
            return str(response.read().decode())

    def post(self, path: str, **form: object) -> dict[str, Any]:
        data = urlencode(form).encode()
        with urlopen(f"http://127.0.0.1:{self.web_port}{path}", data=data, timeout=30) as response:
            answer: dict[str, Any] = json.loads(response.read())
            return answer

    def rows(self, run_id: str = "test") -> list[dict[str, Any]]:
        """Every row; of a worker with its index behind the run's id. Once a load has ended each must be whole."""
        path = self.rows_folder / f"{run_id}.ndjson"
        complete, _, begun = (path.read_text() if path.exists() else "").rpartition("\n")
        assert not begun or self.end(run_id.partition(".")[0]) is None, "the last row is torn"
        return [json.loads(line) for line in complete.splitlines()]

    def drops(self, run_id: str = "test") -> list[dict[str, Any]]:
        """Every dropped arrival. If there is none, there is no file."""
        path = self.rows_folder / f"{run_id}.drops.ndjson"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def end(self, run_id: str = "test") -> dict[str, Any] | None:
        path = self.rows_folder / f"{run_id}.end.json"
        return json.loads(path.read_text()) if path.exists() else None

    def whole_end(self, run_id: str = "test") -> dict[str, Any]:
        """The end file of a run that has ended."""
        end = self.end(run_id)
        assert end is not None
        return end

    def plan_of(self, run_id: str) -> Plan:
        """What a load of the web UI was to be."""
        return Plan.model_validate_json((self.rows_folder / f"{run_id}{PLAN_SUFFIX}").read_text())

    def status(self) -> WebUiStatus:
        """What the web UI does now."""
        return WebUiStatus.read(self.get(STATUS_PATH))

    def ended(self) -> list[str]:
        """Ids of the runs that have ended; a file that is still being written beside the others is none."""
        return [name.removesuffix(".end.json") for name in self.files() if name.endswith(".end.json")]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.rows_folder.iterdir())

    def close(self) -> None:
        """End what still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(
    condition: Callable[[], Any], what: str, seconds: float = 20, attempts_fail_on: Sequence[type[Exception]] = ()
) -> Any:
    """The first true value of ``condition``; looks again every 20 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if value := condition():
                return value
        except tuple(attempts_fail_on):
            pass
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")
