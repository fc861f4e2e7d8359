"""Kills the bridge or the load generator at a seeded random moment of a load."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from corda_lab.bench.kills.measurement import Target
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose, run_docker
from corda_lab.runs.containers import ROWS_DIRECTORY
from corda_lab.steps.load import LoadOptions

BEGIN_SECONDS_MAX = 180.0
"""Time limit for the set-up of a load, after which it must have begun."""
POLL_SECONDS = 0.25


def moment_of(seed: int, target: Target, options: LoadOptions) -> float:
    """When a trial kills, in seconds after the begin of its load: any moment of the load with equal probability."""
    return round(random.Random(f"{seed}/{target}").uniform(0.0, options.total_seconds), 2)


@dataclass
class Kill:
    """Kills one container at a moment of the next load of a lab, in a thread beside the run."""

    compose: Compose
    target: Target
    moment_seconds: float
    killed_at: float | None = None
    problem: str | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def during(self) -> Iterator[None]:
        """Kill while the block runs. What went wrong is in ``problem``."""
        thread = threading.Thread(target=self._run, name="kill", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        try:
            load = self._await_begin()
            if load is None or self._ended.wait(self.moment_seconds):
                self.problem = "the load had ended before the moment"
                return
            victim = load if self.target == "generator" else self._bridge()
            done = run_docker(["kill", "--signal", "KILL", victim])
            if done.returncode != 0:
                self.problem = f"the {self.target} could not be killed: {done.stderr.strip()}"
                return
            self.killed_at = time.time()
            if self.target == "bridge" and (again := run_docker(["start", victim])).returncode != 0:
                self.problem = f"the bridge could not be started again: {again.stderr.strip()}"
        except LabError as error:
            self.problem = error.message

    def _await_begin(self) -> str | None:
        """Wait until the load begins, and return its container; None if the run has ended before."""
        deadline = time.monotonic() + BEGIN_SECONDS_MAX
        while time.monotonic() < deadline and not self._ended.wait(POLL_SECONDS):
            for name in self.compose.load_containers():
                go = f"{ROWS_DIRECTORY}/{name.removeprefix(f'{self.compose.project}-load-')}.go"
                if self.compose.run("exec", "-T", "locust", "test", "-e", go, check=False).returncode == 0:
                    return name
        return None

    def _bridge(self) -> str:
        return next(service.container for service in self.compose.services() if service.name == "bridge")
