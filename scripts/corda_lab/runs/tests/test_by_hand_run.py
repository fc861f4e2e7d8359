"""A load by hand becomes a run, from the files of the generator to the report, on a lab that is simulated."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import polars as pl
import pytest

from corda_lab.analysis import listing
from corda_lab.audit import Audit
from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders, stored
from corda_lab.results import node_logs as results_logs
from corda_lab.results.node_logs import KeptLogs
from corda_lab.results.stored import StoredRun
from corda_lab.runs import by_hand, by_hand_run, counters, node_logs, node_metrics, rows_volume, spans, unknown
from corda_lab.runs.by_hand_run import Made, Maker, Wanted
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.runs.tests.test_by_hand import DOCKER
from corda_lab.steps import by_hand as steps
from corda_lab.steps.by_hand import WantedWindow
from corda_lab.steps.load import check_load
from corda_lab.steps.resolutions import Resolution
from lab_workload.by_hand import Counters, LoadByHand, UsersChange, WebUiStatus
from support import simulated_metrics, simulation
from support.by_hand import GENERATOR_STARTED_AT, IDENTITY, STARTED_AT, noted, steady, write
from support.by_hand import counters as counters_of
from support.docker import docker_client
from support.labs import lab_with
from support.runs import ENVIRONMENT

RUN_ID = "20231114T221320Z-web-iou"
USERS, SECONDS = 4, 40.0
SIMULATED = simulation.closed_rows(USERS, SECONDS, simulation.warming(0.08, seed=3))
END = simulation.end_words(SIMULATED, USERS, SECONDS)
FLOWS_BEFORE = 1000
AFTER = counters_of(END.ended_at + 0.5, FLOWS_BEFORE + len(SIMULATED))
SETTINGS = load_settings(ENV_FILE, {})
IDLE = WebUiStatus("idle", None, GENERATOR_STARTED_AT)


class Lab:
    """The parts of a lab that are asked when a run is made: what they say now, and the volume."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.bridge = MagicMock()
        self.bridge.forget_flows.return_value = 0
        self.bridge.vault_transactions.return_value = {row["tx_id"] for row in SIMULATED}
        self.prometheus = MagicMock()
        self.prometheus.run_metrics.return_value = simulated_metrics.metrics_frame(SIMULATED, END)
        self.now = AFTER
        self.status: WebUiStatus | None = IDLE
        self.collected = 0
        self.audited: list[float | None] = []

        def audit(_: Compose, requests: pl.DataFrame, *, at_rest: float | None, stateful: Collection[str]) -> Audit:
            assert requests.height
            assert stateful == {"Iou"}
            self.audited.append(at_rest)
            return Audit(verdict="passed", counts={"transactions": requests.height})

        def snapshot(*_: object) -> object:
            return steps.snapshot_of(self.now, noted([steady(USERS)]).plan.subject)

        def timed(_: Compose, begins: dict[str, int], folder: Path) -> dict[str, Path]:
            assert set(begins.values()) == {0}
            self.collected += 1
            paths = simulation.write_spans(folder, simulation.spans_of(SIMULATED))
            return dict(zip(("PartyA", "PartyB", "PartyC"), paths, strict=True))

        monkeypatch.setattr(by_hand_run, "audit_load", audit)
        monkeypatch.setattr(by_hand, "ask_status", lambda _: self.status)
        monkeypatch.setattr(counters, "snapshot", snapshot)
        monkeypatch.setattr(node_metrics, "read", lambda _: {})
        monkeypatch.setattr(spans, "offsets", lambda *_: {"PartyA": 9, "PartyB": 9})
        monkeypatch.setattr(spans, "collect", timed)

    def put(self, load: LoadByHand, after: Counters | None = AFTER) -> None:
        """Put a load into the volume."""
        write(self.directory, load, SIMULATED, END, after)

    def maker(self) -> Maker:
        """What makes the runs of one command."""
        lab = lab_with(Compose(SETTINGS), self.bridge, self.prometheus)
        scratch = self.directory.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        return Maker(lab, simulation.nodes(), RowsVolume(lab), ENVIRONMENT, self.status, scratch)

    def make(self, **wanted: WantedWindow | str | None) -> Made:
        """Make a run of the newest load."""
        volume = RowsVolume(Compose(SETTINGS))
        maker = self.maker()
        (one,) = by_hand.uncollected(volume, None).chosen(by_hand.NEWEST)
        return maker.make(one, Wanted(**wanted))  # type: ignore[arg-type]

    def run(self, **wanted: WantedWindow | str | None) -> StoredRun:
        """Make a run of the newest load, and read it."""
        return stored.read(self.make(**wanted).folder)

    @property
    def files(self) -> list[str]:
        return [path.name for path in self.directory.iterdir()]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    directory = tmp_path / "volume"
    directory.mkdir()
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, DOCKER)
    monkeypatch.setattr(rows_volume, "ROWS_DIRECTORY", str(directory))
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    return Lab(directory, monkeypatch)


def test_a_load_becomes_a_whole_run_and_leaves_the_volume(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))

    run = lab.run()

    step = run.steps[0]
    assert run.identity == RUN_ID
    assert {"requests.parquet", "stages.parquet", "audit.json"} <= {path.name for path in run.places[1].iterdir()}
    assert folders.find_run("latest") == run.folder
    assert run.table("requests").height == len(SIMULATED) == step.requests.total
    assert run.table("metrics").height
    assert (step.counts.verdict, step.counts.generator) == ("agree", len(SIMULATED))
    assert [one.missing for one in step.counts.transactions] == [0, 0]
    assert step.validity.valid
    assert step.verdict.passed
    assert step.stages.reason is None
    assert step.window.ended_at == pytest.approx(END.stop_at, rel=0, abs=0.001)
    assert step.load.users == USERS
    assert lab.audited == [AFTER.read_at]
    assert lab.files == []
    lab.bridge.forget_flows.assert_called_once_with("PartyA", "client-")


def test_the_spans_of_all_loads_are_collected_once(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))
    lab.put(noted([steady(USERS)], identity=f"{IDENTITY}-2"))
    maker = lab.maker()
    loads = by_hand.uncollected(RowsVolume(Compose(SETTINGS)), None).chosen(by_hand.ALL)
    made = [maker.make(one, Wanted()) for one in loads]
    assert lab.collected == 1
    heights = [stored.read(one.folder).table("stages").height for one in made]
    assert heights == [2 * len(SIMULATED)] * 2, "of both nodes, for each load"


def test_the_manifest_says_how_it_was_started_and_how_it_is_repeated(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))

    manifest = lab.run().manifest

    assert manifest.started == "web UI"
    assert manifest.web_ui is not None
    assert (manifest.web_ui.id, manifest.web_ui.form["user_count"]) == (IDENTITY, "4")
    assert [one.users for one in manifest.web_ui.users] == [USERS]
    assert manifest.command.startswith("scripts/lab run iou --users 4 ")
    assert manifest.load is not None
    check_load(manifest.load)
    page = (folders.find_run(RUN_ID) / "report.html").read_text(encoding="utf-8")
    assert f"the Locust web UI, as {IDENTITY}" in page
    assert "user_count=4, spawn_rate=20, workload=iou" in page
    (line,) = listing.summaries()
    assert isinstance(line, listing.RunSummary)
    assert (line.started, line.counts_known) == ("web UI", True)


def test_counts_that_nobody_has_read_are_not_known(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]), after=None)

    run = lab.run()

    step = run.steps[0]
    assert step.counts.verdict == "not known"
    assert (step.counts.bridge, step.counts.node, step.counts.vaults) == (None, None, {"PartyA": None, "PartyB": None})
    assert step.counts.transactions == []
    assert "counts_not_known" in [flag.code for flag in step.flags]
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "Only the generator's own count of this load is known" in page.replace("&#39;", "'")
    assert "✓ agrees" not in page


def test_vaults_are_not_searched_if_others_wrote_to_them_since(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))
    lab.now = counters_of(END.ended_at + 100, FLOWS_BEFORE + len(SIMULATED) + 50)

    step = lab.run().steps[0]

    assert step.counts.transactions == []
    assert step.counts.verdict == "agree", "these counters were read when the load had ended"
    lab.bridge.vault_transactions.assert_not_called()


def test_a_lab_that_started_again_since_is_a_warning(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.put(noted([steady(USERS)]))
    again = replace(AFTER.nodes["PartyA"], started_at=STARTED_AT["PartyA"] + 9000)
    lab.now = replace(AFTER, nodes={**AFTER.nodes, "PartyA": again})
    lab.status = replace(IDLE, generator_started_at=GENERATOR_STARTED_AT + 9000)
    monkeypatch.setattr(spans, "collect", lambda *_: {"PartyA": Path(os.devnull)})
    lab.prometheus.run_metrics.return_value = pl.DataFrame(schema=METRICS_SCHEMA)

    run = lab.run()

    step = run.steps[0]
    (flag,) = [flag for flag in step.flags if flag.code == "restarted_since"]
    assert flag.values["names"] == "PartyA and the load generator"
    assert step.counts.verdict == "agree", "the counters were read before"
    assert "as long as its container" in str(step.stages.reason)
    assert "metrics_gone" in [flag.code for flag in step.flags]
    assert (run.folder / "report.html").is_file()


def test_a_wanted_window_and_name_are_taken(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))

    run = lab.run(window=WantedWindow(10.0, 20.0), name="tuned")

    assert run.identity == "20231114T221320Z-tuned"
    window = run.steps[0].window
    assert window.warm_up_seconds == 10.0
    assert window.seconds == pytest.approx(20.0)
    assert run.steps[0].warm_up.method == "fixed"
    assert "--duration 20s --warm-up 10s" in run.manifest.command


def test_a_window_that_does_not_fit_leaves_the_load_where_it_is(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))
    with pytest.raises(LabError, match="--warm-up: 100s is not shorter"):
        lab.make(window=WantedWindow(100.0))
    assert f"{IDENTITY}.ndjson" in lab.files
    assert folders.all_runs() == []


def test_only_the_longest_time_with_the_same_users_is_measured(lab: Lab) -> None:
    lab.put(noted([steady(2), UsersChange(USERS, simulation.ORIGIN + 10, simulation.ORIGIN + 11)]))

    step = lab.run().steps[0]

    assert step.load.users == USERS
    assert step.window.started_at >= simulation.ORIGIN + 11
    assert step.requests.total == len(SIMULATED)
    assert "users_changed" in [flag.code for flag in step.flags]


def test_cold_nodes_are_a_warning(lab: Lab) -> None:
    lab.put(noted([steady(USERS)], before=counters_of(simulation.ORIGIN - 1, 12)), counters_of(END.ended_at, 12))
    flags = {flag.code: flag for flag in lab.run().steps[0].flags}
    assert flags["node_cold"].values["flows"] == 12


def test_missing_rows_are_an_error_and_nothing_is_deleted(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))
    simulation.write_rows(lab.directory / f"{IDENTITY}.ndjson", SIMULATED[:-3])
    with pytest.raises(LabError, match=f"wrote {len(SIMULATED)} rows, but {len(SIMULATED) - 3} were found"):
        lab.make()
    assert f"{IDENTITY}.ndjson" in lab.files


def test_of_a_load_that_was_cut_off_only_the_rows_and_the_logs_are_kept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(lab.directory, noted([steady(USERS)]), SIMULATED, None, None)
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
    assert logs == [(made.folder / "steps/0001-run", by_hand.CUT_OFF, by_hand.began_at(IDENTITY).timestamp(), last)]
    assert lab.files == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, f"Whether {IDENTITY} has ended is not known"),
        (replace(IDLE, state="running", id=IDENTITY), "is in progress"),
    ],
)
def test_a_load_without_an_end_is_left_alone_while_it_may_go_on(
    lab: Lab, status: WebUiStatus | None, words: str
) -> None:
    write(lab.directory, noted([steady(USERS)]), SIMULATED, None, None)
    lab.status = status
    with pytest.raises(LabError, match=words):
        lab.make()
    assert f"{IDENTITY}.ndjson" in lab.files
    assert stored.unfinished() == []


def test_without_its_container_a_load_has_ended(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "ask_status", lambda _: None)
    docker_client(tmp_path / "bin", monkeypatch, DOCKER.replace("running", "exited"))
    by_hand.require_ended(Compose(SETTINGS), IDENTITY)


def test_a_run_that_was_stored_before_its_command_was_killed_is_not_made_again(lab: Lab) -> None:
    lab.put(noted([steady(USERS)]))
    first = lab.make()
    lab.put(noted([steady(USERS)]))

    second = lab.make()

    assert (second.folder, second.step) == (first.folder, first.step)
    assert lab.files == []


@pytest.mark.parametrize("outcome", ["ok", "failed"])
def test_a_load_that_failed_keeps_the_logs_of_its_nodes(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    spans: list[tuple[float, float]] = []

    def keep(_: Compose, folder: Path, why: str, *, since: float, until: float) -> Path:
        spans.append((since, until))
        results_logs.write_index(folder / "logs", KeptLogs(why=why, since=since, until=until, logs=[]))
        return folder / "logs"

    monkeypatch.setattr(node_logs, "keep", keep)
    lab.put(noted([steady(USERS)]))
    rows = [*SIMULATED[:-1], {**SIMULATED[-1], "outcome": outcome}]
    simulation.write_rows(lab.directory / f"{IDENTITY}.ndjson", rows)

    run = lab.run()

    kept = [index.why for _, _, index in results_logs.of_run(run.folder)]
    assert bool(kept) == (outcome == "failed") == (not run.steps[0].verdict.passed)
    window = run.steps[0].window
    assert all(since == window.load_started_at < window.load_ended_at <= until for since, until in spans)


def test_unknown_outcomes_are_asked_for_only_while_the_nodes_know_them(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {**SIMULATED[0], "outcome": "unknown", "tx_id": None}
    lab.put(noted([steady(USERS)]))
    simulation.write_rows(lab.directory / f"{IDENTITY}.ndjson", [first, *SIMULATED[1:]])
    asked = MagicMock(return_value={first["client_id"]: Resolution("ok", END.ended_at + 1)})
    monkeypatch.setattr(unknown, "resolve_all", asked)

    assert lab.run().steps[0].resolved.unknown == 0
    # The load is years old, and a node keeps outcomes for an hour.
    asked.assert_not_called()

    monkeypatch.setattr("corda_lab.runs.by_hand_run.time.time", lambda: END.ended_at + 60)
    lab.put(noted([steady(USERS)], identity=f"{IDENTITY}-2"))
    simulation.write_rows(lab.directory / f"{IDENTITY}-2.ndjson", [first, *SIMULATED[1:]])
    step = lab.run().steps[0]
    assert (step.requests.unknown, step.resolved.ok) == (1, 1)
    asked.assert_called_once()
