"""The structure of the dashboard: what Grafana needs to load it, and what a reader needs to understand it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from signal_table import load_signals

HERE = Path(__file__).parent
DASHBOARDS = sorted((HERE / "grafana" / "dashboards").glob("*.json"))
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GRID_WIDTH = 24
# Ids of the Grafana units that a dashboard may use.
UNITS = {"none", "percentunit", "s", "bytes", "ops", "reqps"}
# Panels that show a counter itself, because its total since the node started is of interest.
SHOWS_TOTALS = {"Flows failed since the node started"}

Panel = dict[str, Any]


def dashboard(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def panels_of(path: Path) -> list[Panel]:
    return [panel for panel in dashboard(path)["panels"] if panel["type"] != "row"]


PANELS = [pytest.param(panel, id=f"{path.stem}: {panel['title']}") for path in DASHBOARDS for panel in panels_of(path)]
each_dashboard = pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
each_panel = pytest.mark.parametrize("panel", PANELS)


def test_the_lab_overview_is_there() -> None:
    assert "lab-overview" in {path.stem for path in DASHBOARDS}


@each_dashboard
def test_uid_is_the_file_name_and_no_id_ties_it_to_one_grafana(path: Path) -> None:
    content = dashboard(path)
    assert content["uid"] == path.stem
    assert "id" not in content


@each_dashboard
def test_panel_ids_and_titles_are_unique(path: Path) -> None:
    for key in ("id", "title"):
        values = [panel[key] for panel in dashboard(path)["panels"]]
        assert sorted(set(values), key=str) == sorted(values, key=str)


@each_dashboard
def test_panels_stay_in_the_grid_and_do_not_overlap(path: Path) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard(path)["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= GRID_WIDTH, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} covers {taken.get((x, y))}"
                taken[x, y] = panel["title"]


@each_dashboard
def test_variables_choose_the_provisioned_data_source_and_the_nodes(path: Path) -> None:
    variables = {variable["name"]: variable for variable in dashboard(path)["templating"]["list"]}
    provisioned = yaml.safe_load((HERE / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["datasource"]["current"]["value"] == provisioned["datasources"][0]["uid"] == "prometheus"
    assert variables["node"]["type"] == "query"
    assert variables["node"]["includeAll"]
    assert variables["node"]["multi"]


@each_panel
def test_panel_has_a_title_and_says_what_good_looks_like(panel: Panel) -> None:
    assert panel["title"].strip()
    assert re.search(r"\bGood\b", panel["description"]), "the description must say what good looks like"


@each_panel
def test_panel_has_a_unit_that_grafana_knows(panel: Panel) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


@each_panel
def test_panel_asks_the_chosen_data_source(panel: Panel) -> None:
    assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [DATA_SOURCE] * (
        1 + len(panel["targets"])
    )


@each_panel
def test_queries_have_a_legend_and_unique_ids(panel: Panel) -> None:
    targets = panel["targets"]
    assert targets
    assert len({target["refId"] for target in targets}) == len(targets)
    assert all(target["legendFormat"] for target in targets)


@each_panel
def test_legend_names_every_label_that_a_query_is_split_by(panel: Panel) -> None:
    for target in panel["targets"]:
        # A stat panel shows a single value, so the grouping inside its query does not matter.
        groups = re.findall(r"by \(([\w, ]+)\)", target["expr"]) if panel["type"] == "timeseries" else []
        labels = {label for group in groups for label in group.split(", ")} - {"le"}
        assert labels == set(re.findall(r"{{(\w+)}}", target["legendFormat"]))


@each_panel
def test_counters_are_under_a_rate_over_the_rate_interval(panel: Panel) -> None:
    counters = {signal.series for signal in load_signals() if signal.kind != "gauge"}
    for target in panel["targets"]:
        expr = target["expr"]
        assert set(re.findall(r"\[(.+?)\]", expr)) <= {"$__rate_interval"}
        rated = set(re.findall(r"(?:rate|increase)\((\w+)\{[^}]*\}\[", expr))
        bare = (counters & set(re.findall(r"\w+", expr))) - rated
        assert not bare or panel["title"] in SHOWS_TOTALS


@each_panel
def test_queries_use_only_metrics_of_the_signal_table(panel: Panel) -> None:
    known = {signal.metric for signal in load_signals()} | {
        f"{signal.metric}_{part}"
        for signal in load_signals()
        if signal.kind == "histogram"
        for part in ("bucket", "count", "sum")
    }
    for target in panel["targets"]:
        used = set(re.findall(r"\b(?:up|\w+_\w+)(?=\{|\[|\)| ==)", target["expr"]))
        assert used
        assert used <= known


@each_panel
def test_targets_are_filtered_by_the_chosen_nodes(panel: Panel) -> None:
    for target in panel["targets"]:
        split_by_node = "by (node" in target["expr"] and "job, node" not in target["expr"]
        assert not split_by_node or 'node=~"$node"' in target["expr"]
