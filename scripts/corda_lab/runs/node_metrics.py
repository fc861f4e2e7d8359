"""Reads the metrics of the nodes now. In Prometheus, they are up to five seconds old."""

import json
from collections.abc import Mapping, Sequence

from prometheus_client.samples import Sample

from corda_lab.clients.bridge import parse_metrics
from corda_lab.lab.docker import output_of
from corda_lab.lab.lab import Lab

NAMES = (
    "corda_flow_duration_seconds_count",
    "corda_flows_in_flight",
    "corda_spans_total",
    "process_start_time_seconds",
)
"""The metrics that are read."""
READ_SECONDS_MAX = 30.0

# It runs beside the nodes, since no port of theirs is published. A page that cannot be read is null.
_SCRIPT = """\
import json, sys, urllib.request
from concurrent.futures import ThreadPoolExecutor

names, *addresses = sys.argv[1:]

def page(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    return "".join(line + "\\n" for line in text.splitlines() if line.startswith(tuple(names.split(","))))

print(json.dumps(list(ThreadPoolExecutor(len(addresses) or 1).map(page, addresses))))
"""

NodeMetrics = Mapping[str, Sequence[Sample]]
"""The samples of ``NAMES`` by node."""


def read(lab: Lab) -> NodeMetrics:
    """Return the metrics of the nodes that answer, from the addresses that Prometheus scrapes. Raises LabError."""
    addresses = lab.prometheus.addresses("corda")
    command = ("python", "-c", _SCRIPT, ",".join(NAMES), *addresses.values())
    done = lab.exec("locust", *command, check=False, seconds_max=READ_SECONDS_MAX)
    pages = json.loads(output_of(done, "The metrics of the nodes cannot be read from the container of locust"))
    return {node: parse_metrics(page) for node, page in zip(addresses, pages, strict=True) if page is not None}


def in_flight(metrics: NodeMetrics) -> dict[str, int]:
    """Return the number of flows in flight by node."""
    return {
        node: sum(int(sample.value) for sample in samples if sample.name == "corda_flows_in_flight")
        for node, samples in metrics.items()
    }
