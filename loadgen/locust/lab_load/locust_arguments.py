"""The arguments that the lab adds to Locust. They are also fields of its web form."""

import argparse
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab_load.choice import Choice, Extent
from lab_load.generator_settings import GeneratorSettings, utc_run_id
from lab_workload import overrides
from lab_workload.load import (
    ARRIVALS,
    LATE_MAX_SECONDS_DEFAULT,
    RECORDINGS,
    REST_SECONDS_DEFAULT,
    SEED_DEFAULT,
    WITHIN_SECONDS_DEFAULT,
)
from lab_workload.names import canonical, did_you_mean, names_in
from lab_workload.problems import LoadError, Problem
from lab_workload.workload import workload_names

DEFAULT_WORKLOAD = "iou"
USERS_DEFAULT = 1
"""Locust's default."""


def add_arguments(parser: Any, settings: GeneratorSettings) -> None:
    """Declare the arguments. Locust calls this for every page of its web UI, so new workload files are listed.

    They are not in an argument group, because Locust's web UI shows only arguments of the parser itself. Locust's
    ``--processes`` is rejected, because every worker needs its own port for metrics.
    """
    for action in parser._actions:
        if action.dest == "processes":
            action.__class__ = _Refused
    _add_subject(parser, settings)
    _add_load(parser)
    _add_counted(parser)
    _add_run(parser)


def _add_subject(parser: Any, settings: GeneratorSettings) -> None:
    """Declare what is started, and by which node."""
    workloads = workload_names(settings.workloads)
    nodes = ["", *settings.party_names]
    parser.add_argument(
        "--workload",
        metavar="<name>",
        type=_one_of("workload", workloads),
        choices=workloads or None,
        default=DEFAULT_WORKLOAD if DEFAULT_WORKLOAD in workloads else next(iter(workloads), ""),
        help="Workload that every user runs: a file in configs/workloads",
    )
    parser.add_argument(
        "--node",
        metavar="<name>",
        type=_one_of("node", nodes),
        choices=nodes,
        default="",
        help="Node that starts the flows; empty: from the workload",
    )
    parser.add_argument(
        "--nodes",
        metavar="<names>",
        default="",
        include_in_web_ui=False,
        help="Several nodes that start the flows in turn, in place of --node: PartyA,PartyB",
    )
    parser.add_argument(
        "--counterparty",
        metavar="<name>",
        type=_one_of("node", nodes),
        choices=nodes,
        default="",
        help="The other party; empty: from the workload",
    )
    parser.add_argument(
        "--set-parameters",
        metavar="<key=value ...>",
        default="",
        help="As --set, several separated by spaces: participants=8 rate_max=5",
    )


def _add_load(parser: Any) -> None:
    """Declare when requests start."""
    parser.add_argument(
        "--arrivals",
        metavar="<arrivals>",
        choices=ARRIVALS,
        default="closed",
        help="closed: every user has one request in flight; constant, poisson: open load, burst: bursts, both with the"
        " users as pool",
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
        help="Closed load: minimum seconds between two starts of the same user; 0: no pause",
    )
    parser.add_argument(
        "--late-max",
        metavar="<seconds>",
        type=float,
        default=LATE_MAX_SECONDS_DEFAULT,
        include_in_web_ui=False,
        help="Open load: arrivals that would start later than this are dropped",
    )


def _add_counted(parser: Any) -> None:
    """Declare bursts, and after how many requests a load ends."""
    parser.add_argument(
        "--requests",
        metavar="<number>",
        type=int,
        default=0,
        help="Burst: requests in each burst, of which at most as many as users are in flight; 0: as many as users",
    )
    parser.add_argument(
        "--within",
        metavar="<seconds>",
        type=float,
        default=WITHIN_SECONDS_DEFAULT,
        help="Burst: seconds over which its requests start, evenly spread",
    )
    parser.add_argument(
        "--bursts",
        metavar="<number>",
        type=int,
        default=1,
        help="Burst: number of bursts, after which the load ends",
    )
    parser.add_argument(
        "--rest",
        metavar="<seconds>",
        type=float,
        default=REST_SECONDS_DEFAULT,
        help="Burst: shortest pause between two bursts; it begins when no request is in flight any more",
    )
    parser.add_argument(
        "--flows",
        metavar="<number>",
        type=int,
        default=0,
        help="Closed load: number of requests, after those of --flows-after, after which the load ends; 0: no limit",
    )
    parser.add_argument(
        "--flows-after",
        metavar="<number>",
        type=int,
        default=0,
        help="Closed load that ends after --flows: number of requests before these",
    )

    parser.add_argument(
        "--trace-every",
        metavar="<number>",
        type=int,
        default=1,
        help="One request in this many is traced on all nodes; 0: none",
    )


def _add_run(parser: Any) -> None:
    """Declare the options of headless runs only."""
    parser.add_argument(
        "--set",
        metavar="<key=value>",
        action="append",
        default=[],
        include_in_web_ui=False,
        help="Replaces a value in the workload file: a parameter, an argument, rate_max or megabytes; repeatable",
    )
    parser.add_argument(
        "--hold",
        action="store_true",
        include_in_web_ui=False,
        help="After the set-up, write <run id>.ready.json and wait for <run id>.go, both in the folder of the rows",
    )
    parser.add_argument(
        "--recording",
        choices=RECORDINGS,
        default="rows",
        include_in_web_ui=False,
        help="rows: write a row for every request; none: write no rows, to measure what they cost",
    )
    parser.add_argument(
        "--worker-index",
        metavar="<number>",
        type=int,
        default=0,
        include_in_web_ui=False,
        help="Index of a worker, from 1; 0: assigned by the master",
    )
    parser.add_argument(
        "--run-id",
        metavar="<id>",
        default=utc_run_id("run"),
        include_in_web_ui=False,
        help="Name of the run's files; runs from the web UI are named web-<utc>",
    )
    parser.add_argument(
        "--seed",
        metavar="<number>",
        type=int,
        default=SEED_DEFAULT,
        include_in_web_ui=False,
        help="Seed for the random values of templates and for Poisson arrivals",
    )


def choice_from(values: Mapping[str, Any], run_id: str, settings: GeneratorSettings) -> Choice:
    """Read the options from ``values``, by argument name.

    Raises ``LoadError`` for an invalid number, and for a host other than the bridge.
    """
    settings_of_file, problems = overrides.parse([*(values.get("set") or ()), *_words(values)])
    pacing_seconds = _number(values, "pacing", problems)
    rate = _number(values, "rate", problems)
    late_max_seconds = _number(values, "late_max", problems)
    within_seconds = _number(values, "within", problems)
    rest_seconds = _number(values, "rest", problems)
    counts = {
        name: _count(values, name, problems) for name in ("requests", "bursts", "flows", "flows_after", "trace_every")
    }
    # Locust's form and command line accept any server.
    if (values.get("host") or settings.bridge_url).rstrip("/") != settings.bridge_url:
        problems.append(
            Problem.of("host", f"must be {settings.bridge_url}; to change it, set the environment variable BRIDGE_URL")
        )
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
        recording=values["recording"],
        within_seconds=within_seconds,
        rest_seconds=rest_seconds,
        **counts,
        nodes=names_in(values["nodes"]),
    )


def users_of(values: Mapping[str, Any]) -> int | None:
    """Return the number of users in ``values``; None without a valid one. Locust itself reports invalid numbers."""
    try:
        users = int(values.get("user_count") or values.get("num_users") or 0)
    except ValueError:
        return None
    return users if users > 0 else None


def spawn_rate_of(values: Mapping[str, Any]) -> float | None:
    """Return the users that start per second; None without a valid number. Locust itself reports invalid ones."""
    try:
        rate = float(values.get("spawn_rate") or 0)
    except ValueError:
        return None
    return rate if rate > 0 else None


def extent_from(values: Mapping[str, Any]) -> Extent:
    """Read the size of the load from ``values``."""
    users = users_of(values) or USERS_DEFAULT
    workers = int(values.get("expect_workers") or 1) if values.get("master") else 1
    return Extent(users, seconds_of(values.get("run_time")), workers)


def seconds_of(run_time: Any) -> float | None:
    """Parse a run time in Locust's notation; None if it is empty or invalid. Locust itself reports invalid texts."""
    # The import of Locust patches the whole process for gevent. Only the generator may do that.
    from locust.util.timespan import parse_timespan

    try:
        return float(parse_timespan(str(run_time))) if run_time else None
    except ValueError:
        return None


def _words(values: Mapping[str, Any]) -> list[str]:
    """Return the words of the field for several ``key=value``. Quotes hold a value with spaces together."""
    text = str(values.get("set_parameters") or "")
    try:
        return shlex.split(text)
    except ValueError:
        # A quote that is not closed.
        return text.split()


def _number(values: Mapping[str, Any], name: str, problems: list[Problem]) -> float:
    value = values[name]
    try:
        return float(value or 0)
    except ValueError:
        unit = "arrivals per second" if name == "rate" else "seconds"
        problems.append(Problem.of(name.replace("_", "-"), f"{value!r} is not a number of {unit}"))
        return 0.0


def _count(values: Mapping[str, Any], name: str, problems: list[Problem]) -> int:
    value = values[name]
    try:
        return int(value or 0)
    except ValueError:
        problems.append(Problem.of(name.replace("_", "-"), f"{value!r} is not a whole number"))
        return 0


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
