"""The engines of a swarm's hosts. Each is reached by the docker context that has the name of the host.

A context is the docker client's own way to other engines, over ssh, TLS or a socket: ``docker context create``.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from subprocess import CompletedProcess
from typing import Any, TypeVar

from corda_lab.errors import LabError
from corda_lab.host.probe import EngineState, classify_failure
from corda_lab.host.processes import last_words
from corda_lab.lab.compose import COMMAND_SECONDS_MAX, run_docker
from lab_workload.problems import Problem

ANSWER_SECONDS_MAX = 30.0
"""How long an engine may take to say what it is. A first connection over ssh takes a few seconds."""
HOSTS_AT_ONCE = 16

Found = TypeVar("Found")


@dataclass(frozen=True)
class Clock:
    """How far the clock of a host is from that of this machine, in seconds: positive if it is ahead."""

    offset_seconds: float
    error_seconds: float
    """The offset may be wrong by this much: half of the time that the answer took."""


@dataclass(frozen=True)
class EngineFacts:
    """What the engine of a host says about itself."""

    version: str
    node: str
    """Its id in the swarm; empty if it is in none."""
    cores: int
    memory: int
    """Bytes."""
    architecture: str
    clock: Clock


@dataclass(frozen=True)
class Host:
    """A host of a placement."""

    name: str
    """The value of its label, and the name of its docker context."""

    def arguments(self, *arguments: str) -> list[str]:
        """Return the arguments that follow ``docker`` on the command line."""
        return ["--context", self.name, *arguments]

    def run(
        self, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX, environment: Mapping[str, str] | None = None
    ) -> CompletedProcess[str]:
        """Run a docker command on the host. Its status is not checked.

        Raises LabError if the context does not exist, or its engine does not answer within ``seconds_max``.
        """
        done = run_docker(self.arguments(*arguments), seconds_max=seconds_max, environment=environment)
        if done.returncode != 0:
            _require_reached(self.name, done.stderr)
        return done

    def checked(
        self, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX, environment: Mapping[str, str] | None = None
    ) -> str:
        """Run a docker command on the host, and return its output. Raises LabError if it fails."""
        done = self.run(*arguments, seconds_max=seconds_max, environment=environment)
        if done.returncode != 0:
            words = last_words(done.stderr or done.stdout, 3)
            raise LabError(f"{self.name}: `docker {' '.join(arguments)}` failed: {words}", exit_code=1)
        return done.stdout

    def facts(self) -> EngineFacts:
        """Ask the engine what it is. Raises LabError."""
        before = time.time()
        text = self.checked("info", "--format", "{{json .}}", seconds_max=ANSWER_SECONDS_MAX)
        return parse_facts(text, before, time.time())


def parse_facts(text: str, before: float, after: float) -> EngineFacts:
    """Read the JSON of ``docker info``, which was asked for and came at these Unix seconds."""
    facts: dict[str, Any] = json.loads(text)
    now = datetime.fromisoformat(_microseconds(facts["SystemTime"])).timestamp()
    return EngineFacts(
        version=facts["ServerVersion"],
        node=facts.get("Swarm", {}).get("NodeID", ""),
        cores=facts["NCPU"],
        memory=facts["MemTotal"],
        architecture=facts["Architecture"],
        clock=Clock(now - (before + after) / 2, (after - before) / 2),
    )


def _microseconds(time_text: str) -> str:
    """Return an RFC 3339 time of Go, with up to nine digits of a second, with six, which is what Python reads."""
    seconds, _, rest = time_text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return f"{seconds}.{digits[:6]:<06}{rest[len(digits) :]}" if digits else time_text


def _require_reached(name: str, detail: str) -> None:
    """Raise LabError if an error of the docker client says that it has not reached the engine of a host."""
    if f'context "{name}"' in detail:
        raise LabError(
            f"{name}: there is no docker context of this name, so its engine cannot be reached",
            f"Create it: `docker context create {name} --docker host=ssh://USER@ADDRESS`.",
        )
    if classify_failure(detail) in (EngineState.NO_DAEMON, EngineState.NO_PERMISSION):
        raise LabError(
            f"{name}: its engine does not answer: {last_words(detail, 2)}",
            f"Try `docker --context {name} version`; `docker context inspect {name}` shows the address.",
        )


def outcomes(hosts: Iterable[Host], act: Callable[[Host], Found]) -> dict[str, Found | LabError]:
    """Do the same on several hosts at once. Return what came of it, or the error, by the name of the host."""

    def attempt(host: Host) -> Found | LabError:
        try:
            return act(host)
        except LabError as error:
            return error

    known = list(hosts)
    with ThreadPoolExecutor(max_workers=HOSTS_AT_ONCE) as pool:
        return dict(zip((host.name for host in known), pool.map(attempt, known), strict=True))


def on_each(hosts: Iterable[Host], act: Callable[[Host], Found]) -> dict[str, Found]:
    """Do the same on several hosts at once, by the name of the host. Raises LabError with the problems of all."""
    found = outcomes(hosts, act)
    problems = [problem for one in found.values() if isinstance(one, LabError) for problem in one.problems]
    if problems:
        raise LabError(problems=problems, exit_code=1)
    return {name: one for name, one in found.items() if not isinstance(one, LabError)}


def problems_of(found: Mapping[str, object]) -> list[Problem]:
    """Return the problems among the ``outcomes``."""
    return [problem for one in found.values() if isinstance(one, LabError) for problem in one.problems]
