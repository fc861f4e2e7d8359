"""``lab test --suite matrix``: starts every database with every version of Corda from nothing, and runs a load."""

import time
from dataclasses import dataclass
from itertools import product

from corda_lab.errors import LabError
from corda_lab.knobs import checks
from corda_lab.knobs.shape import CORDA_VERSIONS
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.results import audits
from corda_lab.runs import execute
from corda_lab.selftest import own_project
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
    with own_project.lab_of(SUFFIX, CACHE / "matrix-results") as settings:
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
