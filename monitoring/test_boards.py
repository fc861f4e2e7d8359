"""The boards: what Grafana needs to load them, what a reader needs to find the way, and rules for each query.

The rules are those of Grafana's dashboard linter (github.com/grafana/dashboard-linter, docs/rules) and of this project.
Whether a query is valid PromQL is not checked here: test_queries.py puts each to a real Prometheus. Four rules of the
linter do not fit a lab whose every kind of target is one job, with labels of its own: template-job-rule,
template-instance-rule, target-job-rule and target-instance-rule. The variable ``node`` takes their place.
"""

import re
from pathlib import Path

import pytest
import yaml

from grafana.boards import DATA_SOURCE_VARIABLE, FOLDER, GRID_WIDTH, NODE_VARIABLE, Board, Panel, load_boards, text_of
from rule_files import load_rules, metrics_of, recorded
from signal_table import load_signals

HERE = Path(__file__).parent
KNOWN = load_boards()
SCREENS_MAX = 3
SCREEN_ROWS = 24
"""Rows of Grafana's grid on a screen of 1080 lines. A row has 30 lines, and 8 more before the next one."""
# Counters that are not under a rate: panel and why.
BARE = {
    "Flows failed since the node started": "the total itself is of interest",
    "Three counts of the same flows": "the counter says which flows the bridge has started",
}
# Made by Prometheus itself.
OWN_SERIES = {"ALERTS"}
SIGNALS = load_signals()
METRICS = {name for signal in SIGNALS for name in signal.names}
UNITS = {
    line
    for line in (HERE / "grafana" / "units.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
}
each_board = pytest.mark.parametrize("board", KNOWN.boards, ids=lambda board: board.uid)
each_panel = pytest.mark.parametrize(("title", "panel"), KNOWN.panels.items(), ids=KNOWN.panels)


def test_the_files_are_those_of_the_source() -> None:
    """Otherwise run `PYTHONPATH=monitoring .venv/bin/python -m grafana.boards`."""
    assert {path.name for path in FOLDER.glob("*.json")} == {f"{board.uid}.json" for board in KNOWN.boards}
    for board in KNOWN.boards:
        assert (FOLDER / f"{board.uid}.json").read_text(encoding="utf-8") == text_of(board, KNOWN.panels)


def test_the_boards_are_the_five_of_the_lab_and_show_every_panel() -> None:
    assert [board.uid for board in KNOWN.boards] == ["lab-overview", "corda-node", "database", "load-generator", "runs"]
    shown = {title for board in KNOWN.boards for section in board.sections for title in section.panels}
    assert shown == KNOWN.panels.keys()


@each_board
def test_a_board_has_full_lines_on_at_most_three_screens(board: Board) -> None:
    rows = 0
    for section in board.sections:
        lines = [0]
        for width in section.panels.values():
            if lines[-1] + width > GRID_WIDTH:
                lines.append(0)
            lines[-1] += width
        assert lines == [GRID_WIDTH] * len(lines), f"{section.title} looks as if something were left out"
        rows += 1 + len(lines) * section.height
    assert rows <= SCREENS_MAX * SCREEN_ROWS
    titles = [title for section in board.sections for title in section.panels]
    assert len({*titles}) == len(titles)


def test_what_only_postgresql_has_is_folded_away() -> None:
    """With H2, nobody sees an empty panel."""
    (folded,) = [section for board in KNOWN.boards for section in board.sections if section.collapsed]
    assert folded.title == "PostgreSQL (only with DATABASE=postgres)"
    only = {title for title, panel in KNOWN.panels.items() if all("pg_" in expr for expr in panel.queries.values())}
    assert folded.panels.keys() == only


def test_the_alerts_that_are_shown_are_those_of_the_rules() -> None:
    assert sorted(KNOWN.panels["Alerts"].queries) == [rule.name for rule in load_rules() if rule.is_alert]


def test_grafana_finds_the_home_board_the_data_source_and_the_nodes() -> None:
    services = yaml.safe_load((HERE.parent / "compose.yaml").read_text(encoding="utf-8"))["services"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home.endswith(f"/{KNOWN.boards[0].uid}.json")
    provisioned = yaml.safe_load((HERE / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))
    assert DATA_SOURCE_VARIABLE["current"] == {  # type: ignore[comparison-overlap]
        "selected": True,
        "text": "Prometheus",
        "value": provisioned["datasources"][0]["uid"],
    }
    query = re.fullmatch(r"label_values\((.+), (\w+)\)", str(NODE_VARIABLE["definition"]))
    assert query is not None
    assert (metrics_of(query[1]), query[2]) == ({"up"}, "node")


@each_panel
def test_a_panel_says_what_good_looks_like_and_has_a_unit_of_grafana(title: str, panel: Panel) -> None:
    assert re.search(r"\bGood\b", panel.description)
    assert panel.unit in UNITS
    assert {*panel.dashed} <= panel.queries.keys()


@each_panel
def test_a_query_has_one_window_and_counters_only_under_a_rate(title: str, panel: Panel) -> None:
    counters = {name for signal in SIGNALS if signal.kind != "gauge" for name in signal.names}
    bare = set()
    for expr in panel.queries.values():
        without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", expr)
        assert set(re.findall(r"\[(.+?)\]", without_strings)) <= {"$__rate_interval"}
        without_rates = re.sub(r"\b(?:rate|increase)\((\w+)\{[^}]*\}\[[^\]]*\]\)", " ", expr)
        bare |= metrics_of(without_rates) & counters
    assert bool(bare) == (title in BARE)


@each_panel
def test_a_query_reads_known_metrics_of_the_chosen_nodes(title: str, panel: Panel) -> None:
    for legend, expr in panel.queries.items():
        assert metrics_of(expr)
        assert metrics_of(expr) <= METRICS | recorded().keys() | OWN_SERIES
        assert "by (node" not in expr or '=~"$node"' in expr
        # A stat shows a single value, so the grouping inside its query does not matter.
        if panel.kind == "timeseries":
            assert labels_of(expr) == set(re.findall(r"{{(\w+)}}", legend)), "the labels by which it is split"


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


def test_rules_read_known_metrics_and_recorded_series_are_named_after_level_and_window() -> None:
    assert {name for rule in load_rules() for name in metrics_of(rule.expr)} <= METRICS | recorded().keys()
    for name, expr in recorded().items():
        level, _, operation = name.split(":")
        assert all((level, operation)), name
        windows = set(re.findall(r"rate\([^\[]*\[(\w+)\]", expr))
        assert windows == ({"20s"} if operation.endswith(("rate20s", "ratio20s")) else set()), name


def test_every_alert_says_how_bad_it_is_and_what_to_do_and_is_tested_with_promtool() -> None:
    alerts = [rule for rule in load_rules() if rule.is_alert]
    for rule in alerts:
        assert rule.labels["severity"] in {"critical", "warning"}
        assert rule.annotations.keys() == {"summary"}
        assert len(rule.annotations["summary"].split()) > 10, rule.name
    tests = yaml.safe_load((HERE / "prometheus" / "tests" / "alerts.yml").read_text(encoding="utf-8"))["tests"]
    assert {re.split(r"\W", test["name"])[0] for test in tests} == {rule.name for rule in alerts}
