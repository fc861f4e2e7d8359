"""The values computed from rows, checked where the right answer is known in advance."""

import json
import math
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.steps import rows, validity
from corda_lab.steps.build import MeasuredPart, of_rows
from corda_lab.steps.entry import StepEntry, WarmUpEntry
from corda_lab.steps.rows import Window, distribution, nearest_rank, read_rows
from lab_workload.load import Load
from lab_workload.subject import Subject
from support import simulation
from support.runs import part

NO_WARM_UP = WarmUpEntry(seconds_min=0, seconds_max=0, cut_seconds=0)


def values_of(
    requests: pl.DataFrame, measured: Window, *, drops: pl.Series = rows.NO_DROPS, **states: int | None
) -> StepEntry:
    """The step that rows make. ``states`` has the states per flow of each part; without them, it has one part."""
    subject = Subject(
        "PartyA", tuple(part(name, states_per_flow=each) for name, each in (states or {"Iou": None}).items())
    )
    own = MeasuredPart(measured, requests, NO_WARM_UP)
    return of_rows(Load(workload="iou"), subject, requests, own, drops=drops, seconds=measured.seconds)


def window(start: float, end: float) -> Window:
    return Window(simulation.ORIGIN + start, simulation.ORIGIN + end)


@pytest.mark.parametrize(
    ("quantile", "value"),
    # The textbook example of nearest rank: 15 20 35 40 50.
    [(0.05, 15), (0.30, 20), (0.40, 20), (0.50, 35), (1.00, 50)],
)
def test_nearest_rank_gives_the_textbook_s_values(quantile: float, value: float) -> None:
    assert nearest_rank(pl.Series([50, 15, 40, 20, 35]), quantile) == value


def test_nearest_rank_is_not_thrown_off_by_binary_fractions() -> None:
    # 0.95 * 20 is 19.000000000000004 when the product is rounded up too eagerly; rank 19 is right.
    assert nearest_rank(pl.Series(range(1, 21)), 0.95) == 19
    assert all(nearest_rank(pl.Series(range(1, 101)), percent / 100) == percent for percent in range(1, 101))


def test_percentiles_of_an_exponential_distribution() -> None:
    source = random.Random(11)
    found = distribution(pl.Series([source.expovariate(1 / 200) for _ in range(200_000)]))
    assert found.mean == pytest.approx(200, rel=0.02)
    for name, quantile in rows.QUANTILES.items():
        assert found.quantile(name) == pytest.approx(-200 * math.log(1 - quantile), rel=0.02)


def test_a_closed_system_has_the_throughput_and_latency_of_theory(tmp_path: Path) -> None:
    content = simulation.closed_rows(20, 75, simulation.fixed(0.0625))
    found = values_of(simulation.frame(tmp_path, content), window(15, 75))
    assert found.throughput_per_second == pytest.approx(16.0, rel=0.001)
    assert found.latency_ms.p50 == pytest.approx(20 * 62.5, rel=1e-6)
    assert found.latency_ms.p99 == pytest.approx(20 * 62.5, rel=1e-6)
    assert found.value("in_flight_mean") == pytest.approx(20, rel=1e-6)
    assert found.littles_law_holds
    assert found.value("littles_law_percent") == pytest.approx(0, abs=0.5)
    assert found.value("first_half_per_second") == pytest.approx(found.value("second_half_per_second"), rel=0.01)


def test_little_s_law_does_not_hold_when_answers_stop_coming(tmp_path: Path) -> None:
    # From second 30 on the server is stuck: requests stay in flight and none of them ends within the window.
    content = simulation.closed_rows(10, 60, lambda at: 0.1 if at < 30 else 100.0)
    found = values_of(simulation.frame(tmp_path, content), window(10, 60))
    assert not found.littles_law_holds
    assert (found.value("littles_law_percent") or 0.0) < -20


def test_only_answers_within_the_window_count(tmp_path: Path) -> None:
    content = simulation.closed_rows(1, 10, simulation.fixed(1.0))
    found = values_of(simulation.frame(tmp_path, content), window(5, 10))
    # Answers at 1, 2, … 10 s; the window holds 5 to 9, its end is left out.
    assert found.requests.window_ok == 5
    assert found.requests.ok == 10
    assert found.throughput_per_second == 1.0


def test_errors_are_counted_by_kind_and_kept_out_of_throughput(tmp_path: Path) -> None:
    content = simulation.closed_rows(5, 20, simulation.fixed(0.1), error_every=10)
    found = values_of(simulation.frame(tmp_path, content), window(0, 20))
    assert found.requests.failed == len(content) // 10
    assert found.throughput_per_second == pytest.approx(9.0, rel=0.02)
    assert [(kind.status, kind.count) for kind in found.failures] == [(502, len(content) // 10)]


def open_row(number: int, intended: float, ended: float, outcome: str = "ok") -> dict[str, Any]:
    return simulation.row(number, intended, ended, intended=intended, outcome=outcome)


def test_a_stall_across_the_end_of_the_window_is_in_the_percentiles_of_open_load(tmp_path: Path) -> None:
    # 100 arrivals per second take 50 ms each, but nothing ends from second 58 to 63. The load goes on until 65.
    starts = [number / 100 for number in range(6500)]
    content = [
        open_row(number, start, (63.0 if 57.95 <= start < 63 else start) + 0.05) for number, start in enumerate(starts)
    ]
    found = values_of(simulation.frame(tmp_path, content), window(0, 60))
    # 5,795 requests took 50 ms. The other 205 took 3.06 to 5.10 s: rank 5,940 of 6,000 is number 145 of them.
    assert found.latency_intended_ms.count == 6000
    assert found.latency_intended_ms.p99 == pytest.approx(4500, abs=5)
    assert found.latency_intended_ms.max == pytest.approx(5100, abs=1)
    assert found.throughput_per_second == pytest.approx(5795 / 60), "throughput is of what ended in the window"


def test_a_stall_across_the_start_of_the_window_belongs_to_the_requests_before_it(tmp_path: Path) -> None:
    content = [open_row(number, number / 100, number / 100 + 0.05) for number in range(1200)]
    content[150:200] = [open_row(number, number / 100, 3.0) for number in range(150, 200)]
    found = values_of(simulation.frame(tmp_path, content), window(2, 12))
    assert found.latency_intended_ms.max == pytest.approx(50)


def test_arrivals_that_were_not_answered_rank_after_all_others(tmp_path: Path) -> None:
    content = [open_row(number, number / 10, number / 10 + 0.1) for number in range(96)]
    content += [open_row(96, 9.6, 9.7, "failed"), open_row(97, 9.7, 9.8, "unknown"), open_row(98, 9.8, 9.9, "expected")]
    drops = pl.Series([simulation.ORIGIN + 9.9, simulation.ORIGIN + 12.0])
    found = values_of(simulation.frame(tmp_path, content), window(0, 10), drops=drops)
    latency = found.latency_intended_ms
    assert (latency.count, latency.unanswered) == (100, 3), "the second drop was meant for a later time"
    assert latency.p95 == pytest.approx(100)
    assert latency.mean == pytest.approx(100)
    assert latency.p99 == latency.max == math.inf
    assert json.loads(latency.model_dump_json())["p99"] == "Infinity"
    assert type(latency).model_validate_json(latency.model_dump_json()) == latency
    assert (found.requests.failed, found.requests.unknown, found.requests.expected) == (1, 1, 1)
    assert [(kind.status, kind.count) for kind in found.unknown_outcomes] == [(502, 1)]


def test_p999_needs_a_thousand_values() -> None:
    values = pl.Series(range(1, 1001), dtype=pl.Float64)
    assert rows.distribution(values).p999 == 999
    assert rows.distribution(values[1:]).p999 is None


def test_an_expected_failure_is_work_done_and_no_error(tmp_path: Path) -> None:
    content = simulation.closed_rows(5, 20, simulation.fixed(0.1), error_every=10, failure="expected")
    found = values_of(simulation.frame(tmp_path, content), window(0, 20))
    assert (found.requests.failed, found.requests.expected) == (0, len(content) // 10)
    assert found.throughput_per_second == pytest.approx(10.0, rel=0.02)
    assert found.failures == []
    assert [kind.count for kind in found.expected_failures] == [len(content) // 10]


def test_the_parts_of_a_mix_add_up_to_the_whole(tmp_path: Path) -> None:
    content = simulation.closed_rows(5, 20, simulation.fixed(0.1), parts=("Iou", "Iou", "Empty"))
    found = values_of(simulation.frame(tmp_path, content), window(0, 20), Iou=1, Empty=None)
    iou, empty = found.parts
    assert iou.throughput_per_second + empty.throughput_per_second == found.throughput_per_second
    assert iou.requests.ok == pytest.approx(2 * empty.requests.ok, abs=2)


def test_states_come_from_successes_of_the_parts_that_say_how_many(tmp_path: Path) -> None:
    content = simulation.closed_rows(5, 20, simulation.fixed(0.1), parts=("Iou", "Empty"))
    read = simulation.frame(tmp_path, content)
    found = values_of(read, window(0, 20), Iou=10, Empty=None)
    assert found.throughput_states_per_second == pytest.approx(50, rel=0.02)
    assert found.parts[1].throughput_states_per_second is None
    none = values_of(read, window(0, 20), Iou=None, Empty=None)
    assert none.throughput_states_per_second is None


def test_the_rows_of_several_workers_are_one_run(tmp_path: Path) -> None:
    content = simulation.closed_rows(4, 5, simulation.fixed(0.5))
    halves = (content[::2], content[1::2])
    paths = [simulation.write_rows(tmp_path / f"{number}.ndjson", half) for number, half in enumerate(halves)]
    assert read_rows(paths)["request_id"].to_list() == [row["request_id"] for row in content]
    with pytest.raises(LabError, match="same request_id"):
        read_rows([paths[0], paths[0]])


def test_a_drift_shows_between_the_halves(tmp_path: Path) -> None:
    content = simulation.closed_rows(5, 40, lambda at: 0.2 if at < 20 else 0.1)
    found = values_of(simulation.frame(tmp_path, content), window(0, 40))
    assert list(validity.halves(found)) == pytest.approx([5, 10], rel=0.03)


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    content = simulation.closed_rows(2, 5, simulation.fixed(0.5))
    path = simulation.write_rows(tmp_path / "rows.ndjson", content)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"request_id": 99999, "started_')
    assert read_rows([path]).height == len(content)


def test_an_empty_file_is_a_run_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_bytes(b"")
    empty = read_rows([path])
    assert empty.height == 0
    found = values_of(empty, window(0, 10))
    assert found.throughput_per_second == 0
    assert found.latency_ms.p50 is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"request_id": 1}, "same request_id"),
        ({"latency_ms": None}, "lacks one of"),
        ({"ended_at": "soon"}, "cannot be read"),
        ({"outcome": "fine"}, "the outcome of a row is none of"),
    ],
)
def test_rows_that_cannot_be_trusted_are_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    content = simulation.closed_rows(2, 5, simulation.fixed(0.5))
    content[-1].update(change)
    with pytest.raises(LabError, match=words):
        simulation.frame(tmp_path, content)
