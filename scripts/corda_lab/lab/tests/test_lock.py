"""One command at a time uses a lab, and the others are told which."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.cli.verbs import app
from corda_lab.errors import LabError
from corda_lab.lab import lock
from support.commands import PYTHONPATH

PROJECT = "lab-of-a-test"

HOLD = """\
import sys
from pathlib import Path
from corda_lab import paths
from corda_lab.lab import lock
paths.CACHE = Path(sys.argv[1])
project, sys.argv = sys.argv[2], ["lab", "run", "iou"]
with lock.held(project):
    print("held", flush=True)
    sys.stdin.read()
"""

CHANGING = (
    ["up"],
    ["down"],
    ["quickstart"],
    ["run", "iou"],
    ["report", "web-ui"],
    ["sweep", "smoke"],
    ["profile", "heap", "PartyA"],
)
"""The verbs that start, stop, change or load a lab."""


@contextmanager
def another_command(cache: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock until the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(cache), PROJECT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    return tmp_path


def test_the_second_command_is_told_which_one_is_the_first(cache: Path) -> None:
    with another_command(cache) as process, pytest.raises(LabError) as caught, lock.held(PROJECT):
        pytest.fail("two commands hold the lock")
    words = rf"Another command is using this lab: `lab run iou`, process {process.pid}, since \d\d:\d\d:\d\d"
    assert re.fullmatch(words, caught.value.message)
    assert caught.value.remedy == "Wait for it or stop it."


def test_a_command_that_is_killed_releases_the_lock(cache: Path) -> None:
    with another_command(cache) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with lock.held(PROJECT):
            found = lock.holder(PROJECT)
    assert found is not None
    assert found.process == os.getpid()


def test_a_command_that_it_starts_does_not_inherit_the_lock(cache: Path) -> None:
    with lock.held(PROJECT):
        child = subprocess.Popen(["sleep", "60"])
    try:
        with lock.held(PROJECT):
            pass
    finally:
        child.kill()
        child.wait()


def test_a_cache_that_cannot_be_written_is_one_clear_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setattr(paths, "CACHE", cache / "file")
    with pytest.raises(LabError, match="cannot be written"), lock.held(PROJECT):
        pass


@pytest.mark.parametrize("verb", CHANGING, ids=" ".join)
def test_every_verb_that_changes_the_lab_needs_the_lock(
    cache: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", PROJECT)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with another_command(cache), pytest.raises(LabError, match=r"^Another command is using this lab: `lab run iou`"):
        app(verb, standalone_mode=False)
