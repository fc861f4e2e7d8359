"""Writes the files of a run, and of the finished steps of a running sweep."""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import corda_lab
from corda_lab.errors import LabError
from corda_lab.results import audits, folders, node_logs
from corda_lab.results.audits import Audit
from corda_lab.results.manifest import Environment, Manifest, Rerun
from corda_lab.results.profiles import TakenProfile
from corda_lab.results.sweep import SweepPlan
from corda_lab.steps import validity
from corda_lab.steps.entry import ConditioningEntry, StepEntry, VerdictEntry
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import NO_DROPS
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.usage import NO_SAMPLES
from corda_lab.text import ui
from lab_workload.load import Load

TABLES: Mapping[str, str] = {
    "requests": "requests",
    "metrics": "metrics",
    "stages": "stage_rows",
    "spans": "spans",
    "drops": "drops",
    "samples": "samples",
}
"""The attributes of ``Measured`` that are tables, by the names of their files."""
ALWAYS = ("requests", "metrics")
"""The tables that every step has, also without rows."""


@dataclass(frozen=True)
class Measured:
    """One measured step: its entry in ``steps.json``, its tables, its environment, and the file of its workload."""

    step: StepEntry
    requests: pl.DataFrame
    metrics: pl.DataFrame
    stage_rows: pl.DataFrame | None
    environment: Environment
    workload: str
    workload_text: str
    drops: pl.Series = field(default_factory=lambda: NO_DROPS)
    """The intended starts of the dropped arrivals of open load, in unix seconds."""
    samples: pl.DataFrame = field(default_factory=lambda: NO_SAMPLES)
    """CPU and memory of the containers each second, with the columns of ``usage.SAMPLES_SCHEMA``."""
    spans: pl.DataFrame = field(default_factory=lambda: NO_SPANS)
    audit: Audit | None = None
    """What the ledgers prove about this step; None if they were not asked."""
    profiles: tuple[TakenProfile, ...] = ()
    conditioning_text: str = ""
    """The file of the workload that conditioned the nodes before this step, if one did."""
    logs: Path | None = None
    """The folder with the nodes' logs, if they were kept because this step failed."""

    def after(self, entry: ConditioningEntry, workload_text: str) -> "Measured":
        """A copy with the load that conditioned the nodes before, and with a warning if it left them unsteady."""
        step = self.step.updated(conditioning=entry)
        conditioned = replace(self, step=step, conditioning_text=workload_text)
        return conditioned.with_warnings(validity.conditioning_warnings(self.step, entry))

    def with_warnings(self, warnings: Sequence[Reason]) -> "Measured":
        return self.with_step(self.step.updated(flags=[*self.step.flags, *warnings]))

    def with_audit(self, audit: Audit) -> "Measured":
        """A copy with what the ledgers prove. A violation fails the step; what they do not tell is a warning."""
        audited = replace(self, audit=audit)
        if audit.verdict == "cannot tell":
            return audited.with_warnings([reason("audit_cannot_tell", why=audit.reasons[0])])
        if audit.verdict == "passed":
            return audited
        found = reason("ledger_violated", violations=len(audit.violations), kinds=audit.kinds)
        failed = VerdictEntry(passed=False, reasons=[*self.step.verdict.reasons, found])
        return audited.with_step(self.step.updated(verdict=failed))

    def with_step(self, step: StepEntry) -> "Measured":
        return replace(self, step=step)


def iso(seconds: float) -> str:
    """Unix seconds as ISO 8601 text in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def environments_of(steps: Sequence[Measured]) -> list[Environment]:
    """The environments of the steps, each once, in the order of their first steps."""
    found: list[Environment] = []
    for one in steps:
        if one.environment not in found:
            found.append(one.environment)
    return found


def single(identity: str, measured: Measured, load: Load, rerun: Rerun | None = None) -> Manifest:
    found = run_manifest(identity, [measured], sweep=None, phases=dict(ui.phase_seconds))
    return found.model_copy(update={"load": load, "rerun": rerun})


def run_manifest(
    identity: str,
    steps: Sequence[Measured],
    *,
    sweep: SweepPlan | None,
    phases: dict[str, float],
    command: str | None = None,
    rerun: Rerun | None = None,
    grafana: str | None = None,
) -> Manifest:
    """The content of ``run.json``. ``grafana`` is the link to the steps in Grafana, if it is running."""
    windows = [one.step.window for one in steps]
    return Manifest(
        schema=folders.SCHEMA,
        kind="sweep" if sweep else "run",
        id=identity,
        name=folders.name_of(identity),
        lab_version=corda_lab.__version__,
        command=command or command_line(),
        started_at=iso(min(window.load_started_at for window in windows)),
        ended_at=iso(max(window.load_ended_at for window in windows)),
        phases_seconds=phases,
        workload_files=workload_files(steps),
        environments=environments_of(steps),
        sweep=sweep,
        rerun=rerun,
        profiles=[own.entry for step in steps for own in step.profiles],
        grafana=grafana,
    )


def workload_files(steps: Iterable[Measured]) -> dict[str, str]:
    """The files of all workloads: of the steps, and of the loads that conditioned the nodes before them."""
    found: dict[str, str] = {}
    for one in steps:
        found[one.workload] = one.workload_text
        if one.step.conditioning is not None and one.conditioning_text:
            found[one.step.conditioning.workload] = one.conditioning_text
    return found


def with_step(frame: pl.DataFrame, step: StepEntry) -> pl.DataFrame:
    return frame.select(pl.lit(step.index, dtype=pl.Int32).alias("step"), pl.all())


def tables_of(measured: Measured) -> dict[str, pl.DataFrame]:
    """The tables of a step by the names of their files. Those without rows are left out, apart from ``ALWAYS``."""
    found = {name: getattr(measured, attribute) for name, attribute in TABLES.items()}
    frames = {
        name: table.to_frame(NO_DROPS.name) if isinstance(table, pl.Series) else table
        for name, table in found.items()
        if table is not None
    }
    return {name: frame for name, frame in frames.items() if frame.height or name in ALWAYS}


def write_tables(folder: Path, steps: Sequence[Measured]) -> None:
    """Write the tables of all steps. The stages that a workload does not have are null in its rows."""
    by_name: dict[str, list[pl.DataFrame]] = {}
    for one in steps:
        for name, table in tables_of(one).items():
            by_name.setdefault(name, []).append(with_step(table, one.step))
    for name, parts in by_name.items():
        pl.concat(parts, how="diagonal_relaxed" if name == "stages" else "vertical").write_parquet(
            folder / f"{name}.parquet"
        )


def write_run(folder: Path, run: Manifest, steps: Sequence[Measured]) -> None:
    """Write all files of a run except the report and the summaries, which are made from them."""
    write_tables(folder, steps)
    for one in steps:
        if one.logs is not None:
            # A sweep has the logs of each step in a folder of its own.
            own = f"{one.step.index:04d}" if run.kind == "sweep" else ""
            node_logs.copy(one.logs, folder / node_logs.FOLDER / own)
    if found := {one.step.index: one.audit for one in steps if one.audit is not None}:
        audits.write(folder, found)
    entries = [
        one.step.updated(environment=run.environments.index(one.environment)).model_dump(mode="json") for one in steps
    ]
    for taken in (own for one in steps for own in one.profiles):
        taken.copied_to(folder)
    folders.write_json(folder / "steps.json", {"schema": folders.SCHEMA, "steps": entries})
    folders.write_json(folder / "run.json", run.model_dump(mode="json", by_alias=True))


def write_step(folder: Path, measured: Measured) -> None:
    for name, table in tables_of(measured).items():
        table.write_parquet(folder / f"{name}.parquet")
    if measured.logs is not None:
        node_logs.copy(measured.logs, folder / node_logs.FOLDER)
    if measured.audit is not None:
        audits.write(folder, {measured.step.index: measured.audit})
    for name, content in (("step", measured.step), ("environment", measured.environment)):
        folders.write_json(folder / f"{name}.json", content.model_dump(mode="json"))
    texts = {"name": measured.workload, "text": measured.workload_text, "conditioning": measured.conditioning_text}
    folders.write_json(folder / "workload.json", texts)


def read_step(folder: Path) -> Measured:
    """Read a step that ``write_step`` wrote. Raises LabError if its files are damaged."""
    logs = folder / node_logs.FOLDER
    workload = folders.read_object(folder / "workload.json")
    try:
        tables = {
            name: pl.read_parquet(folder / f"{name}.parquet")
            for name in TABLES
            if name in ALWAYS or (folder / f"{name}.parquet").is_file()
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(
            f"{folder}: its tables cannot be read ({error})", "Delete this folder to measure it again."
        ) from None
    return Measured(
        step=folders.read_model(folder / "step.json", StepEntry),
        environment=folders.read_model(folder / "environment.json", Environment),
        workload=str(workload["name"]),
        workload_text=str(workload["text"]),
        conditioning_text=str(workload["conditioning"]),
        audit=next(iter(audits.read(folder).values()), None),
        logs=logs if logs.is_dir() else None,
        requests=tables["requests"],
        metrics=tables["metrics"],
        stage_rows=tables.get("stages"),
        spans=tables.get("spans", NO_SPANS),
        drops=tables["drops"][NO_DROPS.name] if "drops" in tables else NO_DROPS,
        samples=tables.get("samples", NO_SAMPLES),
    )


def command_line() -> str:
    return shlex.join(["scripts/lab", *sys.argv[1:]])
