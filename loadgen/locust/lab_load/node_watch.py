"""Asks the bridge and Prometheus what the nodes do now, for whoever looks at the web UI.

The process generates load, so nothing here may keep it busy: both are asked at once, with short time limits, and not
again while the last answers are fresh.
"""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import gevent
import requests
from gevent.lock import BoundedSemaphore

from lab_load.bridge_client import BridgeClient, read_body, reason_of
from lab_workload.node_state import NODE_SERIES, NodeState, node_states, one_query, values_by_node
from lab_workload.problems import LoadError

FRESH_SECONDS = 2.0
"""Answers are not older than this. The web UI asks as often."""
ANSWER_SECONDS_MAX = 1.5
PROBLEM_TEXT_MAX = 200

Answer = TypeVar("Answer")


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

    def __init__(self, bridge: BridgeClient, prometheus_url: str) -> None:
        """``prometheus_url`` is empty if there is no Prometheus."""
        self._bridge = bridge
        self._prometheus_url = prometheus_url
        self._asking = BoundedSemaphore()
        self._asked_at = -math.inf
        self._seen = Seen()

    def look(self) -> Seen:
        """Return the state of the nodes, in which the load may go on meanwhile."""
        with self._asking:
            now = time.monotonic()
            if now - self._asked_at >= FRESH_SECONDS:
                self._asked_at = now
                self._seen = self._ask()
            return self._seen

    def _ask(self) -> Seen:
        bridge = gevent.spawn(_attempt, lambda: self._bridge.reports(ANSWER_SECONDS_MAX))
        prometheus = gevent.spawn(_attempt, self._series)
        gevent.joinall([bridge, prometheus], timeout=ANSWER_SECONDS_MAX)
        # The time limits of requests are per packet, so an answer that trickles in could take for ever.
        late = None, f"no answer within {ANSWER_SECONDS_MAX:g} s"
        reports, bridge_problem = bridge.value or late
        series, prometheus_problem = prometheus.value or late
        gevent.killall([bridge, prometheus], block=False)
        return Seen(tuple(node_states(reports, series)), bridge_problem, prometheus_problem)

    def _series(self) -> dict[str, dict[str, float]]:
        """Ask Prometheus for ``NODE_SERIES``. Raises ``LoadError``, ``requests.RequestException`` or ``ValueError``."""
        if not self._prometheus_url:
            raise LoadError("not asked: the environment variable PROMETHEUS_URL is not set")
        with requests.Session() as session:
            # As for the bridge: the lab's network is never behind a proxy.
            session.trust_env = False
            query = {"query": one_query(NODE_SERIES)}
            url = f"{self._prometheus_url}/api/v1/query"
            with session.get(url, params=query, timeout=ANSWER_SECONDS_MAX, stream=True) as response:
                content = json.loads(read_body(response))
        if content.get("status") != "success":
            raise LoadError(f"rejects the query: {content.get('error')}")
        return values_by_node((entry["metric"], float(entry["value"][1])) for entry in content["data"]["result"])


def _attempt(ask: Callable[[], Answer]) -> tuple[Answer | None, str]:
    """Return what ``ask`` returns, or why it failed, in one line."""
    try:
        return ask(), ""
    except LoadError as error:
        problem = error.message
    except requests.RequestException as error:
        problem = f"does not answer: {reason_of(error)}"
    except Exception as error:  # whatever it is, the statistics of the load must still be shown
        problem = f"the answer cannot be parsed: {error!r}"
    return None, " ".join(problem.split())[:PROBLEM_TEXT_MAX]
