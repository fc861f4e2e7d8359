"""``lab test --suite matrix``: starts every database with every version of Corda from nothing, and runs a load."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.knobs import checks
from corda_lab.knobs.shape import CORDA_VERSIONS
from corda_lab.lab import doctor, lifecycle, lock, project
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import CACHE
from corda_lab.results import audits
from corda_lab.runs import execute
from corda_lab.steps.failures import unwanted_words
from corda_lab.steps.load import LoadOptions
from corda_lab.text import tables, ui

SUFFIX = "matrix"
WORKLOAD = "iou"
USERS = 4
SECONDS = 20.0
WARM_UP_SECONDS = 10.0


@dataclass(frozen=True)
class Cell:
    """The result of one combination."""

    database: str
    version: str
    seconds: float
    seen: str
    is_ok: bool


@contextmanager
def own_project(suffix: str, results: Path, knobs: Mapping[str, str] | None = None) -> Iterator[Settings]:
    """Yield settings for a separate lab of this checkout on free ports, with some knobs set.

    The environment is restored afterwards. Raises LabError if another command uses the same separate lab.
    """
    project.settle()
    name = f"{load_settings().project}-{suffix}"
    own = {"COMPOSE_PROJECT_NAME": name, "LAB_RESULTS_DIR": str(results), **(knobs or {})}
    ports = doctor.free_ports(len(doctor.PORTS))
    own.update({variable: str(port) for variable, port in zip(doctor.PORTS, ports, strict=True)})
    # Not the lock of that lab: the commands under test take it.
    with lock.held(f"{name}-tests"), environment(own):
        yield load_settings()


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set some environment variables of this process, and restore them afterwards."""
    kept = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def check(settings: Settings, images: lifecycle.ImageChoice | None) -> tuple[str, bool]:
    """Start the lab, run the workload and delete the lab. Returns the result in words, and whether it passed."""
    options = LoadOptions(workload=WORKLOAD, users=USERS, duration_seconds=SECONDS, warm_up_seconds=WARM_UP_SECONDS)
    try:
        lifecycle.up(settings, images)
        folder, step = execute.execute(options, settings)
    except LabError as error:
        return error.message.splitlines()[0], False
    finally:
        lifecycle.down(settings, volumes=True)
    counted = step.counts
    answered = f"{step.requests.ok} ok, {unwanted_words(step.requests.failed, step.requests.unknown)}"
    agree = "the counts agree" if counted.agree else "the counts differ"
    # A violation fails the run. What an audit cannot tell is shown, because docs/audit.md says where that is so.
    audit = audits.read(folder)[step.index].verdict
    return f"{answered}; {agree}; audit: {audit}", step.verdict.passed


def run_all(images: lifecycle.ImageChoice | None) -> list[Cell]:
    """Run all combinations one after another, and print the result of each."""
    cells = []
    with own_project(SUFFIX, CACHE / "matrix-results") as settings:
        lifecycle.down(settings, volumes=True)
        for database, version in product(checks.names("databases"), CORDA_VERSIONS):
            started = time.monotonic()
            wanted = settings.with_values({"DATABASE": database, "CORDA_VERSION": version})
            seen, is_ok = check(wanted, images)
            cells.append(Cell(database, version, time.monotonic() - started, seen, is_ok))
            ui.note(f"{'ok' if is_ok else 'failed'}  Corda {version} on {database}: {seen}")
    return cells


def show(cells: list[Cell]) -> None:
    """Print one row per combination, with its command and result. docs/operations.md summarises them."""
    table = tables.table("database", "Corda", "command", "result")
    for cell in cells:
        command = f"scripts/lab up --database {cell.database} --corda {cell.version}"
        table.add_row(cell.database, cell.version, command, cell.seen, style=None if cell.is_ok else "red")
    tables.show(table)
