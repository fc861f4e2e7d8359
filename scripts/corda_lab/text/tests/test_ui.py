"""How errors and rules are printed."""

import pytest

from corda_lab.errors import LabError
from corda_lab.text import ui
from lab_workload.problems import Problem


def printed(error: LabError, capsys: pytest.CaptureFixture[str]) -> list[str]:
    ui.print_error(error)
    return capsys.readouterr().err.splitlines()


def test_a_rule_in_a_file_is_no_longer_than_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    ui.rule("bursts: [one], two")
    (line,) = capsys.readouterr().out.splitlines()
    assert len(line) == ui.RULE_WIDTH
    assert line.strip("─") == " bursts: [one], two "


def test_every_line_of_an_error_stands_below_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(LabError("disk: full\nport: taken", "Mend it.\nTry again."), capsys) == [
        "error: disk: full",
        "       port: taken",
        "       Mend it.",
        "       Try again.",
    ]


def test_each_remedy_stands_below_its_problem(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        Problem.of("disk", "full", "Free some."),
        Problem("no port"),
        Problem.of("c", "is [b]missing", "Add it."),
    ]
    assert printed(LabError(problems=problems), capsys) == [
        "error: disk: full",
        "         Free some.",
        "       no port",
        "       c: is [b]missing",
        "         Add it.",
    ]


def test_problems_are_a_line_each_and_equal_remedies_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem.of("a", "is missing", "Add them."), Problem.of("b", "is missing", "Add them.")]

    assert printed(LabError(problems=problems), capsys) == [
        "error: a: is missing",
        "       b: is missing",
        "         Add them.",
    ]
    assert LabError(problems=problems, remedy="See the docs.").remedy == "See the docs."
