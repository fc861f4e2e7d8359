"""What a workload does, in words: what it starts where, what it needs, and what ``--set`` can change in it."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab_workload import overrides
from lab_workload.schema import Part, Workload
from lab_workload.workload import load_workload
from lab_workload.yaml_source import read_fields


@dataclass(frozen=True)
class SettableValue:
    """A value of the file that ``--set`` can change: its key, what it is now, and what it may be."""

    key: str
    text: str
    choices: str


@dataclass(frozen=True)
class About:
    """What a workload does. ``facts`` are (title, text)."""

    name: str
    description: str
    facts: tuple[tuple[str, str], ...]
    values: tuple[SettableValue, ...]


def about(directory: Path, name: str, node_names: Collection[str] = ()) -> About:
    """Describe the workload ``name``. Arguments and errors are those of ``load_workload``."""
    workload = load_workload(directory, name, node_names)
    data, _ = read_fields(workload.source.path)
    return About(name, workload.description, tuple(_facts(workload)), tuple(_values(data)))


def _facts(workload: Workload) -> Iterator[tuple[str, str]]:
    others = dict.fromkeys(filter(None, (workload.counterparty, *(part.counterparty for part in workload.flows))))
    yield "starts on", ", ".join(workload.nodes) + (f", with {', '.join(others)}" if others else "")
    total = sum(part.weight for part in workload.flows)
    for part in workload.flows:
        share = f"{100 * part.weight / total:.0f} %: " if len(workload.flows) > 1 else ""
        yield "flow", f"{share}{_part_words(part)}"
    for step in workload.setup:
        what = step.flow or f"attachments of {step.megabytes} MB"
        yield "prepares first", f"{step.name}: {what}"
    if needs := ", ".join(_needs(workload)):
        yield "needs", needs


def _part_words(part: Part) -> str:
    words = [part.flow, f"counts as a {part.unit}"]
    if part.states_per_flow is not None:
        words.append(f"makes {part.states_per_flow} states")
    if part.expect is not None:
        words.append(f'is expected to fail with "{part.expect.error}"')
    return ", ".join(words)


def _needs(workload: Workload) -> Iterator[str]:
    requires = workload.requires
    if requires.parties is not None:
        yield f"{requires.parties} parties"
    if requires.platform is not None:
        yield f"platform version {requires.platform}"
    if requires.cordapp is not None:
        yield f"the CorDapp {requires.cordapp}"
    if workload.taken:
        yield "a run time, or a number of flows"


def _values(data: Mapping[str, Any]) -> Iterator[SettableValue]:
    parameters = data.get("parameters") or {}
    for key, values in overrides.settable(dict(data)).items():
        choices = parameters[key].get("choices") if key in parameters else None
        texts = dict.fromkeys(map(_text, values))
        yield SettableValue(key, " | ".join(texts), ", ".join(map(_text, choices or ())))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
