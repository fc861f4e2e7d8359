"""Repeats of one load: what is taken from each run, and what the tables say about all."""

import math
from pathlib import Path

from corda_lab.bench import report
from corda_lab.bench.repeats import command, show
from corda_lab.bench.repeats.measurement import Repeat, RepeatsBench
from corda_lab.results import stored
from corda_lab.steps.load import LoadOptions
from corda_lab.steps.reasons import reason
from support import runs, simulation
from support.runs import ENVIRONMENT, plan_of

OPTIONS = LoadOptions(workload="iou", users=2, duration_seconds=18.0, warm_up_seconds=2.0)
RATES = (10.0, 10.2, 9.8, 10.1, 9.9, 10.0, 10.2, 9.8, 10.1, 9.9)


def bench(rates: tuple[float, ...] = RATES, **changes: object) -> RepeatsBench:
    measurements = tuple(
        Repeat(number=number, run=f"run-{number}", flows_per_second=rate, p50_ms=2000 / rate, p99_ms=4000 / rate)
        for number, rate in enumerate(rates, start=1)
    )
    made = RepeatsBench(
        id="20260102T030405Z-repeats",
        lab_version="0.2",
        environment=ENVIRONMENT,
        workload="iou",
        flow="org.cordalab.flows.Iou",
        node="PartyA",
        load=OPTIONS.entry(),
        warm_up_seconds=2.0,
        duration_seconds=18.0,
        repeats=len(rates),
        measurements=measurements,
    )
    return made.model_copy(update=changes)


def test_the_scatter_has_an_interval_and_no_trend_is_seen_without_one() -> None:
    throughput, p50, _ = show.scatter_rows(bench())
    assert throughput == (
        "throughput (flows/s), 10 repeats",
        "10.00 (9.89 to 10.11)",
        "1.5 % (1.0 to 2.7)",
        "-0.1 % (-0.5 to +0.3)",
        "none seen",
    )
    assert p50[2] == "1.5 % (1.0 to 2.7)"
    assert list(show.conclusions(bench())) == []


def test_a_lab_that_still_warms_up_is_named() -> None:
    warming = bench(tuple(rate * 1.02**number for number, rate in enumerate(RATES)))
    assert show.scatter_rows(warming)[0][-1] == "rises"
    assert show.scatter_rows(warming)[1][-1] == "falls"
    assert next(show.conclusions(warming)).startswith("Throughput rose over the repeats: the nodes were still warming")


def test_small_differences_need_more_repeats() -> None:
    cells = show.needed_rows(bench())[0][1:]
    least, most = (
        [int(cell.replace("(at most ", "").rstrip(")").split()[place].replace(",", "")) for cell in cells]
        for place in (0, 1)
    )
    assert least == sorted(least, reverse=True)
    assert all(low <= high for low, high in zip(least, most, strict=True))
    # A difference of 5 % is 3.4 times the scatter: the fewest repeats show it.
    assert least[2:] == [3, 3]
    assert least[0] > 20


def test_too_few_repeats_say_so() -> None:
    row = show.scatter_rows(bench((10.0,)))[0]
    assert row[1:] == ("–", "–", "–", "too few repeats to tell")
    assert show.needed_rows(bench((10.0,)))[0][1:] == ("–",) * 4


def test_a_repeat_that_does_not_count_is_shown_and_left_out() -> None:
    failed = Repeat(number=11, run="", problem="The lab is not up")
    steal = Repeat(
        number=12,
        run="run-12",
        flows_per_second=1.0,
        stolen_percent=30.0,
        problem="CPU steal was 30 %",
        warnings=("x",),
    )
    made = bench()
    more = made.model_copy(update={"measurements": (*made.measurements, failed, steal)})
    assert show.scatter_rows(more) == show.scatter_rows(made)
    assert show.repeat_rows(more)[-2][-1] == "does not count: The lab is not up"
    assert show.repeat_rows(more)[-1][1] == "1.00"
    assert "1 of 12 repeats had the warning: x" in list(show.conclusions(more))


def test_the_values_of_a_repeat_are_those_of_its_run(tmp_path: Path) -> None:
    simulated = simulation.closed_rows(2, 20, simulation.fixed(0.5))
    folder = runs.store(tmp_path, plan_of(OPTIONS), simulated, simulation.end_words(simulated, 2, 20))
    step = stored.read(folder).steps[0]
    seen = command.repeat_of(3, folder.name, step)
    assert (seen.number, seen.run, seen.problem) == (3, folder.name, None)
    assert seen.flows_per_second == step.throughput_per_second
    assert seen.p99_ms == step.latency_ms.p99
    assert (seen.host_busy_percent, seen.stolen_percent) == (97.3, 0.0)
    assert seen.warnings == tuple(map(str, step.flags))

    endless = step.updated(latency_ms=step.latency_ms.model_copy(update={"p99": math.inf}))
    assert command.repeat_of(3, folder.name, endless).p99_ms is None
    invalid = step.validity.model_copy(update={"valid": False, "reasons": [reason("cpu_steal", percent=40.0)]})
    assert command.repeat_of(3, folder.name, step.updated(validity=invalid)).problem == (
        "CPU steal was 40 % (other VMs on this host)"
    )


def test_the_performance_page_has_scatter_needed_repeats_and_every_repeat(tmp_path: Path) -> None:
    path = tmp_path / "20260102T030405Z-repeats.json"
    path.write_text(bench().model_dump_json(by_alias=True), encoding="utf-8")
    text = report.document({path: report.kind_of(path)})
    assert "| throughput (flows/s), 10 repeats | 10.00 (9.89 to 10.11) | 1.5 % (1.0 to 2.7) |" in text
    assert "| repeats to see a difference of | 1 % | 2 % | 5 % | 10 % |" in text
    assert "| 10 | 9.90 | 202.0 | 404.0 | – | – | – | 0 |" in text


def test_says_how_long_it_takes_before_it_begins() -> None:
    assert command.announcement(OPTIONS, 10) == "iou: 10 repeats, about 8 minutes"
