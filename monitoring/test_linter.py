"""The rules of Grafana's dashboard linter (github.com/grafana/dashboard-linter, docs/rules), and of this project.

Whether a query is valid PromQL is not checked here: test_queries.py puts each to a real Prometheus. Four rules of the
linter do not fit a lab whose every kind of target is one job, with labels of its own: template-job-rule,
template-instance-rule, target-job-rule and target-instance-rule. The variable ``node`` takes their place.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from grafana.boards import BOARDS
from grafana.boards.render import render
from rule_files import load_rules, metrics_of, recorded
from signal_table import load_signals

HERE = Path(__file__).parent
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Counters that are not under a rate: panel and why.
BARE = {
    "Flows failed since the node started": "the total itself is of interest",
    "Three counts of the same flows": "the counter says which flows the bridge has started",
}
# Made by Prometheus itself.
OWN_SERIES = {"ALERTS"}
SIGNALS = load_signals()
UNITS = {
    line
    for line in (HERE / "grafana" / "units.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
}

Content = dict[str, Any]
RENDERED = {board.uid: render(board) for board in BOARDS}
PANELS = [
    pytest.param(panel, id=f"{uid}: {panel['title']}")
    for uid, content in RENDERED.items()
    for outer in content["panels"]
    for panel in (outer, *outer.get("panels", ()))
    if panel["type"] != "row"
]
each_board = pytest.mark.parametrize("content", RENDERED.values(), ids=RENDERED)
each_panel = pytest.mark.parametrize("panel", PANELS)


def variable(content: Content, name: str) -> Content:
    found: Content = {one["name"]: one for one in content["templating"]["list"]}[name]
    return found


# --- dashboards -------------------------------------------------------------------------------------------------------


@each_board
def test_template_datasource_rule(content: Content) -> None:
    provisioned = yaml.safe_load((HERE / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))
    source = variable(content, "datasource")
    assert (source["type"], source["query"], source["label"]) == ("datasource", "prometheus", "Data source")
    assert source["current"]["value"] == provisioned["datasources"][0]["uid"] == "prometheus"


@each_board
def test_the_node_is_chosen_as_the_linter_wants_a_job_to_be(content: Content) -> None:
    node = variable(content, "node")
    assert (node["type"], node["datasource"], node["label"]) == ("query", DATA_SOURCE, "Node")
    assert node["multi"]
    assert node["includeAll"]


@each_board
def test_template_label_promql_rule(content: Content) -> None:
    query = variable(content, "node")["query"]["query"]
    found = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
    assert found is not None
    assert metrics_of(found[1]) == {"up"}


@each_board
def test_template_on_time_change_reload_rule(content: Content) -> None:
    on_time_range_change = 2
    assert variable(content, "node")["refresh"] == on_time_range_change


@each_board
def test_uneditable_dashboard(content: Content) -> None:
    assert content["editable"] is False


# --- panels -----------------------------------------------------------------------------------------------------------


@each_panel
def test_panel_title_description_rule_and_what_good_looks_like(panel: Content) -> None:
    assert panel["title"].strip()
    assert re.search(r"\bGood\b", panel["description"]), "the description must say what good looks like"


@each_panel
def test_panel_units_rule(panel: Content) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


@each_panel
def test_panel_datasource_rule(panel: Content) -> None:
    sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
    assert sources == [DATA_SOURCE] * len(sources)


@each_panel
def test_panel_no_targets_rule(panel: Content) -> None:
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@each_panel
def test_overrides_are_for_series_that_exist(panel: Content) -> None:
    legends = {target["legendFormat"] for target in panel["targets"]}
    for override in panel["fieldConfig"]["overrides"]:
        assert override["matcher"]["options"] in legends


# --- queries ----------------------------------------------------------------------------------------------------------


@each_panel
def test_target_rate_interval_rule(panel: Content) -> None:
    for target in panel["targets"]:
        without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", target["expr"])
        assert set(re.findall(r"\[(.+?)\]", without_strings)) <= {"$__rate_interval"}


@each_panel
def test_target_counter_agg_rule(panel: Content) -> None:
    counters = {name for signal in SIGNALS if signal.kind != "gauge" for name in signal.names}
    bare = {
        name
        for target in panel["targets"]
        for name in metrics_of(re.sub(r"\b(?:rate|increase)\((\w+)\{[^}]*\}\[[^\]]*\]\)", " ", target["expr"]))
        if name in counters
    }
    assert bool(bare) == (panel["title"] in BARE)


@each_panel
def test_queries_use_only_metrics_of_the_signal_table_and_the_rules(panel: Content) -> None:
    known = {name for signal in SIGNALS for name in signal.names} | recorded().keys() | OWN_SERIES
    for target in panel["targets"]:
        assert metrics_of(target["expr"]) <= known
        assert metrics_of(target["expr"])


@each_panel
def test_every_query_has_a_legend_with_the_labels_by_which_it_is_split(panel: Content) -> None:
    for target in panel["targets"]:
        assert target["legendFormat"]
        # A stat shows a single value, so the grouping inside its query does not matter.
        if panel["type"] == "timeseries":
            assert labels_of(target["expr"]) == set(re.findall(r"{{(\w+)}}", target["legendFormat"]))


def labels_of(expr: str) -> set[str]:
    """The labels of what a query returns: those of its first grouping, or of that of the rule that it shows."""
    shown = re.match(r"[\w:]+", expr)
    if shown and shown[0] in recorded():
        # Of the percentiles, each has a query of its own.
        return labels_of(recorded()[shown[0]])
    if re.match(r"\(?sum\(|max\(|count\(", expr):
        return set()
    groups = re.search(r"\bby \(([\w, ]+)\)", expr)
    return set(groups[1].split(", ")) - {"le"} if groups else set()


@each_panel
def test_targets_are_filtered_by_the_chosen_nodes(panel: Content) -> None:
    for target in panel["targets"]:
        split_by_node = "by (node" in target["expr"]
        assert not split_by_node or '=~"$node"' in target["expr"]


# --- rules ------------------------------------------------------------------------------------------------------------


def test_rules_use_only_metrics_of_the_signal_table() -> None:
    known = {name for signal in SIGNALS for name in signal.names} | recorded().keys()
    assert {name for rule in load_rules() for name in metrics_of(rule.expr)} <= known


def test_recorded_series_are_named_after_their_level_and_the_window_of_their_rate() -> None:
    for name, expr in recorded().items():
        level, _, operation = name.split(":")
        assert all((level, operation)), name
        windows = set(re.findall(r"rate\([^\[]*\[(\w+)\]", expr))
        assert windows == ({"20s"} if operation.endswith(("rate20s", "ratio20s")) else set()), name


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in load_rules():
        if rule.is_alert:
            assert rule.labels["severity"] in {"critical", "warning"}
            assert rule.annotations.keys() == {"summary"}
            assert len(rule.annotations["summary"].split()) > 10, rule.name


def test_every_alert_is_tested_with_promtool() -> None:
    tests = yaml.safe_load((HERE / "prometheus" / "tests" / "alerts.yml").read_text(encoding="utf-8"))["tests"]
    tested = {re.split(r"\W", test["name"])[0] for test in tests}
    assert tested == {rule.name for rule in load_rules() if rule.is_alert}
