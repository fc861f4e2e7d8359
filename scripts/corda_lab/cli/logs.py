"""The verb ``logs``: what a node has logged."""

import re
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated

import typer

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, project
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import read
from corda_lab.node_logs.model import LogEntry, entries
from corda_lab.runs.running import deployed
from corda_lab.text import ui
from corda_lab.text.durations import parse_duration

ID_LENGTH_MIN = 8
"""Fewer characters of an id would be found in all kinds of words."""
_ID = re.compile(r"[\w.:-]+")


def logs(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA or Notary.")],
    flow: Annotated[
        str | None,
        typer.Option(
            "--flow", metavar="ID", help="Only entries of this flow: its id or client id, or the beginning of one."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only newer entries: of the last 10m, or since 2026-01-02T03:04:05Z."),
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Only warnings, errors, and entries with an exception.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what the node logs, until Ctrl-C.")
    ] = False,
) -> None:
    """Print the log that a node itself writes, also of a node that has stopped. Secrets are taken out.

    A node's log has more than its container prints (`docker compose logs`), and lives as long as the container.

    --flow finds entries that name the id. Corda writes it behind each message that a flow's thread logs (flow-id,
    client_id), and into some messages. What other threads do for a flow (broker, database, RPC) does not name it. What
    the flow's thread logs between two flows names the one before. Flows of the other parties have ids of their own:
    `scripts/lab flow ID` shows where they ran. Corda before 4.6 names no client ids.

    Example: `scripts/lab logs PartyB --errors --since 10m`
    """
    identity, after = _checked_id(flow), _since(since)
    project.settle()
    lifecycle.require_engine()
    log = read.find(deployed(load_settings()), node)
    if follow and not log.is_running:
        ui.complain(f"{log.node} is not running, so nothing follows.", "yellow")
    with closing(read.lines(log, after, follow=follow)) as lines:
        for entry in entries(lines):
            if _is_shown(entry, identity, after, errors):
                for line in entry.lines:
                    print(line)
                if follow:
                    # A pipe gets each entry when it is there.
                    print(end="", flush=True)
    if follow and log.is_running:
        ui.complain(f"{log.node} has ended.", "yellow")


def _checked_id(flow: str | None) -> str | None:
    """An id that may be looked for. Raises LabError."""
    if flow is None:
        return None
    if len(flow) < ID_LENGTH_MIN or not _ID.fullmatch(flow):
        raise LabError(
            f"--flow: {flow!r} is not an id", f"Give a flow id or a client id, or at least {ID_LENGTH_MIN} characters."
        )
    return flow


def _since(text: str | None) -> float | None:
    """A time in unix seconds, given as a duration before now or in ISO 8601. Raises LabError."""
    if text is None:
        return None
    if re.match(r"\d{4}-", text):
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise LabError(f"--since: {text!r} is not a time", "Write it like 2026-01-02T03:04:05Z, or 10m.") from None
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return datetime.now(UTC).timestamp() - parse_duration(text, option="--since")


def _is_shown(entry: LogEntry, identity: str | None, since: float | None, errors: bool) -> bool:
    if since is not None and (entry.at is None or entry.at < since):
        return False
    if errors and not entry.is_error:
        return False
    return identity is None or entry.names(identity)
