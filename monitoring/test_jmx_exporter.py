"""The rules of the JMX exporter in each node, compared with the table of signals."""

import re
from pathlib import Path
from typing import Any

import yaml

from signal_table import Signal, load_signals

RULES_FILE = Path(__file__).parent.parent / "nodes" / "jmx-exporter.yaml"
# Metrics that the exporter agent creates itself.
OWN_METRICS = ("jvm_", "process_", "up", "scrape_")


def configuration() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(RULES_FILE.read_text(encoding="utf-8"))
    return content


def exporting_rules() -> list[dict[str, Any]]:
    """Return the rules that export something. A rule with an empty name drops what its pattern matches."""
    return [rule for rule in configuration()["rules"] if rule.get("name") != ""]


def metrics_of(rule: dict[str, Any]) -> set[str]:
    """Return the names that a rule creates: one, or one for each alternative of the group in the name."""
    reference = re.search(r"\$(\d)", rule["name"])
    if reference is None:
        return {rule["name"]}
    groups = re.findall(r"\((?!\?)([^()]*)\)", rule["pattern"])
    return {rule["name"].replace(reference[0], choice).lower() for choice in groups[int(reference[1]) - 1].split("|")}


def parts_of(signal: Signal) -> set[str]:
    """Return the names of a signal in the exporter, which removes _bucket. Prometheus adds it again."""
    parts = ("", "_count", "_sum") if signal.kind == "histogram" else ("",)
    return {signal.metric + part for part in parts}


def test_only_named_beans_are_read() -> None:
    names = configuration()["includeObjectNames"]
    assert names
    assert not [name for name in names if name.startswith("*") or name.endswith(":*")]


def test_every_rule_names_its_metric_so_that_nothing_else_gets_out() -> None:
    assert all({"pattern", "name", "type", "help"} <= rule.keys() for rule in exporting_rules())


def test_counters_and_only_counters_are_called_total() -> None:
    for rule in exporting_rules():
        assert (rule["type"] == "COUNTER") == rule["name"].endswith("_total"), rule["name"]


def test_the_rules_make_exactly_the_signals_of_the_table() -> None:
    made = {metric for rule in exporting_rules() for metric in metrics_of(rule)}
    listed = {metric for signal in load_signals() if signal.job == "corda" for metric in parts_of(signal)}
    assert made == {metric for metric in listed if not metric.startswith(OWN_METRICS)}


def test_the_rules_give_exactly_the_labels_of_the_table() -> None:
    made: dict[str, set[str]] = {}
    for rule in exporting_rules():
        for metric in metrics_of(rule):
            made.setdefault(metric, set()).update(rule.get("labels", {}))
    listed = {
        metric: set(signal.labels) - {"node"} for signal in load_signals() for metric in parts_of(signal) & made.keys()
    }
    assert {metric: labels - {"le"} for metric, labels in made.items()} == listed


def test_only_buckets_have_a_bound() -> None:
    bounded = {rule["name"] for rule in exporting_rules() if "le" in rule.get("labels", {})}
    assert bounded == {
        signal.metric for signal in load_signals() if signal.job == "corda" and signal.kind == "histogram"
    }


def test_every_rule_is_cached_unless_it_uses_the_value_of_the_attribute() -> None:
    """A cached rule is matched once, against a stand-in for the value. Without a cache, each scrape matches again."""
    for rule in configuration()["rules"]:
        uses_value = re.search(r"><>.*: ?\(", rule["pattern"]) is not None
        assert rule.get("cache", False) is not uses_value, rule["pattern"]


def test_no_bean_of_artemis_is_read_itself() -> None:
    """Its beans describe themselves anew each time. The node's agent reads single attributes of them instead."""
    assert not [name for name in configuration()["includeObjectNames"] if "artemis" in name]
