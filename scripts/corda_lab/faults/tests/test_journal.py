"""The journal of faults: what is in a lab is healed, whatever ended the command, and nothing else passes for that."""

import os
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from corda_lab.errors import LabError
from corda_lab.faults import inject, plan
from corda_lab.faults.inject import Journal
from corda_lab.faults.plan import make
from corda_lab.lab.docker import Container
from support.engine import LOAD, ComposeOf, Engine, await_that, fault, helpers

COMMAND = """
import sys, time
from corda_lab.faults import inject
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.faults.model import Fault

compose = Compose(load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": sys.argv[1]}))
with inject.injecting(compose, [Fault(kind="pause", target="partya", at_seconds=0, for_seconds=60)], Container("x")):
    time.sleep(60)
"""


def test_a_killed_command_leaves_nothing_frozen(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Command and guard are processes of their own, which use the cache of the checkout.
    monkeypatch.undo()
    project = f"faults-{uuid.uuid4().hex[:12]}"
    path = {"PATH": f"{engine.bin}:/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = subprocess.Popen([sys.executable, "-c", COMMAND, project], env={**os.environ, **path})
    deadline = time.monotonic() + 30
    try:
        while engine.state("partya") != "paused":
            assert time.monotonic() < deadline
            assert command.poll() is None
            time.sleep(0.05)
        assert inject.is_left(project)
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    while inject.is_left(project):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert engine.state("partya") == "running"


def test_the_next_command_heals_what_is_left_and_names_what_it_cannot(
    engine: Engine, compose_of: ComposeOf, capsys: pytest.CaptureFixture[str]
) -> None:
    compose = compose_of()
    notes = Journal("my-lab")
    for number, one in enumerate((fault("pause", "partya"), fault("pause", "bridge"))):
        planned = plan.plan_of(one, compose, Container(LOAD))
        notes.note(str(number), planned)
        make(planned)
    engine.refuse("unpause my-lab-bridge-1")
    with pytest.raises(LabError, match="pause bridge") as failed:
        inject.heal_left("my-lab")
    assert "partya" not in failed.value.message
    assert engine.state("partya") == "running"
    with inject.removing("my-lab"):
        assert inject.is_left("my-lab"), "a lab that could not be removed still has it"
    assert not inject.is_left("my-lab")
    notes.note("1", planned)
    engine.refuse("")
    capsys.readouterr()
    inject.heal_left("my-lab")
    assert "healed what an ended command has left in the lab: pause bridge" in capsys.readouterr().out
    inject.heal_left("my-lab")
    assert capsys.readouterr().out == ""


def test_what_the_engine_is_still_about_to_make_is_healed_afterwards(engine: Engine, compose_of: ComposeOf) -> None:
    """The client of the engine outlives a command that is killed."""
    planned = plan.plan_of(fault("restart", "partya"), compose_of(), Container(LOAD))
    Journal("my-lab").note("1", planned)
    inject.heal_left("my-lab")
    expected = [["stop", "my-lab-partya-1"], ["start", "my-lab-partya-1"]]
    assert engine.calls == expected
    Journal("my-lab").note("1", planned.model_copy(update={"is_made": True}))
    inject.heal_left("my-lab")
    assert engine.calls == expected


def test_healing_waits_for_the_helper_of_a_killed_command(engine: Engine, compose_of: ComposeOf) -> None:
    planned = plan.plan_of(fault("partition", "partya"), compose_of(), Container(LOAD))
    Journal("my-lab").note("1", planned)
    engine.set_helpers(2)
    inject.heal_left("my-lab")
    assert engine.helpers == 0
    assert [script[0] for _, script in helpers(engine.calls)] == ["find"]


def test_several_writers_of_the_journal_lose_nothing(engine: Engine, compose_of: ComposeOf) -> None:
    planned = plan.plan_of(fault("pause", "partya"), compose_of(), Container(LOAD))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Journal("my-lab").note(name, planned), map(str, range(40))))
        list(pool.map(lambda name: Journal("my-lab").strike(name), map(str, range(0, 40, 2))))
    assert sorted(Journal("my-lab").left(), key=int) == [str(name) for name in range(1, 40, 2)]
    assert engine.calls == []


def test_a_journal_that_cannot_be_read_is_named_until_the_lab_is_gone(engine: Engine, compose_of: ComposeOf) -> None:
    """It may name a part that is still frozen: it may not pass for one without faults."""
    file = Journal("my-lab").file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"0 pause partya": {"kind": "of an older version"}}', encoding="utf-8")
    with pytest.raises(LabError, match=r"faults-my-lab\.json: the journal of faults cannot be read"):
        inject.heal_left("my-lab")
    with inject.injecting(compose_of(), (fault("pause", "partya"),), Container(LOAD)) as injection:
        await_that(lambda: injection.entries[0].problem != inject.TOO_LATE)
    assert "the journal of faults cannot be read" in (injection.entries[0].problem or "")
    assert engine.state("partya") == "running"
    with inject.removing("my-lab"):
        assert file.exists()
    assert not file.exists()


def test_a_journal_that_cannot_be_written_does_not_pass_for_a_healed_fault(
    engine: Engine, compose_of: ComposeOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: Journal, _name: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "strike", full)
    with inject.injecting(compose_of(), (fault("pause", "partya"),), Container(LOAD)) as injection:
        await_that(lambda: injection.entries[0].was_made)
    (entry,) = injection.entries
    assert (entry.healed_at, engine.state("partya")) == (None, "running")
    assert "could not be healed: [Errno 28] No space left" in (entry.problem or "")
