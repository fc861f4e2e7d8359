"""Asks the Locust web UI what it does now."""

from collections.abc import Mapping

import httpx

from corda_lab.errors import LabError
from lab_workload.by_hand import STATUS_PATH, WebUiState, WebUiStatus

ANSWER_SECONDS_MAX = 10.0
POLL_SECONDS = 1.0
_REMEDIES: Mapping[WebUiState, str] = {
    "set-up": "Wait until it has ended, or stop it there: its flows would be counted too.",
    "running": "Wait until it has ended, or stop it there: its flows would be counted too.",
    "stopping": "Wait until its last flows have ended.",
    "counting": "Wait until its last flows have ended, so that they can be counted.",
}


def status(url: str) -> WebUiStatus | None:
    """Return what the web UI does; None if it does not answer."""
    try:
        answer = httpx.get(f"{url}{STATUS_PATH}", timeout=ANSWER_SECONDS_MAX, trust_env=False)
        return WebUiStatus.read(answer.text) if answer.is_success else None
    except (httpx.HTTPError, ValueError):
        return None


def require_idle(status: WebUiStatus) -> None:
    """Raise LabError if the web UI is at work on a load."""
    if status.state != "idle":
        which = f"{status.id}, {status.state}" if status.id else status.state
        raise LabError(f"A load of the Locust web UI is in progress ({which})", _REMEDIES[status.state])
