"""Every ``scripts/lab`` command that a text of the project shows as code exists, with every option that it shows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from corda_lab.cli.verbs import Commands
from corda_lab.paths import ROOT

COMMAND = re.compile(r"(?:\./)?scripts/lab +(?P<words>[^`#|;&<>\"'\n]+)")
"""A command up to its end: that of the code, of the line, or what a shell reads as one."""
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FOLDERS = (".github", "configs", "cordapps", "deploy", "docs", "loadgen", "monitoring", "nodes", "scripts")
SUFFIXES = {".md", ".yaml", ".yml", ".py", ".html", ".json"}
NO_TEXTS = {"tests", "reproduction", "CHANGELOG.md"}
"""Tests, stored results, and the change log, which also names what was removed."""
NOT_THERE = {("CONTRIBUTING.md", "path latest")}
"""The verb that CONTRIBUTING.md adds as an example."""
ANYWHERE = {"--help", "-h", "--install"}
"""``scripts/lab`` reads these itself, wherever they stand."""
COMMANDS = Commands()
COMMANDS_MIN = 300
"""Fewer than the texts have; so few would mean that the patterns no longer find them."""


def files() -> list[Path]:
    """The texts of today, below the project's folder."""
    found = [*ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    named = [path.relative_to(ROOT) for path in found if path.suffix in SUFFIXES and path.is_file()]
    return sorted(path for path in named if NO_TEXTS.isdisjoint(path.parts))


def commands_in(text: str) -> Iterator[list[str]]:
    """The words after ``scripts/lab``, wherever a text has it as code."""
    for code in CODE.finditer(text.replace("\\\n", " ")):
        for found in COMMAND.finditer(code.group()):
            yield found["words"].split()


def problem_of(words: list[str]) -> str | None:
    """What is wrong with a command; None if nothing is."""
    plain = [word.rstrip(".,:)") for word in words]
    if not plain or plain[0].startswith("-"):
        return None
    name = next((name for name in (" ".join(plain[:2]), plain[0]) if name in COMMANDS), None)
    if name is None:
        return f"there is no {plain[0]!r}"
    known = ANYWHERE | {option for one in COMMANDS[name].params for option in (*one.opts, *one.secondary_opts)}
    for word in words:
        option = re.match(r"\[?(--[a-z][a-z-]*)", word)
        if option and option[1] not in known:
            return f"{name!r} has no {option[1]}"
    return None


def test_every_command_of_every_text_exists() -> None:
    found, wrong = 0, []
    for name in files():
        for words in commands_in((ROOT / name).read_text(encoding="utf-8")):
            found += 1
            problem = problem_of(words)
            if problem is not None and (str(name), " ".join(words)) not in NOT_THERE:
                wrong.append(f"{name}: scripts/lab {' '.join(words)}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert found > COMMANDS_MIN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("`scripts/lab measure iou`", "there is no 'measure'"),
        ("`scripts/lab sweep plan --resume`", "'sweep plan' has no --resume"),
        ("`scripts/lab up --corda-version 4.5`", "'up' has no --corda-version"),
        ("```console\n./scripts/lab up --parties 9  # --nothing\n```", None),
        ("```console\n./scripts/lab up --parties 9 \\\n    --nothing\n```", "'up' has no --nothing"),
        ("`scripts/lab down [--volumes]`", None),
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str, problem: str | None) -> None:
    assert [problem_of(words) for words in commands_in(text)] == [problem]
