"""Docker engines, by the contexts of the docker client, and containers on them.

Every command could also be typed by hand in the checkout. A context is the client's own way to the engine of another
host, over ssh, TLS or a socket: ``docker context create``.
"""

import ipaddress
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeVar

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from lab_workload.problems import Problem

COMMAND_SECONDS_MAX = 120.0
POLL_SECONDS_MAX = 30.0
"""How long the engine of a context may take to say how containers are. It is asked every few seconds during a load."""
ENGINES_AT_ONCE = 16

READER = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"),
    *("--memory=64m", "--pids-limit=32"),
)
"""Options of ``docker run`` for a container that only reads files."""

Found = TypeVar("Found")

_NOT_REACHED = re.compile(
    r"error during connect|cannot connect to the docker daemon|trying to connect to the docker (daemon|api)"
    r"|failed to connect to the docker api",
    re.IGNORECASE,
)
"""What the client says itself. A program in a container may also say that it cannot connect."""


class NoAnswerError(LabError):
    """A command of the docker client did not end in time."""


def run_docker(
    arguments: Sequence[str],
    *,
    seconds_max: float = COMMAND_SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
) -> CompletedProcess[str]:
    """Run ``docker`` and capture its output. It has its own process group, so that Ctrl-C does not reach it directly.

    ``environment`` is added to the environment of this process. The exit status is not checked. Raises LabError if
    there is no docker command, or if it does not end within ``seconds_max``.
    """
    try:
        return subprocess.run(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise LabError("There is no docker command on PATH", "`scripts/lab doctor` shows how to install it.") from None
    except subprocess.TimeoutExpired:
        raise NoAnswerError(
            f"`{shlex.join(['docker', *arguments])}` did not answer within {seconds_max:.0f} s",
            "Run `docker info` to check whether the engine answers; it may be overloaded.",
        ) from None


def run_docker_to_file(
    path: Path,
    arguments: Sequence[str],
    *,
    shown: str,
    seconds_max: float = COMMAND_SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``docker`` and write its output, of any size, to ``path``. Raises LabError, with ``shown``, if it fails."""
    try:
        with path.open("wb") as stream:
            done = subprocess.run(
                ["docker", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.PIPE,
                timeout=seconds_max,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                check=False,
                start_new_session=True,
            )
    except subprocess.TimeoutExpired:
        raise LabError(f"`{shown}` did not end within {seconds_max:.0f} s", exit_code=1) from None
    if done.returncode != 0:
        words = last_words(done.stderr.decode(errors="replace"))
        raise LabError(f"`{shown}` failed: {words}", "Run it by hand to see its whole output.", exit_code=1)


def output_of(done: CompletedProcess[str], failure: str, remedy: str = "") -> str:
    """Return the output of a command that has ended. Raises LabError, ``failure`` and its last words, if it failed."""
    if done.returncode != 0:
        raise LabError(f"{failure}: {last_words(done.stderr or done.stdout)}", remedy, exit_code=1)
    return done.stdout


@dataclass(frozen=True)
class Engine:
    """A Docker engine: that of this machine, or that of a docker context."""

    name: str = ""
    """The name of its context; empty for the engine that ``docker`` uses by itself."""

    def arguments(self, *arguments: str) -> list[str]:
        """Return the arguments that follow ``docker`` on the command line."""
        return ["--context", self.name, *arguments] if self.name else [*arguments]

    def run(
        self, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX, environment: Mapping[str, str] | None = None
    ) -> CompletedProcess[str]:
        """Run a docker command on the engine. Its status is not checked.

        Raises LabError if the engine does not answer within ``seconds_max``, and if that of a context is not reached.
        """
        try:
            done = run_docker(self.arguments(*arguments), seconds_max=seconds_max, environment=environment)
        except NoAnswerError:
            if not self.name:
                raise
            raise LabError(
                f"{self.name}: its engine did not answer within {seconds_max:.0f} s",
                f"Try `docker --context {self.name} version`; `docker context inspect {self.name}` shows the address.",
            ) from None
        if done.returncode != 0 and self.name:
            _require_reached(self.name, done.stderr)
        return done

    def checked(
        self, *arguments: str, seconds_max: float = COMMAND_SECONDS_MAX, environment: Mapping[str, str] | None = None
    ) -> str:
        done = self.run(*arguments, seconds_max=seconds_max, environment=environment)
        where = f"{self.name}: " if self.name else ""
        return output_of(done, f"{where}`docker {' '.join(arguments)}` failed")


HERE = Engine()
"""The engine of this machine."""


@dataclass(frozen=True)
class Container:
    name: str
    engine: Engine = HERE

    def __str__(self) -> str:
        return self.name

    def shown(self, verb: str, *arguments: str) -> str:
        """Return a command for the container, such as ``logs``, as it can be typed."""
        return " ".join(["docker", *self.engine.arguments(verb, self.name, *arguments)])

    def inspected(self, form: str) -> str:
        return self.engine.run("container", "inspect", "--format", form, self.name).stdout

    def checked(self, form: str) -> str:
        return self.engine.checked("container", "inspect", "--format", form, self.name)

    def inside(self, *command: str, seconds_max: float = COMMAND_SECONDS_MAX) -> CompletedProcess[str]:
        """Run a command in the container. Its status is not checked. Raises LabError as ``Engine.run``."""
        return self.engine.run("exec", self.name, *command, seconds_max=seconds_max)

    def now(self) -> str:
        """Return the time of its machine in unix seconds, for ``logged``. Raises LabError if it does not say."""
        return self.engine.checked("exec", self.name, "date", "+%s.%N").strip()

    def logged(self, since: str) -> str:
        """Return what it has logged since a time in unix seconds. Raises LabError if the engine does not say."""
        done = self.engine.run("logs", "--since", since, self.name)
        return output_of(done, f"`{self.shown('logs')}` failed") + done.stderr


def addresses_in(text: str) -> list[str]:
    """Return the IPv4 addresses in a text, without masks. An engine also prints words for one that is not there."""
    found = []
    for word in text.split():
        with suppress(ValueError):
            found.append(str(ipaddress.IPv4Interface(word).ip))
    return found


def names_on(containers: Iterable[Container]) -> dict[Engine, list[str]]:
    found: dict[Engine, list[str]] = {}
    for container in containers:
        found.setdefault(container.engine, []).append(container.name)
    return found


def inspect_all(containers: Iterable[Container], form: str) -> dict[Container, str]:
    """Return what ``docker container inspect`` prints in a format, by container. Each engine is asked once.

    Containers that do not exist are left out. Raises LabError if an engine does not answer.
    """
    names = names_on(containers)
    with_name = ("container", "inspect", "--format", f"{{{{.Name}}}} {form}")

    def ask(engine: Engine) -> str:
        seconds_max = POLL_SECONDS_MAX if engine.name else COMMAND_SECONDS_MAX
        return engine.run(*with_name, *names[engine], seconds_max=seconds_max).stdout

    said = on_each(names, ask)
    found = {}
    for engine in names:
        # For a missing container, Docker prints an empty line.
        for line in filter(None, said[engine.name].splitlines()):
            name, _, text = line.partition(" ")
            found[Container(name.lstrip("/"), engine)] = text
    return found


def outcomes(engines: Iterable[Engine], act: Callable[[Engine], Found]) -> dict[str, Found | LabError]:
    """Do the same on several engines at once. Return what came of it, or the error, by the name of the engine."""

    def attempt(engine: Engine) -> Found | LabError:
        try:
            return act(engine)
        except LabError as error:
            return error

    known = list(engines)
    if len(known) < 2:
        return {engine.name: attempt(engine) for engine in known}
    with ThreadPoolExecutor(max_workers=ENGINES_AT_ONCE) as pool:
        return dict(zip((engine.name for engine in known), pool.map(attempt, known), strict=True))


def on_each(engines: Iterable[Engine], act: Callable[[Engine], Found]) -> dict[str, Found]:
    """Do the same on several engines at once, by the name of the engine. Raises LabError with the problems of all."""
    found = outcomes(engines, act)
    errors = [one for one in found.values() if isinstance(one, LabError)]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise LabError(problems=[problem for error in errors for problem in error.problems], exit_code=1)
    return {name: one for name, one in found.items() if not isinstance(one, LabError)}


def problems_of(found: Mapping[str, object]) -> list[Problem]:
    return [problem for one in found.values() if isinstance(one, LabError) for problem in one.problems]


def _require_reached(name: str, detail: str) -> None:
    """Raise LabError if an error of the docker client says that it has not reached the engine of a context."""
    if f'context "{name}"' in detail:
        raise LabError(
            f"{name}: there is no docker context of this name, so its engine cannot be reached",
            f"Create it: `docker context create {name} --docker host=ssh://USER@ADDRESS`.",
        )
    if _NOT_REACHED.search(detail):
        raise LabError(
            f"{name}: its engine does not answer: {last_words(detail, 2)}",
            f"Try `docker --context {name} version`; `docker context inspect {name}` shows the address.",
        )
