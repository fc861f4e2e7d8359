"""The grid of flows in flight and connections: ratios, limits in words, and the stored file."""

from pathlib import Path

import pytest

from corda_lab.bench import report
from corda_lab.bench.bridge import limits, show
from corda_lab.bench.bridge.command import announcement, read_connections
from corda_lab.bench.bridge.measurement import BridgeBench, GridMeasurement, Side
from corda_lab.bench.file import store
from corda_lab.bench.latency import Latency
from corda_lab.bench.shares import CpuShares
from corda_lab.errors import LabError
from corda_lab.results import folders
from support.runs import ENVIRONMENT

SATURATED = CpuShares(nodes=1.5, bridge=0.2, generator=0.2, machine=1.95, cores=2)
HALF_IDLE = CpuShares(nodes=0.6, bridge=0.2, generator=0.2, machine=1.0, cores=2)


def measurement(side: Side, users: int, number: int, rate: float, shares: CpuShares) -> GridMeasurement:
    return GridMeasurement(
        side=side,
        users=users,
        connections=1,
        round=number,
        window_started_at=1_700_000_000.0,
        window_seconds=30,
        flows=round(30 * rate),
        flows_per_second=rate,
        latency=Latency(mean_ms=4, p50_ms=4, p95_ms=5, p99_ms=9, max_ms=10),
        shares=shares,
    )


def bench(ratio: float, shares: CpuShares, users: int = 20) -> BridgeBench:
    """Three rounds, in which the lab has ``ratio`` times the throughput of the direct client, 100 flows/s."""
    rates: dict[Side, float] = {"direct": 100.0, "lab": ratio * 100}
    measured = [
        measurement(side, users, number, rate * (1 + number / 1000), shares)
        for number in (1, 2, 3)
        for side, rate in rates.items()
    ]
    return BridgeBench(
        id="20260102T030405Z-bridge",
        lab_version="0.3",
        environment=ENVIRONMENT,
        workload="empty",
        flow="org.cordalab.flows.Empty",
        node="PartyA",
        arguments="{}",
        seed=1,
        users=(users,),
        connections=(1,),
        rounds=3,
        warm_up_seconds=10,
        duration_seconds=30,
        measurements=tuple(measured),
    )


@pytest.mark.parametrize(
    ("ratio", "shares", "users", "words"),
    [
        (0.8, SATURATED, 20, "CPU of the machine (nodes 75 %, bridge 10 %, generator 10 %)"),
        (0.8, HALF_IDLE, 20, "the bridge or the generator: the direct client is faster, and CPU is left"),
        (1.0, HALF_IDLE, 20, "the nodes, without their CPU: the direct client is no faster, and CPU is left"),
        (0.8, HALF_IDLE, 1, "the duration of one flow"),
        (0.8, HALF_IDLE.model_copy(update={"generator": 0.97}), 20, "the generator, whose only process is saturated"),
        (0.8, CpuShares(), 20, "unknown: CPU time cannot be read here"),
    ],
)
def test_says_what_limits_the_lab(ratio: float, shares: CpuShares, users: int, words: str) -> None:
    assert limits.limit(bench(ratio, shares, users), users, 1) == words


def test_pairs_by_round_and_leaves_failed_measurements_out() -> None:
    whole = bench(0.8, SATURATED)
    found = limits.ratio(whole, 20, 1)
    assert found is not None
    assert found.value == pytest.approx(0.8)
    assert found.pairs == 3
    failed = tuple(
        each.model_copy(update={"problem": "out of memory", "flows_per_second": 1.0}) if each.round == 2 else each
        for each in whole.measurements
    )
    rest = limits.ratio(whole.model_copy(update={"measurements": failed}), 20, 1)
    assert rest is not None
    assert rest.value == pytest.approx(0.8)
    assert rest.pairs == 2
    assert limits.ratio(whole, 20, 4) is None


def test_prints_one_row_for_each_place(capsys: pytest.CaptureFixture[str]) -> None:
    row = show.rows(bench(0.8, SATURATED))[0]
    assert row[:6] == ("20", "1", "80.2", "0.800 (0.800 to 0.800)", "4.0", "9.0")
    # 0.2 cores at 80 flows/s.
    assert row[6:9] == ("2.50", "2.50", "75 %")
    show.results(bench(0.8, SATURATED))
    assert "nodes 75 %" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "one", "0", "2,2", "17", "1,,2"])
def test_wrong_numbers_of_connections_are_one_clear_error(text: str) -> None:
    with pytest.raises(LabError, match="--connections"):
        read_connections(text)


def test_reads_numbers_of_connections_and_says_how_long_it_takes() -> None:
    assert read_connections("1, 4") == (1, 4)
    assert announcement(bench(1.0, SATURATED)).endswith("about 5 minutes")


def test_the_stored_file_reads_back_and_has_its_section(tmp_path: Path) -> None:
    path = store(bench(0.8, SATURATED), tmp_path)
    assert folders.read_model(path, BridgeBench) == bench(0.8, SATURATED)
    text = report.document({path: report.kind_of(path)})
    assert "## The bridge" in text
    assert "| 20 | 1 | 80.2 | 0.800 (0.800 to 0.800) |" in text
