"""Runs the checks and tests of the project. ``scripts/lab test`` calls it; the last line is ``N passed, N failed``.

The parts are run in the order of ``PARTS``, but for the linters, which run beside the builds of images.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host import machine, processes
from corda_lab.host.processes import last_lines
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import docker_to_file
from corda_lab.lab.images import in_use
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import CACHE, ROOT
from corda_lab.text import ui
from support import own_lab

PARTS = ("lint", "unit", "java", "pipeline", "e2e")
"""What runs if nothing is chosen."""
NIGHTLY, SWARM = "nightly", "swarm"

SECONDS_MAX = {NIGHTLY: 5 * 3600.0, SWARM: 4800.0}
"""Time limits of the suites. What has not ended by then is stopped, and counts as failed."""
PARTS_SECONDS_MAX = 3420.0
"""The time limit of all parts together: the hour that CI has, but for what it cleans up."""

TEST_PRESET = "tuned"
"""Preset of the lab under test. Its nodes start in half the time of ``stock``. Tests of other presets set their own."""
TEST_RESULTS = CACHE / "test-results"
"""The folder of the runs that end-to-end tests make. It is emptied before them."""

REQUIREMENTS = ROOT / "scripts" / "requirements-dev.txt"
INSTALL_SECONDS_MAX = 1800.0
OUTPUT_LINES_MAX = 60
PYTHON_WORKERS_MAX = 8
REPORT_EVERY_SECONDS = 60.0

NEEDS_LAB = ("tests/e2e", "tests/swarm", "tests/pipeline", "tests/nightly")
"""Folders of tests that start containers of the lab. All other tests are unit tests."""
LINT = (str(Path(sys.executable).parent / "pre-commit"), "run", "--all-files", "--verbose", "--color=never")
HOOK = re.compile(r"^(.+?)\.{3,}(?:\(.*\))?(Passed|Failed|Skipped)$", re.MULTILINE)
DURATION = re.compile(r"^- duration: ([\d.]+)s$", re.MULTILINE)

NODE_BUILDS = (
    ("network maker", "nodes/Dockerfile", "nodes-test"),
    ("CorDapps", "nodes/Dockerfile", "cordapps-test"),
)
BRIDGE_BUILDS = (("bridge", "loadgen/bridge/Dockerfile", "test"),)
"""Not beside others: some tests of the bridge offer it more than it can serve, and count what it served in time."""
NIGHTLY_BUILDS = (("peers", "loadgen/peers/Dockerfile", "test"),)
"""The image builds that test Java: name, Dockerfile, target. Their context is the root, with the parent pom."""


@dataclass(frozen=True)
class Outcome:
    """What came of one command, or of one check in it."""

    passed: int
    failed: int
    output: str


class Runner:
    """Runs commands until a time limit, prints what came of each, and counts."""

    def __init__(self, seconds_max: float) -> None:
        self.passed = self.failed = 0
        self._ends_at = time.monotonic() + seconds_max

    @property
    def closing_line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    def record(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Count and print an outcome, with the end of its output if it has failed."""
        self.passed += outcome.passed
        self.failed += outcome.failed
        counted = f" {outcome.passed} passed, {outcome.failed} failed" if outcome.passed + outcome.failed != 1 else ""
        if not outcome.failed:
            ui.note(f"ok      {name} ({seconds:.1f} s){counted}")
            return
        for line in last_lines(outcome.output, OUTPUT_LINES_MAX):
            ui.note(f"| {line}")
        ui.console.print(f"    failed  {name} ({seconds:.1f} s){counted}", style="red", markup=False)

    def pytest(self, name: str, *arguments: str, within: Sequence[str] = ()) -> None:
        """Run tests, of which each counts."""
        started = time.monotonic()
        outcome = run_pytest(name, arguments, seconds_max=self.seconds_left, within=within)
        self.record(name, outcome, time.monotonic() - started)

    @contextmanager
    def counts_errors(self) -> Iterator[None]:
        """Count an error of the lab, after which the block cannot go on, as one failure."""
        try:
            yield
        except LabError as error:
            ui.print_error(error)
            self.failed += 1


def checked(status: int, output: str) -> Outcome:
    """The outcome of a command that counts as one check."""
    return Outcome(int(status == 0), int(status != 0), output)


def start(command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start a command in the root of the project. Its output goes to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(process: "subprocess.Popen[bytes]", log: Path, *, seconds_max: float) -> tuple[int, str]:
    """Wait for a started command, and show its progress. Returns its status (124: timeout) and output."""
    status = processes.follow(
        process, lambda: processes.last_line(log), seconds_max=seconds_max, every_seconds=REPORT_EVERY_SECONDS
    )
    output = log.read_text(encoding="utf-8", errors="replace")
    return (124, f"{output}\ndid not finish within {seconds_max:.0f} s") if status is None else (status, output)


def execute(command: Sequence[str], *, seconds_max: float) -> tuple[int, str]:
    """Run a command in the root of the project, and show its progress. Returns its status (124: timeout) and output."""
    log = CACHE / f"test-{os.getpid()}.log"
    try:
        return finish(start(command, log), log, seconds_max=seconds_max)
    finally:
        log.unlink(missing_ok=True)


def parse_junit(text: str) -> tuple[int, int]:
    """Return the passed and failed tests of a JUnit report. Skipped tests count as failed; this project skips none."""
    passed = failed = 0
    for testsuite in ElementTree.fromstring(text).iter("testsuite"):
        numbers = {name: int(testsuite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
        bad = numbers["failures"] + numbers["errors"] + numbers["skipped"]
        failed += bad
        passed += numbers["tests"] - bad
    return passed, failed


def run_pytest(name: str, arguments: Sequence[str], *, seconds_max: float, within: Sequence[str] = ()) -> Outcome:
    """Run pytest and count its tests. The report is ``<name>.xml`` in the cache.

    ``within`` is the beginning of a command that runs the rest of its arguments somewhere else. If pytest itself fails
    without a failed test, that counts as one failure.
    """
    xml = CACHE / f"{name}.xml"
    xml.unlink(missing_ok=True)
    command = [*within, sys.executable, "-m", "pytest", "-v", f"--junit-xml={xml}", *arguments]
    status, output = execute(command, seconds_max=seconds_max)
    passed, failed = parse_junit(xml.read_text(encoding="utf-8")) if xml.exists() else (0, 0)
    return Outcome(passed, max(failed, int(status != 0)), output)


def ensure_tools() -> None:
    """Install the tests' additional packages into the virtual environment, once for each version of the list."""
    marker = Path(sys.prefix) / "complete-dev"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if marker.is_file() and marker.read_text(encoding="ascii") == wanted:
        return
    with ui.phase("Installing the test tools (once)"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        pip += ["--no-compile", "--require-hashes", "--only-binary=:all:", "--requirement"]
        status, output = execute([*pip, str(REQUIREMENTS)], seconds_max=INSTALL_SECONDS_MAX)
        if status != 0:
            for line in last_lines(output, 8):
                ui.note(f"| {line}")
            raise LabError(
                "Installing scripts/requirements-dev.txt failed",
                "See the lines above, and check that the package index is reachable.",
            )
        atomic.write_text(marker, wanted)


def hooks(output: str) -> Iterator[tuple[str, float, Outcome]]:
    """Yield the name, seconds and outcome of each hook that pre-commit has run. One without files counts as failed."""
    found = list(HOOK.finditer(output))
    for hook, following in zip(found, [*found[1:], None], strict=True):
        told = output[hook.start() : following.start() if following else None]
        seconds = DURATION.search(told)
        yield hook[1], float(seconds[1]) if seconds else 0.0, checked(int(hook[2] != "Passed"), told)


@contextmanager
def linting(runner: Runner) -> Iterator[None]:
    """Run the linters of ``.pre-commit-config.yaml`` beside the block, and record each after it."""
    log = CACHE / "lint.log"
    # pre-commit asks git for the files; the checkout may be another user's.
    trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(ROOT)}
    process = start(LINT, log, {"PRE_COMMIT_HOME": str(CACHE / "pre-commit"), **trusted})
    with processes.child(process):
        yield
        with ui.phase("Format and lint"):
            status, output = finish(process, log, seconds_max=runner.seconds_left)
            results = list(hooks(output))
            for name, seconds, outcome in results:
                runner.record(name, outcome, seconds)
            if status != 0 and not any(outcome.failed for _, _, outcome in results):
                runner.record("pre-commit", checked(status, output), 0.0)


def build_command(settings: Settings, name: str, dockerfile: str, target: str) -> list[str]:
    """Return the command that builds a test stage, with the variables of ``.env`` that its Dockerfile uses."""
    taken = re.findall(r"^ARG (\w+)", (ROOT / dockerfile).read_text(encoding="utf-8"), re.MULTILINE)
    values = {**settings.values, **in_use(settings)}
    arguments = [f"--build-arg={name}={values[name]}" for name in dict.fromkeys(taken) if name in values]
    tag = f"--tag=corda-lab/test-{name.lower().replace(' ', '-')}"
    return [
        "docker",
        "buildx",
        "build",
        "--load",
        "--progress=plain",
        f"--file={dockerfile}",
        f"--target={target}",
        tag,
        *arguments,
        ".",
    ]


def java_tests(runner: Runner, settings: Settings, builds: Sequence[tuple[str, str, str]]) -> None:
    """Check the format of Java code and run its tests, inside image builds beside each other."""
    began = time.monotonic()
    with ui.phase("Java format and tests (inside image builds)"), ExitStack() as stack:
        started = []
        for name, dockerfile, target in builds:
            log = CACHE / f"{target}.log"
            process = start(build_command(settings, name, dockerfile, target), log)
            started.append((name, stack.enter_context(processes.child(process)), log))
        for name, process, log in started:
            outcome = checked(*finish(process, log, seconds_max=runner.seconds_left))
            runner.record(name, outcome, time.monotonic() - began)


def unit_tests(runner: Runner, *selected: str) -> None:
    """Run the tests that need no lab, in parallel. Many of them wait, so there is one process more than cores."""
    workers = min((machine.cores() or 1) + 1, PYTHON_WORKERS_MAX)
    left_out = [f"--ignore={folder}" for folder in NEEDS_LAB]
    with ui.phase("Python tests"):
        runner.pytest("unit", *left_out, f"--numprocesses={workers}", "--dist=worksteal", *selected)


def pipeline_tests(runner: Runner, *selected: str) -> None:
    """Measure stub nodes whose truth is known, with the whole pipeline."""
    with ui.phase("The pipeline, on stub nodes"):
        runner.pytest("pipeline", "tests/pipeline", *selected)


def end_to_end_tests(runner: Runner, images: lifecycle.ImageChoice | None, *selected: str) -> None:
    """Run end-to-end tests on real nodes. If the lab does not start, that counts as one failure."""
    failed_before = runner.failed
    knobs = {"NODE_PRESET": TEST_PRESET}
    with (
        runner.counts_errors(),
        own_lab.fresh_lab("test", TEST_RESULTS, knobs, images) as settings,
        ui.phase("End-to-end tests"),
    ):
        runner.pytest("e2e", "tests/e2e", "--tb=short", *selected)
        if runner.failed > failed_before:
            keep_service_logs(settings)


def keep_service_logs(settings: Settings) -> None:
    """Write the logs of all services to the cache, before they are deleted with the lab."""
    log = CACHE / "e2e-services.log"
    try:
        compose, command = Compose(lifecycle.whole(settings)), ("logs", "--no-color", "--timestamps")
        shown = compose.shown(*command)
        docker_to_file(log, *compose.arguments(*command), shown=shown, environment=compose.environment)
        ui.note(f"The services' logs are in {log.relative_to(ROOT)}")
    except LabError as error:
        ui.print_error(error)


def run_parts(runner: Runner, chosen: Collection[str], images: lifecycle.ImageChoice | None) -> None:
    """Run parts. Prepares the engine and the images, unless only the linters run."""
    settings = load_settings()
    with ExitStack() as stack, runner.counts_errors():
        if "lint" in chosen:
            stack.enter_context(linting(runner))
        if set(chosen) == {"lint"}:
            return
        # Some unit tests query a real Prometheus, so they also need the engine.
        lifecycle.prepare_engine()
        lifecycle.prepare_images(settings, images)
        if "java" in chosen:
            java_tests(runner, settings, NODE_BUILDS)
            java_tests(runner, settings, BRIDGE_BUILDS)
        if {"pipeline", "e2e"} & set(chosen):
            lifecycle.build(settings)
        stack.close()
        if "unit" in chosen:
            unit_tests(runner, "-m", "not nightly")
        if "pipeline" in chosen:
            pipeline_tests(runner, "-m", "not nightly")
        if "e2e" in chosen:
            end_to_end_tests(runner, images, "-m", "not nightly")


def run_nightly(runner: Runner, images: lifecycle.ImageChoice | None) -> None:
    """Run what takes too long to run every time: rare shapes and commands, hostile clients in number, long loads."""
    settings = load_settings()
    with runner.counts_errors():
        lifecycle.prepare_engine()
        lifecycle.prepare_images(settings, images)
        java_tests(runner, settings, NIGHTLY_BUILDS)
        unit_tests(runner, "-m", "nightly")
        pipeline_tests(runner, "-m", "nightly")
        end_to_end_tests(runner, images, "-m", "nightly")
        with ui.phase("Nightly tests, on labs of their own"):
            runner.pytest("nightly", "tests/nightly", "--tb=short")


def run_swarm(runner: Runner, images: lifecycle.ImageChoice | None) -> None:
    """Run the tests of a lab on several hosts: three engines of this machine. Needs root on Linux."""
    from swarm import manager

    with runner.counts_errors():
        lifecycle.prepare_engine()
        with manager.ready(TEST_PRESET, images) as within, ui.phase("Tests on three engines"):
            runner.pytest("swarm", "tests/swarm", within=within)


def run(parts: Collection[str], suites: Collection[str], images: lifecycle.ImageChoice | None) -> bool:
    """Run parts and suites; all parts if nothing is chosen. Returns whether something passed and nothing failed."""
    ensure_tools()
    chosen = parts or ([] if suites else PARTS)
    runner = Runner(sum(SECONDS_MAX[suite] for suite in suites) + (PARTS_SECONDS_MAX if chosen else 0.0))
    if chosen:
        run_parts(runner, chosen, images)
    if NIGHTLY in suites:
        run_nightly(runner, images)
    if SWARM in suites:
        run_swarm(runner, images)
    print(runner.closing_line, flush=True)
    return bool(runner.passed) and not runner.failed
