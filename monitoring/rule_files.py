"""The rules of Prometheus (prometheus/rules/), and which metrics a query reads."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

RULES_FOLDER = Path(__file__).with_name("prometheus") / "rules"

# The functions, operators and keywords that queries of this project use.
_WORDS = frozenset(
    [
        *("sum", "min", "max", "count", "group", "topk", "count_values", "by", "on", "group_left"),
        *("and", "or", "unless", "offset", "rate", "increase", "changes", "deriv"),
        *("count_over_time", "max_over_time", "min_over_time"),
        *("histogram_quantile", "label_replace", "clamp_min", "vector", "scalar"),
    ]
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACES = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|group_left)\s*\([^)]*\)")
_NAME = re.compile(r"(?<![\w:.])[a-zA-Z_:][\w:]*")


@dataclass(frozen=True)
class Rule:
    """A rule: it records a series, or it is an alert."""

    name: str
    expr: str
    is_alert: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def load_rules() -> list[Rule]:
    """Read all rules, those that record first. The same series can have several rules, with different labels."""
    rules = [
        Rule(
            name=entry.get("record") or entry["alert"],
            expr=entry["expr"],
            is_alert="alert" in entry,
            labels=entry.get("labels", {}),
            annotations=entry.get("annotations", {}),
        )
        for path in RULES_FOLDER.glob("*.yml")
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
        for entry in group["rules"]
    ]
    return sorted(rules, key=lambda rule: (rule.is_alert, rule.name))


@cache
def recorded() -> Mapping[str, str]:
    """Return the series that rules record: name → query. Of several rules of a name, the last counts."""
    return {rule.name: rule.expr for rule in load_rules() if not rule.is_alert}


def metrics_of(expr: str) -> set[str]:
    """Return the names of the series that a query reads, recorded ones as such."""
    return set(_NAME.findall(_BRACES.sub(" ", _STRING.sub(" ", expr)))) - _WORDS


def alternatives(expr: str) -> Iterator[str]:
    """Yield the parts of a query that a top-level ``or`` joins: it has a result if one of them has."""
    text, depth, start = _STRING.sub(lambda string: "_" * len(string[0]), expr), 0, 0
    for found in re.finditer(r"[({\[]|[)}\]]|\bor\b", text):
        if found[0] == "or":
            if depth == 0:
                yield expr[start : found.start()]
                start = found.end()
        else:
            depth += 1 if found[0] in "({[" else -1
    yield expr[start:]
