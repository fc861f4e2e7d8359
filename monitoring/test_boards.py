"""The structure of the dashboards: what Grafana needs to load them, and what a reader needs to find the way."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from grafana.boards import BOARDS, FOLDER
from grafana.boards.model import GRID_WIDTH, SCREEN_ROWS, Board, Panel
from grafana.boards.queries import ALERTS
from grafana.boards.render import TAG, text_of
from rule_files import load_rules

HERE = Path(__file__).parent
SCREENS_MAX = 3
each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)


def content_of(board: Board) -> dict[str, Any]:
    """The file that Grafana reads."""
    content: dict[str, Any] = json.loads((FOLDER / f"{board.uid}.json").read_text(encoding="utf-8"))
    return content


def boxes(board: Board) -> list[dict[str, Any]]:
    """All rows and panels of a file, also those inside collapsed rows."""
    return [inner for outer in content_of(board)["panels"] for inner in (outer, *outer.get("panels", ()))]


def test_the_files_are_those_of_the_source() -> None:
    """Otherwise run `PYTHONPATH=monitoring .venv/bin/python -m grafana.boards`."""
    assert {path.name for path in FOLDER.glob("*.json")} == {f"{board.uid}.json" for board in BOARDS}
    for board in BOARDS:
        assert (FOLDER / f"{board.uid}.json").read_text(encoding="utf-8") == text_of(board)


def test_the_boards_are_the_five_of_the_lab() -> None:
    assert [board.uid for board in BOARDS] == ["lab-overview", "corda-node", "database", "load-generator", "runs"]
    assert len({board.title for board in BOARDS}) == len(BOARDS)


@each_board
def test_uid_is_the_file_name_and_no_id_ties_it_to_one_grafana(board: Board) -> None:
    content = content_of(board)
    assert content["uid"] == board.uid
    assert "id" not in content


@each_board
def test_every_board_leads_to_all_others_and_keeps_what_is_chosen(board: Board) -> None:
    content = content_of(board)
    (link,) = content["links"]
    assert content["tags"] == [TAG] == link["tags"]
    assert (link["type"], link["includeVars"], link["keepTime"]) == ("dashboards", True, True)


def test_all_boards_share_variables_time_and_annotations() -> None:
    shared = [
        json.dumps([content_of(board)[key] for key in ("templating", "time", "timepicker", "refresh", "annotations")])
        for board in BOARDS
    ]
    assert len(set(shared)) == 1


def test_runs_steps_faults_and_alerts_are_marked() -> None:
    marks = content_of(BOARDS[0])["annotations"]["list"]
    assert [mark["name"] for mark in marks] == ["Runs and steps", "Faults", "Alerts"]
    assert all(mark["enable"] for mark in marks)


@each_board
def test_ids_are_unique_and_titles_of_panels_too(board: Board) -> None:
    for values in (
        [box["id"] for box in boxes(board)],
        [box["title"] for box in boxes(board) if box["type"] != "row"],
    ):
        assert len(set(values)) == len(values)


def test_a_panel_of_several_boards_is_the_same_on_each() -> None:
    seen: dict[str, Panel] = {}
    for board in BOARDS:
        for section in board.sections:
            for panel in section.panels:
                one = panel.columns(GRID_WIDTH)
                assert seen.setdefault(panel.title, one) == one


@each_board
def test_boxes_stay_in_the_grid_and_do_not_overlap(board: Board) -> None:
    taken: dict[tuple[int, int], str] = {}
    for box in boxes(board):
        place = box["gridPos"]
        assert place["x"] + place["w"] <= GRID_WIDTH, box["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{box['title']} covers {taken.get((x, y))}"
                taken[x, y] = box["title"]


@each_board
def test_nothing_is_below_the_third_screen(board: Board) -> None:
    assert max(box["gridPos"]["y"] + box["gridPos"]["h"] for box in boxes(board)) <= SCREENS_MAX * SCREEN_ROWS


@each_board
def test_lines_are_full_so_that_nothing_looks_left_out(board: Board) -> None:
    widths: dict[int, int] = {}
    for box in boxes(board):
        widths[box["gridPos"]["y"]] = widths.get(box["gridPos"]["y"], 0) + box["gridPos"]["w"]
    assert set(widths.values()) == {GRID_WIDTH}


def test_what_only_postgresql_has_is_folded_away() -> None:
    """With H2, nobody sees an empty panel."""
    collapsed = [box for board in BOARDS for box in content_of(board)["panels"] if box.get("collapsed")]
    assert [box["title"] for box in collapsed] == ["PostgreSQL (only with DATABASE=postgres)"]
    folded = {panel["title"] for panel in collapsed[0]["panels"]}
    only_postgres = {
        panel.title
        for board in BOARDS
        for section in board.sections
        for panel in section.panels
        if all("pg_" in query.expr for query in panel.queries)
    }
    assert folded == only_postgres


def test_the_alerts_that_are_shown_are_those_of_the_rules() -> None:
    assert sorted(ALERTS) == [rule.name for rule in load_rules() if rule.is_alert]


def test_the_first_board_is_the_home_of_grafana() -> None:
    services = yaml.safe_load((HERE.parent / "compose.yaml").read_text(encoding="utf-8"))["services"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home.endswith(f"/{BOARDS[0].uid}.json")
