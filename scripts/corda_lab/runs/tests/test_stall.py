"""A load of which no flow ends says so once, with what the nodes have logged."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.node_logs import read as node_logs
from corda_lab.node_logs.model import ErrorKind
from corda_lab.runs import live
from corda_lab.runs.live import LiveRate, Stall

KIND = ErrorKind("INFO", "a.B", "failed", "E", 4, 1.0, 2.0, 'failed – E: column "x" does not exist')


class Clock:
    """The monotonic clock, as the test sets it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(live, "time", found)
    return found


def rate(ended: float, in_flight: float) -> Any:
    return MagicMock(spec=LiveRate, ended=ended, in_flight=in_flight)


def watch(clock: Clock, readings: list[tuple[float, float, float]]) -> None:
    """Note readings: the time in seconds, how many flows have ended, and how many are in flight."""
    watched = Stall(MagicMock(), 0.0)
    for clock.now, ended, in_flight in readings:
        watched.note(rate(ended, in_flight))


def test_it_is_said_once_with_what_the_nodes_logged(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node_logs, "errors_since", lambda *_, **__: [("PartyA", KIND)])
    watch(clock, [(0, 0, 4), (3, 2, 4), (33, 2, 4), (36, 2, 4), (99, 2, 4)])
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("no flow has ended for") == 1
    assert "no flow has ended for 30 s, with 4 in flight" in said
    assert 'PartyA has logged 4 times: failed – E: column "x" does not exist' in said


@pytest.mark.parametrize(
    "readings",
    [
        [(0, 0, 4), (20, 1, 4), (40, 2, 4), (60, 3, 4)],
        [(0, 5, 0), (40, 5, 0), (80, 5, 0)],
        [(0, 0, 4), (29, 0, 4)],
        [(0, 0, 1), (20, 1, 1), (59, 1, 1)],
    ],
    ids=["flows end slowly", "none is in flight", "not long enough", "less than twice as long as before"],
)
def test_nothing_is_said_while_flows_end_or_none_is_in_flight(
    clock: Clock, capsys: pytest.CaptureFixture[str], readings: list[tuple[float, float, float]]
) -> None:
    watch(clock, readings)
    assert not capsys.readouterr().out


def test_it_is_said_when_it_takes_twice_as_long_as_before(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node_logs, "errors_since", lambda *_, **__: [])
    watch(clock, [(0, 0, 1), (20, 1, 1), (59, 1, 1), (60, 1, 1)])
    assert "no flow has ended for 40 s" in capsys.readouterr().out


def test_a_load_goes_on_when_the_logs_cannot_be_read(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node_logs, "errors_since", MagicMock(side_effect=LabError("the engine did not answer")))
    watch(clock, [(0, 0, 4), (31, 0, 4)])
    assert "cannot be read: the engine did not answer" in capsys.readouterr().out
