"""The lab's own command line arguments of Locust, which are form fields of its web UI too."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from lab_load.names import canonical, did_you_mean
from lab_load.settings import Settings, utc_run_id
from lab_load.workload import workload_names

DEFAULT_WORKLOAD = "iou"


def add_arguments(parser: Any, settings: Settings) -> None:
    """Declare the arguments. Locust does so for every page of its web UI: a workload file just written is listed.

    They are not in a group of their own, because Locust shows only the parser's direct arguments in its web UI.
    Locust's own that would spread the load over several processes are refused: rows and ids belong to one process.
    """
    for action in parser._actions:
        if action.dest in ("master", "processes", "worker"):
            action.__class__ = _Refused
    workloads = workload_names(settings.workloads)
    nodes = ["", *settings.party_names]
    parser.add_argument(
        "--workload",
        metavar="<name>",
        type=_one_of("workload", workloads),
        choices=workloads or None,
        default=DEFAULT_WORKLOAD if DEFAULT_WORKLOAD in workloads else next(iter(workloads), ""),
        help="What every user runs: a file in configs/workloads",
    )
    parser.add_argument(
        "--node",
        metavar="<name>",
        type=_one_of("node", nodes),
        choices=nodes,
        default="",
        help="Starts the flows; empty: as the workload says",
    )
    parser.add_argument(
        "--counterparty",
        metavar="<name>",
        type=_one_of("node", nodes),
        choices=nodes,
        default="",
        help="The other party; empty: as the workload says",
    )
    parser.add_argument(
        "--pacing",
        metavar="<seconds>",
        type=float,
        default=0.0,
        help="Seconds from one flow start of a user to its next; 0: at once",
    )
    parser.add_argument(
        "--run-id",
        metavar="<id>",
        default=utc_run_id("run"),
        include_in_web_ui=False,
        help="Name of the run's rows; runs from the web UI are named web-<utc>",
    )
    parser.add_argument(
        "--seed",
        metavar="<number>",
        type=int,
        default=1,
        include_in_web_ui=False,
        help="Decides the random values of the templates",
    )


class _Refused(argparse.Action):
    def __call__(self, *_: object) -> None:
        raise argparse.ArgumentError(self, "the lab's generator is one process")


def _one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        found = canonical(text, names)
        if found is None and names:
            hint = did_you_mean(text, names) if kind == "workload" else ""
            known = ", ".join(filter(None, names))
            raise argparse.ArgumentTypeError(f"unknown {kind} {text!r}{hint or f'; there are {known}'}")
        return found or text

    return parse
