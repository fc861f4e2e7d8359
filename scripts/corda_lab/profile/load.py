"""How many flows start and end on a node, or on all nodes, read from the counters of the JVM that is profiled."""

import re
import time
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.profile.jvm import Jvm, inside
from corda_lab.results.profiles import Flows

STARTED = "corda_flows_started_total"
ENDED = "corda_flows_finished_total"

READ = f"""
exec 3<> /dev/tcp/127.0.0.1/9404 &&
printf 'GET /metrics?name[]={STARTED}&name[]={ENDED} HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3
"""
"""Reads the JMX exporter of a node from inside its container. Prometheus, which scrapes it too, is up to 5 s late."""

BRIDGE_STARTED = "bridge_flows_started_total"
BRIDGE_ENDED = ("bridge_flows_completed_total", "bridge_flows_failed_total")


@dataclass(frozen=True)
class Reading:
    """The counters of flows at one moment."""

    at: float
    started: int
    ended: int


def read(jvm: Jvm, settings: Settings) -> Reading | None:
    """Read the counters; None if they cannot be read. They are of all flows: initiators, responders, notarisations."""
    return _read_bridge(settings) if jvm.is_bridge else _read_node(jvm)


def _read_node(jvm: Jvm) -> Reading | None:
    return parse(inside(jvm.container, "bash", "-c", READ).stdout)


def parse(page: str) -> Reading | None:
    """Parse a node's page of metrics; None if a counter is missing."""
    values = [re.search(rf"^{name} (\S+)$", page, re.MULTILINE) for name in (STARTED, ENDED)]
    if not all(values):
        return None
    started, ended = (int(float(match[1])) for match in values if match)
    return Reading(time.time(), started, ended)


def _read_bridge(settings: Settings) -> Reading | None:
    try:
        samples = Bridge(settings.bridge_url, settings.bridge_token).metrics()
    except LabError:
        return None
    started, ended = (
        int(sum(sample.value for sample in samples if sample.name in names))
        for names in ((BRIDGE_STARTED,), BRIDGE_ENDED)
    )
    return Reading(time.time(), started, ended)


def between(first: Reading | None, last: Reading | None) -> Flows | None:
    """Return the flows between two readings; None if one is missing, or if the JVM has restarted in between."""
    if first is None or last is None or last.ended < first.ended or last.started < first.started:
        return None
    return Flows(ended=last.ended - first.ended, started=last.started - first.started, seconds=last.at - first.at)
