"""Tables in a terminal of any width, and where there is none."""

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from corda_lab.text import tables, ui
from support.commands import PYTHONPATH

RUN = "20260102T030405Z-a-run-with-a-rather-long-name"
LOAD = "best: 8 users, PostgreSQL, Corda 4.10, heap 2g"
NUMBERS = ("4.78*", "3,809 ms*", "7,083 ms*")


def printed(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    """The lines of a table in a terminal of so many columns."""
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, soft_wrap=True, force_terminal=True, color_system=None)
    monkeypatch.setattr(ui, "console", console)
    made = tables.table("run", "load", "flows/s", "p50", "p99", numbers=["flows/s", "p50", "p99"])
    made.add_row(RUN, LOAD, *NUMBERS)
    made.add_row("20260102T030406Z-iou", "20 users", "12.30", "31 ms", "75 ms", style="red")
    tables.show(made)
    return file.getvalue().splitlines()


def test_a_row_is_a_line_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, 140)
    assert len(lines) == 3
    assert lines[0].split() == ["run", "load", "flows/s", "p50", "p99"]
    assert lines[1].split("  ")[0] == RUN
    assert LOAD in lines[1]


def test_text_wraps_in_its_column_before_a_row_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, 100)
    assert lines[1].startswith(RUN)
    assert all(number in lines[1] for number in NUMBERS)
    assert lines[2].startswith(" " * len(RUN))
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("width", [80, 60, 40])
def test_in_a_narrow_terminal_a_row_begins_with_its_name_and_no_number_is_cut(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    lines = printed(monkeypatch, width)
    assert RUN in [line.strip() for line in lines]
    assert max(map(len, lines)) <= max(width, len(RUN))
    text = " ".join(" ".join(lines).split())
    assert all(number in text for number in NUMBERS)
    assert "…" not in text
    assert "flows/s" in text
    for word in LOAD.split():
        assert word in text


def test_without_room_for_the_numbers_each_cell_has_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.strip() for line in printed(monkeypatch, 40)]
    assert lines[-5:] == ["20260102T030406Z-iou", "load: 20 users", "flows/s: 12.30", "p50: 31 ms", "p99: 75 ms"]


def test_a_program_gets_each_row_on_one_line_however_long() -> None:
    code = (
        "from corda_lab.text import tables\n"
        "made = tables.table('run', 'load')\n"
        "made.add_row('a', 'word ' * 100 + 'end')\n"
        "tables.show(made)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["load", "end"]


@pytest.mark.parametrize("width", [200, 100, 40])
def test_brackets_in_a_cell_are_text(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, soft_wrap=True, force_terminal=True, color_system=None)
    monkeypatch.setattr(ui, "console", console)
    made = tables.table("run", "load")
    made.add_row(RUN, "environments.0.shape.[/red]: " + LOAD)
    tables.show(made)
    assert "[/red]" in file.getvalue()
