"""The tab *Corda nodes* of the web UI, by Locust's extension points.

Locust's page shows the tables of additional tabs itself (``extended_tabs``, ``extended_tables``), with the rows that
come with the statistics (``extended_stats``). It asks for the statistics every two seconds while a load runs, and then
never again until it is loaded anew.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Response, jsonify, request

from lab_load.node_watch import NodeWatch, Seen
from lab_workload.node_state import LastFailure, NodeState

TAB = "corda-nodes"
"""The name of the tab in the URL of the page, ``?tab=corda-nodes``."""
TITLE = "Corda nodes"
COLUMNS = {
    "name": "Node",
    "health": "Health",
    "flows": "Flows in flight",
    "rate": "Flows/s",
    "cpu": "CPU, cores",
    "heap": "Heap, %",
    "queue": "Queue depth",
    "failure": "Last error",
}
"""The columns of the table: key → title. Locust's page sorts the rows by ``name``."""
STATISTICS = "locust.request_stats"
"""The endpoint at which the page asks for the statistics."""
WITHOUT_TABS = "ready"
"""Locust's state before the first load. The page then shows only the form."""
POLLED = frozenset({"spawning", "running"})
"""Locust's states in which the page asks again and again."""
UNKNOWN = "–"

Row = dict[str, str | float]


class NodesTab:
    """Adds the tab to the web UI, and its rows to the statistics that are asked for by a page that shows it."""

    def __init__(self, watch: NodeWatch, state: Callable[[], str]) -> None:
        """``state`` returns Locust's state."""
        self._watch = watch
        self._state = state

    def attach(self, web_ui: Any) -> None:
        """Add the tab to Locust's ``web_ui``."""
        structure = [{"key": key, "title": title} for key, title in COLUMNS.items()]
        web_ui.template_args["extended_tabs"] = [{"title": TITLE, "key": TAB}]
        web_ui.template_args["extended_tables"] = [{"key": TAB, "structure": structure}]
        web_ui.app.after_request(self._add_rows)

    def _add_rows(self, response: Response) -> Response:
        if request.endpoint != STATISTICS or not response.is_json or not is_watched(request.referrer, self._state()):
            return response
        # Locust keeps its own response for two seconds, so it is not changed.
        return jsonify({**response.get_json(), "extended_stats": [{"key": TAB, "data": rows(self._watch.look())}]})


def is_watched(referrer: str | None, state: str) -> bool:
    """Return whether the page that asks shows the tab, or could show it later without asking again.

    ``referrer`` is the URL of the page, which has the name of the tab. A program that asks has none. When no load runs,
    the page asks only once, so any of its tabs may follow.
    """
    if not referrer or state == WITHOUT_TABS:
        return False
    return state not in POLLED or TAB in parse_qs(urlsplit(referrer).query).get("tab", ())


def rows(seen: Seen) -> list[Row]:
    """Return the rows of the table: the nodes, and whoever was asked and did not answer."""
    found = [_row(state) for state in seen.states]
    for name, problem in (("bridge", seen.bridge_problem), ("Prometheus", seen.prometheus_problem)):
        if problem:
            found.append({"name": name, "health": problem})
    return found


def _row(state: NodeState) -> Row:
    return {
        "name": state.name,
        "health": state.health,
        "flows": _number(state.flows_in_flight, 0),
        "rate": _number(state.flows_per_second, 2),
        "cpu": _number(state.cpu_cores, 2),
        "heap": _number(state.heap_percent, 0),
        "queue": _number(state.queue_messages, 0),
        "failure": _words(state.last_failure),
    }


def _number(value: float | None, digits: int) -> str | float:
    return UNKNOWN if value is None else round(value, digits)


def _words(failure: LastFailure | None) -> str:
    if failure is None:
        return ""
    return f"{datetime.fromtimestamp(failure.at, UTC):%Y-%m-%d %H:%M:%S} UTC, {failure.text}"
