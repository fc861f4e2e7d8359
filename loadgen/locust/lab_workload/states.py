"""The states that one success of a flow adds to the vaults or consumes, as declared in a workload."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab_workload.problems import TemplateError
from lab_workload.schema import FlowFields
from lab_workload.templates import expression, is_template

NODE_WORDS = ("node", "counterparty")
"""Words that may be used in place of a node's name, for the two parties of a run."""

Changes = Mapping[str, Mapping[str, int]]
"""State class → name of a node, or one of NODE_WORDS → change of the number of unconsumed states."""


def whole_number(value: int | str, args: Mapping[str, Any], constants: Mapping[str, Any]) -> int:
    """Return ``value``, or evaluate its expression. Raises ``TemplateError``.

    The expression may use the parameters and groups in ``constants``, and those of ``args`` that are no templates.
    """
    if isinstance(value, int):
        return value
    known = {name: given for name, given in args.items() if not is_template(given)}
    number = expression(value, {**constants, "args": known})
    if type(number) is not int:
        raise TemplateError(f"{value}: evaluates to {number!r}, not to a whole number")
    return number


def changes_of(fields: FlowFields, groups: Mapping[str, Sequence[str]], constants: Mapping[str, Any]) -> Changes:
    """Return the changes with all expressions evaluated, and with the parties of a group in its place.

    A change of a group is the change at each of its parties. Raises ``TemplateError``.
    """
    if fields.state is not None:
        return {fields.state: dict.fromkeys(NODE_WORDS, 1)}
    changes: dict[str, dict[str, int]] = {}
    for state, nodes in fields.states.items():
        at = changes.setdefault(state, {})
        for node, change in nodes.items():
            number = whole_number(change, fields.args, constants)
            for one in groups.get(node, (node,)):
                at[one] = at.get(one, 0) + number
    return changes


def by_node(changes: Changes, node: str, counterparty: str | None) -> dict[str, dict[str, int]]:
    """Return the changes by node name. Changes of the counterparty are left out if there is none."""
    names = {"node": node, "counterparty": counterparty}
    resolved: dict[str, dict[str, int]] = {}
    for state, nodes in changes.items():
        at = resolved.setdefault(state, {})
        for word, change in nodes.items():
            name = names.get(word, word)
            if name is not None:
                at[name] = at.get(name, 0) + change
    return resolved
