"""Starts, watches and removes the containers that generate a run's load.

One container, the driver, generates the load alone or as the master of workers in their own containers. The driver does
the set-up, writes ``<run id>.ready.json`` and waits for ``<run id>.go``, so that the set-up is not counted as load.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

from corda_lab.clients.bridge import START_REMEDY, Bridge
from corda_lab.errors import BAD_INPUT, LabError
from corda_lab.host import interrupts
from corda_lab.host.processes import last_lines
from corda_lab.lab import endings
from corda_lab.lab.docker import (
    Container,
    ask,
    at,
    docker,
    inspect_all,
    names_by_context,
    outcomes,
    problems_of,
    start_docker,
)
from corda_lab.lab.lab import RUN_LABEL, Lab
from corda_lab.results.manifest import Environment, Image
from corda_lab.runs.live import EarlyStop, LiveRate, Stall
from corda_lab.runs.sampling import Timeline
from corda_lab.stats import steady
from corda_lab.steps.entry import SetupEntry
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.load import Load
from lab_workload.plan import PLAN_SUFFIX, Plan
from lab_workload.problems import Problem
from lab_workload.row import ROWS_DIRECTORY

LOAD_START_SECONDS_MAX = 60
WORKERS_CONNECT_SECONDS_MAX = 60
SETUP_START_SECONDS_MAX = 120
WORKERS_START_SECONDS_MAX = 120
WORKERS_END_SECONDS_MAX = 60
POLL_SECONDS = 3.0
"""Polling interval during the load. Each poll runs the Docker client, which takes CPU time from the measured system."""
SETUP_POLL_SECONDS = 0.5
KILLED = 137
"""Exit status of a container whose process was ended by SIGKILL: by a person, or by the kernel for its memory."""
FLUSH_SECONDS = 2
"""Time that the generator gets to write its last rows when a run fails or is interrupted."""


@dataclass(frozen=True)
class LoadContainers:
    """The containers of one run: the driver, and its workers in order of their index."""

    driver: Container
    workers: tuple[Container, ...] = ()
    services: Mapping[Container, str] = field(default_factory=dict)
    """The services without which the run fails, by their container. A run with faults does without any."""

    @property
    def watched(self) -> tuple[Container, ...]:
        return (*self.all, *self.services)

    @property
    def all(self) -> tuple[Container, ...]:
        return (self.driver, *self.workers)


def containers_of(compose: Lab, plan: Plan) -> LoadContainers:
    """Return the containers of a run. They need not exist."""
    driver = f"{compose.project}-load-{plan.identity}"
    own, *placed = compose.load_contexts
    count = plan.load.workers or 0
    contexts = placed[:count] or [own] * count
    workers = (Container(f"{driver}-worker-{index}", context) for index, context in enumerate(contexts, start=1))
    return LoadContainers(Container(driver, own), tuple(workers))


@contextmanager
def generating(compose: Lab, plan: Plan) -> Iterator[LoadContainers]:
    """Start the containers that generate the load, and remove them after the block. Their files stay in the volume."""
    names = containers_of(compose, plan)
    label = f"{RUN_LABEL}={plan.identity}"
    try:
        write_plan(compose, plan)
        # Prometheus scrapes the containers that have the service's name as an alias: the driver, but not its workers.
        start(compose, names.driver, driver_arguments(plan), label, has_alias=True)
        for index, worker in enumerate(names.workers, start=1):
            # The short id is a host name too. The name of the container may be too long for DNS.
            master = names.driver.inspected("{{.Id}}").strip()[:12]
            arguments = ("--worker", "--master-host", master, "--worker-index", str(index))
            start(compose, worker, arguments, label)
        await_workers(names)
        yield names if plan.load.faults else replace(names, services=services_of(compose))
    except BaseException:
        # Rows are written within a second of the end of their request.
        with interrupts.held_back():
            by_context = names_by_context(names.all)
            stop = ("stop", "-t", str(FLUSH_SECONDS))
            outcomes(by_context, lambda context: docker(*stop, *by_context[context], on=context))
        raise
    finally:
        # A second Ctrl-C must not leave behind a container that still sends load.
        with interrupts.held_back():
            remove(names, label)


def plan_path(plan: Plan) -> str:
    return f"{ROWS_DIRECTORY}/{plan.identity}{PLAN_SUFFIX}"


def write_plan(compose: Lab, plan: Plan) -> None:
    """Write the plan into the volume of the rows, where the driver reads it. Raises LabError."""
    web_ui = compose.container("locust")
    if web_ui is None:
        raise LabError("The load generator's container does not run", START_REMEDY, exit_code=1)
    with NamedTemporaryFile("w", encoding="utf-8", suffix=PLAN_SUFFIX) as file:
        file.write(plan.model_dump_json(indent=2))
        file.flush()
        # The generator runs as another user.
        Path(file.name).chmod(0o644)
        ask("cp", file.name, f"{web_ui.name}:{plan_path(plan)}", on=web_ui.context)


def driver_arguments(plan: Plan) -> tuple[str, ...]:
    """The arguments of the process that drives the load: a single one, or the master of workers."""
    connect = ("--expect-workers-max-wait", str(WORKERS_CONNECT_SECONDS_MAX))
    master = ("--master", "--expect-workers", str(plan.load.workers), *connect) if plan.load.workers else ()
    return ("--headless", *master, "--plan", plan_path(plan), "--hold")


def remove(names: LoadContainers, label: str) -> None:
    """Remove the containers of a run, by name and by label: also one that a client started but could not tell of.

    An engine that does not answer is a warning: what is left there is removed by the next command.
    """
    by_context = names_by_context(names.all)

    def remove_on(context: str) -> None:
        labelled = docker("ps", "--all", "--quiet", "--filter", f"label={label}", on=context).stdout.split()
        # On a host of a stack, the files of the load are in volumes without a name.
        docker("rm", "--force", "--volumes", *by_context[context], *labelled, on=context)

    for problem in problems_of(outcomes(by_context, remove_on)):
        ui.warn(f"containers of the load may be left: {problem.finding}")


def start(compose: Lab, container: Container, arguments: Sequence[str], label: str, *, has_alias: bool = False) -> None:
    """Start one container. Interrupts are deferred, because a killed client may leave a container that starts later."""
    with interrupts.held_back():
        compose.start_load(container, arguments, label=label, has_alias=has_alias)


def with_load_images(environment: Environment, names: LoadContainers, compose: Lab) -> Environment:
    """Return the environment with the image of the driver as that of ``locust``, and every worker image that differs.

    Before, it had the image of the web UI's container, which generates none of the load. Raises LabError.
    """
    said = inspect_all(names.all, "{{.Config.Image}} {{.Image}}")
    if len(said) != len(names.all):
        raise LabError("A load container was removed during the run", "Start the run again.", exit_code=1)
    found = (said[one].split() for one in names.all)
    driver, *workers = [Image(name=compose.recorded_image("locust", name), id=identity) for name, identity in found]
    others = {f"locust worker {index}": image for index, image in enumerate(workers, start=1) if image != driver}
    return environment.model_copy(update={"images": {**environment.images, "locust": driver, **others}})


def exit_codes(containers: tuple[Container, ...]) -> dict[Container, int | None]:
    """Return the exit status of every container; None if it is running. Raises LabError if one is missing."""
    codes: dict[Container, int | None] = {}
    for container, said in inspect_all(containers, "{{.State.Status}} {{.State.ExitCode}}").items():
        status, code = said.split()
        codes[container] = int(code) if status in {"exited", "dead"} else None
    gone = [container for container in containers if container not in codes]
    if gone:
        raise LabError(f"The container {gone[0]} was removed during the run", "Start the run again.", exit_code=1)
    return codes


def services_of(compose: Lab) -> dict[Container, str]:
    found = compose.running_containers()
    return {container: service for service, container in found.items() if service in endings.needed(compose)}


def check_services(compose: Lab, names: LoadContainers, codes: Mapping[Container, int | None]) -> None:
    """Raise LabError if a service has ended, with its cause: flows would only run into their time limits."""
    ended = [service for container, service in names.services.items() if codes[container] is not None]
    if ended:
        endings.require_none(compose)
        # The engine has started it again since then.
        raise LabError(f"{ended[0]} ended during the load", f"See `{compose.logs_command(ended[0])}`.", exit_code=1)


def await_workers(names: LoadContainers) -> None:
    """Wait until every worker's container is running. Raises LabError if one ends, or does not start in time."""
    deadline = time.monotonic() + WORKERS_START_SECONDS_MAX
    while names.workers:
        states = list(inspect_all(names.workers, "{{.State.Status}}").values())
        if states == ["running"] * len(names.workers):
            ui.note(f"{len(names.workers)} workers are running")
            return
        check_workers(names, exit_codes(names.workers))
        if time.monotonic() > deadline:
            raise LabError(
                f"{states.count('running')} of {len(names.workers)} workers started in {WORKERS_START_SECONDS_MAX} s",
                "Reduce the number of workers. Their machine may not have enough memory for so many.",
                exit_code=1,
            )
        time.sleep(SETUP_POLL_SECONDS)


def check_workers(names: LoadContainers, codes: Mapping[Container, int | None]) -> None:
    """Raise LabError if a worker has ended before its master, because its share of the load is then missing."""
    for worker in names.workers:
        if codes.get(worker) is not None:
            show_log(worker)
            raise LabError(f"The worker {worker} ended early", "Its last log lines are above.", exit_code=1)


def show_log(container: Container) -> list[str]:
    lines = last_lines(container.log("--tail", "40"), 12)
    for line in lines:
        ui.note(f"| {line}")
    return lines


def generator_error(container: Container, code: int, when: Literal["before", "during"] = "before") -> LabError:
    """Return the error for a generator that ended before or during its load: its own message if it printed one."""
    # The generator's output ends with its error message, one line per problem.
    _, mark, said = container.log("--tail", "40").rpartition("locust: error: ")
    if mark:
        problems = [Problem(line.strip()) for line in last_lines(said, 12)]
        return LabError(problems=problems, exit_code=BAD_INPUT if code == BAD_INPUT else 1)
    show_log(container)
    how = f"was killed (status {code})" if code == KILLED else f"ended with status {code}"
    return LabError(f"The load generator {how} {when} its load", "Its last log lines are above.", exit_code=1)


def await_setup(compose: Lab, plan: Plan, names: LoadContainers) -> list[SetupEntry]:
    """Wait until the generator has finished its set-up, and return what each step prepared. Raises LabError."""
    limit = SETUP_START_SECONDS_MAX + sum(float(step.timeout_seconds) for step in plan.workload.setup)
    started = time.monotonic()
    ready = f"{ROWS_DIRECTORY}/{plan.identity}.ready.json"
    with ui.Ticker(every_seconds=15) as ticker:
        while True:
            done = compose.exec("locust", "cat", ready, check=False)
            if done.returncode == 0:
                return [SetupEntry(**step) for step in json.loads(done.stdout)["setup"]]
            codes = exit_codes(names.watched)
            # Without its node, a set-up cannot succeed: that is the reason, whatever the generator then said.
            check_services(compose, names, codes)
            code = codes[names.driver]
            if code is not None:
                raise generator_error(names.driver, code)
            check_workers(names, codes)
            elapsed = time.monotonic() - started
            if elapsed > limit:
                show_log(names.driver)
                raise LabError(
                    f"The set-up did not finish within {limit:.0f} s", "Its last log lines are above.", exit_code=1
                )
            ticker.show(f"set-up: {elapsed:.0f} s")
            time.sleep(SETUP_POLL_SECONDS)


def let_go(compose: Lab, plan: Plan) -> None:
    compose.exec("locust", "touch", f"{ROWS_DIRECTORY}/{plan.identity}.go")


def end_early(compose: Lab, plan: Plan) -> None:
    compose.exec("locust", "touch", f"{ROWS_DIRECTORY}/{plan.identity}.stop")


@dataclass(frozen=True)
class WatchedLoad:
    timeline: Timeline
    warm_up: steady.WarmUp | None
    """The end of the warm-up if the load was ended early, because it had been measured for long enough; else None."""


def generate_load(compose: Lab, plan: Plan, bridge: Bridge, names: LoadContainers) -> WatchedLoad:
    """Wait for the end of the load, and show its progress. Raises LabError if it or a part of the lab fails."""
    timeline = Timeline()
    warm_up: steady.WarmUp | None = None
    watch = EarlyStop(plan.load)
    live = LiveRate(bridge, plan.subject, expects_failures=any(part.expect is not None for part in plan.workload.flows))
    started = time.monotonic()
    stall = Stall(compose, time.time())
    total = plan.load.total_seconds
    limit = LOAD_START_SECONDS_MAX + total + int(compose.settings["BRIDGE_FLOW_TIMEOUT_SECONDS"])
    limit += WORKERS_CONNECT_SECONDS_MAX if names.workers else 0
    with ui.Ticker(every_seconds=15) as ticker, end_of(names.driver) as ended:
        while True:
            codes = exit_codes(names.watched)
            check_services(compose, names, codes)
            elapsed = time.monotonic() - started
            if codes[names.driver] is not None:
                await_end(names)
                return WatchedLoad(timeline, warm_up)
            # Workers end with their master. Towards the end, a worker may end slightly before it.
            if elapsed < total and warm_up is None:
                # A worker with status 0 was stopped by its master, which then also ends or reports the lost worker.
                check_workers(names, {name: code for name, code in codes.items() if code != 0})
            if elapsed > limit:
                raise LabError(
                    f"The load did not end within {limit:.0f} s",
                    f"Check `{compose.logs_command('bridge')}`.",
                    exit_code=1,
                )
            timeline.note()
            is_ending = warm_up is not None or elapsed >= total
            stage = "stopping" if is_ending else stage_of(plan.load, elapsed)
            ticker.show(f"{stage}: {live.tell()}, {left_of(plan.load, elapsed)}")
            stall.note(live)
            watch.note(elapsed, live.done)
            if warm_up is None and (warm_up := watch.enough):
                end_early(compose, plan)
            ended.wait(POLL_SECONDS)


class ContainerEnd:
    """The end of a container, for which one Docker client waits. It takes no CPU time meanwhile."""

    def __init__(self, waiting: subprocess.Popen[bytes]) -> None:
        self._waiting = waiting

    def wait(self, seconds: float) -> None:
        if self._waiting.poll() is not None:
            # The client ended before the container: only time is left to wait for.
            time.sleep(seconds)
            return
        with suppress(subprocess.TimeoutExpired):
            self._waiting.wait(timeout=seconds)


@contextmanager
def end_of(container: Container) -> Iterator[ContainerEnd]:
    wait = at(container.context, "wait", container.name)
    process = start_docker(*wait, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield ContainerEnd(process)
    finally:
        process.kill()
        process.wait()


def stage_of(options: Load, elapsed_seconds: float) -> str:
    """Return the stage of a load: ``conditioning``, ``warm-up``, ``measuring`` or ``not steady yet``."""
    if options.is_conditioning:
        return "conditioning"
    if elapsed_seconds < options.warm_up_seconds_min:
        return "warm-up"
    stopping = options.stopping
    if stopping is None or stopping.change_percent_max is None:
        return "measuring"
    steady_at = options.warm_up_seconds_min + options.duration_seconds + steady.LOOK_SECONDS
    return "measuring" if elapsed_seconds < steady_at else "not steady yet"


def left_of(options: Load, elapsed_seconds: float) -> str:
    """Return what is left of a load: ``at most 20 s left``, or ``400 flows in all`` if it ends after these."""
    if options.flows_max is not None:
        return f"{plural(options.flows_max, 'flow')} in all"
    at_most = "at most " if options.stopping else ""
    return f"{at_most}{max(0.0, options.total_seconds - elapsed_seconds):.0f} s left"


def await_end(names: LoadContainers) -> None:
    """Wait until every worker has ended, so that all rows are written. Raises LabError if one does not end in time."""
    deadline = time.monotonic() + WORKERS_END_SECONDS_MAX
    while names.workers:
        running = [name for name, code in exit_codes(names.workers).items() if code is None]
        if not running:
            return
        if time.monotonic() > deadline:
            raise LabError(
                f"{len(running)} workers were still running {WORKERS_END_SECONDS_MAX} s after their master had ended",
                f"Run again, and check `{running[0].shown('logs')}` while they are running.",
                exit_code=1,
            )
        time.sleep(SETUP_POLL_SECONDS)
