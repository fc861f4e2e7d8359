"""What a person asked for, read from Locust's options or from the web UI's form."""

from collections.abc import Mapping
from typing import Any

from locust.util.timespan import parse_timespan

from lab_load.generator_settings import GeneratorSettings
from lab_load.load_plan import Choice, Extent
from lab_workload import overrides
from lab_workload.problems import LoadError, Problem

USERS_DEFAULT = 1
"""Locust's own, where nobody says how many."""


def choice_from(values: Mapping[str, Any], run_id: str, settings: GeneratorSettings) -> Choice:
    """The choice in ``values``, by the arguments' names. Raises ``LoadError`` for what is no number."""
    settings_of_file, problems = overrides.parse(list(values.get("set") or ()))
    pacing_seconds = _number(values, "pacing", problems)
    rate = _number(values, "rate", problems)
    late_max_seconds = _number(values, "late_max", problems)
    if problems:
        raise LoadError(problems)
    return Choice(
        workload=values["workload"],
        node=values["node"],
        counterparty=values["counterparty"],
        pacing_seconds=pacing_seconds,
        run_id=run_id,
        seed=values["seed"],
        bridge_url=(values.get("host") or settings.bridge_url).rstrip("/"),
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
