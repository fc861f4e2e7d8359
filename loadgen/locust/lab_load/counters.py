"""Reads the counters of bridge, nodes and vaults at rest, before and after a load by hand.

The pages of the nodes are those that Prometheus scrapes, at the addresses in the file that it reads. They are read
directly, because the last sample of Prometheus may be older than the set-up, or older than the end of the load.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import gevent
import requests
from gevent.pool import Pool
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from lab_load.bridge_client import BridgeClient, BridgeError
from lab_workload.by_hand import Counters, NodeCounters, VaultCounter

TARGETS_FILE = "targets.json"
PAGE_SECONDS_MAX = 5.0
"""Time limit for the metrics page of a node. At rest it takes a fraction of a second."""
POLL_SECONDS = 0.5

BRIDGE_COMPLETED = "bridge_flows_completed_total"
FLOWS_ENDED = "corda_flow_duration_seconds_count"
IN_FLIGHT = "corda_flows_in_flight"
SPANS = "corda_spans_total"
STARTED_AT = "process_start_time_seconds"
_WANTED = (BRIDGE_COMPLETED, FLOWS_ENDED, IN_FLIGHT, SPANS, STARTED_AT)

Place = tuple[str, str]
"""A class of states, and the node whose vault has them."""


@dataclass(frozen=True)
class NodePage:
    """What the metrics page of a node says: its counters, and the flows that are in flight."""

    counters: NodeCounters
    in_flight: int


class CounterReader:
    """Reads the counters. It only asks, so it changes nothing in bridge, nodes and vaults."""

    def __init__(self, bridge: BridgeClient, network: Path) -> None:
        """``network`` is the folder with the addresses of the nodes, of the bootstrapper."""
        self._bridge = bridge
        self._network = network

    def read(self, places: Iterable[Place], *, seconds_max: float) -> Counters:
        """Wait until the lab is at rest, for ``seconds_max`` at most, and read all counters. Raises nothing.

        What does not answer is missing.
        """
        began = time.monotonic()
        at_rest = self._await_rest(began + seconds_max)
        counters = self._counters(places, at_rest=at_rest)
        return replace(counters, rest_seconds=round(time.monotonic() - began, 3))

    def _await_rest(self, deadline: float) -> bool:
        while not self._is_at_rest():
            if time.monotonic() > deadline:
                return False
            gevent.sleep(POLL_SECONDS)
        return True

    def _is_at_rest(self) -> bool:
        """Whether no flow is outstanding, or in flight at a node that answers."""
        try:
            if any(self._bridge.outstanding().values()):
                return False
        except BridgeError:
            return False
        return not any(page.in_flight for page in self._pages().values() if isinstance(page, NodePage))

    def _counters(self, places: Iterable[Place], *, at_rest: bool) -> Counters:
        missing: list[str] = []
        bridge: list[Sample] | None = None
        counted: dict[str, dict[str, int]] | None = None
        try:
            bridge = samples(self._bridge.metrics())
            counted = completed(bridge)
        except (BridgeError, ValueError) as error:
            missing.append(f"the bridge did not tell its counters ({error})")
        pages = self._pages()
        missing += [f"{node} did not tell its counters ({why})" for node, why in pages.items() if isinstance(why, str)]
        if not pages:
            missing.append(f"the addresses of the nodes are not known ({self._network / TARGETS_FILE})")
        vaults = []
        for state, node in places:
            try:
                vaults.append(VaultCounter(state, node, self._bridge.vault_unconsumed(node, state)))
            except BridgeError as error:
                missing.append(f"the vault of {node} was not counted ({error})")
        return Counters(
            read_at=time.time(),
            at_rest=at_rest,
            rest_seconds=0.0,
            bridge_started_at=None if bridge is None else started_at(bridge),
            bridge_completed=counted,
            nodes={node: page.counters for node, page in pages.items() if isinstance(page, NodePage)},
            vaults=vaults,
            missing=missing,
        )

    def _pages(self) -> dict[str, NodePage | str]:
        """Return the page of every node by name, or why it cannot be read."""
        addresses = node_addresses(self._network)
        pages = Pool(len(addresses) or 1).map(read_page, addresses.values())
        return dict(zip(addresses, pages, strict=True))


def node_addresses(network: Path) -> dict[str, str]:
    """Return the address of the metrics page of every node by name; none if the file cannot be read."""
    try:
        entries = json.loads((network / TARGETS_FILE).read_text(encoding="utf-8"))
        return {str(entry["labels"]["node"]): _address(entry["targets"][0], entry["labels"]) for entry in entries}
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return {}


def _address(target: str, labels: Mapping[str, str]) -> str:
    return f"http://{target}{labels.get('__metrics_path__', '/metrics')}"


def read_page(address: str) -> NodePage | str:
    """Read the metrics page of a node. Returns why, if that is impossible."""
    try:
        with requests.Session() as session:
            # Ignore proxies in the environment: the lab's network is never behind one.
            session.trust_env = False
            answer = session.get(address, timeout=PAGE_SECONDS_MAX)
            answer.raise_for_status()
            return node_page(samples(answer.text))
    except (requests.RequestException, ValueError) as error:
        return f"{type(error).__name__} at {address}"


def samples(page: str) -> list[Sample]:
    """Parse the needed samples of a metrics page in Prometheus's text format. Raises ``ValueError``."""
    lines = [line for line in page.splitlines() if line.startswith(_WANTED)]
    return [sample for family in text_string_to_metric_families("\n".join([*lines, ""])) for sample in family.samples]


def node_page(found: Iterable[Sample]) -> NodePage:
    """Return what the samples of a node say. Raises ``ValueError`` if they do not say what is in flight."""
    succeeded: dict[str, int] = {}
    dropped, in_flight = 0, None
    begun: float | None = None
    for sample in found:
        outcome = sample.labels.get("outcome")
        if sample.name == FLOWS_ENDED and outcome == "success":
            succeeded[sample.labels.get("flow", "")] = int(sample.value)
        elif sample.name == SPANS and (outcome, sample.labels.get("to")) == ("dropped", "file"):
            dropped = int(sample.value)
        elif sample.name == IN_FLIGHT:
            in_flight = int(sample.value)
        elif sample.name == STARTED_AT:
            begun = sample.value
    if in_flight is None:
        raise ValueError(f"there is no {IN_FLIGHT}")
    return NodePage(NodeCounters(begun, succeeded, dropped), in_flight)


def completed(found: Iterable[Sample]) -> dict[str, dict[str, int]]:
    """Return the completions in the samples of the bridge: node → flow → number."""
    counted: dict[str, dict[str, int]] = {}
    for sample in found:
        if sample.name == BRIDGE_COMPLETED:
            flows = counted.setdefault(sample.labels.get("node", ""), {})
            flow = sample.labels.get("flow", "")
            flows[flow] = flows.get(flow, 0) + int(sample.value)
    return counted


def started_at(found: Iterable[Sample]) -> float | None:
    """Return when the process started to which the samples belong; None if they do not say it."""
    return next((sample.value for sample in found if sample.name == STARTED_AT), None)
