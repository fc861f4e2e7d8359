"""The folder of a stack: keys that only its user may read, and the record of where the stack is."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.swarm.folder import StackFolder, named
from support.stacks import deployment


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackFolder:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    return StackFolder.of("lab")


def test_only_its_user_may_open_it(folder: StackFolder) -> None:
    folder.create()
    assert folder.stack == "lab-swarm"
    assert folder.root.stat().st_mode & 0o777 == 0o700


def test_hosts_of_earlier_deployments_are_not_forgotten_before_the_stack_is_removed(folder: StackFolder) -> None:
    assert folder.known() is None
    folder.note(deployment("old", ["a", "b"], is_running=True))
    folder.note_ended()
    folder.note(deployment("new", ["b", "c"]))
    found = folder.known()
    assert found is not None
    assert (found.placement, found.hosts, found.is_running) == ("new", ["a", "b", "c"], False)
    folder.forget()
    assert folder.known() is None


def test_a_damaged_record_is_named(folder: StackFolder) -> None:
    folder.create()
    (folder.root / "deployment.json").write_text("{", encoding="utf-8")
    with pytest.raises(LabError, match=r"deployment\.json: is damaged"):
        folder.known()


def test_a_placement_of_this_checkout_is_named_from_its_root_on() -> None:
    assert named(str(paths.ROOT / "tests" / "swarm" / "placement.yaml")) == "tests/swarm/placement.yaml"
    assert named("one-node-per-host") == "one-node-per-host"
    assert named("/elsewhere/mine.yaml") == "/elsewhere/mine.yaml"
