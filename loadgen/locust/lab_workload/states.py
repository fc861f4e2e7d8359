"""What one success of a flow changes in the vaults, as a workload says it."""

from collections.abc import Mapping
from typing import Any

from lab_workload.problems import TemplateError
from lab_workload.schema import FlowFields
from lab_workload.templates import expression, is_template

NODE_WORDS = ("node", "counterparty")
"""Words that stand for the two parties of a run where a node's name is asked for."""

Changes = Mapping[str, Mapping[str, int]]
"""Class of state → node's name or word → change of the number of unconsumed states."""


def whole_number(value: int | str, args: Mapping[str, Any]) -> int:
    """``value``, or what the expression in it gives for the constants among ``args``. Raises ``TemplateError``."""
    if isinstance(value, int):
        return value
    constants = {name: given for name, given in args.items() if not is_template(given)}
    number = expression(value, {"args": constants})
    if type(number) is not int:
        raise TemplateError(f"{value}: gives {number!r}, not a whole number")
    return number


def changes_of(fields: FlowFields) -> Changes:
    """The changes with every expression worked out. Raises ``TemplateError``."""
    if fields.state is not None:
        return {fields.state: dict.fromkeys(NODE_WORDS, 1)}
    return {
        state: {node: whole_number(change, fields.args) for node, change in nodes.items()}
        for state, nodes in fields.states.items()
    }


def by_node(changes: Changes, node: str, counterparty: str | None) -> dict[str, dict[str, int]]:
    """The changes with names instead of words. Without a counterparty the word stands for nobody."""
    names = {"node": node, "counterparty": counterparty}
    resolved: dict[str, dict[str, int]] = {}
    for state, nodes in changes.items():
        at = resolved.setdefault(state, {})
        for word, change in nodes.items():
            name = names.get(word, word)
            if name is not None:
                at[name] = at.get(name, 0) + change
    return resolved
