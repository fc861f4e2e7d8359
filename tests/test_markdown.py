"""The settings of the linter of Markdown: it finds links that lead nowhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

RUMDL = str(Path(sys.executable).parent / "rumdl")
LINKED = "# Linked\n\n## A heading\n"
PAGE = "# Page\n\n[it](linked.md), [its heading](linked.md#a-heading), [above](#page)\n"


def check_markdown(folder: Path, page: str) -> "subprocess.CompletedProcess[str]":
    """Run the project's Markdown check, with its settings, on a page that links to another."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "linked.md").write_text(LINKED, encoding="utf-8")
    (folder / "page.md").write_text(page, encoding="utf-8")
    command = [RUMDL, "check", "--no-cache", "linked.md", "page.md"]
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
