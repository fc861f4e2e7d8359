"""Describes the shape of a lab in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import BY_NAME, KNOBS, Knob


def describe(values: Mapping[str, str]) -> str:
    """Describe a shape in one line: ``Corda 4.10, H2, simple notary, 3 parties, production mode, heap 1g``."""
    return ", ".join(_traits(values))


def describe_all(shapes: Sequence[Mapping[str, str]]) -> str:
    """Describe several shapes in one line; shared values come last: ``H2; PostgreSQL; each with Corda 4.10, …``."""
    described = list({describe(values): _traits(values) for values in shapes}.values())
    if len(described) == 1:
        return ", ".join(described[0])
    shared = [trait for trait in described[0] if all(trait in traits for traits in described)]
    own = [", ".join(trait for trait in traits if trait not in shared) or "nothing else" for traits in described]
    return "; ".join([*own, f"each with {', '.join(shared)}"] if shared else own)


def option_label(name: str, value: Any) -> str:
    """Describe the value of one shape option: ``5 parties``, ``PostgreSQL``, ``size small``, ``cpuset none``."""
    knob = BY_NAME.get(name)
    text = knob.text(value) if knob else str(value)
    return (knob and ", ".join(_labels(knob, text))) or f"{name.replace('_', ' ')} {text or 'none'}"


def _traits(values: Mapping[str, str]) -> list[str]:
    """Return a label for each knob. A run that was stored before a knob existed has no value for it."""
    return [label for knob in KNOBS if knob.variable in values for label in _labels(knob, values[knob.variable])]


def _labels(knob: Knob, text: str) -> list[str]:
    words = text.split() if knob.kind is Kind.WORDS else [text] if text else []
    return [label for label in map(knob.label, words) if label]
