"""A load by hand becomes a run, from the files of the generator to the report, on a lab that is simulated."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import polars as pl
import pytest

from corda_lab.analysis import listing
from corda_lab.audit import Audit
from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import model as results_logs
from corda_lab.node_logs import read as node_logs
from corda_lab.node_logs.model import KeptLogs
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.runs import by_hand, by_hand_run, rows_volume, unknown
from corda_lab.runs.by_hand_run import Made, Maker, Wanted
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.runs.tests.test_by_hand import DOCKER
from corda_lab.steps.load import check_load
from corda_lab.steps.resolutions import Resolution
from lab_workload.load import Load
from lab_workload.web_ui import WebUiStatus
from support import simulated_metrics, simulation
from support.by_hand import IDENTITY, CountingPrometheus, plan, write
from support.docker import docker_client
from support.labs import lab_with
from support.runs import ENVIRONMENT

RUN_ID = "20231114T221320Z-web-iou"
USERS, SECONDS = 4, 40.0
SIMULATED = simulation.closed_rows(USERS, SECONDS, simulation.warming(0.08, seed=3))
END = simulation.end_words(SIMULATED, USERS, SECONDS)
FLOWS_BEFORE = 1000
SETTINGS = load_settings(ENV_FILE, {})


class Lab:
    """The parts of a lab that are asked when a run is made, and the volume."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.bridge = MagicMock()
        self.bridge.forget_flows.return_value = 0
        self.bridge.vault_transactions.return_value = {row["tx_id"] for row in SIMULATED}
        self.prometheus = CountingPrometheus()
        self.prometheus.run_metrics.return_value = simulated_metrics.metrics_frame(SIMULATED, END)
        self.prometheus.flows = {0.0: FLOWS_BEFORE, END.ended_at: FLOWS_BEFORE + len(SIMULATED)}
        self.audited: list[float | None] = []

        def audit(_: Compose, requests: pl.DataFrame, *, at_rest: float | None, stateful: Collection[str]) -> Audit:
            assert requests.height
            assert stateful == {"Iou"}
            self.audited.append(at_rest)
            return Audit(verdict="passed", counts={"transactions": requests.height})

        monkeypatch.setattr(by_hand_run, "audit_load", audit)
        monkeypatch.setattr(by_hand, "ask_status", lambda _: WebUiStatus("idle", None))

    def make(self, **wanted: Any) -> Made:
        """Make a run of the newest load."""
        lab = lab_with(Compose(SETTINGS), self.bridge, self.prometheus)
        scratch = self.directory.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        spans = simulation.write_spans(scratch, simulation.spans_of(SIMULATED))
        volume = RowsVolume(lab)
        maker = Maker(
            lab, simulation.nodes(), volume, ENVIRONMENT, dict(zip(("PartyA", "PartyB"), spans, strict=False))
        )
        (load,) = by_hand.chosen(by_hand.uncollected(volume), by_hand.NEWEST)
        return maker.make(load, Wanted(**wanted))

    def run(self, **wanted: Any) -> StoredRun:
        """Make a run of the newest load, and read it."""
        return stored.read(self.make(**wanted).folder)

    def flags(self, **wanted: Any) -> dict[str, Any]:
        """The warnings of a run of the newest load: code → values."""
        return {flag.code: flag.values for flag in self.run(**wanted).steps[0].flags}

    @property
    def files(self) -> list[str]:
        return [path.name for path in self.directory.iterdir()]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab with one load that has ended."""
    directory = tmp_path / "volume"
    directory.mkdir()
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, DOCKER)
    monkeypatch.setattr(rows_volume, "ROWS_DIRECTORY", str(directory))
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    write(directory, plan(), SIMULATED, END)
    return Lab(directory, monkeypatch)


def test_a_load_becomes_a_whole_run_and_leaves_the_volume(lab: Lab) -> None:
    run = lab.run()

    step = run.steps[0]
    assert run.identity == RUN_ID
    assert {"requests.parquet", "stages.parquet", "audit.json"} <= {path.name for path in run.places[1].iterdir()}
    assert folders.find_run("latest") == run.folder
    assert run.table("requests").height == len(SIMULATED) == step.requests.total
    assert run.table("metrics").height
    assert run.table("stages").height == 2 * len(SIMULATED)
    assert (step.counts.verdict, step.counts.generator) == ("agree", len(SIMULATED))
    assert (step.counts.bridge, step.counts.node) == (len(SIMULATED), len(SIMULATED))
    assert [check.missing for check in step.counts.transactions] == [0, 0]
    assert step.validity.valid
    assert step.verdict.passed
    assert step.window.ended_at == pytest.approx(END.stop_at, rel=0, abs=0.001)
    assert SECONDS / 2 + 1 > step.window.warm_up_seconds > 0.2
    assert step.load.users == USERS
    assert lab.audited == [END.ended_at + 5.0]
    assert lab.files == []
    lab.bridge.forget_flows.assert_called_once_with("PartyA", f"{IDENTITY}-")


def test_the_manifest_says_how_it_was_started_and_how_it_is_repeated(lab: Lab) -> None:
    manifest = lab.run().manifest

    assert manifest.web_ui == IDENTITY
    assert manifest.command.startswith("scripts/lab run iou --users 4 ")
    assert manifest.load is not None
    check_load(manifest.load)
    page = (folders.find_run(RUN_ID) / "report.html").read_text(encoding="utf-8")
    assert f"the Locust web UI, as {IDENTITY}" in page
    (line,) = listing.summaries()
    assert isinstance(line, listing.RunSummary)
    assert (line.started, line.counts_known) == ("web UI", True)


def test_flows_after_the_last_answer_are_awaited(lab: Lab) -> None:
    lab.prometheus.in_flight_until = END.ended_at + 12
    counts = lab.run().steps[0].counts
    assert counts.at_rest
    assert counts.rest_seconds == pytest.approx(15.0)


def test_counts_that_prometheus_has_not_read_are_not_known(lab: Lab) -> None:
    lab.prometheus.silent = {"bridge", "PartyA", "PartyB", "locust"}
    lab.prometheus.run_metrics.return_value = pl.DataFrame(schema=METRICS_SCHEMA)

    run = lab.run()

    step = run.steps[0]
    assert (step.counts.verdict, step.counts.bridge, step.counts.node) == ("not known", None, None)
    assert {"counts_not_known", "metrics_gone"} <= {flag.code for flag in step.flags}
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "Only the generator's own count of this load is known" in page.replace("&#39;", "'")
    assert "✓ agrees" not in page


def test_vaults_are_not_searched_if_others_wrote_to_them_since(lab: Lab) -> None:
    lab.prometheus.flows[END.ended_at + 100] = FLOWS_BEFORE + len(SIMULATED) + 50

    counts = lab.run().steps[0].counts

    assert (counts.transactions, counts.verdict) == ([], "agree")
    lab.bridge.vault_transactions.assert_not_called()


def test_a_lab_that_started_again_since_is_a_warning(lab: Lab) -> None:
    lab.prometheus.restarted = dict.fromkeys(("PartyA", "locust"), END.ended_at + 9000)
    assert lab.flags()["restarted_since"] == {"names": "PartyA and locust"}


def test_a_wanted_window_and_name_are_taken(lab: Lab) -> None:
    run = lab.run(warm_up_seconds=10.0, duration_seconds=20.0, name="tuned")

    assert run.identity == "20231114T221320Z-tuned"
    window = run.steps[0].window
    assert window.warm_up_seconds == pytest.approx(10.2)
    assert window.seconds == pytest.approx(20.0)
    assert run.steps[0].warm_up.method == "fixed"
    assert "--duration 20s --warm-up 10s" in run.manifest.command


def test_only_the_part_after_the_last_change_of_users_is_measured(lab: Lab) -> None:
    changed = replace(END, spawned_at=simulation.ORIGIN + 10, users=3, users_changed=True)
    write(lab.directory, plan(), SIMULATED, changed)

    step = lab.run().steps[0]

    assert step.load.users == 3
    assert step.window.started_at >= simulation.ORIGIN + 10
    assert step.requests.total == len(SIMULATED)
    assert {flag.code: flag.values for flag in step.flags}["users_changed"] == {"measured": 3}


@pytest.mark.parametrize(
    ("end", "load", "wanted", "message"),
    [
        (END, {}, {"warm_up_seconds": 100.0}, "the users of the load were constant for 39.8 s only"),
        (END, {"flows": 9}, {"warm_up_seconds": 1.0}, "are not for a load that ends after a number of flows"),
        (replace(END, rows={"0": len(SIMULATED) + 3}), {}, {}, f"wrote {len(SIMULATED) + 3} rows, but"),
    ],
)
def test_a_load_stays_where_it_is_if_its_report_fails(
    lab: Lab, end: Any, load: dict[str, Any], wanted: dict[str, Any], message: str
) -> None:
    write(lab.directory, plan(Load(workload="iou", users=USERS, warm_up_seconds=0, **load)), SIMULATED, end)
    with pytest.raises(LabError, match=message):
        lab.make(**wanted)
    assert f"{IDENTITY}.ndjson" in lab.files
    assert folders.all_runs() == []


@pytest.mark.parametrize(
    ("end", "load", "reason"),
    [
        (replace(END, spawned_at=None), {}, "its users were still starting or stopping when it ended"),
        (replace(END, users_changed=True), {"flows": 9}, "its number of users was changed while it ran"),
        (replace(END, users_changed=True), {"arrivals": "constant", "rate": 9}, "its number of users was changed"),
    ],
)
def test_of_a_load_without_a_constant_part_only_the_rows_are_kept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, end: Any, load: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr(node_logs, "keep", lambda *_, **__: None)
    write(lab.directory, plan(Load(workload="iou", users=USERS, warm_up_seconds=0, **load)), SIMULATED, end)

    assert lab.make().step is None

    (listed,) = stored.unfinished()
    assert listed.why.startswith(reason)
    assert lab.files == []


def test_cold_nodes_are_a_warning(lab: Lab) -> None:
    lab.prometheus.flows = {0.0: 12, END.ended_at: 12 + len(SIMULATED)}
    assert lab.flags()["node_cold"]["flows"] == 12


def test_of_a_load_that_was_cut_off_only_the_rows_and_the_logs_are_kept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lab.directory / f"{IDENTITY}.end.json").unlink()
    logs: list[tuple[Path, str, float, float]] = []
    monkeypatch.setattr(
        node_logs, "keep", lambda _, folder, why, *, since, until: logs.append((folder, why, since, until))
    )

    made = lab.make()

    assert made.step is None
    assert made.folder == folders.run_folder(RUN_ID)
    (listed,) = stored.unfinished()
    assert listed.why == by_hand.CUT_OFF
    last = max(row["ended_at"] for row in SIMULATED)
    assert logs == [(made.folder / "steps/0001-run", by_hand.CUT_OFF, simulation.ORIGIN, last)]
    assert lab.files == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, f"Whether {IDENTITY} has ended is not known"),
        (WebUiStatus("running", IDENTITY), "is in progress"),
    ],
)
def test_a_load_without_an_end_is_left_alone_while_it_may_go_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, status: WebUiStatus | None, words: str
) -> None:
    (lab.directory / f"{IDENTITY}.end.json").unlink()
    monkeypatch.setattr(by_hand, "ask_status", lambda _: status)
    with pytest.raises(LabError, match=words):
        lab.make()
    assert f"{IDENTITY}.ndjson" in lab.files
    assert stored.unfinished() == []


def test_without_its_container_a_load_has_ended(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "ask_status", lambda _: None)
    docker_client(tmp_path / "bin", monkeypatch, DOCKER.replace("running", "exited"))
    by_hand.require_ended(Compose(SETTINGS), IDENTITY)


def test_a_run_that_was_stored_before_its_command_was_killed_is_not_made_again(lab: Lab) -> None:
    first = lab.make()
    write(lab.directory, plan(), SIMULATED, END)

    second = lab.make()

    assert (second.folder, second.step) == (first.folder, first.step)
    assert lab.files == []


@pytest.mark.parametrize("outcome", ["ok", "failed"])
def test_a_load_that_failed_keeps_the_logs_of_its_nodes(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    kept: list[tuple[float, float]] = []

    def keep(_: Compose, folder: Path, why: str, *, since: float, until: float) -> Path:
        kept.append((since, until))
        results_logs.write_index(folder / "logs", KeptLogs(why=why, since=since, until=until, logs=[]))
        return folder / "logs"

    monkeypatch.setattr(node_logs, "keep", keep)
    write(lab.directory, plan(), [*SIMULATED[:-1], {**SIMULATED[-1], "outcome": outcome}], END)

    run = lab.run()

    assert bool(kept) == (outcome == "failed") == bool(list(results_logs.of_run(run.folder)))
    window = run.steps[0].window
    assert all(since == window.load_started_at < window.load_ended_at <= until for since, until in kept)


@pytest.mark.parametrize("is_recent", [True, False])
def test_unknown_outcomes_are_asked_for_only_while_the_nodes_know_them(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, is_recent: bool
) -> None:
    first = {**SIMULATED[0], "outcome": "unknown", "tx_id": None}
    write(lab.directory, plan(), [first, *SIMULATED[1:]], END)
    asked = MagicMock(return_value={first["client_id"]: Resolution("ok", END.ended_at + 1)})
    monkeypatch.setattr(unknown, "resolve_all", asked)
    if is_recent:
        monkeypatch.setattr("corda_lab.runs.by_hand_run.time.time", lambda: END.ended_at + 60)

    step = lab.run().steps[0]

    # The load is years old otherwise, and a node keeps outcomes for an hour.
    assert (step.requests.unknown, step.resolved.ok) == (1, int(is_recent))
    assert asked.called == is_recent
