"""The program that measures between hosts, with both of its sides on this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from corda_lab.host.processes import child
from corda_lab.swarm.measure import RUN_PROGRAM, Measured, NetworkPath, parse_paths, program

PORT = 9000


@pytest.fixture
def _answering() -> Iterator[None]:
    if any(one.laddr and one.laddr.port == PORT for one in psutil.net_connections(kind="tcp")):
        pytest.fail(f"port {PORT} of this machine is in use")
    with child(subprocess.Popen([sys.executable, "-c", RUN_PROGRAM], env={**os.environ, **program()})):
        yield


@pytest.mark.usefixtures("_answering")
def test_round_trip_and_clock_are_measured_to_all_and_throughput_to_the_first() -> None:
    command = [sys.executable, "-c", RUN_PROGRAM, "127.0.0.1", "localhost"]
    environment = {**os.environ, **program()}
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout
    first, second = parse_paths(said, "127.")
    assert (first.target, second.target) == ("0.0.1", "localhost")
    for path in (first, second):
        assert path.trouble == ""
        assert path.round_trip_ms is not None
        assert 0 < path.round_trip_ms < 1000
        assert path.clock_ms is not None
        assert path.clock_error_ms is not None
        # It is the same clock.
        assert abs(path.clock_ms) <= path.clock_error_ms + 0.01
    assert first.megabits_per_second is not None
    assert first.megabits_per_second > 1
    assert second.megabits_per_second is None


def test_a_path_that_is_cut_says_why() -> None:
    said = json.dumps([{"target": "x-b", "trouble": "timed out"}])
    assert parse_paths(said, "x-") == [NetworkPath(target="b", trouble="timed out")]


def test_a_network_is_cut_if_nothing_passes() -> None:
    cut, whole = NetworkPath(target="b", trouble="timed out"), NetworkPath(target="b", round_trip_ms=0.2)
    assert Measured({"a": [cut], "b": [cut]}).is_cut
    assert not Measured({"a": [cut], "b": [whole]}).is_cut
