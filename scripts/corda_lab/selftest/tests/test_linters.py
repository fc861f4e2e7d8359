"""Which files the linters read, and that a commit is checked by the same ones."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from corda_lab.paths import ROOT
from corda_lab.selftest.linters import LINTERS, Linter, is_shell_script, sources, tool

HOOKS = ROOT / ".pre-commit-config.yaml"

LINKED = "# Linked\n\n## A heading\n"
PAGE = "# Page\n\n[it](linked.md), [its heading](linked.md#a-heading), [above](#page)\n"


def test_every_tracked_shell_script_and_no_other_script_is_found() -> None:
    found = {str(path) for path in sources()}
    shell = {path for path in found if is_shell_script(Path(path))}
    assert ".ci/run" in shell
    assert "scripts/lab" in found - shell
    assert not [path for path in found if path.startswith((".git/", ".venv/", ".cache/", "results/"))]


@pytest.mark.parametrize("linter", LINTERS, ids=lambda linter: linter.name)
def test_a_linter_that_is_given_files_is_given_one_at_least(linter: Linter) -> None:
    files = list(sources())
    given = linter.command_line(files)[len(linter.command) :]
    assert bool(given) == (linter.reads is not None)


def test_every_issue_form_is_checked() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    read = {path for linter in LINTERS if linter.name.startswith("issue") for path in linter.command_line(sources())}
    assert {str(path.relative_to(ROOT)) for path in folder.iterdir()} <= read


def test_a_commit_is_checked_by_the_same_programs() -> None:
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    programs = {
        program for hook in repository["hooks"] for program in re.findall(r"\.venv/bin/([\w-]+)", hook["entry"])
    }
    assert programs == {linter.command[0] for linter in LINTERS}
    assert {hook["name"] for hook in repository["hooks"]} == {linter.name for linter in LINTERS}


def check_markdown(folder: Path, page: str) -> "subprocess.CompletedProcess[str]":
    """Run the project's Markdown check, with its settings, on a page that links to another."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "linked.md").write_text(LINKED, encoding="utf-8")
    (folder / "page.md").write_text(page, encoding="utf-8")
    (program, *arguments) = next(linter.command for linter in LINTERS if linter.name == "rumdl")
    command = [tool(program), *arguments, "linked.md", "page.md"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_links_that_lead_somewhere_are_accepted(tmp_path: Path) -> None:
    done = check_markdown(tmp_path, PAGE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("[gone](gone.md)", "MD057"),
        ("![gone](img/gone.png)", "MD057"),
        ("[no such heading](linked.md#another-heading)", "MD051"),
        ("[no such heading here](#nowhere)", "MD051"),
        ("[no such reference][nowhere]", "MD052"),
        ("wide " * 25, "MD013"),
    ],
)
def test_a_broken_link_and_a_wide_line_are_found(tmp_path: Path, line: str, rule: str) -> None:
    done = check_markdown(tmp_path, f"{PAGE}\n{line.strip()}\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "page.md:5:" in done.stdout
    assert rule in done.stdout
