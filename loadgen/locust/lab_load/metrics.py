"""The generator's own Prometheus endpoint."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from gevent.pywsgi import WSGIServer
from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, make_wsgi_app

from lab_workload.load import OUTCOMES, Outcome
from lab_workload.problems import LoadError

disable_created_metrics()  # type: ignore[no-untyped-call]

# From an empty flow to the bridge's default time limit. In the usual range, each bound is 1.3 to 1.5 times the last.
_BUCKETS_SECONDS = (
    *(0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60, 120, 300),
)
_LABELS = ("workload", "node")

_STARTED = Counter("locust_requests_started", "Flow starts sent to the bridge.", _LABELS)
_ENDED = Counter("locust_requests", "Flow starts that have ended, by outcome.", (*_LABELS, "outcome"))
_DURATION = Histogram(
    "locust_request_duration_seconds",
    "Time from sending a flow start to its answer, for all outcomes.",
    _LABELS,
    buckets=_BUCKETS_SECONDS,
)
_USERS = Gauge("locust_users", "Users that are running.")
_RUN = Gauge("locust_run_info", "1 while a run is in progress; the labels describe it.", (*_LABELS, "load"))


class RequestMetrics:
    """The series of one workload on one node. All of them exist with the value 0 before the first request."""

    def __init__(self, workload: str, node: str) -> None:
        self._started = _STARTED.labels(workload, node)
        self._ended = {outcome: _ENDED.labels(workload, node, outcome) for outcome in OUTCOMES}
        self._duration = _DURATION.labels(workload, node)

    def started(self) -> None:
        """Count a request that is about to be sent."""
        self._started.inc()

    def ended(self, outcome: Outcome, duration_seconds: float) -> None:
        """Count a request that has ended."""
        self._ended[outcome].inc()
        self._duration.observe(duration_seconds)


def show_run(workload: str, node: str, load: str) -> None:
    """Show that a run is in progress. ``load`` is a short description of its load."""
    _RUN.labels(workload, node, load).set(1)


def hide_runs() -> None:
    """Show that no run is in progress."""
    _RUN.clear()


def serve(port: int, users: Callable[[], float], web_port: int | None) -> WSGIServer:
    """Serve ``/metrics`` and ``/health`` on ``port``. ``/health`` returns the web UI's port for the health check.

    Raises ``LoadError`` if the port is in use.
    """
    _USERS.set_function(users)
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
