"""The knee, the goodput of a window, the verdict on a limit, and the stored file."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from corda_lab.bench import report
from corda_lab.bench.file import store
from corda_lab.bench.latency import Latency
from corda_lab.bench.overload import command, knee, show
from corda_lab.bench.overload.measurement import LevelMeasurement, OverloadBench, OverloadMeasurement
from corda_lab.errors import LabError
from corda_lab.results import folders
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.rows import Window
from support.runs import ENVIRONMENT, plan_of

CURVE = {1: 2.0, 2: 4.0, 5: 8.0, 10: 9.6, 20: 10.0, 50: 8.0, 100: 6.0, 200: 3.0}
LATENCY = Latency(mean_ms=1000, p50_ms=1000, p95_ms=1500, p99_ms=2000, max_ms=2500)


def level(users: int, rate: float, number: int = 0, problem: str | None = None) -> LevelMeasurement:
    return LevelMeasurement(
        users=users, round=number, window_seconds=30, flows_per_second=rate, latency=LATENCY, problem=problem
    )


def overload(multiple: int, limit: int | None, goodput: float, number: int = 1) -> OverloadMeasurement:
    return OverloadMeasurement(
        multiple=multiple,
        limit=limit,
        round=number,
        rate=10.0 * multiple,
        window_seconds=30,
        goodput=goodput,
        rejected=10.0 * multiple - goodput,
        latency=LATENCY,
    )


def bench(*, goodput: float = 9.5) -> OverloadBench:
    """A peak of 10 flows/s at 20 outstanding. The limit keeps ``goodput``; without it, hardly anything is in time."""
    return OverloadBench(
        id="20260102T030405Z-overload",
        lab_version="0.3",
        environment=ENVIRONMENT,
        workload="iou",
        flow="org.cordalab.flows.Iou",
        node="PartyA",
        seed=1,
        levels=tuple(CURVE),
        multiples=command.MULTIPLES,
        limits=(50, None),
        rounds=1,
        time_limit_seconds=10,
        warm_up_seconds=15,
        duration_seconds=30,
        searched=(*(level(users, rate) for users, rate in CURVE.items()), level(20, 10.0, 1)),
        measurements=tuple(
            overload(multiple, limit, goodput if limit else 0.5)
            for limit in (50, None)
            for multiple in command.MULTIPLES
        ),
    )


def test_the_knee_is_the_smallest_number_that_nearly_reaches_the_peak() -> None:
    searched = knee.of_search(bench())
    assert knee.peak_level(searched).users == 20
    assert knee.knee(searched).users == 10


def test_the_search_ends_when_the_peak_has_been_passed_twice() -> None:
    searched = [level(users, rate) for users, rate in CURVE.items()]
    ends = [place for place in range(1, len(searched) + 1) if knee.search_is_over(searched[:place])]
    # 50 and 100 are below nine tenths of the peak.
    assert ends[0] == 7
    assert not knee.search_is_over([level(users, 10.0) for users in CURVE])


def test_a_failed_level_is_no_peak() -> None:
    failed = bench().model_copy(update={"searched": (level(1, 2.0), level(20, 99.0, problem="it ran out of memory"))})
    assert knee.peak_level(knee.of_search(failed)).users == 1


def test_goodput_counts_what_is_answered_in_time_in_the_window() -> None:
    answers = [
        (99.0, 200, "ok", 500.0),  # before the window
        (101.0, 200, "ok", 500.0),
        (102.0, 200, "ok", 9_999.0),
        (103.0, 200, "ok", 10_001.0),  # after its caller's time limit
        (104.0, 504, "unknown", 10_000.0),
        (105.0, 429, "failed", 2.0),
        (106.0, 429, "failed", 2.0),
        (107.0, 502, "failed", 50.0),
        (111.0, 200, "ok", 500.0),  # after the window
    ]
    requests = pl.DataFrame(answers, schema=["ended_at", "status", "outcome", "latency_ms"], orient="row")
    begun = OverloadMeasurement(multiple=8, limit=None, round=1, rate=80, window_seconds=30)
    found = knee.counted(requests, Window(100, 110), begun, time_limit_seconds=10, dropped=40)
    assert (found.goodput, found.rejected, found.late, found.failed, found.dropped) == (0.2, 0.2, 0.2, 0.1, 4.0)
    assert found.window_seconds == 10
    assert found.latency is not None
    assert found.latency.max_ms == 9_999


def test_a_limit_keeps_the_goodput_only_at_every_multiple() -> None:
    assert knee.verdict(bench(), 50) == "kept"
    assert knee.verdict(bench(), None) == "lost"
    one_low = bench().model_copy(
        update={"measurements": (overload(2, 50, 9.5), overload(4, 50, 8.9), overload(8, 50, 9.5))}
    )
    assert knee.verdict(one_low, 50) == "lost"
    assert knee.verdict(bench().model_copy(update={"measurements": (overload(2, 50, 9.5),)}), 50) == "not measured"
    assert knee.verdict(bench().model_copy(update={"measurements": (overload(2, 50, 8.9),)}), 50) == "lost"


def test_goodput_is_compared_with_the_peak_of_its_own_round() -> None:
    slower = bench().model_copy(
        update={
            "rounds": 2,
            "searched": (*bench().searched, level(20, 5.0, 2)),
            "measurements": (overload(8, 50, 9.0), overload(8, 50, 5.0, 2)),
        }
    )
    assert knee.shares(slower, 8, 50) == pytest.approx([0.9, 1.0])


def test_open_load_has_a_place_for_everything_that_can_wait() -> None:
    plan = plan_of(LoadOptions(workload="iou"))
    begun = OverloadMeasurement(multiple=8, limit=None, round=1, rate=80.0, window_seconds=30)
    made = command.open_plan(begun, plan, 10)
    assert (made.options.arrivals, made.options.rate, made.options.users) == ("poisson", 80.0, 960)
    assert made.flow_timeout_seconds == 10
    assert command.open_plan(begun.model_copy(update={"rate": 4000.0}), plan, 10).options.users == command.POOL_MAX


def test_the_warm_up_is_at_least_as_long_as_a_caller_waits() -> None:
    asked = command.Overload(LoadOptions("iou", warm_up_seconds=30), (1,), None, 30, 1)
    command.require_longer_warm_up(asked)
    with pytest.raises(LabError, match="--warm-up: 30 s is less than --time-limit, 31 s"):
        command.require_longer_warm_up(replace(asked, time_limit_seconds=31))


def test_reads_limits() -> None:
    assert command.read_limits("50, 200,none") == (50, 200, None)


@pytest.mark.parametrize("text", ["", "0", "some", "50,50", "none,none", "-1", "200000"])
def test_wrong_limits_are_one_clear_error(text: str) -> None:
    with pytest.raises(LabError, match="--limits"):
        command.read_limits(text)


def test_prints_the_knee_the_goodput_and_the_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    show.results(bench())
    printed = capsys.readouterr().out
    assert "knee: 10 outstanding; peak: 10.00 flows/s at 20 outstanding" in printed
    assert "at most 50 outstanding: keeps 0.9 of the peak; 50 flows take 5.0 s at the peak" in printed
    assert "no limit: does not keep 0.9 of the peak" in printed
    assert show.overload_rows(bench())[2][:4] == ("8 × peak", "50", "9.50", "0.95")


def test_the_stored_file_reads_back_and_has_its_section(tmp_path: Path) -> None:
    path = store(bench(), tmp_path)
    assert folders.read_model(path, OverloadBench) == bench()
    text = report.document({path: report.kind_of(path)})
    assert "## Overload" in text
    assert "| 8 × peak | none | 0.50 | 0.05 |" in text
    path.write_text(path.read_text(encoding="utf-8").replace('"multiples"', '"factors"'), encoding="utf-8")
    with pytest.raises(LabError, match="multiples"):
        folders.read_model(path, OverloadBench)
