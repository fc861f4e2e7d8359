"""What a run prints when it has ended."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.cli import run as verb
from corda_lab.cli import summary
from corda_lab.cli.options import load_options
from corda_lab.report import page
from corda_lab.results import folders, stored
from corda_lab.results.manifest import ProfileEntry
from corda_lab.runs import conditioning
from corda_lab.steps import build
from corda_lab.steps.entry import ConditioningEntry, of_whole
from support.profiler import taken_in
from support.runs import part


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


def test_the_clock_of_a_node_without_stage_rows_is_not_known(
    stored_burst_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "node: not known, latency –" in printed(stored_burst_run(with_stages=False), capsys)


def test_a_number_of_flows_is_told_with_its_time(
    stored_counted_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_counted_run(), capsys)
    assert "flows        40 flows after 5 in 4.00 s, mean 100 ms, 98 ms of it in the node\n" in text
    assert "warm-up  " not in text


def test_a_load_that_ran_out_of_time_says_so(
    stored_counted_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(stored_counted_run(exit_reason="out_of_time"), capsys)
    assert "invalid: the load had started only 45 of its 45 flows when its time was over" in text


def test_an_invalid_run_says_why(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    run = stored_run()
    step = stored.read(run).steps[0]
    stolen = step.values | of_whole(host_stolen_percent=30.0)
    capsys.readouterr()
    summary.show_run(run, build.judged(step.updated(values=stolen)))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "CPU steal" in line]
    assert line.startswith("invalid: ")


def test_expected_failures_are_no_errors(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(stored_run(error_every=50, failure="expected"), capsys)
    assert "expected failures, 0 failed" in text


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


def test_a_run_that_was_ended_because_all_failed_says_so(failed_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(failed_run, capsys)
    assert "220 × 400 invalid-argument: args.iouValue is '…'" in text
    assert "example: invalid-argument: args.iouValue is 'x1'" in text
    assert (
        "failed: every request failed in the same way, so the load was ended after 11 s: 220 of 220 requests failed"
        in text
    )
    assert "warning" not in text


@pytest.mark.parametrize(
    ("warm_up", "words"),
    [
        ({"cut_seconds": 63.4, "seconds_min": 30.0, "seconds_max": 180.0, "found": True}, "63 s, then steady"),
        (
            {"cut_seconds": 180.0, "seconds_min": 30.0, "seconds_max": 180.0, "found": False},
            "180 s (the longest allowed), not steady by then",
        ),
    ],
)
def test_a_warm_up_that_was_to_end_by_itself_is_told(
    stored_run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    warm_up: dict[str, float | bool],
    words: str,
) -> None:
    run = stored_run()
    content = folders.read_json(run / "steps.json")
    content["steps"][0]["warm_up"].update(warm_up)
    folders.write_json(run / "steps.json", content)
    assert f"warm-up      {words}\n" in printed(run, capsys)
    assert f"<td>{words}</td>" in page.render(run).read_text(encoding="utf-8")


def test_a_warm_up_of_a_given_length_is_no_news(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "warm-up  " not in printed(stored_run(), capsys)


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


def test_all_counts_are_in_the_same_format(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(stored_run(service_seconds=0.02), capsys)
    (line,) = [line for line in text.splitlines() if line.startswith("four counts")]
    (count,) = set(re.findall(r"[\d,]+(?=[,:] |$)", line))
    assert re.fullmatch(r"\d,\d{3}", count), line


def test_a_profile_is_told_by_its_largest_components(
    stored_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    content = folders.read_object(run / "run.json")
    failed = ProfileEntry(node="PartyB", problem="another profile of it is running")
    entries = [taken_in(tmp_path / "evidence").copied_to(run).entry, failed]
    content["profiles"] = [one.model_dump(mode="json") for one in entries]
    folders.write_json(run / "run.json", content)
    text = printed(run, capsys)
    assert "profile      PartyA: 50 % component 0, 25 % component 1, 12 % component 2" in text
    assert str(run / "profiles" / "partya-cpu.html") in text
    assert "profile      PartyB: failed: another profile of it is running" in text
