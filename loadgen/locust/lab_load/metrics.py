"""The generator's own Prometheus endpoint."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from gevent.pywsgi import WSGIServer
from prometheus_client import REGISTRY, Counter, Gauge, Histogram, disable_created_metrics, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric

from lab_load.container import ContainerCollector
from lab_workload.faults import FAULTS_FILE, read_shown
from lab_workload.load import LATE_SECONDS, OUTCOMES, UNWANTED, Outcome
from lab_workload.problems import LoadError

disable_created_metrics()  # type: ignore[no-untyped-call]

# From an empty flow to the bridge's default time limit. In the usual range, each bound is 1.3 to 1.5 times the last.
_BUCKETS_SECONDS = (
    *(0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60, 120, 300),
)
_LAG_BUCKETS_SECONDS = (0.001, 0.002, 0.005, LATE_SECONDS, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_LABELS = ("workload", "node")

_STARTED = Counter("locust_requests_started", "Flow starts sent to the bridge.", _LABELS)
_ENDED = Counter("locust_requests", "Flow starts that have ended, by outcome.", (*_LABELS, "outcome"))
_IN_FLIGHT = Gauge("locust_requests_in_flight", "Flow starts that were sent and have not ended.")
_LATENCY = Histogram(
    "locust_request_latency_seconds",
    "Time from the intended start of a request to its answer. What has no answer as wanted is infinite in open load.",
    _LABELS,
    buckets=_BUCKETS_SECONDS,
)
_LAG = Histogram(
    "locust_schedule_lag_seconds",
    "How much later than intended a request of open load or of a burst was sent.",
    buckets=_LAG_BUCKETS_SECONDS,
)
_DROPPED = Counter("locust_arrivals_dropped", "Arrivals that were never sent, because no place of the pool was free.")
_USERS = Gauge("locust_users", "Users that are running.")
_RUN = Gauge("locust_run_info", "1 while a run is in progress; the labels describe it.", ("run", *_LABELS, "load"))


class RequestMetrics:
    """The series of one workload on one node. All of them exist with the value 0 before the first request."""

    def __init__(self, workload: str, node: str) -> None:
        self._started = _STARTED.labels(workload, node)
        self._ended = {outcome: _ENDED.labels(workload, node, outcome) for outcome in OUTCOMES}
        self._latency = _LATENCY.labels(workload, node)

    def started(self, lag_seconds: float | None) -> None:
        """Count a request that is sent now, this much later than intended; None in closed load."""
        self._started.inc()
        _IN_FLIGHT.inc()
        if lag_seconds is not None:
            _LAG.observe(max(0.0, lag_seconds))

    def ended(self, outcome: Outcome, latency_seconds: float, *, is_scheduled: bool) -> None:
        """Count a request that has ended. Its latency counts as in the report: ``docs/methodology.md``, percentile."""
        self._ended[outcome].inc()
        _IN_FLIGHT.dec()
        if outcome not in UNWANTED:
            self._latency.observe(latency_seconds)
        elif is_scheduled:
            self._latency.observe(math.inf)

    def dropped(self) -> None:
        _DROPPED.inc()
        self._latency.observe(math.inf)


class FaultCollector:
    """Exports each fault that lasts. The command line writes them to a file in the folder of the rows."""

    def __init__(self, rows: Path, now: Callable[[], float] = time.time) -> None:
        self._file = rows / FAULTS_FILE
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """Yield one metric with a sample for each fault; without samples if there is none."""
        family = GaugeMetricFamily(
            "lab_fault_info", "1 while a fault lasts; the labels name it.", labels=("kind", "target")
        )
        for fault in read_shown(self._text()):
            if fault.until > self._now():
                family.add_metric((fault.kind, fault.target), 1)
        yield family

    def _text(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""


def show_run(run_id: str, workload: str, node: str, load: str) -> None:
    """Show that a run is in progress. ``load`` is a short description of its load."""
    _RUN.labels(run_id, workload, node, load).set(1)


def hide_runs() -> None:
    _RUN.clear()


def serve(port: int, users: Callable[[], float], web_port: int | None, rows: Path) -> WSGIServer:
    """Serve ``/metrics`` and ``/health`` on ``port``. ``/health`` returns the web UI's port for the health check.

    ``rows`` is the folder of the rows, in which the command line shows the faults. Raises ``LoadError`` if the port is
    in use.
    """
    _USERS.set_function(users)
    REGISTRY.register(ContainerCollector())
    REGISTRY.register(FaultCollector(rows))
    metrics = make_wsgi_app()
    health = json.dumps({"web_port": web_port}).encode()

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/health":
            start_response("200 OK", [("Content-Type", "application/json")])
            return [health]
        body: Iterable[bytes] = metrics(environ, start_response)
        return body

    server = WSGIServer(("0.0.0.0", port), application, log=None)
    try:
        server.start()
    except OSError as error:
        raise LoadError(f"cannot serve metrics on port {port}: {error.strerror}") from error
    return server
