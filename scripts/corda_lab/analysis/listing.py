"""``lab list``: one line for every run, including runs that this version cannot read."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.metrics import METRICS
from corda_lab.errors import LabError
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun


class DamagedRun(BaseModel):
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
    workload: str
    label: str | None
    rates_confirmed_per_second: dict[str, float | None] | None
    users: int
    arrivals: str | None
    rate_per_second: float | None
    throughput_per_second: float | None
    p50_ms: float | None
    p99_ms: float | None
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
    analysis = Analysis(run)
    top = next(iter(analysis.judged.tops), None)
    first = run.steps[0]
    shown = top.steps[0] if top else first

    def value(name: str) -> float | None:
        if top is not None:
            return top.estimate(name).value
        # A run of one step shows its values even if the step is invalid. In a sweep, no step represents the others.
        return None if run.is_sweep else METRICS[name].of(first)

    return RunSummary(
        run=run.identity,
        kind=run.manifest.kind,
        steps=len(run.steps),
        steps_valid=sum(step.validity.valid for step in run.steps),
        workload=", ".join(dict.fromkeys(step.workload for step in run.steps)),
        label=top.label if top is not None and run.is_sweep else None,
        rates_confirmed_per_second={search.label: search.rate for search in analysis.searches} or None,
        users=shown.load.users,
        arrivals=None if first.load.model == "closed" else first.load.arrivals,
        rate_per_second=shown.load.rate,
        throughput_per_second=value("throughput"),
        p50_ms=value("p50"),
        p99_ms=value("p99"),
        valid=top is not None,
        failed=sum(step.requests.failed for step in run.steps),
        unknown=sum(step.requests.unknown for step in run.steps),
        counts_agree=all(step.counts.agree for step in run.steps),
        counts_known=any(step.counts.is_known for step in run.steps),
        started="web UI" if run.manifest.web_ui else "command line",
        passed=all(step.verdict.passed for step in run.steps),
    )
