"""Finds panels of the dashboards that are empty on a running lab, query by query.

After a run, and for as many parties as the lab has:

    PYTHONPATH=monitoring:scripts:loadgen/locust .venv/bin/python -m panel_check

Grafana would draw nothing where a query has no result, and says nothing about it. So this asks the lab's Prometheus
what Grafana would ask. What a lab of this version and shape cannot have (signals.yaml) is left out.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.results import folders, stored
from corda_lab.text import ui
from grafana.boards import load_boards
from rule_files import alternatives, metrics_of, recorded
from signal_table import NEWEST_PLATFORM, Signal, load_signals

VARIABLES = {"$__rate_interval": f"{4 * SCRAPE_SECONDS:.0f}s", "$node": ".*"}
"""The values of Grafana's variables: four scrape intervals, and the value of "All"."""


@dataclass(frozen=True)
class Shown:
    """A query of a panel, as Grafana asks it. ``place`` names it: board, panel and legend."""

    place: str
    expr: str


@dataclass(frozen=True)
class Lab:
    """What is known of a lab: the platform version of its nodes, and its shape (variable in .env → value)."""

    platform: int = NEWEST_PLATFORM
    shape: Mapping[str, str] | None = None


def as_grafana_asks(expr: str) -> str:
    for variable, value in VARIABLES.items():
        expr = expr.replace(variable, value)
    return expr


def queries() -> Iterator[Shown]:
    """Yield the queries of all panels, also of those in collapsed rows."""
    known = load_boards()
    for board in known.boards:
        for title in (title for section in board.sections for title in section.panels):
            for legend, expr in known.panels[title].queries.items():
                yield Shown(f"{board.title}: {title}: {legend}", as_grafana_asks(expr))


def is_expected(expr: str, signals: Sequence[Signal], lab: Lab) -> bool:
    """Return whether a query has a result while a load runs on this lab: all metrics of one of its alternatives."""
    names = {
        name
        for signal in signals
        if signal.present != "fault" and signal.is_there(lab.platform, lab.shape or {})
        for name in signal.names
    }
    rules = recorded()

    def is_there(name: str) -> bool:
        return is_expected(rules[name], signals, lab) if name in rules else name in names

    return any(all(map(is_there, metrics_of(part))) for part in alternatives(expr))


def empty_panels(
    prometheus: Prometheus,
    shown: Sequence[Shown],
    lab: Lab,
    *,
    started_at: float,
    ended_at: float,
    signals: Sequence[Signal] | None = None,
) -> list[str]:
    """Return what is empty from the begin to the end of a load (Unix seconds), with the panel's name; empty if nothing.

    Raises LabError if Prometheus rejects a query or does not answer.
    """
    table = load_signals() if signals is None else signals
    return [
        f"{one.place}: no result of {one.expr}"
        for one in shown
        if is_expected(one.expr, table, lab)
        and not any(
            math.isfinite(value)
            for series in prometheus.range(
                one.expr, started_at=started_at, ended_at=ended_at, step_seconds=SCRAPE_SECONDS
            )
            for _, value in series.points
        )
    ]


def check(settings: Settings, run_name: str) -> list[str]:
    """Return what was empty on the running lab during a run, the first step of it. Raises LabError."""
    running = shape.of_running(settings)
    with closing(Bridge(running.bridge_url, running.bridge_token)) as bridge:
        nodes = bridge.nodes()
    lab = Lab(min(node.platform_version for node in nodes.values()), running.values)
    window = stored.read(folders.find_run(run_name)).steps[0].window
    with closing(Prometheus(running.url("PROMETHEUS_PORT"))) as prometheus:
        # A rate needs two scrapes.
        return empty_panels(
            prometheus,
            list(queries()),
            lab,
            started_at=window.load_started_at,
            ended_at=window.load_ended_at + 2 * SCRAPE_SECONDS,
        )


def main() -> int:
    """Check the lab that runs, with the run that the first argument names. Returns the exit status."""
    try:
        found = check(load_settings(), (sys.argv[1:] or ["latest"])[0])
    except LabError as error:
        ui.print_error(error)
        return error.exit_code
    for one in found:
        ui.console.print(one, markup=False)
    ui.console.print(f"{len(list(queries()))} queries, {len(found)} empty")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
