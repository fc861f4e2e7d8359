"""Keeps the logs of the nodes with a load that failed: the time of the load only, bounded, and without secrets."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.lab import node_logs as lab_logs
from corda_lab.lab.lab import Lab, Service
from corda_lab.results import node_logs
from corda_lab.results.node_logs import BoundedText, ErrorKind, Errors, KeptLog, KeptLogs, LogEntry, entries
from corda_lab.steps import validity
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.text import ui
from corda_lab.text.words import plural

MARGIN_SECONDS = 1.0
"""How long before its begin and after its end entries belong to a load."""
KEEP_SECONDS_MAX = 120.0
"""How long the logs of all nodes may take. Nodes that are left then are named as missing."""


def keep_if_failed(step: StepEntry, lab: Lab, folder: Path) -> None:
    """Store the nodes' logs in ``folder``/logs, if they may say why a step failed. Raises nothing."""
    if not validity.has_node_trouble(step):
        return
    why = "; ".join(sentences([*step.verdict.reasons, *step.validity.reasons]))
    since, rest = step.window.load_started_at, step.window.load_ended_at + step.counts.rest_seconds
    with ui.phase("Keeping the logs of the nodes"):
        keep(lab, folder, why, since=since, until=rest)


def keep(compose: Lab, folder: Path, why: str, *, since: float, until: float | None = None) -> None:
    """Store the logs of all nodes from a time to another (unix seconds; None is now) in ``folder``/logs.

    Never raises: what failed is more important than its logs.
    """
    end = time.time() if until is None else until
    try:
        kept = _keep(compose, folder / node_logs.FOLDER, why, since - MARGIN_SECONDS, end + MARGIN_SECONDS)
    except Exception as error:
        # No defect here may hide why the load failed.
        ui.warn(f"the nodes' logs were not kept: {type(error).__name__}: {error}")
        return
    for node, problem in kept.missing.items():
        ui.warn(f"no log of {node}: {problem}")
    if kept.logs:
        errors = sum(log.error_count for log in kept.logs)
        ui.note(f"kept the logs of {plural(len(kept.logs), 'node')}, with {plural(errors, 'error')}")


def errors_since(compose: Lab, since: float, *, seconds_max: float) -> list[tuple[str, ErrorKind]]:
    """The most frequent error that each node has logged since a time (unix seconds), of those with an exception if any.

    Nodes without one, and those that do not answer within ``seconds_max``, are left out. Raises LabError if the engine
    does not answer.
    """
    deadline, services = time.monotonic() + seconds_max, compose.services()
    most_frequent = []
    for node in compose.settings.nodes:
        errors = Errors()
        with suppress(LabError):
            for entry in _entries(compose, node, services, (since, time.time()), deadline):
                errors.add(entry)
        kinds = sorted(errors.kinds, key=lambda kind: kind.exception is None)
        most_frequent += [(node, kind) for kind in kinds[:1]]
    return most_frequent


def _keep(compose: Lab, folder: Path, why: str, since: float, until: float) -> KeptLogs:
    deadline, services = time.monotonic() + KEEP_SECONDS_MAX, compose.services()
    logs: list[KeptLog] = []
    missing: dict[str, str] = {}
    present = {service.name for service in services}
    for node in (node for node in compose.settings.nodes if node.lower() in present):
        if time.monotonic() > deadline:
            missing[node] = f"no time was left of {KEEP_SECONDS_MAX:.0f} s"
            continue
        text, errors, count = BoundedText(), Errors(), 0
        try:
            for entry in _entries(compose, node, services, (since, until), deadline):
                count += 1
                errors.add(entry)
                for line in entry.lines:
                    text.add(line)
        except LabError as error:
            missing[node] = " ".join(error.message.split())
            continue
        if count:
            file = node_logs.write_log(folder, node, text)
            left_out, kinds, others = text.left_out, errors.kinds, errors.others
            logs.append(
                KeptLog(node=node, file=file, entries=count, lines_left_out=left_out, errors=kinds, others=others)
            )
    kept = KeptLogs(why=why, since=since, until=until, logs=logs, missing=missing)
    if logs or missing:
        node_logs.write_index(folder, kept)
    return kept


def _entries(
    compose: Lab, node: str, services: Sequence[Service], span: tuple[float, float], deadline: float
) -> Iterator[LogEntry]:
    """The entries of the log of a node in a span of time (unix seconds), without secrets. Raises LabError."""
    log = lab_logs.find(compose, node, services)
    about = lab_logs.about(log, compose.settings.secrets(), deadline=deadline)
    with tempfile.TemporaryDirectory(prefix="corda-lab-logs-") as scratch:
        for entry in entries(lab_logs.copied(log, about, span[0], Path(scratch), deadline=deadline)):
            if entry.at is not None and span[0] <= entry.at <= span[1]:
                yield entry
