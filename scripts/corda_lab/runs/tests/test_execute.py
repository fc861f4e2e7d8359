"""One run from its options to its folder, on a lab and with a generator that are simulated."""

import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lab as lab_module
from corda_lab.lab import lifecycle, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import model as node_logs
from corda_lab.node_logs import read as reading_logs
from corda_lab.node_logs.model import KeptLogs
from corda_lab.paths import ENV_FILE
from corda_lab.report import page, unfinished
from corda_lab.results import folders, store, stored
from corda_lab.results.audits import Audit, Verdict, Violation, ViolationKind
from corda_lab.runs import conditioning, counters, execute, leftovers, preflight, recording, unknown
from corda_lab.runs.collect import Collected
from corda_lab.steps.counts import Snapshot
from corda_lab.steps.reasons import reason
from corda_lab.steps.resolutions import Resolution
from corda_lab.steps.spans import NO_SPANS
from corda_lab.steps.stages import Tracing
from lab_workload.load import Load
from lab_workload.plan import Plan
from support import simulation
from support.runs import ENVIRONMENT, measured_of, plan_of

OPTIONS = Load(workload="iou", users=2, duration_seconds=4, warm_up_seconds=1, name="short")
COLD = reason("node_cold", node="PartyA", flows=12, enough=300)


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans of the runs that are measured. Every one has the values of the same simulated load."""
    simulated = simulation.closed_rows(2, 5, simulation.fixed(0.05))
    end = simulation.end_words(simulated, 2, 5)
    measured = measured_of(tmp_path, plan_of(OPTIONS), simulated, end)
    found: list[Plan] = []

    def generating(_: object, plan: Plan) -> MagicMock:
        found.append(plan)
        return MagicMock()

    containers = SimpleNamespace(
        generating=generating,
        with_load_images=lambda environment, *_: environment,
        await_setup=lambda *_: [],
        let_go=lambda *_: None,
        generate_load=MagicMock(),
    )
    bridge = MagicMock()
    bridge.return_value.outstanding_max.return_value = 128
    bridge.return_value.forget_flows.return_value = 0
    monkeypatch.setattr(lab_module, "Bridge", bridge)
    monkeypatch.setattr(lab_module, "Prometheus", MagicMock())
    observer = MagicMock(before=Snapshot({}, {}, {}), spans=lambda *_: (NO_SPANS, Tracing()))
    monkeypatch.setattr(execute, "Observer", lambda *_: observer)
    monkeypatch.setattr(Compose, "services", lambda _: [])
    monkeypatch.setattr(recording, "RowsVolume", MagicMock())
    monkeypatch.setattr(recording, "node_logs", MagicMock())
    monkeypatch.setattr(leftovers, "collect", lambda _: None)
    for module in (execute, conditioning):
        monkeypatch.setattr(module, "containers", containers)
        monkeypatch.setattr(module, "collect", lambda *_: Collected(measured.requests, measured.drops, end))
    monkeypatch.setattr(conditioning, "unknown", MagicMock())
    monkeypatch.setattr(counters, "await_rest", lambda *_, **__: True)
    monkeypatch.setattr(conditioning, "cold_nodes", lambda *_: [COLD])
    monkeypatch.setattr(execute, "Observed", MagicMock(return_value=MagicMock(tracing=Tracing())))
    monkeypatch.setattr(execute, "build_step", lambda *_: measured.step)
    monkeypatch.setattr(execute, "Measured", lambda *_, **_kept: measured)
    for module in (execute, conditioning):
        monkeypatch.setattr(module, "read_environment", lambda _: ENVIRONMENT)
    monkeypatch.setattr(shape, "of_running", lambda settings: settings)
    monkeypatch.setattr(page, "render", lambda folder: folder)
    monkeypatch.setattr(lifecycle, "require_engine", lambda: None)
    for name in ("check_lab_is_up", "check_no_other_load"):
        monkeypatch.setattr(preflight, name, lambda *_: {})

    def made(identity: str, load: Load, *_: object) -> Plan:
        return plan_of(load).model_copy(update={"identity": identity})

    monkeypatch.setattr(preflight, "make_plan", made)
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    return found


@pytest.fixture
def moving_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every id that is made is another one, as if time passed in between."""
    seconds = count()
    monkeypatch.setattr(folders, "run_id", lambda name: f"20260102T0304{next(seconds):02d}Z-{name}")


@pytest.mark.usefixtures("moving_clock")
def test_a_run_has_one_id(plans: list[Plan]) -> None:
    folder, _ = execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    (plan,) = plans
    assert folder.name == plan.identity == folders.read_json(folder / "run.json")["id"] == "20260102T030400Z-short"


def test_the_evidence_is_there_before_the_load_and_gone_when_the_run_is_stored(
    plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    def let_go(_: object, plan: Plan) -> None:
        step = folders.run_folder(plan.identity) / "steps/0001-run"
        seen.extend({path.name for path in folder.iterdir()} for folder in (step, step / stored.EVIDENCE))

    monkeypatch.setattr("corda_lab.runs.execute.containers.let_go", let_go)
    run, _ = execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    assert seen == [{"step.json", "plan.json", "environment.json", "evidence"}, {"setup.json", "counters.json"}]
    assert not any(run.glob(f"steps/*/{stored.EVIDENCE}"))
    assert folders.all_runs() == [run]


def test_a_load_conditions_the_nodes_first(plans: list[Plan]) -> None:
    _, step = execute.execute(OPTIONS, load_settings(ENV_FILE, {}), before=conditioning.before_run(OPTIONS))
    first, second = plans
    assert (folders.name_of(first.identity), folders.name_of(second.identity)) == ("condition-short", "short")
    assert first.load.stopping is not None
    assert step.conditioning is not None
    assert step.conditioning.flows > 0
    assert COLD not in step.flags
    (run,) = folders.all_runs()
    assert [(path.name, one.state) for path, one in stored.read_steps(run).items()] == [
        ("0001-condition", "done"),
        ("0001-run", "done"),
    ]
    assert len(stored.read(run).steps) == 1


@pytest.mark.usefixtures("plans")
def test_a_run_on_cold_nodes_has_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    _, step = execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    assert COLD in step.flags
    assert step.conditioning is None
    assert f"warning: {COLD}" in capsys.readouterr().out


def test_a_load_before_that_fails_keeps_its_evidence_and_nothing_is_measured(
    plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "await_rest", lambda *_, **__: False)
    with pytest.raises(LabError, match="Flows are still in flight"):
        execute.execute(OPTIONS, load_settings(ENV_FILE, {}), before=conditioning.before_run(OPTIONS))
    (listed,) = stored.unfinished()
    assert (folders.name_of(listed.run), listed.state, listed.steps) == ("short", "failed", 0)
    assert len(plans) == 1


@pytest.mark.usefixtures("plans")
@pytest.mark.parametrize("verdict", ["passed", "violations"])
def test_a_run_that_failed_keeps_the_logs_of_its_nodes(monkeypatch: pytest.MonkeyPatch, verdict: Verdict) -> None:
    spans: list[tuple[float, float]] = []

    def keep(_: object, folder: Path, why: str, *, since: float, until: float) -> None:
        spans.append((since, until))
        kept = KeptLogs(why=why, since=since, until=until, logs=[])
        node_logs.write_index(folder / node_logs.FOLDER, kept)

    wrong = Violation(kind=ViolationKind.DOUBLED, text="twice")
    found = Audit(verdict=verdict, violations=(wrong,) if verdict == "violations" else ())
    monkeypatch.setattr(execute, "audit_load", lambda *_, **__: found)
    monkeypatch.setattr(reading_logs, "keep", keep)
    folder, step = execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    kept = [index.why for _, _, index in node_logs.of_run(folder)]
    assert kept == ([] if verdict == "passed" else ["violations in the ledgers: 1 doubled"])
    assert all(since == step.window.load_started_at < until for since, until in spans)


def test_results_that_cannot_be_written_are_found_before_anything_starts(
    plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "file")
    with pytest.raises(LabError, match="results cannot be written there"):
        execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    assert plans == []


@pytest.mark.usefixtures("plans")
@pytest.mark.parametrize(("full", "state"), [("keep", "failed"), ("write_manifest", "interrupted")])
def test_a_disk_that_is_full_after_the_load_loses_no_evidence(
    monkeypatch: pytest.MonkeyPatch, full: str, state: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def stop_writing(*_: object) -> None:
        monkeypatch.setattr(store, full, fail)

    monkeypatch.setattr("corda_lab.runs.execute.containers.let_go", stop_writing)
    with pytest.raises(LabError, match="No space left on device"):
        execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    (listed,) = stored.unfinished()
    assert listed.state == state
    assert folders.all_runs() == []
    run = folders.run_folder(listed.run)
    if full == "keep":
        assert "No space left on device" in listed.why
        assert any(run.glob(f"steps/*/{stored.EVIDENCE}"))
    else:
        assert (listed.why, listed.steps) == (stored.NO_REPORT, 1)
        assert unfinished.lacks_report(run)


@pytest.mark.usefixtures("plans")
def test_a_run_that_is_refused_before_its_load_leaves_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise LabError("The lab is not up")

    monkeypatch.setattr(preflight, "check_lab_is_up", refuse)
    with pytest.raises(LabError, match="not up"):
        execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    assert list(folders.run_folder("").iterdir()) == []


def test_a_run_is_named_after_its_option_or_its_workload() -> None:
    assert folders.name_of(preflight.prepare(OPTIONS).identity) == "short"
    assert folders.name_of(preflight.prepare(Load(workload="iou")).identity) == "iou"


def test_a_load_that_may_leave_thousands_of_flows_is_awaited_longer() -> None:
    assert counters.rest_seconds_max(8) < 1.1 * counters.REST_SECONDS_MAX
    # Eight times a peak of 6 flows/s for 55 s, which are completed at half of the peak.
    assert counters.rest_seconds_max(6000) > 8 * 55 * 6 / 3


def test_all_waits_for_rest_after_a_load_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def await_rest(*_: object, seconds_max: float, **__: object) -> bool:
        limits.append(seconds_max)
        return False

    monkeypatch.setattr(counters, "await_rest", await_rest)
    rest = counters.Rest(time.time() - 400, places=100, began=time.monotonic() - 60)
    assert not rest.wait(MagicMock())
    over = counters.Rest(time.time() - 400, places=100, began=time.monotonic() - 390)
    assert not over.wait(MagicMock())
    assert limits == [pytest.approx(counters.rest_seconds_max(100) - 60, abs=5), 0.0]
    assert over.seconds == pytest.approx(400, abs=5)


def test_unknown_outcomes_are_asked_for_when_the_lab_is_at_rest(
    plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = []

    def await_rest(*_: object, **__: object) -> bool:
        happened.append("rest")
        return True

    def resolve_all(*_: object) -> dict[str, Resolution]:
        happened.append("resolve")
        return {}

    monkeypatch.setattr(counters, "await_rest", await_rest)
    monkeypatch.setattr(unknown, "are_in", lambda _: True)
    monkeypatch.setattr(unknown, "resolve_all", resolve_all)
    execute.execute(OPTIONS, load_settings(ENV_FILE, {}))
    assert happened == ["rest", "resolve"]
