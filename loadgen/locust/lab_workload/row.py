"""The columns of rows and drops: the generator writes one of them per arrival, and the command line reads them."""

from typing import TypedDict

from lab_workload.load import Outcome

ROWS_DIRECTORY = "/var/lib/corda-lab/rows"
"""The folder of the rows in the container of the generator: a volume."""


class Row(TypedDict):
    """One request. Times are in Unix seconds, durations in milliseconds. Missing values are None."""

    request_id: int
    user_id: int
    workload: str
    part: str
    node: str
    flow: str
    worker: int
    intended_at: float | None
    """Intended start in open load and in a burst; None in closed load."""
    started_at: float
    ended_at: float
    latency_ms: float
    latency_intended_ms: float | None
    """Latency from the intended start; None in closed load."""
    outcome: Outcome
    status: int
    """HTTP status; 0 without an answer."""
    error: str | None
    flow_id: str | None
    tx_id: str | None
    client_id: str
    bridge_rpc_ms: float | None
    bridge_flow_ms: float | None
    """Time from the start of the flow until its result, or the exception with which it ended, was at the bridge."""
    bridge_received_at: float | None
    """When the request arrived at the bridge."""
    bridge_started_at: float | None
    """When the bridge began to start the flow."""
    trace_id: str | None
    """The id of its trace, of which the nodes keep the spans; None if it is not traced."""


class Drop(TypedDict):
    """One arrival that was never sent. ``intended_at`` is its intended start in Unix seconds."""

    worker: int
    intended_at: float
