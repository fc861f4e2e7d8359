"""The count of a window by the bridge's own counter, against a real HTTP server with a metrics page."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corda_lab.bench.overhead.count import Reading, WindowCounter, between, counted
from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.steps.build import MachineUse
from corda_lab.steps.load import LoadOptions

UNKNOWN = MachineUse(None, None, None, None)
FLOWS_PER_READ = 10


class Page:
    """A bridge whose counters rise by ``FLOWS_PER_READ`` with every read, once a load has begun."""

    def __init__(self) -> None:
        self.reads = 0
        self.has_begun = threading.Event()
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = page.text().encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def text(self) -> str:
        if self.has_begun.is_set():
            self.reads += 1
        flows = self.reads * FLOWS_PER_READ
        return (
            f'bridge_flows_started_total{{node="PartyA",flow="Iou"}} {flows}\n'
            f'bridge_flows_completed_total{{node="PartyA",flow="Iou"}} {flows}\n'
            'bridge_flows_completed_total{node="PartyB",flow="Iou"} 5\n'
            "process_start_time_seconds 1000\n"
        )


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


def load(warm_up_seconds: float, duration_seconds: float) -> LoadOptions:
    return LoadOptions("iou", warm_up_seconds=warm_up_seconds, duration_seconds=duration_seconds)


def ended(counter: WindowCounter) -> None:
    """Wait until the window has been counted."""
    counter._thread.join(10)


def test_counts_the_flows_of_one_node_between_the_two_reads_of_the_window(page: Page) -> None:
    bridge = Bridge(f"http://127.0.0.1:{page.server.server_port}")
    with counted(bridge, "PartyA", load(0.1, 0.2)) as counter:
        page.has_begun.set()
        ended(counter)
        found = counter.result()
    assert found.flows == FLOWS_PER_READ
    assert 0.2 <= found.window.seconds < 10


def test_a_load_that_ends_before_its_window_is_an_error(page: Page) -> None:
    bridge = Bridge(f"http://127.0.0.1:{page.server.server_port}")
    page.has_begun.set()
    with counted(bridge, "PartyA", load(0.0, 600.0)) as counter, pytest.raises(LabError, match="before its measuring"):
        counter.result()


def test_a_load_that_starts_nothing_is_an_error(page: Page) -> None:
    bridge = Bridge(f"http://127.0.0.1:{page.server.server_port}")
    with counted(bridge, "PartyA", load(0.0, 0.1)) as counter, pytest.raises(LabError, match="before its measuring"):
        counter.result()


def test_a_restart_of_the_bridge_is_an_error_and_no_number() -> None:
    with pytest.raises(LabError, match="restarted"):
        between(Reading(1.0, 5, 5, 1000.0), Reading(2.0, 900, 900, 1001.0), UNKNOWN)


def test_a_window_without_flows_is_an_error() -> None:
    with pytest.raises(LabError, match="No flow was completed"):
        between(Reading(1.0, 5, 5, 1000.0), Reading(2.0, 9, 5, 1000.0), UNKNOWN)
