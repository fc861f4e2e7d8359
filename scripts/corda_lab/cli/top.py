"""The verb ``top``."""

import json
from contextlib import closing
from typing import Annotated

import typer

from corda_lab.cli.options import JsonOption
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.text import ui
from corda_lab.text.durations import parse_duration

INTERVAL_SECONDS_MIN = 1.0


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one table and exit.")] = False,
    interval: Annotated[
        str, typer.Option(help="Time between two looks, at least 1s. Prometheus has new values every 5s.")
    ] = "5s",
    as_json: JsonOption = False,
) -> None:
    """Watch the lab live: what each node does, the bridge, the load, and the alerts that are firing. Ctrl-C ends it.

    Nothing is changed, and little is asked, so it can run beside a measurement. Without a terminal, it prints one table
    and ends.

    Example: `scripts/lab top`
    """
    from corda_lab.cli import top_view
    from corda_lab.clients.bridge import START_REMEDY
    from corda_lab.clients.watch import Watch

    seconds = parse_duration(interval, option="--interval", seconds_min=INTERVAL_SECONDS_MIN)
    settings = load_settings()
    bridge_url, prometheus_url = settings.bridge_url, settings.url("PROMETHEUS_PORT")
    with closing(Watch.at(bridge_url, settings.bridge_token, prometheus_url)) as watch:
        view = watch.look()
        if view.is_down:
            text = f"The lab is not up: neither the bridge at {bridge_url} nor Prometheus at {prometheus_url} answers"
            raise LabError(text, START_REMEDY)
        if as_json:
            print(json.dumps(top_view.as_dict(view), indent=2))
        elif once or not ui.console.is_terminal or ui.console.is_dumb_terminal:
            top_view.show(view)
        else:
            top_view.follow(watch, view, seconds)
