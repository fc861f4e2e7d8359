"""`scripts/lab run` on real nodes: correct counts, complete results, and signals that arrive under load."""

import json
import subprocess
from contextlib import closing
from pathlib import Path

import polars
import pytest

import panel_check
import signal_table
from corda_lab.analysis.metrics import METRICS
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.node_logs.model import entries
from corda_lab.results import stored
from e2e.labkit import Browser, Lab, step_folder, step_of

pytestmark = pytest.mark.lab("standard")

FILES = {"run.json", "steps", "workloads", "report.html", "summary.md", "summary.csv", "summary.json"}
FILES_OF_STEP = {
    *("step.json", "plan.json", "environment.json", "audit.json", "profiles"),
    *("requests.parquet", "metrics.parquet", "samples.parquet", "stages.parquet", "spans.parquet"),
}

NODES = {"Notary", "PartyA", "PartyB", "PartyC"}
BY_NODE = [
    name for name, value in METRICS.items() if value.by_node and name not in ("throughput", "resident_after_ratio")
]

SERIES_PER_NODE_MAX = 400
"""Of a node, without those of flow classes: what a scrape costs depends on their number."""

SCRAPE_SECONDS_MAX = 0.3

PROFILER_STATUS = "/network/bin/asprof status --libpath /network/bin/libasyncProfiler.so 1"


@pytest.fixture(scope="module")
def run(lab: Lab) -> Path:
    """The run that most tests of this module look at, with a profile of the node that starts its flows."""
    load = ("--users", "4", "--duration", "30s", "--warm-up", "6s")
    lab.succeed("run", "iou", *load, "--profile", "--name", "e2e")
    return lab.results()[-1]


def test_a_run_leaves_whole_results(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == FILES
    assert {path.name for path in step_folder(run).iterdir()} == FILES_OF_STEP
    assert run.name.endswith("-e2e")
    assert (run.parent / "latest").resolve() == run.resolve()


def test_the_four_counts_agree_and_nothing_failed(run: Path) -> None:
    step = step_of(run)
    counts = step["counts"]
    assert counts["generator"] > 0
    assert {counts["bridge"], counts["node"], *counts["vaults"].values()} == {counts["generator"]}
    assert set(counts["vaults"]) == {"PartyA", "PartyB"}
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)


def test_every_request_is_a_row_of_its_own(run: Path) -> None:
    rows = polars.read_parquet(step_folder(run) / "requests.parquet")
    step = step_of(run)
    assert rows.height == step["counts"]["generator"]
    for column in ("request_id", "client_id", "flow_id", "tx_id"):
        assert rows[column].n_unique() == rows.height, column
    assert (rows["bridge_flow_ms"] <= rows["latency_ms"]).all()


def test_every_node_has_every_value_that_needs_no_option(run: Path) -> None:
    step = step_of(run)
    values = step["values"]
    missing = {name: NODES - set(values.get(name, {})) for name in BY_NODE}
    assert {name: nodes for name, nodes in missing.items() if nodes} == {}
    assert step["database_read"] == "file"
    assert 0 < values["cpu_percent"]["PartyA"] <= values["cpu_percent_max"]["PartyA"]
    assert 0 < values["heap_floor_bytes"]["PartyA"] < values["heap_used_max_bytes"]["PartyA"]
    assert values["checkpoints_per_flow"]["PartyA"] > 0
    assert values["rpc_connections"]["PartyA"] >= 1
    assert {"bridge", "locust", "prometheus"} < values["cpu_percent_max"].keys()
    samples = polars.read_parquet(step_folder(run) / "samples.parquet")
    seconds = samples.filter(polars.col("container") == "PartyA")["time"].diff().drop_nulls()
    assert 0.9 < seconds.mean() < 1.5  # type: ignore[operator]


def test_every_signal_arrives_while_load_runs(lab: Lab, run: Path) -> None:
    step = step_of(run)
    assert step["load"]["users"] == 4
    with closing(Prometheus(lab.prometheus_url)) as prometheus:
        faults = signal_table.signal_faults(
            prometheus, signal_table.load_signals(), "load", window_seconds=60, shape={"DATABASE": "h2"}
        )
    assert faults == []


def test_no_panel_was_empty_while_load_ran(lab: Lab, run: Path) -> None:
    assert panel_check.check(lab.settings, run.name) == []


def test_the_load_of_a_healthy_lab_raised_no_alert(lab: Lab, run: Path) -> None:
    window = step_of(run)["window"]
    times = {"started_at": window["load_started_at"], "ended_at": window["load_ended_at"]}
    # What the machine does besides is not the lab's to answer for.
    query = 'ALERTS{alertstate="firing", alertname!~"CpuStolen|DiskNearlyFull"}'
    with closing(Prometheus(lab.prometheus_url)) as prometheus:
        fired = prometheus.range(query, **times, step_seconds=SCRAPE_SECONDS)
    # An earlier test may have left one, which has a point at the start. Prometheus rounds that to a millisecond.
    since = times["started_at"] + SCRAPE_SECONDS / 2
    assert [series.labels for series in fired if series.points[0][0] > since] == []


def test_a_node_has_few_series_apart_from_those_of_its_flow_classes(lab: Lab, run: Path) -> None:
    query = 'count by (node) ({job="corda", __name__!~"corda_(flow_duration|stage)_.+"})'
    with closing(Prometheus(lab.prometheus_url)) as prometheus:
        counted = {sample.labels["node"]: sample.value for sample in prometheus.instant(query)}
    assert counted.keys() == NODES
    assert max(counted.values()) < SERIES_PER_NODE_MAX


def test_a_scrape_of_a_node_takes_little_while_load_runs(lab: Lab, run: Path) -> None:
    window = step_of(run)["window"]
    query = f'avg_over_time(scrape_duration_seconds{{job="corda"}}[{window["seconds"]:.0f}s])'
    end = window["ended_at"]
    with closing(Prometheus(lab.prometheus_url)) as prometheus:
        found = prometheus.range(query, started_at=end, ended_at=end, step_seconds=SCRAPE_SECONDS)
    taken = {series.labels["node"]: series.points[0][1] for series in found}
    assert taken.keys() == NODES
    assert max(taken.values()) < SCRAPE_SECONDS_MAX


def test_the_run_was_profiled_in_its_window_and_says_so(lab: Lab, run: Path) -> None:
    (entry,) = stored.read(run).manifest.profiles
    assert entry.problem is None
    assert (entry.node, entry.file) == ("PartyA", "steps/0001-run/profiles/partya-cpu.html")
    assert 0 < entry.window_seconds <= entry.seconds
    found = json.loads((run / "steps/0001-run/profiles/partya-cpu.json").read_text())
    assert found["flows"]["ended"] > 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Where the CPU time went" in page
    assert 'href="steps/0001-run/profiles/partya-cpu.html"' in page
    step = step_of(run)
    assert "profiled" in {flag["code"] for flag in step["flags"]}
    assert "not active" in lab.inside("partya", PROFILER_STATUS)


def test_the_report_opens_offline_in_a_browser(run: Path, browser: Browser) -> None:
    (browser.folder / "report.html").write_bytes((run / "report.html").read_bytes())
    seen = browser.run("open_report.py", "/shared/report.html", "/shared", network="none")
    assert seen["console_errors"] == []
    assert seen["charts"] >= 4
    assert seen["empty_charts"] == []


def test_every_flow_can_be_looked_at_span_by_span(lab: Lab, run: Path, tmp_path: Path) -> None:
    row = polars.read_parquet(step_folder(run) / "requests.parquet").sort("started_at").row(-1, named=True)
    assert row["started_at"] - 0.001 < row["bridge_received_at"] <= row["bridge_started_at"] < row["ended_at"]
    found = json.loads(lab.succeed("flow", row["flow_id"], "--run", run.name, "--json").stdout)
    assert found["notes"] == []
    spans = found["spans"]
    assert {span["actor"] for span in spans} == {"client", "bridge", "PartyA", "PartyB"}
    inside = [span["name"] for span in spans if span["actor"] == "PartyA" and span["depth"] == 3]
    assert [name for name in inside if name.endswith("Flow")] == ["CollectSignaturesFlow", "FinalityFlow"]
    (asking,) = (span for span in spans if span["name"] == "CollectSignaturesFlow")
    (answering,) = (span for span in spans if span["actor"] == "PartyB" and span["kind"] == "whole")
    # On one machine, clocks agree to within a millisecond.
    assert asking["start_ms"] - 1 < answering["start_ms"] < asking["end_ms"]
    assert sum(length for _, length in found["largest"]) == pytest.approx(row["latency_ms"], abs=0.01)
    answered = polars.read_parquet(step_folder(run) / "stages.parquet").filter(
        (polars.col("role") == "responder") & (polars.col("trace_id") == row["trace_id"])
    )
    picture = tmp_path / "flow.svg"
    # The log of PartyB names its own flow.
    text = lab.succeed("flow", answered["flow_id"][0], "--run", run.name, "--output", str(picture)).stdout
    assert row["client_id"] in text
    assert "CollectSignaturesFlow" in text
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert 'aria-label="Picture of The slowest of' in (run / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def refused(lab: Lab) -> "subprocess.CompletedProcess[str]":
    """A run whose every request is refused: the other party signs only below 100."""
    value = "iouValue={{ random_int(100, 999) }}"
    return lab.run("run", "iou", "--users", "4", "--duration", "10m", "--name", "e2e-refused", "--set", value)


def refused_run(lab: Lab) -> Path:
    return next(path for path in reversed(lab.results()) if path.name.endswith("-e2e-refused"))


def test_a_run_whose_every_request_fails_ends_within_seconds_and_says_why(
    lab: Lab, refused: "subprocess.CompletedProcess[str]"
) -> None:
    done = refused
    assert done.returncode == 1, done.stdout + done.stderr
    assert "every request failed in the same way" in done.stdout
    step = step_of(refused_run(lab))
    assert step["window"]["load_ended_at"] - step["window"]["load_started_at"] < 60
    assert step["requests"]["failed"] == step["requests"]["total"] >= 20
    (kind,) = step["failures"]
    assert (kind["status"], kind["count"]) == (502, step["requests"]["failed"])
    assert f"{kind['count']} × 502 {kind['error']}" in done.stdout
    assert step["counts"]["agree"]
    assert lab.compose.load_containers() == []


@pytest.mark.usefixtures("refused")
def test_a_failed_run_keeps_the_logs_of_its_time_and_the_report_their_errors(lab: Lab) -> None:
    folder = refused_run(lab)
    step = step_of(folder)
    index = json.loads((step_folder(folder) / "logs" / "logs.json").read_text())
    logs = {log["node"]: log for log in index["logs"]}
    assert logs.keys() >= {"PartyA", "PartyB"}
    assert index["missing"] == {}
    assert all((step_folder(folder) / "logs" / log["file"]).is_file() for log in logs.values())
    for node in ("PartyA", "PartyB"):
        counts = [kind["count"] for kind in logs[node]["errors"] if "its value is below …" in (kind["exception"] or "")]
        # A refusal has a stack trace or two on each side.
        assert sum(counts) >= step["requests"]["failed"], logs[node]["errors"]
        for kind in logs[node]["errors"]:
            assert index["since"] <= kind["first_at"] <= kind["last_at"] <= index["until"]
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "Errors in the logs of the nodes" in report
    assert f'href="steps/0001-run/logs/{logs["PartyB"]["file"]}"' in report
    assert "A failed request" in report


@pytest.mark.usefixtures("refused")
def test_the_log_of_a_node_can_be_read_by_flow(lab: Lab) -> None:
    folder = refused_run(lab)
    row = polars.read_parquet(step_folder(folder) / "requests.parquet").row(0, named=True)
    for identity in (row["flow_id"], row["client_id"]):
        printed = lab.succeed("logs", "partya", "--flow", identity, "--errors").stdout
        found = list(entries(printed.splitlines()))
        assert found
        assert all(entry.names(identity) and entry.is_error for entry in found)
        assert any("its value is below 100" in (entry.exception or "") for entry in found)
    shown = json.loads(lab.succeed("flow", row["flow_id"], "--run", folder.name, "--json").stdout)
    assert shown["request"]["outcome"] == "failed"
    (answer,) = (span for span in shown["spans"] if (span["actor"], span["kind"]) == ("PartyB", "whole"))
    assert answer["name"] == "IouResponder"
    assert "its value is below 100" in answer["note"]


@pytest.mark.nightly
def test_bursts_are_timed_on_three_clocks(lab: Lab) -> None:
    burst = ("--arrivals", "burst", "--users", "6", "--set", "bursts=2", "--set", "rest=1s")
    lab.succeed("run", "iou", *burst, "--name", "e2e-burst")
    step = step_of(lab.results()[-1])
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    values = step["values"]
    assert values["burst_ok"] == {"1": 6, "2": 6}
    for burst in values["burst_ok"]:
        node, rpc = values["burst_node_latency_mean_ms"][burst], values["burst_rpc_latency_mean_ms"][burst]
        assert 0 < node <= rpc <= values["burst_latency_mean_ms"][burst]
        assert 0 < values["burst_node_total_seconds"][burst] <= values["burst_total_seconds"][burst]
    rows = polars.read_parquet(step_folder(lab.results()[-1]) / "requests.parquet").sort("intended_at")
    assert rows["started_at"][6] - max(rows["ended_at"].head(6).to_list()) >= 1


def test_a_node_that_the_lab_does_not_have_is_one_clear_error(lab: Lab) -> None:
    before = lab.results()
    done = lab.run("run", "iou", "--node", "PartyX")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "PartyX" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    assert lab.results() == before
