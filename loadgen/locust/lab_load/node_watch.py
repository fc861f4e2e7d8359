"""Asks the bridge and Prometheus what the nodes do now, for whoever looks at the web UI.

The process generates load, so nothing here may keep it busy: both are asked at once, with short time limits, and not
again while the last answers are fresh.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import gevent
import requests
from gevent.lock import BoundedSemaphore

from lab_load.answer import read_answer
from lab_load.causes import innermost_cause
from lab_load.generator_settings import authorization
from lab_workload.node_state import NODE_SERIES, NodeReport, NodeState, node_states, one_query, values_by_node
from lab_workload.problems import LoadError

FRESH_SECONDS = 2.0
"""Answers are not older than this. The web UI asks as often."""
ANSWER_SECONDS_MAX = 1.5
ANSWER_BYTES_MAX = 1024 * 1024
CHUNK_BYTES = 64 * 1024
PROBLEM_TEXT_MAX = 200

Found = TypeVar("Found")


@dataclass(frozen=True)
class Seen:
    """The state of the nodes, and why it may be incomplete. A problem is empty if there was none."""

    states: tuple[NodeState, ...] = ()
    bridge_problem: str = ""
    prometheus_problem: str = ""


class NodeWatch:
    """The state of the nodes, asked for when somebody looks and the last answers are not fresh any more.

    Those who look while it is asked for wait for the same answers. Nothing is raised.
    """

    def __init__(self, bridge_url: str, prometheus_url: str) -> None:
        """``prometheus_url`` is empty if there is no Prometheus."""
        self._bridge_url = bridge_url
        self._prometheus_url = prometheus_url
        self._asking = BoundedSemaphore()
        self._asked_at = -math.inf
        self._seen = Seen()

    def look(self) -> Seen:
        """Return the state of the nodes. The load goes on while it is asked for."""
        with self._asking:
            now = time.monotonic()
            if now - self._asked_at >= FRESH_SECONDS:
                self._asked_at = now
                self._seen = self._ask()
            return self._seen

    def _ask(self) -> Seen:
        bridge = gevent.spawn(_attempt, self._reports)
        prometheus = gevent.spawn(_attempt, self._series)
        gevent.joinall([bridge, prometheus], timeout=ANSWER_SECONDS_MAX)
        # The time limits of requests are per packet, so an answer that trickles in could take for ever.
        late = None, f"no answer within {ANSWER_SECONDS_MAX:g} s"
        reports, bridge_problem = bridge.value or late
        series, prometheus_problem = prometheus.value or late
        gevent.killall([bridge, prometheus], block=False)
        return Seen(tuple(node_states(reports, series)), bridge_problem, prometheus_problem)

    def _reports(self) -> list[NodeReport]:
        """Ask the bridge. Raises as ``_get`` does, or if the answer has another form."""
        content = _get(f"{self._bridge_url}/v1/nodes", authorization(), {})
        return [NodeReport.of_json(entry) for entry in content["nodes"]]

    def _series(self) -> dict[str, dict[str, float]]:
        """Ask Prometheus for ``NODE_SERIES``. Raises as ``_get`` does, or if the answer has another form."""
        if not self._prometheus_url:
            raise LoadError("not asked: the environment variable PROMETHEUS_URL is not set")
        content = _get(f"{self._prometheus_url}/api/v1/query", {}, {"query": one_query(NODE_SERIES)})
        return values_by_node((entry["metric"], float(entry["value"][1])) for entry in content["data"]["result"])


def _get(url: str, headers: Mapping[str, str], parameters: Mapping[str, str]) -> Any:
    """Return the JSON content of an answer.

    Raises ``LoadError`` for an answer that is an error or too long, ``OSError`` if there is none in time, and
    ``ValueError`` if it is not JSON.
    """
    with requests.Session() as session:
        # Ignore proxies in the environment: the lab's network is never behind one.
        session.trust_env = False
        session.headers.update({"Accept": "application/json", **headers})
        with session.get(url, params=parameters, timeout=ANSWER_SECONDS_MAX, stream=True) as response:
            body = bytearray()
            for chunk in response.iter_content(CHUNK_BYTES):
                body += chunk
                if len(body) > ANSWER_BYTES_MAX:
                    raise LoadError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
            if not response.ok:
                raise LoadError(f"answers with {read_answer(response.status_code, bytes(body), None).error}")
    return json.loads(body)


def _attempt(ask: Callable[[], Found]) -> tuple[Found | None, str]:
    """Return what ``ask`` returns, or why it failed, in one line."""
    try:
        return ask(), ""
    except LoadError as error:
        problem = error.message
    except OSError as error:  # all exceptions of requests are one
        problem = f"does not answer: {innermost_cause(error)}"
    except Exception as error:  # whatever it is, the statistics of the load must still be shown
        problem = f"the answer cannot be parsed: {error!r}"
    return None, " ".join(problem.split())[:PROBLEM_TEXT_MAX]
