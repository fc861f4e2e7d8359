"""What a run prints when it has ended."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.cli import measure as verb
from corda_lab.cli import summary
from corda_lab.cli.options import load_options
from corda_lab.results import stored
from corda_lab.results.manifest import ProfileEntry
from corda_lab.runs import conditioning
from corda_lab.steps import build
from corda_lab.steps.entry import ConditioningEntry, of_whole
from support.profiler import taken_in, write_profiles
from support.runs import change_steps, part, step_file


def printed(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    step = stored.read(run).steps[0]
    capsys.readouterr()
    summary.show_run(run, step)
    return capsys.readouterr().out


def test_a_closed_run_is_told_in_a_few_lines(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_run(), capsys)
    for words in ("flows/s over 60 s", "four counts", "they agree", "consensus", "report.html"):
        assert words in text
    assert "arrivals" not in text


def test_a_mix_has_a_line_for_every_part(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(stored_run(parts=(part("Iou", states_per_flow=1), part("IouUpdate"))), capsys)
    assert "states/s" in text
    assert "IouUpdate " in text


def test_an_open_run_tells_of_its_arrivals(
    stored_open_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_open_run(rate=20, service_seconds=0.1, pool=5), capsys)
    assert "1500 offered at 20/s" in text
    assert "from the intended start p50" in text
    assert "warning: the system did not keep up with the offered rate: the pool of 5 was full" in text


def test_bursts_are_told_on_three_clocks(
    stored_burst_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_burst_run(pool=5), capsys)
    assert re.search(r"throughput +\d+\.\d\d flows/s within a burst", text)
    assert "bursts       4 bursts of 20 requests within 1 s, at most 5 in flight, rest 5 s; means on" in text
    for clock in ("generator", "RPC client", "node"):
        assert re.search(rf" {clock}: \d\.\d\d s, \d+\.\d\d flows/s, latency \d+ ms", text), clock
    assert "from the intended start p50" in text
    assert "arrivals" not in text


def test_a_number_of_flows_is_told_with_its_time(
    stored_counted_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_counted_run(), capsys)
    assert "flows        40 flows after 5 in 4.00 s, mean 100 ms, 98 ms of it in the node\n" in text
    assert "warm-up  " not in text


def test_an_invalid_run_says_why(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    run = stored_run()
    step = stored.read(run).steps[0]
    stolen = step.values | of_whole(host_stolen_percent=30.0)
    capsys.readouterr()
    summary.show_run(run, build.judged(step.updated(values=stolen)))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "CPU steal" in line]
    assert line.startswith("invalid: ")


ERRORS = (
    'invalid-argument: args.iouValue is "x{n}"',
    "flow-failed: [Notary] transaction {n} was refused",
    "flow-failed: PartyB did not sign",
    "node-unavailable: no connection",
)


def test_errors_are_told_by_their_kind_with_an_example(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run(error_every=10, errors=ERRORS)
    text = printed(run, capsys)
    counts = sorted((kind.count for kind in stored.read(run).steps[0].failures), reverse=True)
    assert len(counts) == 4
    assert re.findall(r"(\d+) × 502", text) == [str(count) for count in counts[:3]]
    assert "× 502 flow-failed: [Notary] transaction … was refused" in text
    assert re.search(r"example: flow-failed: \[Notary\] transaction \d+ was refused", text)
    assert "and 1 more kind of error" in text


def test_a_warm_up_that_was_to_end_by_itself_is_told(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    assert "warm-up  " not in printed(run, capsys)
    warm_up = {"cut_seconds": 63.4, "seconds_min": 30.0, "seconds_max": 180.0, "found": True}
    change_steps(run, lambda step: step["warm_up"].update(warm_up))
    assert "warm-up      63 s, then steady\n" in printed(run, capsys)


def test_quickstart_conditions_until_throughput_is_steady_and_then_measures_briefly() -> None:
    options = load_options("iou", verb.QUICKSTART)
    before = conditioning.before_run(options, verb.QUICKSTART_CONDITIONING_SECONDS_MAX).until_steady
    assert before.users == options.users
    assert before.total_seconds == 150
    assert before.stopping is not None
    assert before.stopping.change_percent_max is not None
    assert (options.warm_up_seconds_min, options.warm_up_seconds, options.duration_seconds) == (10, 45, 30)
    assert options.stopping is not None
    assert options.stopping.change_percent_max is not None


def test_what_conditioned_the_nodes_is_told(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    step = stored.read(run).steps[0]
    before = ConditioningEntry(
        workload="iou", load=step.load, seconds_min=45, seconds_max=150, seconds=57.6, flows=1412, steady=True
    )
    capsys.readouterr()
    summary.show_run(run, step.updated(conditioning=before))
    assert "conditioned  1,412 iou flows in 58 s, then steady\n" in capsys.readouterr().out


def test_a_profile_is_told_by_its_largest_components(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    failed = ProfileEntry(node="PartyB", problem="another profile of it is running")
    step = step_file(run).parent
    write_profiles(step, [taken_in(step), failed])
    text = printed(run, capsys)
    assert "profile      PartyA: 50 % component 0, 25 % component 1, 12 % component 2" in text
    assert str(step / "profiles" / "partya-cpu.html") in text
    assert "profile      PartyB: failed: another profile of it is running" in text
