"""The counters of a stub of the bridge, and of the nodes behind it: their metrics pages and vaults."""

import threading
from collections import Counter
from typing import Any

Reply = tuple[int, dict[str, str], Any]
"""Status, headers and content of an answer. Text is sent as it is, anything else as JSON."""
STARTED_AT = 1_700_000_000.0
"""When the bridge and all nodes started, as their metrics pages say."""


class StubCounters:
    """What is counted, and what else a test wants the pages to say."""

    def __init__(self) -> None:
        self.completed: Counter[tuple[str, str]] = Counter()
        """Flows that ended with success, by node and flow class: the bridge and the node count the same."""
        self.outstanding: dict[str, int] = {}
        """Outstanding flows of others, by node."""
        self.in_flight: dict[str, int] = {}
        """Flows of others that are in flight, by node."""
        self.silent_nodes: set[str] = set()
        """Nodes whose metrics page does not answer."""
        self.unconsumed: Counter[str] = Counter()
        """States in each vault at the start, by node. Every success adds one."""
        self._counting = threading.Lock()

    def count(self, node: str, flow: str) -> None:
        """Count a flow that ended with success."""
        with self._counting:
            self.completed[node, flow] += 1

    def answer(self, path: str) -> Reply | None:
        """The answer about counters; None if ``path`` asks for something else."""
        if "/vault/count" in path:
            return 200, {}, {"unconsumed": self.unconsumed[path.split("/")[3]] + sum(self.completed.values())}
        if not path.endswith("/metrics"):
            return None
        node = path.removesuffix("/metrics").rpartition("/")[2]
        if node in self.silent_nodes:
            return 503, {}, {}
        page = "\n".join([f"process_start_time_seconds {STARTED_AT}", *self._lines(node), ""])
        return 200, {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}, page

    def _lines(self, node: str) -> list[str]:
        """The samples of a node or, if the name is empty, of the bridge."""
        completed = dict(self.completed)
        if not node:
            return [
                f'bridge_flows_completed_total{{flow="{flow}",node="{name}"}} {count}.0'
                for (name, flow), count in completed.items()
            ]
        own = {flow: count for (name, flow), count in completed.items() if name == node}
        return [
            f"corda_flows_in_flight {self.in_flight.get(node, 0)}.0",
            'corda_spans_total{outcome="dropped",to="file"} 2.0',
            'corda_flow_duration_seconds_count{flow="org.cordalab.flows.Iou",outcome="failure"} 7.0',
            *(
                f'corda_flow_duration_seconds_count{{flow="{flow}",outcome="success"}} {count}.0'
                for flow, count in own.items()
            ),
        ]
