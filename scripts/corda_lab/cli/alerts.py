"""How ``lab status`` and ``lab top`` print an alert."""

from rich.text import Text

from corda_lab.clients.prometheus import Alert
from corda_lab.text import words

STYLES = {"critical": "red", "warning": "yellow"}


def line(alert: Alert, at: float) -> Text:
    """What is wrong, since when, and what to do. ``at`` is now, in Unix seconds."""
    told = alert.summary or alert.node or "the lab"
    return Text(f"alert   {alert.name}, for {age(alert.since, at)}: {told}", style=STYLES.get(alert.severity, "red"))


def age(since: float, at: float) -> str:
    """The time since a moment, in words."""
    # The clocks of the containers and of this machine are the same, but the answers are not of the same moment.
    return words.length(max(0.0, at - since))
