"""Clocks of hosts, measured through one connection."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.engine import Engine
from corda_lab.swarm import clocks
from support.docker import docker_client

HOST = Engine("one")


def test_the_shortest_exchange_counts() -> None:
    found = clocks.best([(10.0, 15.0, 11.0), (20.0, 25.06, 20.1), (30.0, 35.5, 31.0)])
    assert found.offset_seconds == pytest.approx(5.01)
    assert found.error_seconds == pytest.approx(0.05)


def test_a_clock_is_read_by_a_program_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    program = f'PATH=/usr/bin:/bin; echo "$@" > {calls}; while read -r line; do date +%s.%N; done'
    docker_client(tmp_path, monkeypatch, program)
    found = clocks.measure(HOST, "tools:1", "org.cordalab.stack=lab-swarm")
    assert abs(found.offset_seconds) <= 1.0
    assert 0 < found.error_seconds < 5.0
    said = calls.read_text()
    assert said.startswith("--context one run --rm --interactive --network=none")
    assert "--label=org.cordalab.stack=lab-swarm" in said


@pytest.mark.parametrize("program", ["exec /bin/sleep 60", "exit 1", "read -r line; echo nonsense"])
def test_a_host_that_does_not_answer_is_named_in_time(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "START_SECONDS_MAX", 0.5)
    monkeypatch.setattr(clocks, "END_SECONDS_MAX", 0.2)
    docker_client(tmp_path, monkeypatch, program)
    with pytest.raises(LabError, match="one: its clock cannot be read"):
        clocks.measure(HOST, "tools:1", "x=y")
