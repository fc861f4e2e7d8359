"""``lab test``: runs all checks and tests of the project, and prints the totals in the last line."""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host import machine, processes
from corda_lab.host.processes import last_lines
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.images import image_name, in_use
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE, ROOT
from corda_lab.selftest import matrix, own_project
from corda_lab.selftest.linters import LINTERS, sources
from corda_lab.selftest.parts import LongSuite, SuitePart
from corda_lab.text import ui

TEST_SUFFIX = "test"
"""Suffix of the name of the project of the lab under test."""
TEST_PRESET = "tuned"
"""Preset of the lab under test. Its nodes start in half the time of ``stock``. Tests of other presets set their own."""

TEST_RESULTS = CACHE / "test-results"
"""The folder of the runs that end-to-end tests make. It is emptied before them."""

REQUIREMENTS = ROOT / "scripts" / "requirements-dev.txt"
CHECK_SECONDS_MAX = 1800.0
OUTPUT_LINES_MAX = 60
PYTHON_WORKERS_MAX = 8
REPORT_EVERY_SECONDS = 60.0

ON_NODES_SECONDS_MAX: dict[SuitePart | LongSuite, float] = {SuitePart.END_TO_END: 2700.0, LongSuite.SLOW: 9000.0}
"""Time limits of the end-to-end tests that are run every time, and of the slow ones."""

SAFETY = ("test_abuse", "test_audit", "test_chaos", "test_cross_origin", "test_security")
SAFETY_SECONDS = 360.0
"""The modules of end-to-end tests about faults, audits, attacks and safety, and how long they may take together."""

JAVA_BUILDS = (
    ("network maker", "nodes/Dockerfile", "nodes-test"),
    ("CorDapps", "nodes/Dockerfile", "cordapps-test"),
    ("bridge", "loadgen/bridge/Dockerfile", "test"),
    ("peers", "loadgen/peers/Dockerfile", "test"),
)
"""The image builds that test Java: name, Dockerfile, target. Their context is the root, with the parent pom."""


@dataclass
class Totals:
    """Numbers of checks and tests that passed and failed so far."""

    passed: int = 0
    failed: int = 0

    def add(self, passed: int, failed: int) -> None:
        self.passed += passed
        self.failed += failed

    @property
    def closing_line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


@dataclass(frozen=True)
class CommandResult:
    """The result of one command of the suite."""

    passed: int
    failed: int
    output: str


def run_check(command: Sequence[str], *, seconds_max: float = CHECK_SECONDS_MAX) -> CommandResult:
    """Run a command that counts as one check."""
    code, output = execute(command, seconds_max=seconds_max)
    return CommandResult(int(code == 0), int(code != 0), output)


def execute(command: Sequence[str], *, seconds_max: float) -> tuple[int, str]:
    """Run a command in the root of the project, and show its progress. Returns its status (124: timeout) and output."""
    with tempfile.NamedTemporaryFile() as log:
        path = Path(log.name)
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        status = processes.follow(
            process,
            lambda: processes.last_line(path),
            seconds_max=seconds_max,
            every_seconds=REPORT_EVERY_SECONDS,
        )
        output = path.read_text(encoding="utf-8", errors="replace")
    if status is None:
        return 124, output + f"\ndid not finish within {seconds_max:.0f} s"
    return status, output


def parse_junit(text: str) -> tuple[int, int]:
    """Return the passed and failed tests of a JUnit report. Skipped tests count as failed; this project skips none."""
    passed = failed = 0
    for testsuite in ElementTree.fromstring(text).iter("testsuite"):
        numbers = {name: int(testsuite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
        bad = numbers["failures"] + numbers["errors"] + numbers["skipped"]
        failed += bad
        passed += numbers["tests"] - bad
    return passed, failed


def seconds_of(text: str, modules: Collection[str]) -> float:
    """Return how long the tests of some modules took, from a JUnit report of pytest."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return sum(float(case.get("time", 0)) for case in cases if case.get("classname", "").rpartition(".")[2] in modules)


def run_pytest(name: str, arguments: Sequence[str], *, seconds_max: float, within: Sequence[str] = ()) -> CommandResult:
    """Run pytest and count its tests. The report is ``<name>.xml`` in the cache.

    ``within`` is the beginning of a command that runs the rest of its arguments somewhere else. If pytest itself fails
    without a failed test, that counts as one failure.
    """
    xml = CACHE / f"{name}.xml"
    xml.unlink(missing_ok=True)
    command = [*within, sys.executable, "-m", "pytest", "-v", f"--junit-xml={xml}", *arguments]
    code, output = execute(command, seconds_max=seconds_max)
    passed, failed = parse_junit(xml.read_text(encoding="utf-8")) if xml.exists() else (0, 0)
    if code != 0 and failed == 0:
        failed = 1
    return CommandResult(passed, failed, output)


def record(totals: Totals, name: str, check: Callable[[], CommandResult]) -> None:
    """Run one part of the suite, print its result and add it to the totals."""
    started = time.monotonic()
    outcome = check()
    seconds = time.monotonic() - started
    totals.add(outcome.passed, outcome.failed)
    counted = f"{outcome.passed} passed, {outcome.failed} failed" if outcome.passed + outcome.failed != 1 else ""
    if outcome.failed:
        for line in last_lines(outcome.output, OUTPUT_LINES_MAX):
            ui.note(f"| {line}")
        ui.console.print(f"    failed  {name} ({seconds:.1f} s) {counted}", style="red", markup=False)
    else:
        ui.note(f"ok      {name} ({seconds:.1f} s) {counted}".rstrip())


def ensure_tools() -> None:
    """Install the tests' additional packages into the virtual environment, once for each version of the list."""
    marker = Path(sys.prefix) / "complete-dev"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if marker.is_file() and marker.read_text(encoding="ascii") == wanted:
        return
    with ui.phase("Installing the test tools (once)"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        pip += ["--require-hashes", "--only-binary=:all:", "--requirement"]
        code, output = execute([*pip, str(REQUIREMENTS)], seconds_max=CHECK_SECONDS_MAX)
        if code != 0:
            for line in last_lines(output, 8):
                ui.note(f"| {line}")
            raise LabError(
                "Installing scripts/requirements-dev.txt failed",
                "See the lines above, and check that the package index is reachable.",
            )
        atomic.write_text(marker, wanted)


def lint(totals: Totals) -> None:
    """Run all formatters and linters. Each counts as one check."""
    files = list(sources())
    with ui.phase("Format and lint"):
        for linter in LINTERS:
            record(totals, linter.name, partial(run_check, linter.command_line(files)))


def python_tests(totals: Totals) -> None:
    """Run the unit and structure tests, in parallel. Many of them wait, so there is one process more than cores."""
    workers = min((machine.cores() or 1) + 1, PYTHON_WORKERS_MAX)
    arguments = ["--ignore=tests/e2e", "--ignore=tests/swarm", f"--numprocesses={workers}", "--dist=worksteal"]
    with ui.phase("Python tests"):
        record(totals, "pytest", lambda: run_pytest("unit", arguments, seconds_max=CHECK_SECONDS_MAX))


def build_command(settings: Settings, name: str, dockerfile: str, target: str) -> list[str]:
    """Return the ``docker build`` command of a test stage, with the variables of ``.env`` that its Dockerfile uses."""
    taken = re.findall(r"^ARG (\w+)", (ROOT / dockerfile).read_text(encoding="utf-8"), re.MULTILINE)
    values = {**settings.values, **in_use(settings)}
    arguments = [f"--build-arg={name}={values[name]}" for name in dict.fromkeys(taken) if name in values]
    tag = f"--tag=corda-lab/test-{name.lower().replace(' ', '-')}"
    return [
        "docker",
        "build",
        "--progress=plain",
        f"--file={dockerfile}",
        f"--target={target}",
        tag,
        *arguments,
        ".",
    ]


def java_tests(totals: Totals, settings: Settings) -> None:
    """Check the format of all Java code and run its tests, inside image builds."""
    with ui.phase("Java format and tests (inside image builds)"):
        for name, dockerfile, target in JAVA_BUILDS:
            command = build_command(settings, name, dockerfile, target)
            record(totals, name, partial(run_check, command))


def monitoring_check(totals: Totals, settings: Settings) -> None:
    """Check the Prometheus configuration with promtool, and test the alerts, each file of tests as one check."""
    folder = ROOT / "monitoring" / "prometheus"
    mount = f"--volume={folder}:/etc/prometheus:ro"
    image = image_name(settings, "PROMETHEUS_IMAGE")
    command = ["docker", "run", "--rm", "--network=none", mount, "--entrypoint=promtool", image]
    checks = {"check config": [*command, "check", "config", "/etc/prometheus/prometheus.yml"]}
    for path in sorted((folder / "tests").glob("*.yml")):
        checks[f"test rules {path.stem}"] = [*command, "test", "rules", f"/etc/prometheus/tests/{path.name}"]
    with ui.phase("Monitoring configuration and alerts"):
        for name, one in checks.items():
            record(totals, f"promtool {name}", partial(run_check, one))


def self_check(totals: Totals) -> None:
    """Measure stub nodes whose truth is known. The whole of it counts as one check."""
    with ui.phase("Self-check"):
        record(totals, "lab selfcheck", lambda: run_check([sys.executable, "-m", "corda_lab", "selfcheck"]))


@contextmanager
def fresh_lab(
    suffix: str,
    results: Path,
    knobs: Mapping[str, str],
    images: lifecycle.ImageChoice | None,
    *,
    empties_results: bool = False,
) -> Iterator[Settings]:
    """Start a separate lab on free ports and with its own volumes, and delete it afterwards.

    A lab of the user keeps running. Checks before the start make sure that there is enough memory for both. Commands
    that are started meanwhile use this lab, and store what they measure in ``results``.
    """
    with own_project.lab_of(suffix, results, knobs) as settings:
        # Not before: they may be those of a command that still runs.
        if empties_results:
            shutil.rmtree(results, ignore_errors=True)
        try:
            # An interrupted test may have left a lab, which would not be fresh.
            lifecycle.down(settings, volumes=True)
            lifecycle.up(settings, images)
            yield settings
        finally:
            lifecycle.down(settings, volumes=True)


@contextmanager
def test_lab(images: lifecycle.ImageChoice | None) -> Iterator[Settings]:
    """Start the lab of the end-to-end tests, without results of earlier ones, and delete it afterwards."""
    knobs = {"NODE_PRESET": TEST_PRESET}
    with fresh_lab(TEST_SUFFIX, TEST_RESULTS, knobs, images, empties_results=True) as settings:
        yield settings


def marked(parts: Collection[SuitePart | LongSuite]) -> list[str]:
    """Return the pytest arguments that select the chosen end-to-end tests by the marker ``slow``."""
    if SuitePart.END_TO_END not in parts:
        return ["-m", "slow"]
    return [] if LongSuite.SLOW in parts else ["-m", "not slow"]


def keep_service_logs(settings: Settings) -> None:
    """Write the logs of all services to the cache, before they are deleted with the lab."""
    log = CACHE / "e2e-services.log"
    try:
        Compose(lifecycle.whole(settings)).run_to_file(log, "logs", "--no-color", "--timestamps")
        ui.note(f"The services' logs are in {log.relative_to(ROOT)}")
    except LabError as error:
        ui.print_error(error)


def end_to_end_tests(
    totals: Totals, parts: Collection[SuitePart | LongSuite], images: lifecycle.ImageChoice | None
) -> None:
    """Run the end-to-end tests on real nodes. If the lab does not start, that counts as one failure."""
    arguments = ["tests/e2e", "--tb=short", *marked(parts)]
    seconds_max = sum(seconds for part, seconds in ON_NODES_SECONDS_MAX.items() if part in parts)
    failed_before = totals.failed
    try:
        with test_lab(images) as settings, ui.phase("End-to-end tests"):
            record(totals, "pytest", lambda: run_pytest("e2e", arguments, seconds_max=seconds_max))
            if SuitePart.END_TO_END in parts and (xml := CACHE / "e2e.xml").exists():
                spent = seconds_of(xml.read_text(encoding="utf-8"), SAFETY)
                ui.note(f"faults, audits and safety: {spent / 60:.1f} min of it, aim {SAFETY_SECONDS / 60:.0f} min")
            if totals.failed > failed_before:
                keep_service_logs(settings)
    except LabError as error:
        ui.print_error(error)
        totals.add(0, 1)


def run(
    totals: Totals,
    settings: Settings,
    parts: Collection[SuitePart | LongSuite],
    images: lifecycle.ImageChoice | None,
) -> None:
    """Run the chosen parts, and add to the totals. Prepares the engine and the images if a part needs them.

    Of the long suites, these are ``slow`` and ``matrix``.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    ensure_tools()
    if SuitePart.LINT in parts:
        lint(totals)
    if set(parts) == {SuitePart.LINT}:
        return
    # Some Python tests query a real Prometheus, so they also need the engine.
    lifecycle.prepare_engine()
    lifecycle.prepare_images(settings, images)
    if SuitePart.PYTHON in parts:
        python_tests(totals)
    if SuitePart.JAVA in parts:
        java_tests(totals, settings)
    if SuitePart.MONITORING in parts:
        monitoring_check(totals, settings)
    if SuitePart.SELFCHECK in parts:
        self_check(totals)
    if ON_NODES_SECONDS_MAX.keys() & set(parts):
        end_to_end_tests(totals, parts, images)
    if LongSuite.MATRIX in parts:
        run_matrix(totals, images)


def run_matrix(totals: Totals, images: lifecycle.ImageChoice | None) -> None:
    """Test every database with every version of Corda. Each combination counts as one test."""
    cells = matrix.run_all(images)
    matrix.show(cells)
    totals.add(sum(cell.is_ok for cell in cells), sum(not cell.is_ok for cell in cells))
