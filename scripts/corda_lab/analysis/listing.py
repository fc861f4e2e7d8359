"""``lab list``: one line for every run, including runs that this version cannot read."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from corda_lab.analysis import points, significance
from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import Time


class DamagedRun(BaseModel):
    """A run that cannot be read, and why."""

    run: str
    damaged: str


class RunSummary(BaseModel):
    """The main values of a run: those of its only step, of a sweep's best point, or of a search's confirmed rate.

    ``valid`` is False if no step of the run is valid. Its values are then shown with a mark.
    """

    run: str
    kind: Literal["run", "sweep"]
    steps: int
    steps_valid: int
    steps_planned: int
    finished: bool = True
    workload: str
    label: str | None
    rates_confirmed_per_second: dict[str, float | None] | None
    users: int
    arrivals: str | None
    rate_per_second: float | None
    throughput_per_second: float | None
    p50_ms: Time
    p99_ms: Time
    valid: bool
    failed: int
    unknown: int
    counts_agree: bool
    counts_known: bool = True
    """Whether anybody besides the generator has counted."""
    started: str = "command line"
    """Where the load was started: the command line, or the web UI."""
    passed: bool


def summaries(*, results_folder: Path | None = None) -> list[RunSummary | DamagedRun]:
    """Every run, oldest first."""
    found: list[RunSummary | DamagedRun] = []
    for folder in folders.all_runs(results=results_folder):
        try:
            found.append(summary(stored.read(folder)))
        except LabError as error:
            found.append(DamagedRun(run=folder.name, damaged=error.message))
        except Exception as error:  # one folder, whatever it contains, must not hide the others
            words = f"its values contradict each other ({type(error).__name__}: {error})"
            found.append(DamagedRun(run=folder.name, damaged=words))
    return found


def summary(run: StoredRun) -> RunSummary:
    """The line of a run. A sweep of several workloads is represented by the best point of the first workload."""
    all_points = points.points(run)
    top = next(iter(significance.judge(run, all_points).tops), None)
    search = points.searched(run, all_points) if run.sweep.find_max else []
    first = run.steps[0]
    shown = top.steps[0] if top else first
    values = {"throughput": "throughput_per_second", "p50": "p50_ms", "p99": "p99_ms"}
    # A run of one step shows its values even if the step is invalid. In a sweep, no single step represents the others.
    is_single = top is None and not run.is_sweep
    return RunSummary(
        run=run.identity,
        kind=run.manifest.kind,
        steps=len(run.steps),
        steps_valid=sum(step.validity.valid for step in run.steps),
        steps_planned=len(run.steps),
        workload=", ".join(dict.fromkeys(step.workload for step in run.steps)),
        label=top.label if top is not None and run.is_sweep else None,
        rates_confirmed_per_second={found.label: found.rate for found in search} or None,
        users=shown.load.users,
        arrivals=None if first.load.model == "closed" else first.load.arrivals,
        rate_per_second=shown.load.rate,
        **{
            field: top.estimate(name).value if top else METRICS[name].of(first) if is_single else None
            for name, field in values.items()
        },
        valid=top is not None,
        failed=sum(step.requests.failed for step in run.steps),
        unknown=sum(step.requests.unknown for step in run.steps),
        counts_agree=all(step.counts.agree for step in run.steps),
        counts_known=any(step.counts.is_known for step in run.steps),
        started=run.manifest.started,
        passed=all(step.verdict.passed for step in run.steps),
    )
