"""The folders of ``results/``: one per run, written beside its place and then moved there whole."""

import contextlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from corda_lab.atomic import whole_folder
from corda_lab.errors import LabError
from corda_lab.paths import RESULTS

SCHEMA = 6
"""Version of the form of ``steps.json`` and ``run.json``."""

READABLE = (5, 6)
"""Versions that can be read. Schema 5 stored reasons as sentences, and did not store the version of the lab."""

RUN_FILES = (
    "run.json",
    "steps.json",
    "requests.parquet",
    "metrics.parquet",
    "report.html",
    "summary.md",
    "summary.csv",
    "summary.json",
)
"""Files of every run. One whose flows time their stages has ``stages.parquet`` too."""

RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9][a-z0-9-]*")
NAME_LENGTH_MAX = 60
UNFINISHED = "unfinished"
"""Folder of the sweeps that broke off and can be taken up again."""


def check_name(name: str, *, option: str, length_max: int = NAME_LENGTH_MAX) -> str:
    """A run's own name, as it can stand in a folder's name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or len(name) > length_max:
        raise LabError(
            f"{option}: {name!r} cannot be a run's name",
            f"Use lower-case letters, digits and hyphens, at most {length_max}.",
        )
    return name


def run_id(name: str, *, at: datetime | None = None) -> str:
    """``<utc>-<name>``: sorts by time, and says what it is."""
    return f"{(at or datetime.now(UTC)):%Y%m%dT%H%M%SZ}-{name}"


def write_json(path: Path, content: Any) -> None:
    """Write JSON for people and programs: indented, in the given order."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file of a run; a broken one is named."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: cannot be read ({error})", "The run is damaged; choose another.") from None


Model = TypeVar("Model", bound=BaseModel)


def read_model(path: Path, model: type[Model]) -> Model:
    """Read a JSON file of a run as a model; a broken one is named, with the first field that is wrong."""
    return as_model(path, read_json(path), model)


def as_model(path: Path, content: Any, model: type[Model]) -> Model:
    """The content of a JSON file as a model. Raises LabError with the first field that is wrong."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(name) for name in first["loc"])
        raise LabError(f"{path}: {field}: {first['msg']}", "The run is damaged; choose another.") from None


def name_of(identity: str) -> str:
    """The name in a run's id: ``20260102T030405Z-iou`` is ``iou``."""
    return identity.partition("-")[2]


def require_free(identity: str, *, results: Path | None = None) -> None:
    """Raises LabError when there is a run of this name already."""
    final = (results or RESULTS) / identity
    if final.exists():
        raise LabError(f"{final} exists already", "Start again a second later, or give another --name.")


@contextmanager
def new_run(identity: str, *, results: Path | None = None) -> Iterator[Path]:
    """A folder to fill. It becomes ``results/<identity>`` and ``latest`` when the block ends well, and nothing otherwise."""
    results = results or RESULTS
    require_free(identity, results=results)
    with whole_folder(results / identity) as partial:
        yield partial
    point_latest(results / identity)


def point_latest(run: Path) -> None:
    """Let ``latest`` point to ``run``, without a moment in which it points to nothing."""
    # One name, so that a process that was killed here leaves nothing that the next one does not take.
    staged = run.parent / ".latest"
    with contextlib.suppress(FileNotFoundError):
        staged.unlink()
    # Of two that end at the same moment either is the latest.
    with contextlib.suppress(FileExistsError):
        staged.symlink_to(run.name)
    with contextlib.suppress(FileNotFoundError):
        staged.replace(run.parent / "latest")


def all_runs(*, results: Path | None = None) -> list[Path]:
    """Every run, oldest first."""
    results = results or RESULTS
    if not results.is_dir():
        return []
    return sorted(path for path in results.iterdir() if path.is_dir() and RUN_NAME.fullmatch(path.name))


def find_run(name: str, *, results: Path | None = None) -> Path:
    """The folder of a run: ``latest``, a run's name, the start of one, or a path."""
    results = results or RESULTS
    runs = all_runs(results=results)
    if name == "latest":
        link = results / "latest"
        if link.is_dir():
            return link.resolve()
        if not runs:
            raise LabError("There is no run yet", "Make one with `scripts/lab run iou`.")
        return runs[-1]
    for path in (results / name, Path(name)):
        if (path / "run.json").is_file():
            return path.resolve()
    matches = [run for run in runs if run.name.startswith(name) or run.name.endswith(f"-{name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise LabError(
            f"{name!r} is the name of {len(matches)} runs: {', '.join(run.name for run in matches)}",
            "Give one of them whole.",
        )
    raise LabError(f"There is no run {name!r} in {results}", "`scripts/lab list` shows them all.")


class UnfinishedSweep(BaseModel):
    """A sweep that was interrupted, and can be resumed. ``steps`` are those whose folder is whole."""

    run: str
    kind: str = "sweep"
    steps: int
    steps_planned: int
    finished: bool = False


def unfinished(*, results: Path | None = None) -> list[UnfinishedSweep]:
    """The sweeps that were interrupted, oldest first."""
    folder = (results or RESULTS) / UNFINISHED
    if not folder.is_dir():
        return []
    found = []
    for sweep in sorted(path for path in folder.iterdir() if RUN_NAME.fullmatch(path.name)):
        if not (sweep / "plan.json").is_file():
            continue
        steps = sweep / "steps"
        done = [path for path in steps.iterdir() if path.is_dir() and path.name[0] != "."] if steps.is_dir() else []
        planned = read_json(sweep / "plan.json").get("steps") or []
        found.append(UnfinishedSweep(run=sweep.name, steps=len(done), steps_planned=len(planned)))
    return found
