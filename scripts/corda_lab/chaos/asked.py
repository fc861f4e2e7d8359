"""What nodes say about the flows of a load whose generator was killed, also about those without a row."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

from corda_lab.clients.bridge import Bridge, FlowStatus
from corda_lab.runs import unknown
from corda_lab.steps.resolutions import Resolution, Resolved, with_resolutions
from lab_workload.subject import Subject

Answers = Mapping[str, FlowStatus]
"""What a node said, by client id."""
_ABSENT = FlowStatus("absent")
OPEN_STATES = ("running", "unreachable")
"""What an answer by client id says if it explains nothing."""


def ask(rows: pl.DataFrame, bridge: Bridge, subject: Subject, users: int) -> Answers:
    """Ask the nodes of a load, which are at rest, about its flows that the rows leave open, and those without a row."""
    asked: dict[str, FlowStatus] = {}
    for node in subject.nodes:
        found = open_clients(rows.filter(pl.col("node") == node), users, partial(bridge.flow_status, node))
        # A request without a row may have been for any of the nodes. Those that never got it say nothing about it.
        asked |= {client: one for client, one in found.items() if asked.get(client, _ABSENT).state == "absent"}
    return asked


def open_clients(rows: pl.DataFrame, users: int, status: Callable[[str], FlowStatus]) -> Answers:
    """Ask what became of each request with an unknown outcome, and of those that were killed with their generator.

    A generator process numbers its requests from 1. Requests without a row are the numbers that are missing, and those
    after the last. Each user has one request in flight, so after that many absent ones in a row, there are no more.
    """
    if not rows.height:
        return {}
    found = {client: status(client) for client in rows.filter(pl.col("outcome") == "unknown")["client_id"]}
    prefix = rows["client_id"][0].rpartition("-")[0]
    recorded = {int(client.rpartition("-")[2]) for client in rows["client_id"]}
    absent, number = 0, 1
    while number <= max(recorded) or absent <= users:
        if number not in recorded:
            client = f"{prefix}-{number}"
            found[client] = status(client)
            absent = absent + 1 if found[client].state == "absent" else 0
        number += 1
    return found


def without_row(rows: pl.DataFrame, asked: Answers) -> Answers:
    """The flows that nodes know, and of which the generator wrote no row."""
    recorded = set(rows["client_id"])
    return {client: one for client, one in asked.items() if client not in recorded and one.state != "absent"}


def with_answers(rows: pl.DataFrame, asked: Answers) -> pl.DataFrame:
    """The rows with what the nodes answered as their resolutions, and a row for each flow without one.

    Without the latter, an audit would take their transactions for those of another client.
    """
    now = time.time()
    states: dict[str, Resolved] = {client: unknown.RESOLVED.get(one.state, "unknown") for client, one in asked.items()}
    answers = {
        client: Resolution(states[client], now, asked[client].transaction)
        for client in rows.filter(pl.col("outcome") == "unknown")["client_id"]
        if client in asked
    }
    further = without_row(rows, asked)
    added: dict[str, Sequence[str | None]] = {
        "client_id": list(further),
        "outcome": ["unknown"] * len(further),
        "resolved": [states[client] for client in further],
        "resolved_tx_id": [one.transaction for one in further.values()],
    }
    missing = pl.DataFrame(added, schema=dict.fromkeys(added, pl.String))
    return pl.concat([with_resolutions(rows, answers), missing], how="diagonal")
