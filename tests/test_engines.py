"""Engines for tests of a swarm: what can be said without starting one."""

import json
import subprocess
from pathlib import Path

import pytest

from bare.dockerd import process_start
from swarm import engines
from swarm.engines import Engine

INTERFACE_MAX = 15
"""Characters of the name of a network interface in Linux."""


def test_names_are_short_enough_for_the_kernel() -> None:
    assert len(Engine("any", 99).namespace) <= INTERFACE_MAX
    assert len(engines.BRIDGE) <= INTERFACE_MAX


def test_commands_run_in_the_network_of_the_engine() -> None:
    engine = Engine("one", 1)
    assert engine.enter == ["nsenter", "--net=/run/netns/clab-swarm-1"]
    assert engine.address == "10.99.0.1"


def test_the_process_of_a_record_is_ended_only_if_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "STOP_SECONDS_MAX", 5.0)
    with subprocess.Popen(["sleep", "60"]) as process:
        started = process_start(process.pid)
        engines.end({"pid": process.pid, "start_seconds": -1.0})
        assert process.poll() is None
        engines.end(json.loads(json.dumps({"pid": process.pid, "start_seconds": started})))
        assert process.wait(timeout=5) is not None
