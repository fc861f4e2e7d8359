"""The one way to ask Docker: commands of its client, on the engine of this machine or that of a docker context.

Every command could also be typed by hand in the checkout. A context is the client's own way to the engine of another
host, over ssh, TLS or a socket: ``docker context create``. Here, an engine is known by the name of its context.
"""

import ipaddress
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, TypeVar

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from lab_workload.problems import Problem

PROJECT_LABEL = "com.docker.compose.project"
SERVICE_LABEL = "com.docker.compose.service"
ONEOFF_LABEL = "com.docker.compose.oneoff"
"""Labels that Compose gives to containers; the last is False unless a command such as ``run`` has made it."""
HERE = ""
"""The context of the engine that ``docker`` uses by itself: that of this machine."""
COMMAND_SECONDS_MAX = 120.0
POLL_SECONDS_MAX = 30.0
"""How long the engine of a context may take to say how containers are. It is asked every few seconds during a load."""
UPDATE_SECONDS_MAX = 60.0
ENGINES_AT_ONCE = 16

READER = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"),
    *("--memory=64m", "--pids-limit=32"),
)
"""Options of ``docker run`` for a container that only reads files."""
RESTART_SECONDS = 5.0
"""After this time, Swarm starts what has failed again, if the policy wants it: the delay that it takes by itself."""

Answer = TypeVar("Answer")

_NOT_REACHED = re.compile(
    r"error during connect|cannot connect to the docker daemon|trying to connect to the docker (daemon|api)"
    r"|failed to connect to the docker api",
    re.IGNORECASE,
)
"""What the client says itself. A program in a container may also say that it cannot connect."""


class NoAnswerError(LabError):
    """A command of the docker client did not end in time."""


def at(context: str, *arguments: str) -> list[str]:
    """Return the arguments that follow ``docker`` on the command line for the engine of a context."""
    return ["--context", context, *arguments] if context else [*arguments]


def docker(
    *arguments: str,
    on: str = HERE,
    seconds_max: float = COMMAND_SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
    to: Path | None = None,
) -> CompletedProcess[str]:
    """Run ``docker`` on the engine of a context, and capture its output, or write it to the file ``to``.

    It has its own process group, so that Ctrl-C does not reach it directly. ``environment`` is added to that of this
    process. The exit status is not checked. Raises LabError if there is no docker command, if it does not end within
    ``seconds_max``, or if the engine of a context is not reached.
    """
    with ExitStack() as stack:
        output = stack.enter_context(to.open("wb")) if to else subprocess.PIPE
        try:
            done = subprocess.run(
                ["docker", *at(on, *arguments)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=seconds_max,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                check=False,
                start_new_session=True,
            )
        except FileNotFoundError:
            remedy = "`scripts/lab doctor` shows how to install it."
            raise LabError("There is no docker command on PATH", remedy) from None
        except subprocess.TimeoutExpired:
            raise _no_answer(on, arguments, seconds_max) from None
    if done.returncode != 0 and on:
        _require_reached(on, done.stderr)
    # What went to a file is None here.
    done.stdout = done.stdout or ""
    return done


def ask(*arguments: str, on: str = HERE, seconds_max: float = COMMAND_SECONDS_MAX) -> str:
    """Run ``docker`` and return its output. Raises LabError also if it fails."""
    done = docker(*arguments, on=on, seconds_max=seconds_max)
    where = f"{on}: " if on else ""
    return output_of(done, f"{where}`docker {' '.join(arguments)}` failed")


def docker_to_file(
    path: Path,
    *arguments: str,
    on: str = HERE,
    shown: str,
    seconds_max: float = COMMAND_SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``docker`` and write its output, of any size, to ``path``. Raises LabError, with ``shown``, if it fails."""
    try:
        done = docker(*arguments, on=on, seconds_max=seconds_max, environment=environment, to=path)
    except NoAnswerError:
        raise LabError(f"`{shown}` did not end within {seconds_max:.0f} s", exit_code=1) from None
    output_of(done, f"`{shown}` failed", "Run it by hand to see its whole output.")


def start_docker(
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    environment: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start ``docker`` in the background, in its own process group. The caller ends it."""
    return subprocess.Popen(
        ["docker", *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )


def labelled(*labels: str) -> list[str]:
    """Return the options of ``docker ps`` and others that list what has all these labels."""
    return [f"--filter=label={label}" for label in labels]


def output_of(done: CompletedProcess[str], failure: str, remedy: str = "") -> str:
    """Return the output of a command that has ended. Raises LabError, ``failure`` and its last words, if it failed."""
    if done.returncode != 0:
        raise LabError(f"{failure}: {last_words(done.stderr or done.stdout)}", remedy, exit_code=1)
    return done.stdout


def _no_answer(context: str, arguments: Sequence[str], seconds_max: float) -> NoAnswerError:
    if context:
        return NoAnswerError(
            f"{context}: its engine did not answer within {seconds_max:.0f} s",
            f"Try `docker --context {context} version`; `docker context inspect {context}` shows the address.",
        )
    return NoAnswerError(
        f"`{shlex.join(['docker', *arguments])}` did not answer within {seconds_max:.0f} s",
        "Run `docker info` to check whether the engine answers; it may be overloaded.",
    )


def _require_reached(context: str, detail: str) -> None:
    """Raise LabError if an error of the docker client says that it has not reached the engine of a context."""
    if f'context "{context}"' in detail:
        raise LabError(
            f"{context}: there is no docker context of this name, so its engine cannot be reached",
            f"Create it: `docker context create {context} --docker host=ssh://USER@ADDRESS`.",
        )
    if _NOT_REACHED.search(detail):
        raise LabError(
            f"{context}: its engine does not answer: {last_words(detail, 2)}",
            f"Try `docker --context {context} version`; `docker context inspect {context}` shows the address.",
        )


@dataclass(frozen=True)
class Container:
    name: str
    context: str = HERE

    def __str__(self) -> str:
        return self.name

    def shown(self, verb: str, *arguments: str) -> str:
        """Return a command for the container, such as ``logs``, as it can be typed."""
        return shlex.join(["docker", *at(self.context, verb, self.name, *arguments)])

    def inspected(self, form: str) -> str:
        """Return what ``docker container inspect`` prints in a format; empty if there is no such container."""
        return docker("container", "inspect", "--format", form, self.name, on=self.context).stdout

    def inside(self, *command: str, seconds_max: float = COMMAND_SECONDS_MAX) -> CompletedProcess[str]:
        """Run a command in the container. Its status is not checked. Raises LabError as ``docker``."""
        return docker("exec", self.name, *command, on=self.context, seconds_max=seconds_max)

    def now(self) -> str:
        """Return the time of its machine in unix seconds, for ``logged``. Raises LabError if it does not say."""
        return ask("exec", self.name, "date", "+%s.%N", on=self.context).strip()

    def logged(self, since: str) -> str:
        """Return what it has logged since a time in unix seconds. Raises LabError if the engine does not say."""
        done = docker("logs", "--since", since, self.name, on=self.context)
        return output_of(done, f"`{self.shown('logs')}` failed") + done.stderr

    def log(self, *options: str) -> str:
        """Return its log, as ``options`` of ``docker logs`` limit it; empty if there is none."""
        done = docker("logs", *options, self.name, on=self.context)
        return done.stdout + done.stderr


def addresses_in(text: str) -> list[str]:
    """Return the IPv4 addresses in a text, without masks. An engine also prints words for one that is not there."""
    addresses = []
    for word in text.split():
        with suppress(ValueError):
            addresses.append(str(ipaddress.IPv4Interface(word).ip))
    return addresses


def names_by_context(containers: Iterable[Container]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for container in containers:
        names.setdefault(container.context, []).append(container.name)
    return names


def inspect_all(containers: Iterable[Container], form: str) -> dict[Container, str]:
    """Return what ``docker container inspect`` prints in a format, by container. Each engine is asked once.

    Containers that do not exist are left out. Raises LabError if an engine does not answer.
    """
    names = names_by_context(containers)
    inspect = ("container", "inspect", "--format", f"{{{{.Name}}}} {form}")

    def inspect_on(context: str) -> str:
        return docker(*inspect, *names[context], on=context, seconds_max=list_seconds_max(context)).stdout

    texts = {}
    for context, output in on_each(names, inspect_on).items():
        # For a missing container, Docker prints an empty line.
        for line in filter(None, output.splitlines()):
            name, _, text = line.partition(" ")
            texts[Container(name.lstrip("/"), context)] = text
    return texts


def list_seconds_max(context: str) -> float:
    """Return how long an engine may take to say what is there."""
    return POLL_SECONDS_MAX if context else COMMAND_SECONDS_MAX


def outcomes(contexts: Iterable[str], act: Callable[[str], Answer]) -> dict[str, Answer | LabError]:
    """Run ``act`` on several engines at once. Return its result, or the error, by context."""

    def attempt(context: str) -> Answer | LabError:
        try:
            return act(context)
        except LabError as error:
            return error

    known = list(contexts)
    if len(known) < 2:
        return {context: attempt(context) for context in known}
    with ThreadPoolExecutor(max_workers=ENGINES_AT_ONCE) as pool:
        return dict(zip(known, pool.map(attempt, known), strict=True))


def on_each(contexts: Iterable[str], act: Callable[[str], Answer]) -> dict[str, Answer]:
    """Run ``act`` on several engines at once. Return its results by context. Raises LabError with all problems."""
    results = outcomes(contexts, act)
    errors = [error for error in results.values() if isinstance(error, LabError)]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise LabError(problems=problems_of(results), exit_code=1)
    return {context: result for context, result in results.items() if not isinstance(result, LabError)}


def problems_of(results: Mapping[str, object]) -> list[Problem]:
    return [problem for error in results.values() if isinstance(error, LabError) for problem in error.problems]


def is_restarted(service: str) -> bool:
    """Whether Swarm by itself starts a service again that was killed. Raises LabError."""
    form = "{{if .Spec.TaskTemplate.RestartPolicy}}{{.Spec.TaskTemplate.RestartPolicy.Condition}}{{end}}"
    return ask("service", "inspect", "--format", form, service, seconds_max=UPDATE_SECONDS_MAX).strip() != "none"


def replace_ended(service: str) -> None:
    """Let Swarm make a new container of a service that has ended, unless it is about to. Raises LabError.

    Each update ends what the one before it has begun, so it must not be repeated until there is a container. Whether
    Swarm means to run a task shows in its tasks: a restart policy may have used up its attempts. In the moment before
    Swarm has noticed the end, nothing is done; callers that wait ask again.

    This machine is a manager of the swarm. ``service`` is the whole name of the service.
    """
    planned = ("--filter=desired-state=ready", "--filter=desired-state=running")
    if not ask("service", "ps", "--quiet", *planned, service, seconds_max=UPDATE_SECONDS_MAX).strip():
        replace(service)


def replace(service: str) -> None:
    """Let Swarm end the container of a service, if it runs, and make a new one. Raises LabError."""
    update = ("service", "update", "--detach", "--force", "--quiet", service)
    output_of(docker(*update, seconds_max=UPDATE_SECONDS_MAX), f"{service} could not be started again")
