"""Rewords pydantic's errors about the fields of a file, so that all files have the same messages."""

from collections.abc import Collection, Iterator
from typing import Any, get_args

from pydantic import BaseModel

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
        case "int_parsing" | "int_from_float":
            return f"{detail['input']!r} is not a whole number"
        case "float_parsing":
            return f"{detail['input']!r} is not a number"
    message = detail["msg"].replace("Input should be ", "must be ")
    return f"{message}, but is {detail['input']!r}"


def known_fields(model: type[BaseModel], location: Location) -> list[str]:
    """Return the names, as in a file, of the fields at a place in it; none if there are none."""
    for part in location:
        fields = (field for name, field in model.model_fields.items() if part in (name, field.alias))
        # What is no field is an index, or a name that the file gives to a group of fields.
        if (field := next(fields, None)) is not None:
            nested = next(_models(field.annotation), None)
            if nested is None:
                return []
            model = nested
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
