"""What a release says of itself in several files does not differ."""

import re
from itertools import chain
from pathlib import Path

import pytest
import yaml

from corda_lab import __version__
from corda_lab.paths import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, *_ = re.findall(r"^## \[(.+?)\] - (?:\d{4}-\d\d-\d\d|Unreleased)$", changelog, re.MULTILINE)
    assert newest == __version__


def test_the_workflow_runs_on_pythons_that_the_launcher_accepts() -> None:
    launcher = (ROOT / "scripts" / "lab").read_text(encoding="utf-8")
    found = re.search(r"sys\.version_info < \((\d+), (\d+)\)", launcher)
    assert found
    jobs = yaml.safe_load((WORKFLOWS / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    pythons = [tuple(map(int, version.split("."))) for version in jobs["python"]["strategy"]["matrix"]["python"]]
    assert min(pythons) >= (int(found[1]), int(found[2]))


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit_and_names_its_release(workflow: Path) -> None:
    lines = workflow.read_text(encoding="utf-8")
    jobs = yaml.safe_load(lines)["jobs"].values()
    used = [step["uses"] for step in chain.from_iterable(job["steps"] for job in jobs) if "uses" in step]
    assert used
    for action in used:
        assert re.search(rf"{re.escape(action)}  # v\d+\.\d+\.\d+$", lines, re.MULTILINE), action
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)
