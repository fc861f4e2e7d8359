"""Rewords pydantic's errors about the fields of a file, so that all files have the same messages."""

from collections.abc import Collection
from typing import Any

from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem
from lab_workload.yaml_source import Source


def field_problem(detail: Any, source: Source, known: Collection[str]) -> Problem:
    """Reword one of pydantic's error details. ``known`` are the fields that may stand beside the one with the error."""
    location: Location = tuple(detail["loc"])
    return source.problem(location, field_words(detail, known))


def field_words(detail: Any, known: Collection[str]) -> str:
    """Say what is wrong in one of pydantic's error details, without the place."""
    match detail["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            hint = did_you_mean(str(detail["loc"][-1]), known) or f"; choose from {', '.join(known)}"
            return f"unknown field{hint}"
        case "string_type":
            return f"must be text, but is {detail['input']!r}; put it in quotes"
        case "string_too_short":
            return "must not be empty"
        case "conflict":
            return str(detail["msg"])
    message = detail["msg"].replace("Input should be ", "must be ")
    return f"{message}, but is {detail['input']!r}"
