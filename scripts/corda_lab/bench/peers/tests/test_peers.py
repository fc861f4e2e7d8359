"""The comparison with peers: orders, pairs, verdicts, and the stored file."""

from collections import Counter
from pathlib import Path

import pytest

from corda_lab.bench import report
from corda_lab.bench.file import store
from corda_lab.bench.job import read_users
from corda_lab.bench.latency import Latency
from corda_lab.bench.markdown import table
from corda_lab.bench.peers import command, compare, show
from corda_lab.bench.peers.compare import Estimate, at_least, at_most
from corda_lab.bench.peers.measurement import PEERS, Measurement, Peer, PeersBench
from corda_lab.errors import LabError
from corda_lab.results.folders import read_model
from support.runs import ENVIRONMENT

RATES: dict[Peer, float] = {"direct": 10.0, "jmeter": 8.0, "lab": 10.0}
NOISE = (1.0, 1.01, 0.99, 1.0, 1.02)


def measurement(peer: Peer, number: int, *, users: int = 100, problem: str | None = None) -> Measurement:
    """A measurement of 30 s. The lab needs a tenth of JMeter's CPU time, and adds 1 ms to the direct client's p50."""
    rate = RATES[peer] * NOISE[number - 1]
    flows = round(rate * 30)
    p50 = {"direct": 20.0, "jmeter": 25.0, "lab": 21.0}[peer]
    return Measurement(
        peer=peer,
        users=users,
        round=number,
        window_started_at=1_700_000_000.0 + number,
        window_seconds=30,
        flows=flows,
        flows_per_second=rate,
        latency=Latency(mean_ms=p50, p50_ms=p50, p95_ms=p50 + 5, p99_ms=p50 * 2, max_ms=p50 * 3),
        cpu_seconds=flows * (0.001 if peer == "lab" else 0.01),
        memory_bytes_max=400_000_000 if peer == "lab" else 1_000_000_000,
        problem=problem,
    )


def bench(workload: str = "iou", users: tuple[int, ...] = (100,), **more: object) -> PeersBench:
    measured = tuple(
        measurement(peer, number, users=count) for number in range(1, 6) for count in users for peer in PEERS
    )
    fields = {
        "id": "20260102T030405Z-peers",
        "lab_version": "0.3",
        "workload": workload,
        "flow": "org.cordalab.flows.Iou",
        "node": "PartyA",
        "arguments": "{}",
        "seed": 1,
        "users": users,
        "rounds": 5,
        "warm_up_seconds": 10,
        "duration_seconds": 30,
        "jmeter_image": "sha256:0",
        "environment": ENVIRONMENT,
        "measurements": measured,
    }
    return PeersBench.model_validate(fields | more)


def test_every_peer_is_first_second_and_third_equally_often() -> None:
    places = Counter((peer, place) for turn in range(3) for place, peer in enumerate(command.order_of(turn)))
    assert set(places.values()) == {1}
    assert len(places) == len(PEERS) ** 2


@pytest.mark.parametrize("text", ["", "one", "0", "20,20", "1,-2", "1,,2", "100000"])
def test_wrong_numbers_of_users_are_one_clear_error(text: str) -> None:
    with pytest.raises(LabError, match="--users"):
        read_users(text)


def test_reads_numbers_of_users() -> None:
    assert read_users("1, 20,100") == (1, 20, 100)


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(1.0, 0.96, 1.04, 5), "met"),
        (Estimate(0.99, 0.94, 1.04, 5), "cannot be told"),  # the interval begins too low
        (Estimate(0.97, 0.96, 0.99, 5), "cannot be told"),  # the mean is too low, but not for sure
        (Estimate(0.96, 0.955, 0.97, 5), "missed"),
        (Estimate(1.2, None, None, 1), "cannot be told"),
        (None, "cannot be told"),
    ],
)
def test_a_ratio_to_the_direct_client_needs_its_mean_and_its_lower_end(estimate: Estimate | None, verdict: str) -> None:
    assert at_least(estimate, 0.98, low_min=0.95) == verdict


@pytest.mark.parametrize(
    ("interval", "least", "most"),
    [
        ((1.06, 1.2), "met", "missed"),
        ((0.9, 1.0), "missed", "met"),
        ((1.0, 1.1), "cannot be told", "cannot be told"),
    ],
)
def test_without_a_lower_end_the_whole_interval_decides(interval: tuple[float, float], least: str, most: str) -> None:
    estimate = Estimate(sum(interval) / 2, *interval, 5)
    assert at_least(estimate, 1.05) == least
    assert at_most(estimate, 1.05) == most


def test_pairs_by_round_and_leaves_failed_measurements_out() -> None:
    whole = bench()
    ratio = compare.ratio(whole, "jmeter", 100, compare.flows_per_second)
    assert ratio is not None
    assert ratio.value == pytest.approx(1.25)
    assert ratio.pairs == 5
    failed = [
        each.model_copy(update={"problem": "out of memory", "flows_per_second": 0.1})
        if (each.peer, each.round) == ("jmeter", 2)
        else each
        for each in whole.measurements
    ]
    rest = compare.ratio(
        whole.model_copy(update={"measurements": tuple(failed)}), "jmeter", 100, compare.flows_per_second
    )
    assert rest is not None
    assert rest.value == pytest.approx(1.25)
    assert rest.pairs == 4


def test_judges_the_promises_about_throughput_and_cost() -> None:
    verdicts = {check.what: check.verdict for check in compare.checks(bench())}
    assert verdicts == {
        "flows/s ÷ direct client's, 100 in flight": "met",
        "flows/s ÷ JMeter's, 100 in flight": "met",
        "CPU time per flow ÷ JMeter's, 100 in flight": "met",
        # 400 MB at 10 flows/s, and 1,000 MB at 8: 0.32.
        "memory per flow ÷ JMeter's, 100 in flight": "missed",
    }


def test_judges_the_promises_about_latency_on_the_empty_flow() -> None:
    found = {check.what: (check.estimate, check.verdict) for check in compare.checks(bench("empty", (1,)))}
    p50, p99 = found["p50 − direct client's in ms, 1 in flight"], found["p99 − direct client's in ms, 1 in flight"]
    assert p50 == (Estimate(1.0, 1.0, 1.0, 5), "met")
    assert p99 == (Estimate(2.0, 2.0, 2.0, 5), "met")
    assert compare.checks(bench("mixed", (1,))) == []


def test_a_peer_that_never_succeeds_is_a_result_with_its_reason() -> None:
    measured = [
        Measurement(peer="jmeter", users=100, round=each.round, window_seconds=30, problem="it used too much memory")
        if each.peer == "jmeter"
        else each
        for each in bench().measurements
    ]
    failed = bench(measurements=tuple(measured))
    assert compare.ratio(failed, "jmeter", 100, compare.flows_per_second) is None
    verdicts = {check.what: check.verdict for check in compare.checks(failed)}
    assert verdicts["flows/s ÷ JMeter's, 100 in flight"] == "cannot be told"
    lines = list(show.problem_lines(failed))
    assert lines[0] == "round 1, JMeter, 100 in flight: it used too much memory"
    assert len(lines) == 5


def test_warns_of_a_window_that_is_too_short_for_its_flows(capsys: pytest.CaptureFixture[str]) -> None:
    slow = Latency(mean_ms=8000, p50_ms=8000, p95_ms=9000, p99_ms=9000, max_ms=9000)
    measured = tuple(each.model_copy(update={"latency": slow}) for each in bench().measurements)
    show.results(bench(measurements=measured))
    assert "100 in flight: the window has time for few flows of each user" in capsys.readouterr().out
    show.results(bench())
    assert "warning" not in capsys.readouterr().out


def test_prints_every_value_once(capsys: pytest.CaptureFixture[str]) -> None:
    show.results(bench(users=(20, 100)))
    printed = capsys.readouterr().out
    # Three peers, and the bridge as a part of the lab.
    assert len(show.value_rows(bench(users=(20, 100)))) == 2 * 4
    for word in ("JMeter", "1.250 (1.250 to 1.250)", "met", "missed"):
        assert word in printed


def test_the_stored_file_reads_back_and_a_damaged_one_names_the_field(tmp_path: Path) -> None:
    path = store(bench(), tmp_path)
    assert path.name == "20260102T030405Z-peers.json"
    assert read_model(path, PeersBench) == bench()
    path.write_text(path.read_text(encoding="utf-8").replace('"rounds"', '"turns"'), encoding="utf-8")
    with pytest.raises(LabError, match="rounds"):
        read_model(path, PeersBench)


def test_the_document_has_a_section_for_every_file(tmp_path: Path) -> None:
    stored = [store(bench(), tmp_path), store(bench("empty", (1, 20), id="20260102T040000Z-peers"), tmp_path)]
    report.write(stored, tmp_path / "performance.md")
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        "## The lab beside other tools",
        "### iou, 100 in flight (20260102T030405Z-peers)",
        "### empty, 1 and 20 in flight (20260102T040000Z-peers)",
    ]
    assert "| flows/s ÷ JMeter's, 100 in flight | ≥ 1.05 | 1.250 (1.250 to 1.250) | met |" in text


def test_rounds_of_several_files_are_judged_together(tmp_path: Path) -> None:
    stored = [store(bench(), tmp_path), store(bench(id="20260103T030405Z-peers"), tmp_path)]
    report.write(stored, tmp_path / "performance.md")
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "### iou, 100 in flight (20260102T030405Z-peers, 20260103T030405Z-peers)" in text
    assert "10 rounds, each" in text
    whole = bench().joined_with(bench())
    ratio = compare.ratio(whole, "jmeter", 100, compare.flows_per_second)
    assert ratio is not None
    assert ratio.value == pytest.approx(1.25)
    assert ratio.pairs == 10


def test_a_file_of_no_known_bench_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"20260102T030405Z\.json: the name does not say which bench"):
        report.write([tmp_path / "20260102T030405Z.json"], tmp_path / "performance.md")


def test_a_table_in_markdown() -> None:
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---|\n| 1 | 2 |"
