"""The settings of the linter of Markdown, which finds links that lead nowhere; and the places that the guide names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

NAME_IN_FILE = re.compile(r"`([A-Za-z_]+)` (?:in|of)\s+`([a-z_/]+\.py)`")
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


def test_what_the_guide_for_contributors_names_is_where_it_says() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = NAME_IN_FILE.findall(guide)
    assert len(places) > 10
    lost = []
    for name, place in places:
        path = next((base / place for base in (ROOT, ROOT / "scripts/corda_lab") if (base / place).is_file()), None)
        defined = re.compile(rf"^(?:class |def )?{name}\b\s*[(:=]", re.MULTILINE)
        if path is None or not defined.search(path.read_text(encoding="utf-8")):
            lost.append(f"{name} in {place}")
    assert lost == []
