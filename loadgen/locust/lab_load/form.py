"""The arguments that the lab adds to Locust, which are the fields of its web form, and the plan that they describe.

The command line starts the generator with ``--plan`` and needs none of the others.
"""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from lab_load.bridge_client import BridgeClient
from lab_load.generator_settings import GeneratorSettings
from lab_workload import overrides
from lab_workload.load import OPTIONS, Load
from lab_workload.names import canonical
from lab_workload.network import Network
from lab_workload.plan import Plan, make_plan
from lab_workload.problems import LoadError, Problem
from lab_workload.workload import load_workload, workload_names

DEFAULT_WORKLOAD = "iou"
USERS_DEFAULT = 1
"""Locust's default."""
BEFORE_REQUESTS = ("arrivals", "rate", "pacing")
AFTER_REQUESTS = ("within", "bursts", "rest", "flows", "flows_after")
"""The options of a load that are fields of the form, in its order. ``requests`` stands between them."""
ALSO_SET = ("late_max", "nodes", "seed", "trace_every", "name")
"""Options of a load that only Set Parameters can change, beside the values of the workload."""
ABSENT = ("", "0", "0.0")
"""What the form says for an option that is not given, if that has no default."""


def add_arguments(parser: Any, settings: GeneratorSettings) -> None:
    """Declare the arguments. Locust calls this for every page of its web UI, so new workload files are listed.

    They are not in an argument group, because Locust's web UI shows only arguments of the parser itself. Locust's
    ``--processes`` is rejected, because every worker needs its own port for metrics.
    """
    for action in parser._actions:
        if action.dest == "processes":
            action.__class__ = _Refused
    workloads = workload_names(settings.workloads)
    first = DEFAULT_WORKLOAD if DEFAULT_WORKLOAD in workloads else next(iter(workloads), "")
    _add_choice(parser, "workload", workloads, first, "Workload that every user runs: a file in configs/workloads")
    nodes = ["", *settings.party_names]
    _add_choice(parser, "node", nodes, "", "Node that starts the flows; empty: from the workload")
    _add_choice(parser, "counterparty", nodes, "", "The other party; empty: from the workload")
    help_text = f"A value of the workload, or {', '.join(ALSO_SET)}; several separated by spaces: participants=8 seed=7"
    parser.add_argument("--set-parameters", metavar="<key=value ...>", default="", help=help_text)
    for key in BEFORE_REQUESTS:
        _add_option(parser, key)
    help_text = "Burst: requests in each burst, of which as many as users are in flight; 0: as many as users"
    parser.add_argument("--requests", metavar="<number>", default="0", help=help_text)
    for key in AFTER_REQUESTS:
        _add_option(parser, key)
    _add_process(parser)


def _add_choice(parser: Any, name: str, names: Sequence[str], default: str, help_text: str) -> None:
    def known(text: str) -> str:
        return canonical(text, names) or text

    choices = list(names) or None
    parser.add_argument(f"--{name}", metavar="<name>", type=known, choices=choices, default=default, help=help_text)


def _add_option(parser: Any, key: str) -> None:
    field = OPTIONS[key]
    choices = get_args(field.annotation) if key == "arrivals" else None
    default = "0" if field.default is None else str(field.default)
    parser.add_argument(
        f"--{key.replace('_', '-')}", metavar=f"<{key}>", choices=choices, default=default, help=field.description
    )


def _add_process(parser: Any) -> None:
    """Declare what a single process needs to know."""
    hidden = {"include_in_web_ui": False}
    help_text = "Make the load of this file, plan.json of the command line, in place of that of the other arguments"
    parser.add_argument("--plan", metavar="<file>", default=None, help=help_text, **hidden)
    help_text = "After the set-up, write <run id>.ready.json and wait for <run id>.go, both in the folder of the rows"
    parser.add_argument("--hold", action="store_true", help=help_text, **hidden)
    help_text = "Index of a worker, from 1; 0: assigned by the master"
    parser.add_argument("--worker-index", metavar="<number>", type=int, default=0, help=help_text, **hidden)


def read_plan(path: Path) -> Plan:
    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise LoadError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise LoadError(f"{path}: is no plan of this version: {error}") from error


def load_of(values: Mapping[str, Any], settings: GeneratorSettings) -> Load:
    """Read a load from arguments or fields of the form, by name. Raises ``LoadError`` with all problems."""
    workload = str(values["workload"])
    set_values, problems = overrides.parse(_words(values))
    of_load, of_workload, unknown = overrides.split(
        set_values,
        (*BEFORE_REQUESTS, *AFTER_REQUESTS, *ALSO_SET),
        overrides.keys_in(settings.workloads / f"{workload}.yaml"),
    )
    problems += unknown
    # Locust's form and command line accept any server.
    if (values.get("host") or settings.bridge_url).rstrip("/") != settings.bridge_url:
        text = f"must be {settings.bridge_url}; to change it, set the environment variable BRIDGE_URL"
        problems.append(Problem.of("host", text))
    given: dict[str, Any] = {"workload": workload, "warm_up": 0, "overrides": of_workload, **_users(values)}
    for key in ("node", "counterparty", *BEFORE_REQUESTS, *AFTER_REQUESTS):
        value = str(values.get(key) or "")
        if value and not (OPTIONS[key].default is None and value in ABSENT):
            given[key] = value
    try:
        load = Load.read({**given, **of_load})
        problems += load.problems()
    except LoadError as error:
        problems += error.problems
    if problems:
        raise LoadError(problems)
    return load


def _users(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the users of a load. Those of the form are the places of a burst, which may have more requests."""
    users = users_of(values) or USERS_DEFAULT
    requests = str(values.get("requests") or "0")
    if values["arrivals"] != "burst" or requests in ABSENT:
        return {"users": users}
    return {"users": requests, "pool": users}


def plan_of(load: Load, identity: str, seconds: float | None, settings: GeneratorSettings) -> Plan:
    """Read the workload, and bind it to the network. Raises ``LoadError`` with all problems."""
    workload = load_workload(settings.workloads, load.workload, settings.party_names, load.overrides)
    bridge = BridgeClient(settings.bridge_url)
    asked = next(iter(load.nodes or ()), load.node) or workload.node
    node = canonical(asked, settings.party_names) or workload.node
    network = Network(
        parties={party.name: party for party in bridge.parties(node)},
        flows=cache(bridge.flows),
        platform_version=bridge.platform_version,
        start_problem=bridge.start_problem,
        notary=bridge.notary(node),
    )
    try:
        return make_plan(identity, load, workload, network, seconds)
    except ValidationError:
        text = f"{identity!r} is invalid; use 1 to 100 letters, digits, '.', '_', '-'"
        raise LoadError(Problem.of("name", text)) from None


def users_of(values: Mapping[str, Any]) -> int | None:
    """Return the number of users in ``values``; None without a valid one. Locust itself reports invalid numbers."""
    try:
        users = int(values.get("user_count") or values.get("num_users") or 0)
    except ValueError:
        return None
    return users if users > 0 else None


def has_spawn_rate(values: Mapping[str, Any]) -> bool:
    """Whether users start at a valid rate. Locust itself reports invalid numbers."""
    try:
        return float(values.get("spawn_rate") or 0) > 0
    except ValueError:
        return False


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


class _Refused(argparse.Action):
    def __call__(self, *_: object) -> None:
        raise argparse.ArgumentError(self, "start the workers with --worker instead")
