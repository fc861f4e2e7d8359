"""A load under which nodes are profiled: which ones, when, and what becomes of a profile that fails."""

import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.profile import under_load
from corda_lab.profile.jvm import Jvm
from corda_lab.profile.session import Session
from corda_lab.profile.under_load import Profiling, Span, span_of, targets, within
from corda_lab.results import profiles, stored
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.profiles import Event
from corda_lab.steps.load import until_steady
from lab_workload.load import Load, Stopping
from support.profiler import JVM, commands, jvm_client, taken_in

INITIATORS = ("PartyA", "PartyB")
PROFILED = Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1, profile=("initiators",))
NOW = Span(0.0, 1)
PROBLEM = "another profile of it is running"


@pytest.fixture
def settings() -> Settings:
    return load_settings(environment={})


def profiling(settings: Settings, span: Span = NOW, jvms: tuple[Jvm, ...] = (JVM,)) -> Profiling:
    return Profiling(tuple(Session(one, Event.CPU, settings) for one in jvms), span)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("initiators",), ["PartyA", "PartyB"]),
        (("partyb", "Notary"), ["PartyB", "Notary"]),
        (("all",), ["Notary", "PartyA", "PartyB", "PartyC"]),
        (("bridge", "Initiators", "PARTYA"), ["bridge", "PartyA", "PartyB"]),
    ],
)
def test_nodes_are_named_or_found_and_each_is_profiled_once(
    asked: tuple[str, ...], found: list[str], settings: Settings
) -> None:
    assert targets(Load(workload="iou", profile=asked), INITIATORS, settings) == found


def test_not_more_nodes_are_profiled_than_leave_something_to_measure(settings: Settings) -> None:
    large = settings.with_values({"PARTIES": "11"})
    with pytest.raises(LabError, match=r"^--profile: 12 nodes are more than 8$"):
        targets(Load(workload="iou", profile=("all",)), INITIATORS, large)


@pytest.mark.parametrize(
    ("options", "span"),
    [
        (Load(workload="iou", users=2, duration_seconds=30, warm_up_seconds=10), Span(11.0, 28)),
        (Load(workload="iou", users=2, duration_seconds=600, warm_up_seconds=10), Span(11.0, 60)),
        # The earliest window is from 10 to 70 s.
        (until_steady(Load(workload="iou", users=2, duration_seconds=60, warm_up_seconds=10), 90), Span(41.0, 28)),
        # That of a sweep begins at the longest warm-up at the latest.
        (
            Load(
                workload="iou",
                users=2,
                duration_seconds=40,
                warm_up_seconds=20,
                stopping=Stopping(warm_up_seconds_min=5),
            ),
            Span(21.0, 38),
        ),
        (Load(workload="iou", users=1, flows=40), Span(0.0, 60)),
    ],
)
def test_the_measuring_window_is_profiled_or_a_part_of_it(options: Load, span: Span) -> None:
    assert span_of(options) == span


def test_samples_are_taken_while_the_load_runs_and_stored_after_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = jvm_client(tmp_path, monkeypatch)
    found = profiling(settings)
    found.begin()
    # As long as the load lasts.
    await_command(log, "asprof stop")
    found.end()
    assert not any("flamegraph" in command for command in commands(log)), "it is read when all has been counted"
    (taken,) = found.store(tmp_path)
    assert (taken.node, taken.file, taken.problem) == ("PartyA", "profiles/partya-cpu.html", None)
    assert 0 < taken.seconds < 60
    assert profiles.read(tmp_path, taken) is not None
    seen = len(commands(log))
    found.close()
    assert len(commands(log)) == seen


def await_command(log: Path, part: str) -> None:
    """Wait until a command with this part was run in a container."""
    deadline = time.monotonic() + 60
    while not any(part in command for command in commands(log)):
        assert time.monotonic() < deadline, f"{part} was not run"
        time.sleep(0.02)


def test_a_load_that_ends_before_its_window_has_no_profile_and_says_so(settings: Settings, tmp_path: Path) -> None:
    found = profiling(settings, Span(600.0, 1))
    found.begin()
    found.end()
    (taken,) = found.store(tmp_path)
    assert taken.file is None
    assert taken.problem == "the load ended before its measuring window could be profiled"


def test_a_profile_that_fails_is_a_problem_and_no_error(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse = "echo '[ERROR] Profiler already started' >&2; exit 1"
    log = jvm_client(tmp_path, monkeypatch, [("lab-notary-1 /network/bin/asprof start", refuse)])
    found = profiling(settings, NOW, (JVM, Jvm("Notary", Container("lab-notary-1"), 1, "4.3")))
    found.begin()
    await_command(log, "lab-notary-1 /network/bin/asprof start")
    found.end()
    good, bad = found.store(tmp_path)
    found.close()
    assert (good.file, good.problem) == ("profiles/partya-cpu.html", None)
    assert (bad.file, bad.problem) == (None, PROBLEM)
    assert f"warning: Notary: {PROBLEM}" in capsys.readouterr().out


def lab_of(settings: Settings) -> MagicMock:
    return MagicMock(settings=settings)


def test_a_node_that_cannot_be_profiled_is_told_before_the_nodes_are_conditioned(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_load.check(PROFILED, lab_of(settings))

    def not_running(name: str, _: object) -> Jvm:
        raise LabError(f"{name} is not running")

    monkeypatch.setattr("corda_lab.profile.jvm.find", not_running)
    with pytest.raises(LabError, match="bridge is not running"):
        under_load.check(Load(workload="iou", profile=("bridge",)), lab_of(settings))


def test_a_profile_is_in_the_window_as_far_as_it_was_taken_there(
    stored_run: Callable[..., Path], tmp_path: Path
) -> None:
    step = stored.read(stored_run()).steps[0]
    early = taken_in(tmp_path / "early", began_at=step.window.started_at - 10)
    late = taken_in(tmp_path / "late", began_at=step.window.ended_at + 1)
    found = within([early, late], step)
    assert [one.window_seconds for one in found] == [20.0, 0.0]


def test_a_profile_is_a_warning_and_one_that_failed_is_another(tmp_path: Path) -> None:
    taken = [taken_in(tmp_path, node) for node in INITIATORS]
    failed = ProfileEntry(node="Notary", problem=PROBLEM)
    sampled = [one.model_copy(update={"window_seconds": 28.4}) for one in taken]
    first, second = map(str, under_load.warnings([*sampled, failed]))
    assert first.startswith("a profiler sampled PartyA and PartyB for 28 s of the measuring window, which costs CPU")
    assert second == f"Notary could not be profiled: {PROBLEM}"
    assert under_load.warnings([]) == []
