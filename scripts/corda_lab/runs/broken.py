"""Finds out whether a node ended under a load, and gathers what is known of that load."""

import math
import re
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter

from corda_lab.clients.prometheus import METRICS_SCHEMA, SCRAPE_SECONDS
from corda_lab.errors import LabError
from corda_lab.lab.endings import endings
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import PARTIES
from corda_lab.results import store, stored
from corda_lab.results.manifest import Environment
from corda_lab.results.store import Measured
from corda_lab.results.stored import iso
from corda_lab.steps import resolutions, rows
from corda_lab.steps.broken import BrokenLoad, broken_step
from corda_lab.steps.entry import SetupEntry
from corda_lab.text.words import listed, short
from corda_lab.workloads.resolve import read_workload
from lab_workload.load import Load
from lab_workload.names import canonical
from lab_workload.schema import Workload
from lab_workload.subject import LoadPart, Subject

SETUP = "setup.json"
"""What the set-up has prepared, in the evidence of a load."""
_OUT_OF_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError(?:: [^\n\"]{0,100})?")


def why_broken(compose: Lab, since: float) -> str | None:
    """Which nodes have ended, or have no heap left, since a time (unix seconds); None if none. Raises LabError."""
    services = compose.services()
    ended = {one.node: one for one in endings(compose, services) if one.node}
    running = {service.name: service.container for service in services if service.state == "running"}
    found = []
    for node in compose.settings.nodes:
        if ending := ended.get(node):
            if unix_seconds(ending.finished_at) >= math.floor(since):
                found.append(ending.words)
        elif container := running.get(node.lower()):
            error = memory_error(container.log("--since", iso(since)))
            found += [f"{node} exhausted its heap ({error})"] if error else []
    return listed(found) if found else None


def unix_seconds(text: str) -> float:
    """Return a time as Docker writes it, ``2026-01-02T03:04:05.123456789Z``, to the second; 0 if it is none."""
    try:
        return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def memory_error(log: str) -> str | None:
    """Return the first OutOfMemoryError in a log, with its message; None if there is none."""
    match = _OUT_OF_MEMORY.search(log)
    return match[0].strip() if match else None


def measured(
    lab: Lab,
    options: Load,
    environment: Environment,
    folder: Path | None,
    *,
    began_at: float,
    reason: str,
) -> Measured:
    """Return the step of a load that a node did not survive, with the rows until then. Raises LabError.

    ``folder`` is that of its step; None if it had not begun. The load ``began_at`` a time in unix seconds.
    """
    workload = read_workload(options.workload, options.overrides)
    requests = _rows(folder)
    ended_at = requests["ended_at"].max()
    load = BrokenLoad(
        options=options,
        workload=workload.name,
        subject=_subject(options, folder, workload),
        setup=_setup(folder),
        requests=requests,
        began_at=began_at,
        ended_at=time.time() if ended_at is None else float(str(ended_at)),
    )
    text = workload.text
    metrics = _metrics(lab, load.window.started_at)
    step = broken_step(load, reason)
    return Measured(step, requests, metrics, None, environment, workload.name, text)


def _rows(folder: Path | None) -> pl.DataFrame:
    if folder is not None and (files := store.rows_files(folder)):
        return rows.read_rows(files)
    return pl.DataFrame(schema={**rows.ROW_SCHEMA, **resolutions.COLUMNS})


def _setup(folder: Path | None) -> list[SetupEntry]:
    path = folder / stored.EVIDENCE / SETUP if folder else None
    return TypeAdapter(list[SetupEntry]).validate_json(path.read_bytes()) if path and path.is_file() else []


def _subject(options: Load, folder: Path | None, workload: Workload) -> Subject:
    """Return what the load started: as resolved before it or, if a node ended earlier, as the workload file says."""
    if folder is not None and (folder / stored.PLAN).is_file():
        return store.read_plan(folder).subject
    parts = tuple(
        LoadPart(
            part.name,
            part.flow,
            short(part.flow),
            counterparty=part.counterparty or options.counterparty or workload.counterparty,
            weight=part.weight,
            unit=part.unit,
            states_per_flow=part.states_per_flow,
        )
        for part in workload.flows
    )
    given = (options.node,) if options.node else options.nodes
    first, *others = (Subject(canonical(node, PARTIES) or node, parts) for node in given or workload.nodes)
    return replace(first, others=tuple(others))


def _metrics(lab: Lab, started_at: float) -> pl.DataFrame:
    """Return the samples over the load. They are not needed, so there are none if Prometheus does not answer."""
    with suppress(LabError):
        return lab.prometheus.run_metrics(started_at=started_at - 3 * SCRAPE_SECONDS, ended_at=time.time())
    return pl.DataFrame(schema=METRICS_SCHEMA)
