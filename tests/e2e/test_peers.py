"""``lab bench peers`` on real nodes: every peer starts flows, and everything about it is measured."""

import pytest

from corda_lab.bench.file import BENCH
from corda_lab.bench.peers.measurement import PEERS, PeersBench
from corda_lab.lab.engine import run_docker
from corda_lab.results.folders import read_model
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]


def test_every_peer_is_measured_and_leaves_nothing_behind(lab: Lab) -> None:
    verb = ("bench", "peers", "--workload", "empty", "--users", "2", "--rounds", "1")
    lab.succeed(*verb, "--duration", "5s", "--warm-up", "3s")
    bench = read_model(sorted(BENCH.glob("*-peers.json"))[-1], PeersBench)
    assert {each.peer for each in bench.measurements} == set(PEERS)
    for measured in bench.measurements:
        assert measured.problem is None
        assert measured.flows > 20
        assert measured.latency is not None
        assert 0 < measured.latency.p50_ms <= measured.latency.p99_ms <= measured.latency.max_ms
        # None if the engine runs elsewhere. A Java process needs more than 20 MB.
        assert measured.cpu_seconds is None or measured.cpu_seconds > 0
        assert measured.memory_bytes_max is None or measured.memory_bytes_max > 20e6
    label = f"label=com.docker.compose.project={lab.settings.project}"
    left = run_docker(["ps", "--all", "--quiet", "--filter", label, "--filter", "label=org.cordalab.run"])
    assert left.stdout == ""


def test_a_peer_without_enough_memory_is_a_result_with_its_reason(lab: Lab) -> None:
    verb = ("bench", "peers", "--workload", "empty", "--users", "1", "--rounds", "1")
    done = lab.succeed(*verb, "--duration", "2s", "--warm-up", "1s", JMETER_HEAP="16m")
    assert "JMeter, 1 in flight: it ended with status" in done.stdout
