"""How ``lab status --watch`` shows the lab: once as a table, or live in a terminal."""

import time
from contextlib import suppress
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from corda_lab.clients.prometheus import Alert
from corda_lab.clients.watch import HISTORY_SECONDS, BridgeState, LabView, LoadState, NodeState, Watch
from corda_lab.host import interrupts
from corda_lab.text import tables, ui, words

TITLES = (
    *("node", "health", "flows/s", f"last {words.length(HISTORY_SECONDS)}", "in flight", "CPU cores", "heap", "queue"),
    "last error",
)
NUMBERS = ("flows/s", "in flight", "CPU cores", "heap", "queue")
ALERTS_MAX = 5
"""The live view has no room for more."""
UNKNOWN = "–"
INTERVAL_SECONDS = 5.0
"""Time between two looks. Prometheus has new values as often."""
ALERT_STYLES = {"critical": "red", "warning": "yellow"}


def alert_line(alert: Alert, at: float) -> Text:
    """Return what is wrong, since when, and what to do. ``at`` is now, in Unix seconds."""
    about = alert.summary or alert.node or "the lab"
    return Text(
        f"alert   {alert.name}, for {_age(alert.since, at)}: {about}", style=ALERT_STYLES.get(alert.severity, "red")
    )


def _age(since: float, at: float) -> str:
    # The clocks of the containers and of this machine are the same, but the answers are not of the same moment.
    return words.length(max(0.0, at - since))


def show(view: LabView) -> None:
    tables.show(_table(view))
    ui.console.print()
    for line in _lines(view):
        ui.say(line)


def follow(watch: Watch, view: LabView) -> None:
    """Show the view in the whole terminal, and look again every few seconds, until Ctrl-C.

    Afterwards the terminal has what it showed before.
    """
    # Not the console of the other verbs, which lets lines be longer than the terminal.
    live = Live(console=Console(highlight=False), screen=True, auto_refresh=False)
    try:
        with suppress(KeyboardInterrupt):  # this is how it ends
            # An interrupt in the middle would leave the terminal without a cursor.
            with interrupts.held_back():
                live.start()
            while True:
                live.update(_screen(view), refresh=True)
                time.sleep(INTERVAL_SECONDS)
                view = watch.look()
    finally:
        with interrupts.held_back():
            live.stop()


def _screen(view: LabView) -> Group:
    table = _table(view)
    # The last column takes what room the others leave, so that each node has one line.
    table.expand = True
    error = table.columns[-1]
    error.ratio = 1
    error.no_wrap = True
    error.overflow = "ellipsis"
    clock = f"{datetime.fromtimestamp(view.at).astimezone():%H:%M:%S}"
    title = Text(f"lab status, {clock}, every {INTERVAL_SECONDS:g} s; Ctrl-C ends it", style="dim")
    return Group(title, Text(), table, Text(), *_lines(view, alerts_max=ALERTS_MAX))


def _table(view: LabView) -> Table:
    made = tables.table(*TITLES, numbers=NUMBERS)
    made.columns[TITLES.index("flows/s") + 1].no_wrap = True
    for node in view.nodes:
        failure = node.last_failure
        made.add_row(
            Text(node.name),
            Text(node.health, style="green" if node.is_healthy else "yellow" if node.is_ready else "red"),
            Text(words.per_second(node.flows_per_second)),
            Text(words.sparkline(view.history.get(node.name, ())), style="cyan"),
            Text(_count(node.flows_in_flight)),
            Text(UNKNOWN if node.cpu_cores is None else f"{node.cpu_cores:.2f}"),
            Text(_heap(node)),
            Text(_count(node.queue_messages)),
            Text("" if failure is None else f"{_age(failure.at, view.at)} ago, {failure.text}"),
        )
    return made


def _lines(view: LabView, *, alerts_max: int | None = None) -> list[Text]:
    """Return what stands below the table: bridge, load, alerts, and what does not answer."""
    nothing = "not known" if view.prometheus_problem else "none"
    alerts = [alert_line(alert, view.at) for alert in view.alerts[:alerts_max]]
    left = len(view.alerts) - len(alerts)
    return [
        Text(f"bridge  {_bridge(view.bridge)}"),
        Text(f"load    {_load(view.load) if view.load else nothing}"),
        *(alerts or [Text(f"alerts  {nothing}")]),
        *([Text(f"alert   and {left} more", style="red")] if left else []),
        *(Text(problem, style="red") for problem in (view.bridge_problem, view.prometheus_problem) if problem),
    ]


def _bridge(bridge: BridgeState) -> str:
    rates = {
        "completed": bridge.completed_per_second,
        "failed": bridge.failed_per_second,
        "rejected": bridge.rejected_per_second,
    }
    each = [f"{words.per_second(rate)}/s {name}" for name, rate in rates.items() if rate is not None]
    limit = f"limit {_count(bridge.outstanding_flows_max_per_node)} per node"
    return ", ".join([f"{_count(bridge.outstanding_flows)} outstanding ({limit})", *each])


def _load(load: LoadState) -> str:
    lag = load.lag_p99_seconds
    values = {
        "offered": f"{words.per_second(load.offered_per_second)}/s",
        "achieved": f"{words.per_second(load.achieved_per_second)}/s",
        "errors": f"{words.per_second(load.errors_per_second)}/s",
        "lag p99": words.milliseconds(None if lag is None else 1000 * lag),
    }
    return f"{'; '.join(load.runs)}: " + ", ".join(f"{name} {value}" for name, value in values.items())


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _heap(node: NodeState) -> str:
    if node.heap_percent is None:
        return UNKNOWN
    return f"{words.percent(node.heap_percent)} of {words.size(node.heap_max_bytes)}"
