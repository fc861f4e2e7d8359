"""Writes runs: ``run.json`` before the first load, a folder for each step, and the mark of a finished run at the end.

A step has its folder before its load begins, in which ``step.json`` says ``running``. Everything else is written before
``step.json`` is replaced, so a step is complete or counts for nothing, whatever ends the process.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

import corda_lab
from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.results import folders, stored
from corda_lab.results.audits import AUDIT_FILE, Audit
from corda_lab.results.manifest import Environment, Manifest, ProfileEntry, Rerun
from corda_lab.results.stored import EVIDENCE, STEPS, StepFile
from corda_lab.results.sweep import SweepPlan
from corda_lab.steps import validity
from corda_lab.steps.entry import ConditioningEntry, StepEntry, VerdictEntry
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import NO_DROPS
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.usage import NO_SAMPLES
from lab_workload.load import Load
from lab_workload.plan import Plan

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
ROWS_FILE = re.compile(r"[^.]+(\.\d+)?\.ndjson")
"""Name of a file with rows: ``<id>.ndjson``, or ``<id>.<worker>.ndjson``. Other files have more dots."""


@dataclass(frozen=True)
class Measured:
    """One measured step: its values, its tables, its environment, and the file of its workload."""

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
    profiles: tuple[ProfileEntry, ...] = ()

    def after(self, entry: ConditioningEntry) -> "Measured":
        """A copy with the load that conditioned the nodes before, and with a warning if it left them unsteady."""
        conditioned = self.with_step(self.step.updated(conditioning=entry))
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
        violated = reason("ledger_violated", violations=len(audit.violations), kinds=audit.kinds)
        failed = VerdictEntry(passed=False, reasons=[*self.step.verdict.reasons, violated])
        return audited.with_step(self.step.updated(verdict=failed))

    def with_step(self, step: StepEntry) -> "Measured":
        return replace(self, step=step)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Its tables by the names of their files. Those without rows are left out, apart from ``ALWAYS``."""
        values = {name: getattr(self, attribute) for name, attribute in TABLES.items()}
        frames = {
            name: table.to_frame(NO_DROPS.name) if isinstance(table, pl.Series) else table
            for name, table in values.items()
            if table is not None
        }
        index = pl.lit(self.step.index, dtype=pl.Int32).alias("step")
        return {name: frame.select(index, pl.all()) for name, frame in frames.items() if frame.height or name in ALWAYS}


def manifest(
    identity: str,
    *,
    load: Load | None = None,
    sweep: SweepPlan | None = None,
    rerun: Rerun | None = None,
    command: str | None = None,
) -> Manifest:
    """The content of ``run.json`` before the first load: of a sweep, or else of a run of one load."""
    return Manifest(
        schema=folders.SCHEMA,
        kind="sweep" if sweep else "run",
        id=identity,
        name=folders.name_of(identity),
        lab_version=corda_lab.__version__,
        command=shlex.join(["scripts/lab", *sys.argv[1:]]) if command is None else command,
        sweep=sweep,
        load=load,
        rerun=rerun,
    )


def begin(run: Manifest, files: Mapping[str, str] | None = None, *, results: Path | None = None) -> Path:
    """Create the folder of a run with ``run.json`` and other files (name → text), and return it. Raises LabError."""
    folders.require_free(run.id, results=results)
    folder = folders.run_folder(run.id, results=results)
    try:
        with atomic.whole_folder(folder) as partial:
            for name, text in (files or {}).items():
                (partial / name).write_text(text, encoding="utf-8")
            (partial / STEPS).mkdir()
            write_manifest(partial, run)
    except OSError as error:
        raise folders.unwritable(folder, error) from None
    return folder


def write_manifest(folder: Path, run: Manifest) -> None:
    folders.write_json(folder / folders.RUN, run.model_dump(mode="json", by_alias=True))


def seal(folder: Path, run: Manifest) -> None:
    """Mark a run as finished, which makes it the latest one."""
    folders.point_latest(folder)
    write_manifest(folder, run.model_copy(update={"finished_at": folders.now()}))


# Steps.


def attempts(run: Path, index: int, key: str) -> list[Path]:
    """The folders of all attempts at a step, oldest first."""
    first = run / STEPS / f"{index:04d}-{key}"
    paths = [first]
    while paths[-1].exists():
        paths.append(first.with_name(f"{first.name}-attempt-{len(paths) + 1}"))
    return paths[:-1]


def new_step(run: Path, index: int, key: str) -> Path:
    """The folder of the next attempt at a step, which does not exist yet."""
    name, before = f"{index:04d}-{key}", len(attempts(run, index, key))
    return run / STEPS / (f"{name}-attempt-{before + 1}" if before else name)


def begin_step(folder: Path, step: StepFile, plan: Plan, environment: Environment) -> None:
    """Create the folder of a step with what is known before its load. Raises LabError."""
    try:
        with atomic.whole_folder(folder) as partial:
            (partial / EVIDENCE).mkdir()
            atomic.write_text(partial / stored.PLAN, plan.model_dump_json(indent=2) + "\n")
            folders.write_json(partial / stored.ENVIRONMENT, environment.model_dump(mode="json"))
            folders.write_json(partial / stored.STEP, step.model_dump(mode="json"))
        _write_workload(folder, plan.load.workload, plan.workload_text)
    except OSError as error:
        raise folders.unwritable(folder, error) from None


def _write_workload(step: Path, name: str, text: str) -> None:
    atomic.write_text(step.parent.parent / stored.WORKLOADS / f"{name}.yaml", text)


def end_step(folder: Path, step: StepFile) -> None:
    """Store what became of a step that has no values. Its folder may not exist yet: then its load never began."""
    content = step.model_dump(mode="json")
    if folder.exists():
        folders.write_json(folder / stored.STEP, content)
    else:
        # A folder without step.json would be damaged.
        with atomic.whole_folder(folder) as partial:
            folders.write_json(partial / stored.STEP, content)
    if step.state == "done":
        drop_evidence(folder)


def keep(folder: Path, measured: Measured) -> None:
    """Store a measured step, whose folder may have the evidence of its load. Raises OSError if the disk is full."""
    if not folder.exists():
        end_step(folder, StepFile.model_validate({**measured.step.fields(), "state": "running"}))
    for name, table in measured.tables().items():
        with atomic.whole_file(folder / f"{name}.parquet") as partial:
            table.write_parquet(partial)
    if measured.audit is not None:
        folders.write_json(folder / AUDIT_FILE, measured.audit.model_dump(mode="json"))
    if measured.profiles:
        folders.write_json(folder / stored.PROFILES, [entry.model_dump(mode="json") for entry in measured.profiles])
    folders.write_json(folder / stored.ENVIRONMENT, measured.environment.model_dump(mode="json"))
    _write_workload(folder, measured.workload, measured.workload_text)
    atomic.sync(folder)
    folders.write_json(folder / stored.STEP, measured.step.model_dump(mode="json"))
    atomic.sync(folder)
    drop_evidence(folder)


def drop_evidence(folder: Path) -> None:
    shutil.rmtree(folder / EVIDENCE, ignore_errors=True)


def tidy(run: Path) -> None:
    """Delete what a killed process left half written or half deleted in the folder of a run."""
    folders.tidy(run.parent, partial_of=run.name)
    for folder in (run, run / stored.WORKLOADS, run / STEPS, *stored.read_steps(run)):
        folders.tidy(folder)
    for folder, step in stored.read_steps(run).items():
        if step.is_measured:
            drop_evidence(folder)


def find_step(identity: str, *, results: Path | None = None) -> Path | None:
    """The folder of the step with the load of an id; None if there is none."""
    marked = f'"{identity}"'
    for plan in folders.run_folder("", results=results).glob(f"[0-9]*/{STEPS}/[0-9]*/{stored.PLAN}"):
        try:
            if marked in plan.read_text(encoding="utf-8") and read_plan(plan.parent).identity == identity:
                return plan.parent
        except (LabError, OSError):
            continue
    return None


def read_plan(folder: Path) -> Plan:
    """The plan of the load of a step. Raises LabError if it has none."""
    return folders.read_model(folder / stored.PLAN, Plan)


# The evidence of a load.


def sync_rows(folder: Path) -> None:
    """Flush the evidence of a step to disk, so that the originals can be deleted."""
    for path in [*(folder / EVIDENCE).iterdir(), folder / EVIDENCE]:
        atomic.sync(path)


def rows_files(folder: Path) -> list[Path]:
    evidence = folder / EVIDENCE
    return sorted(path for path in evidence.iterdir() if ROWS_FILE.fullmatch(path.name)) if evidence.is_dir() else []


def count_rows(folder: Path) -> int:
    count = 0
    for path in rows_files(folder):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                count += block.count(b"\n")
    return count
