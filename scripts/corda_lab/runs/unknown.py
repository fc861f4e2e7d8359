"""Asks a node what became of the requests with an unknown outcome, and lets it forget the outcomes of a run."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import polars as pl

from corda_lab.clients.bridge import Bridge, FlowState
from corda_lab.errors import LabError
from corda_lab.lab import endings
from corda_lab.lab.lab import Lab
from corda_lab.steps.resolutions import Resolution, Resolved
from corda_lab.text import ui

RESOLVE_SECONDS_MAX = 120.0
"""Time limit. Flows may still be running, or bridge and node may be starting again."""
POLL_SECONDS = 1.0
ASKED_AT_ONCE = 8
FORGET_SECONDS_MAX = 60.0
ABSENT_SECONDS_MIN = 5.0
"""A client id is absent only if it is still so after this time: the start may have been on its way to the node."""

RESOLVED: dict[FlowState, Resolved] = {"completed": "ok", "failed": "failed", "absent": "not_started"}


def are_in(requests: pl.DataFrame) -> bool:
    return not requests.filter(_is_unknown()).is_empty()


def _is_unknown() -> pl.Expr:
    return pl.col("outcome") == "unknown"


def resolve(
    bridge: Bridge,
    node: str,
    requests: pl.DataFrame,
    *,
    seconds_max: float = RESOLVE_SECONDS_MAX,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Resolution]:
    """What became of each request with an unknown outcome, by client id; ``unknown`` if no answer came in time."""
    left: dict[str, float | None] = {str(one): None for one in requests.filter(_is_unknown())["client_id"]}
    """Since when each client id was absent, by the monotonic clock."""
    count, resolved = len(left), dict[str, Resolution]()
    deadline = time.monotonic() + seconds_max
    if left and _keeps_client_ids(bridge, node, deadline, pause):
        with ui.Ticker(every_seconds=15) as ticker, ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            while True:
                answers = list(pool.map(partial(bridge.flow_status, node), left))
                for client_id, answer in zip(list(left), answers, strict=True):
                    now = time.monotonic()
                    since = left[client_id] = (left[client_id] or now) if answer.state == "absent" else None
                    if answer.state in RESOLVED and (since is None or now - since >= ABSENT_SECONDS_MIN):
                        resolved[client_id] = Resolution(RESOLVED[answer.state], time.time(), answer.transaction)
                        del left[client_id]
                if not left or time.monotonic() > deadline:
                    break
                ticker.show(f"resolving unknown outcomes: {len(left)} of {count} left")
                pause(POLL_SECONDS)
    return resolved | dict.fromkeys(left, Resolution("unknown", time.time()))


def resolve_all(lab: Lab, nodes: Sequence[str], requests: pl.DataFrame) -> dict[str, Resolution]:
    """Ask each node about its requests with an unknown outcome. Raises LabError if a service has ended."""
    found: dict[str, Resolution] = {}
    for node in nodes:
        of_node = requests.filter(pl.col("node") == node)
        found |= resolve(lab.bridge, node, of_node, pause=partial(endings.pause, lab))
    return found


def _keeps_client_ids(bridge: Bridge, node: str, deadline: float, pause: Callable[[float], None]) -> bool:
    """Whether a node can be asked by client id. A bridge that is starting again is awaited until the deadline."""
    while time.monotonic() < deadline:
        with suppress(LabError):
            return bridge.nodes()[node].keeps_client_ids
        pause(POLL_SECONDS)
    return False


def forget(bridge: Bridge, node: str, identity: str, *, seconds_max: float = FORGET_SECONDS_MAX) -> None:
    """Let the node forget the outcomes of a run, so that its database does not grow. Warns if it cannot."""
    deadline = time.monotonic() + seconds_max
    try:
        while left := bridge.forget_flows(node, f"{identity}-"):
            if time.monotonic() > deadline:
                ui.warn(f"{node} still keeps the outcomes of {left} flows of this run; they expire later")
                return
    except LabError as error:
        ui.warn(error.message)
