"""Rewords pydantic's errors about the fields of a file, so that all files have the same messages."""

from collections.abc import Collection
from typing import Any

from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.yaml_source import Source


def field_problem(detail: Any, source: Source, known: Collection[str]) -> Problem:
    """Reword one of pydantic's error details. ``known`` are the fields that may stand beside the one with the error."""
    location: Location = tuple(detail["loc"])
    match detail["type"]:
        case "missing":
            return source.problem(location, "is missing")
        case "extra_forbidden":
            hint = did_you_mean(str(location[-1]), known) or f"; choose from {', '.join(known)}"
            return source.problem(location, f"unknown field{hint}")
        case "string_type":
            return source.problem(location, f"must be text, but is {detail['input']!r}; put it in quotes")
        case "string_too_short":
            return source.problem(location, "must not be empty")
    message = detail["msg"].replace("Input should be ", "must be ")
    return source.problem(location, f"{message}, but is {detail['input']!r}")
