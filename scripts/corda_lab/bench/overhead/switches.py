"""Switches monitoring and stage timing of the running lab off and on again. No node is restarted.

- Monitoring: Prometheus is paused (``docker pause``), so nothing is scraped and nothing is stored. Its memory,
  connections and data stay as they are.
- Stage timing: a file beside the stage rows in each node's container switches it off (``StageRows.java``). A node's
  metric confirms it.

Both are on after the block, however it ends; if this process is killed, a guard switches them on. Recording needs no
switch, because it is an option of each load.
"""

import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from corda_lab.bench.overhead.guard import guarded
from corda_lab.bench.overhead.measurement import Part
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.host.processes import last_words
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.engine import run_docker

TIMING_METRIC = "corda_stage_timing_on"
NOTICED_SECONDS_MAX = 6 * SCRAPE_SECONDS
HEALTHY_SECONDS_MAX = 60.0
"""Time limit until Prometheus is healthy again. Its health is checked every few seconds."""

POLL_SECONDS = 0.5

OFF_COMMAND = 'touch "${LAB_STAGES_FILE:?is not set}.off"'
ON_COMMAND = 'rm -f "$LAB_STAGES_FILE.off"'
STATUS = "{{.State.Status}}"
HEALTH = "{{.State.Health.Status}}"


class Switches:
    """The switches of a running lab. ``nodes`` are the names of its nodes. Methods raise LabError."""

    def __init__(self, compose: Deployed, prometheus: Prometheus, nodes: Collection[str]) -> None:
        containers = {service.name: service.container.name for service in compose.services()}
        self._prometheus = prometheus
        self._prometheus_container = containers["prometheus"]
        self._node_containers = [containers[node.lower()] for node in nodes]

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Make sure that everything is on after the block, even if this process is killed in it.

        A paused Prometheus is unhealthy. After a block that succeeds, it is healthy again, so that the next command
        finds a lab that is ready.
        """
        unpause = ["docker", "unpause", self._prometheus_container]
        timing = [["docker", "exec", node, "sh", "-c", ON_COMMAND] for node in self._node_containers]
        with guarded([unpause, *timing]):
            yield
        self._await_health()

    @contextmanager
    def off(self, parts: Collection[Part]) -> Iterator[None]:
        """Switch parts off for the length of the block. When it begins and after it, the nodes have confirmed that."""
        try:
            if "stages" in parts:
                self._switch_timing(OFF_COMMAND)
                self._await_timing(0)
            # The last one, because it also ends the confirmations.
            if "monitoring" in parts:
                docker("pause", self._prometheus_container)
            yield
        finally:
            with interrupts.held_back():
                self._all_on(parts)
        if "stages" in parts:
            self._await_timing(1)

    def _all_on(self, parts: Collection[Part]) -> None:
        with ExitStack() as both:  # if one of them fails, the other is still done
            if "stages" in parts:
                both.callback(self._switch_timing, ON_COMMAND)
            if "monitoring" in parts and self.is_monitoring_off():
                both.callback(docker, "unpause", self._prometheus_container)

    def is_monitoring_off(self) -> bool:
        """Return whether Prometheus is paused."""
        return docker("container", "inspect", "--format", STATUS, self._prometheus_container).strip() == "paused"

    def _await_health(self) -> None:
        deadline = time.monotonic() + HEALTHY_SECONDS_MAX
        while docker("container", "inspect", "--format", HEALTH, self._prometheus_container).strip() != "healthy":
            if time.monotonic() > deadline:
                raise LabError(
                    f"Prometheus was not healthy again within {HEALTHY_SECONDS_MAX:.0f} s",
                    "Check `docker compose logs prometheus`.",
                    exit_code=1,
                )
            time.sleep(POLL_SECONDS)

    def _switch_timing(self, command: str) -> None:
        for node in self._node_containers:
            docker("exec", node, "sh", "-c", command)

    def _await_timing(self, wanted: int) -> None:
        """Wait until every node that has timed a flow since its start reports in a new scrape that it is switched."""
        since = time.time()
        deadline = time.monotonic() + NOTICED_SECONDS_MAX
        while True:
            seen = self._prometheus.latest(TIMING_METRIC)
            if seen and all(value.time > since and value.value == wanted for value in seen):
                return
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        if not seen:
            raise LabError(
                "No node reports whether it times the stages of flows",
                "Choose a workload of the lab's own flows. If an older version of the lab has started the nodes, run "
                "`scripts/lab up`.",
            )
        state = "on" if wanted else "off"
        raise LabError(f"The nodes did not switch stage timing {state} within {NOTICED_SECONDS_MAX:.0f} s", exit_code=1)


def docker(*arguments: str) -> str:
    """Run a Docker command, and return its output. Raises LabError if it fails."""
    done = run_docker(arguments)
    if done.returncode != 0:
        command = " ".join(("docker", *arguments))
        raise LabError(f"`{command}` failed: {last_words(done.stderr)}", "Run it by hand.", exit_code=1)
    return done.stdout
