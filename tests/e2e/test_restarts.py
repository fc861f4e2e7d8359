"""Ledgers survive every kind of stop, with their load running and after it: each file opens, and nothing is lost.

A cycle is a load, a stop, a start and an audit. RESTART_CYCLES says how many there are, on each lab of LABS, of which a
night takes every second one (``support.nights``). The cycles of a lab go on with its ledgers, so that their files grow.
Each cycle adds a line to RESTARTS in the test's results.
"""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
import pytest

from corda_lab import paths
from corda_lab.audit import Audit, ViolationKind, audit_lab
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.shape import of_running
from e2e.labkit import Lab
from support.nights import taking_turns
from support.own_lab import one_at_a_time

pytestmark = [pytest.mark.lab("restarts"), pytest.mark.nightly]

CYCLES = int(os.environ.get("RESTART_CYCLES", "6"))
LABS: dict[str, tuple[str, ...]] = {
    "4.10-h2": ("--corda", "4.10", "--parties", "2"),
    "3.3-h2": ("--corda", "3.3", "--parties", "2"),
    "4.10-postgres": ("--corda", "4.10", "--parties", "2", "--database", "postgres"),
}
"""H2 1.4.199, which compacts at a stop, the oldest H2 (1.4.194), and PostgreSQL."""
FIRST_CYCLES = {"4.10-postgres": 3, "3.3-h2": 3}
"""PostgreSQL and the oldest H2, which never lost anything, end by the last three ways only: ``down`` and the kills."""
AUDITED_FROM = (4, 6)
"""The first version of Corda that an audit can judge."""

IN_FLIGHT = 16
LOAD_SECONDS = (8.0, 20.0, 60.0)
"""How long the loads are, in turn: files of H2 grow by some four megabytes a second."""
IOU = {"flow": "Iou", "args": {"iouValue": 1, "otherParty": "PartyB"}}
FIRST_SECONDS_MAX = 120.0
REST_SECONDS_MAX = 240.0
STOP_SECONDS_MAX = 240.0
POLL_SECONDS = 2.0
RESTARTS = "restarts.ndjson"
TRANSACTION = re.compile(r"\b[0-9A-F]{64}\b")


def stop(compose: Compose, nodes: list[str]) -> None:
    compose.run("stop", *nodes, seconds_max=STOP_SECONDS_MAX)


def restart(compose: Compose, nodes: list[str]) -> None:
    compose.run("restart", *nodes, seconds_max=STOP_SECONDS_MAX)


def recreate(compose: Compose, nodes: list[str]) -> None:
    compose.run("up", "--detach", "--force-recreate", "--no-deps", *nodes, seconds_max=STOP_SECONDS_MAX)


def down(compose: Compose, nodes: list[str]) -> None:
    del nodes
    compose.run("--profile", "*", "down", seconds_max=STOP_SECONDS_MAX)


def kill(compose: Compose, nodes: list[str]) -> None:
    compose.run("kill", "--signal", "KILL", *nodes)


def kill_while_stopping(compose: Compose, nodes: list[str]) -> None:
    compose.run("stop", "--timeout", "3", *nodes, seconds_max=STOP_SECONDS_MAX)


WAYS: tuple[Callable[[Compose, list[str]], None], ...] = (stop, restart, recreate, down, kill, kill_while_stopping)
CASES = tuple((WAYS[cycle % len(WAYS)], (cycle + cycle // len(WAYS)) % 2 == 0) for cycle in range(CYCLES))
"""How a cycle ends, and whether its load is still running then. Twelve cycles have all pairs."""


@dataclass
class Load:
    """IOUs of ``IN_FLIGHT`` users, until it is told to end or the lab no longer answers."""

    url: str
    acknowledged: list[str] = field(default_factory=list)
    """The ids of the transactions whose callers were told that they succeeded."""
    _ending: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float, at_end: Callable[[], None] = lambda: None) -> None:
        """Keep the load up for some seconds, do what is to be done at its end, and end it."""
        with ThreadPoolExecutor(IN_FLIGHT) as users:
            for _ in range(IN_FLIGHT):
                users.submit(self._start_flows)
            time.sleep(seconds)
            try:
                self._await_the_first()
                at_end()
            finally:
                self._ending.set()

    def _await_the_first(self) -> None:
        """Wait until a flow was acknowledged. On a busy machine, that may take longer than a short load."""
        deadline = time.monotonic() + FIRST_SECONDS_MAX
        while not self.acknowledged:
            assert time.monotonic() < deadline, f"no flow succeeded in {FIRST_SECONDS_MAX:.0f} s"
            time.sleep(POLL_SECONDS)

    def _start_flows(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as bridge:
            while not self._ending.is_set():
                try:
                    answer = bridge.post("/v1/nodes/PartyA/flows", json=IOU)
                except httpx.HTTPError:
                    # The lab was stopped. Whether the flow has happened is not known.
                    return
                if answer.status_code == 200:
                    self.acknowledged.append(answer.json()["txId"].upper())
                else:
                    return


@pytest.fixture(scope="module")
def use(lab: Lab) -> Iterator[Callable[[str], Lab]]:
    """Starts the lab of a name with a new network, in place of that of another name."""

    @contextmanager
    def lab_of(name: str) -> Iterator[Lab]:
        lab.succeed("down", "--volumes")
        lab.succeed("up", *LABS[name])
        yield lab
        lab.succeed("down", "--volumes")

    with one_at_a_time(lab_of) as use:
        yield use


@pytest.mark.parametrize(
    ("name", "cycle"),
    [(name, cycle) for name in LABS for cycle in taking_turns(range(FIRST_CYCLES.get(name, 0), len(CASES)), 2)],
)
def test_every_acknowledged_transaction_survives(use: Callable[[str], Lab], name: str, cycle: int) -> None:
    restarted, (way, under_load) = use(name), CASES[cycle]
    compose = Compose(of_running(restarted.settings))
    nodes = [node.lower() for node in compose.settings.nodes]
    load = Load(restarted.bridge_url)
    seconds = LOAD_SECONDS[(cycle + cycle // (2 * len(WAYS))) % len(LOAD_SECONDS)]
    if under_load:
        load.run(seconds, at_end=lambda: way(compose, nodes))
    else:
        load.run(seconds)
        way(compose, nodes)

    # As `lab up`, without looking at images again.
    lifecycle.start(compose.settings)
    audit = audited_at_rest(compose)
    missing = missing_at_rest(compose, load.acknowledged)
    record = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "corda": compose.settings["CORDA_VERSION"],
        "database": compose.settings["DATABASE"],
        "preset": compose.settings["NODE_PRESET"],
        "way": way.__name__,
        "under_load": under_load,
        "acknowledged": len(load.acknowledged),
        "missing": len(missing),
        "bytes": lengths(restarted, compose, nodes),
        "audit": audit.verdict,
    }
    paths.RESULTS.mkdir(parents=True, exist_ok=True)
    with (paths.RESULTS / RESTARTS).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")

    assert missing == set()
    assert audit.violations == ()
    if tuple(map(int, compose.settings["CORDA_VERSION"].split("."))) >= AUDITED_FROM:
        assert audit.verdict == "passed", audit.reasons


def lengths(lab: Lab, compose: Compose, nodes: list[str]) -> dict[str, int]:
    """Return the length of the H2 file of each node in bytes; empty with PostgreSQL."""
    if compose.settings["DATABASE"] == "postgres":
        return {}
    return {node: int(lab.inside(node, "stat -c %s /opt/corda/persistence/persistence.mv.db")) for node in nodes}


def missing_at_rest(compose: Compose, acknowledged: list[str]) -> set[tuple[str, str]]:
    """Return the node and the id of each transaction that a party lacks.

    A party may record one after its caller, and a copy of an H2 file that is being written may not be readable.
    """
    deadline = time.monotonic() + REST_SECONDS_MAX
    while True:
        missing = {
            (node, one) for node in ("PartyA", "PartyB") for one in set(acknowledged) - transactions_of(compose, node)
        }
        if not missing or time.monotonic() > deadline:
            return missing
        time.sleep(POLL_SECONDS)


def transactions_of(compose: Compose, node: str) -> set[str]:
    """Return the ids of the transactions that a node has; none if its database could not be read."""
    command: tuple[str, ...]
    if compose.settings["DATABASE"] == "postgres":
        command = ("postgres", "psql", "--username=lab", "--dbname=corda", "--tuples-only", "--no-align")
        query = f"--command=select tx_id from {node.lower()}.node_transactions"
    else:
        command = (node.lower(), "bash", "-c")
        query = (
            "cp /opt/corda/persistence/persistence.mv.db /opt/corda/persistence/restarts.mv.db && "
            'java -Xmx128m -cp "$(ls /opt/corda/lib/h2-*.jar)" org.h2.tools.Shell -user sa -password "" '
            "-url 'jdbc:h2:file:/opt/corda/persistence/restarts;MAX_COMPACT_TIME=0' "
            "-sql 'select tx_id from node_transactions'; rm -f /opt/corda/persistence/restarts.*"
        )
    done = compose.exec(*command, query, check=False, seconds_max=120)
    found = set(TRANSACTION.findall(done.stdout.upper()))
    if not found:
        print(f"{node} has no transaction, or could not be read: {done.stdout}{done.stderr}")
    return found


def audited_at_rest(compose: Compose) -> Audit:
    """Audit the ledgers once no flow is suspended any more: a start continues those that the stop interrupted."""
    deadline = time.monotonic() + REST_SECONDS_MAX
    while True:
        audit = audit_lab(compose)
        is_at_rest = not any(one.kind is ViolationKind.FLOW_SUSPENDED for one in audit.violations)
        if is_at_rest or time.monotonic() > deadline:
            return audit
        time.sleep(POLL_SECONDS)
