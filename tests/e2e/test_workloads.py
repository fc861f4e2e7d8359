"""Every workload file on real nodes: no unexpected errors, the counts agree, and the stages add up."""

from pathlib import Path

import polars
import pytest

from corda_lab.paths import ROOT
from corda_lab.results import audits
from corda_lab.workloads.resolve import read_workload
from e2e.labkit import Lab, step_folder

pytestmark = pytest.mark.lab("standard")

WORKLOADS = ROOT / "configs" / "workloads"
PARTIES = 3
"""Parties of the standard lab. Workloads that require more are not run."""
BY_COUNT = {"attachment-send", "attachment-send-cached"}
"""These use up a file of up to 10 MB with each flow, so they end after as many flows as files were prepared for."""
STAGE_DIFFERENCE_PERCENT_MAX = 10.0
BY_DAY = {"cash-repeated-pay", "double-spend", "settlement"}
"""Their set-ups prepare states, and one has expected failures. Each other differs from one of them, or from what other
tests run, in a step of its set-up or in what refuses it."""
WITH_WORKERS = "cash-repeated-pay"
"""The workload that two workers share: each has states of its own, prepared in the set-up."""


def fits(name: str) -> bool:
    """Return whether the standard lab has what a workload requires."""
    requires = read_workload(name).requires
    return requires is None or ((requires.parties or 0) <= PARTIES and requires.cordapp is None)


NAMES = sorted(path.stem for path in WORKLOADS.glob("*.yaml") if fits(path.stem))

WRONG = """\
description: Every request would be refused, since the bridge takes no text for a number.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ 'five' }}"
  otherParty: "{{ counterparty }}"
"""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly) for name in NAMES]
)
def test_a_workload_runs_and_everything_adds_up(lab: Lab, name: str) -> None:
    length = ["--flows", "8", "--set", "flows_after=2"] if name in BY_COUNT else ["--duration", "4s", "--warm-up", "2s"]
    # Workers find their master by its name, which must not be too long for a host.
    run = "e2e-a-name-as-long-as-a-sweep-gives-one-to-each-of-its-steps" if name == WITH_WORKERS else f"e2e-{name}"
    workers = ["--set", "workers=2"] if name == WITH_WORKERS else []
    step = lab.measure(name, "--users", "2", *length, *workers, "--name", run)

    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    audited = audits.read(lab.results()[-1])[1]
    assert audited.verdict == "passed", audited.summary
    assert step["stages"]["flows"], step["stages"]["reason"]
    for table in step["stages"]["flows"]:
        assert table["rows"] == table["requests"]
        assert min(table["start_ms"]["mean"], table["end_ms"]["mean"]) >= 0
        assert abs(table["difference_percent"]) < STAGE_DIFFERENCE_PERCENT_MAX, table
        if step["requests"]["ok"]:
            assert table["bridge_flow_ms_mean"] < table["request_ms_mean"]
    if workers:
        assert polars.read_parquet(step_folder(lab.results()[-1]) / "requests.parquet")["worker"].n_unique() == 2
    assert_traces_are_whole(lab.results()[-1])


def assert_traces_are_whole(run: Path) -> None:
    """Check that every request has the spans of its flow, and every span but those of a request's begin its parent."""
    requests = polars.read_parquet(step_folder(run) / "requests.parquet")
    spans = polars.read_parquet(step_folder(run) / "spans.parquet")
    assert set(requests["flow_id"]) <= set(spans["flow_id"].drop_nulls())
    known = {*spans.select("trace_id", "span_id").iter_rows(), *((trace, trace[16:]) for trace in requests["trace_id"])}
    parents = spans.filter(polars.col("trace_id").is_in(requests["trace_id"].implode())).select("trace_id", "parent_id")
    assert [pair for pair in parents.iter_rows() if pair not in known] == []


def test_the_bridge_takes_the_arguments_of_every_workload(lab: Lab) -> None:
    checked = lab.succeed("workload", "check", *NAMES)
    assert checked.stdout.splitlines() == [f"{name}: ok" for name in NAMES]


def test_the_check_finds_an_argument_that_every_request_would_be_refused_for(lab: Lab) -> None:
    file = WORKLOADS / "e2e-wrong.yaml"
    file.write_text(WRONG, encoding="utf-8")
    try:
        checked = lab.run("workload", "check", "e2e-wrong")
    finally:
        file.unlink()
    assert checked.returncode == 2, checked.stdout + checked.stderr
    assert "e2e-wrong.yaml:6: args.iouValue: the bridge rejects it: args.iouValue must be a whole" in checked.stdout


def test_prepared_states_that_cannot_last_are_refused(lab: Lab) -> None:
    before = lab.results()
    done = lab.run("run", "settlement", "--set", "participants=4", "--users", "2", "--duration", "10s")

    assert done.returncode == 2
    assert "parties" in done.stderr
    assert lab.results() == before
