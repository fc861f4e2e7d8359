"""Collects what the load generator has written: rows, dropped arrivals, and its summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.docker import Container, docker
from corda_lab.runs.containers import LoadContainers, exit_codes, generator_error
from corda_lab.steps import rows
from lab_workload.plan import Plan
from lab_workload.row import ROWS_DIRECTORY
from lab_workload.run_end import RunEnd

COPY_SECONDS_MAX = 600.0


def rows_files(plan: Plan) -> dict[int, str]:
    """Return the names of the rows files by worker index. A single process has index 0."""
    workers = plan.load.workers
    if not workers:
        return {0: f"{plan.identity}.ndjson"}
    return {index: f"{plan.identity}.{index}.ndjson" for index in range(1, workers + 1)}


@dataclass(frozen=True)
class Collected:
    """The files of the generator: the rows, the intended starts of the dropped arrivals, and its summary."""

    requests: pl.DataFrame
    drops: pl.Series
    end: RunEnd


def copy_rows(container: Container, name: str, target: Path) -> bool:
    """Copy a file that a load container has written, and return whether there is one.

    It is in a volume of its host, which the container still has when it has ended.
    """
    path = f"{container.name}:{ROWS_DIRECTORY}/{name}"
    return docker("cp", path, str(target), on=container.context, seconds_max=COPY_SECONDS_MAX).returncode == 0


def collect(plan: Plan, names: LoadContainers, directory: Path) -> Collected:
    """Read the rows and drops of all workers, and the end file. Raises LabError if the generator failed."""
    files = rows_files(plan)
    made_by = {f"{plan.identity}.end.json": names.driver, **names_by_file(files, names)}
    for name, container in made_by.items():
        if not copy_rows(container, name, directory / name):
            code = exit_codes((names.driver,))[names.driver]
            raise generator_error(names.driver, code if code is not None else 1, "during")
    end = RunEnd.read((directory / f"{plan.identity}.end.json").read_text(encoding="utf-8"))
    frame = rows.read_rows([directory / name for name in files.values()])
    check_row_counts(frame, end)
    return Collected(frame, collect_drops(names_by_file(files, names), end, directory), end)


def names_by_file(files: Mapping[int, str], names: LoadContainers) -> dict[str, Container]:
    """Return the container that has written each rows file."""
    return {name: names.workers[index - 1] if index else names.driver for index, name in files.items()}


def collect_drops(made_by: Mapping[str, Container], end: RunEnd, directory: Path) -> pl.Series:
    """Read the drops of all workers. A worker that dropped nothing has no file. Raises LabError if one is missing."""
    paths = []
    for name, container in made_by.items() if end.dropped else ():
        path = directory / name.replace(".ndjson", ".drops.ndjson")
        if copy_rows(container, path.name, path):
            paths.append(path)
    drops = rows.read_drops(paths)
    check_drop_count(drops, end)
    return drops


def check_drop_count(drops: pl.Series, end: RunEnd) -> None:
    """Check that every dropped arrival was read. Raises LabError."""
    if len(drops) != (end.dropped or 0):
        raise LabError(
            f"The generator dropped {end.dropped} arrivals, but {len(drops)} of them were found",
            "Run again.",
            exit_code=1,
        )


def check_row_counts(frame: pl.DataFrame, end: RunEnd) -> None:
    """Check that every row that a worker has written was read exactly once. Raises LabError."""
    found = {str(worker): int(count) for worker, count in frame.group_by("worker").len().iter_rows()}
    for worker, written in end.rows.items():
        if found.get(worker, 0) != written:
            who = "The generator" if worker == "0" else f"Worker {worker}"
            raise LabError(
                f"{who} wrote {written} rows, but {found.get(worker, 0)} were found", "Run again.", exit_code=1
            )
