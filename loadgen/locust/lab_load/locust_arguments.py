"""The lab's own command line arguments of Locust, which are fields of its web form too: declared, and read."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab_load.choice import Choice, Extent
from lab_load.generator_settings import GeneratorSettings, utc_run_id
from lab_workload import overrides
from lab_workload.load import ARRIVALS, LATE_MAX_SECONDS_DEFAULT, SEED_DEFAULT
from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import LoadError, Problem
from lab_workload.workload import workload_names

DEFAULT_WORKLOAD = "iou"
USERS_DEFAULT = 1
"""Locust's own, where nobody says how many."""


def add_arguments(parser: Any, settings: GeneratorSettings) -> None:
    """Declare the arguments. Locust does so for every page of its web UI: a workload file just written is listed.

    They are not in a group of their own, because Locust shows only the parser's direct arguments in its web UI. Locust's
    own that would make workers of one process is refused: each of them needs its own port for metrics.
    """
    for action in parser._actions:
        if action.dest == "processes":
            action.__class__ = _Refused
    _add_subject(parser, settings)
    _add_load(parser)
    _add_run(parser)


def _add_subject(parser: Any, settings: GeneratorSettings) -> None:
    """What is started, and by whom."""
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


def _add_load(parser: Any) -> None:
    """When requests start."""
    parser.add_argument(
        "--arrivals",
        metavar="<arrivals>",
        choices=ARRIVALS,
        default="closed",
        help="closed: every user has one request in flight; constant, poisson: open load, users are the pool",
    )
    parser.add_argument(
        "--rate",
        metavar="<per second>",
        type=float,
        default=0.0,
        help="Open load: arrivals per second; closed load: 0",
    )
    parser.add_argument(
        "--pacing",
        metavar="<seconds>",
        type=float,
        default=0.0,
        help="Closed load: seconds from one start of a user to its next; 0: at once",
    )
    parser.add_argument(
        "--late-max",
        metavar="<seconds>",
        type=float,
        default=LATE_MAX_SECONDS_DEFAULT,
        include_in_web_ui=False,
        help="Open load: an arrival that would start later than this is dropped",
    )


def _add_run(parser: Any) -> None:
    """What only a headless run can choose."""
    parser.add_argument(
        "--set",
        metavar="<key=value>",
        action="append",
        default=[],
        include_in_web_ui=False,
        help="Takes the place of a value in the workload's file: an argument's, rate_max, megabytes; may be repeated",
    )
    parser.add_argument(
        "--hold",
        action="store_true",
        include_in_web_ui=False,
        help="Headless: after the set-up write <run id>.ready.json and wait for <run id>.go beside the rows",
    )
    parser.add_argument(
        "--worker-index",
        metavar="<number>",
        type=int,
        default=0,
        include_in_web_ui=False,
        help="Of a worker: which one it is, from 1; 0: as its master counts",
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
        default=SEED_DEFAULT,
        include_in_web_ui=False,
        help="Decides the random values of the templates",
    )


def choice_from(values: Mapping[str, Any], run_id: str, settings: GeneratorSettings) -> Choice:
    """The choice in ``values``, by the arguments' names.

    Raises ``LoadError`` for what is no number, and for a host other than the bridge.
    """
    settings_of_file, problems = overrides.parse(list(values.get("set") or ()))
    pacing_seconds = _number(values, "pacing", problems)
    rate = _number(values, "rate", problems)
    late_max_seconds = _number(values, "late_max", problems)
    # Locust lets its form and its command line name any other server.
    if (values.get("host") or settings.bridge_url).rstrip("/") != settings.bridge_url:
        problems.append(Problem.of("host", f"load goes to {settings.bridge_url} only; the variable BRIDGE_URL sets it"))
    if problems:
        raise LoadError(problems)
    return Choice(
        workload=values["workload"],
        node=values["node"],
        counterparty=values["counterparty"],
        pacing_seconds=pacing_seconds,
        run_id=run_id,
        seed=values["seed"],
        bridge_url=settings.bridge_url,
        arrivals=values["arrivals"],
        rate=rate,
        late_max_seconds=late_max_seconds,
        overrides=settings_of_file,
    )


def extent_from(values: Mapping[str, Any]) -> Extent:
    """How much load ``values`` ask for; what cannot be read Locust itself reports."""
    try:
        users = int(values.get("user_count") or values.get("num_users") or USERS_DEFAULT)
    except ValueError:
        users = USERS_DEFAULT
    workers = int(values.get("expect_workers") or 1) if values.get("master") else 1
    return Extent(max(1, users), seconds_of(values.get("run_time")), workers)


def seconds_of(run_time: Any) -> float | None:
    """Locust's notation of a run time; what cannot be read Locust itself reports."""
    # Importing Locust patches the whole process for gevent, and only the generator may have that.
    from locust.util.timespan import parse_timespan

    try:
        return float(parse_timespan(str(run_time))) if run_time else None
    except ValueError:
        return None


def _number(values: Mapping[str, Any], name: str, problems: list[Problem]) -> float:
    value = values[name]
    try:
        return float(value or 0)
    except ValueError:
        unit = "per second" if name == "rate" else "of seconds"
        problems.append(Problem.of(name.replace("_", "-"), f"{value!r} is not a number {unit}"))
        return 0.0


class _Refused(argparse.Action):
    def __call__(self, *_: object) -> None:
        raise argparse.ArgumentError(self, "start the workers with --worker instead")


def _one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        found = canonical(text, names)
        if found is None and names:
            hint = did_you_mean(text, names) if kind == "workload" else ""
            known = ", ".join(filter(None, names))
            raise argparse.ArgumentTypeError(f"unknown {kind} {text!r}{hint or f'; choose from {known}'}")
        return found or text

    return parse
