"""The lab on three hosts: three engines on this machine, each in a network of its own.

`scripts/lab test --suite swarm` starts the engines, and runs this on the first of them, the manager. The registry that
a user has is a container on the manager.
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from bare.commands import come_true
from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.host import engine as host_engine
from corda_lab.lab import images
from corda_lab.lab.docker import Container, ask, docker
from corda_lab.lab.doctor import Level
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.results import audits, folders, stored
from corda_lab.runs import containers, execute, running
from corda_lab.steps.entry import StepEntry
from corda_lab.swarm import hosts as swarm_hosts
from corda_lab.swarm import lifecycle
from corda_lab.swarm.deployment import tasks_of
from corda_lab.swarm.lifecycle import Prepared
from corda_lab.sweeps import command
from corda_lab.sweeps.command import SweepRequest
from lab_workload.faults import Fault, FaultKind
from lab_workload.load import Load
from lab_workload.plan import Plan

REGISTRY, REGISTRY_PORT = "users-registry", 5000
PLACEMENT = str(Path(__file__).parent / "placement.yaml")

CUT_OFF = """\
description: IOU flows while the host of two parties is cut off.
workload: iou
load: {users: 4, faults: [{kind: partition, target: two, at: 15s, for: 8s}]}
repeats: 1
retries: 0
condition: none
warm_up: {min: 5s, max: 5s}
measure: 60s
"""


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="session", autouse=True)
def registry(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The registry of the placement. Its port is one of the manager's own, and its files are in no volume."""
    folder = tmp_path_factory.mktemp("registry")
    options = ("--detach", f"--name={REGISTRY}", "--network=host", f"--volume={folder}:/var/lib/registry")
    ask("run", *options, images.image_name(settings, "REGISTRY_IMAGE"))
    try:
        assert come_true(lambda: swarm_hosts.is_open("127.0.0.1", REGISTRY_PORT), seconds_max=60)
        yield
    finally:
        docker("rm", "--force", REGISTRY)


@pytest.fixture(scope="session")
def prepared(settings: Settings) -> Prepared:
    return lifecycle.prepare(settings, PLACEMENT)


@pytest.fixture(scope="session")
def stack(prepared: Prepared) -> Iterator[str]:
    """The name of the stack, which runs."""
    try:
        lifecycle.start(prepared, PLACEMENT)
        yield prepared.folder.stack
    finally:
        # The last test has already removed it, and with it the record of its hosts.
        lifecycle.down(prepared.settings, PLACEMENT, volumes=True)


def hosts(prepared: Prepared) -> list[str]:
    return list(prepared.fitted.hosts)


def lines(host: str, *arguments: str) -> set[str]:
    return set(ask(*arguments, on=host).splitlines())


def containers_on(host: str) -> set[str]:
    """All containers on a host but the registry."""
    return lines(host, "ps", "--all", "--format={{.Names}}") - {REGISTRY}


def test_the_hosts_are_found_and_sound(prepared: Prepared) -> None:
    checks = lifecycle.check(prepared)
    assert [check for check in checks if check.level is Level.FAILURE] == []
    assert {check.name for check in checks} >= {
        "host one",
        "host two",
        "host three",
        "clock of two",
        "registry from two",
    }


def test_swarm_reads_the_stack_as_it_was_derived(prepared: Prepared, stack: str) -> None:
    """Nothing of it is dropped or changed. Docker before 25 cannot print what it reads."""
    file = prepared.folder.stack_file
    if " config " not in ask("stack", "--help"):
        return
    seen = yaml.safe_load(ask("stack", "config", "--compose-file", str(file)))
    derived: Any = yaml.safe_load(file.read_text(encoding="utf-8").replace("$$", "$"))
    for service in derived["services"].values():
        service["networks"] = dict.fromkeys(service["networks"])
    assert stack
    assert seen == derived


def test_every_service_runs_on_its_host(prepared: Prepared, stack: str) -> None:
    tasks = tasks_of(stack)
    # An engine of this suite has the name of its host as its hostname.
    assert {name: task.host for name, task in tasks.items()} == {
        name: place.host for name, place in prepared.fitted.places.items()
    }
    assert {task.state for task in tasks.values()} == {"running"}


def test_the_bridge_reaches_every_node_and_is_reached_at_the_manager(settings: Settings, stack: str) -> None:
    assert stack
    with closing(Bridge(settings.bridge_url, settings.bridge_token)) as bridge:
        nodes = bridge.nodes()
    assert set(nodes) == set(settings.nodes)
    assert all(node.is_ready for node in nodes.values())


def test_no_host_has_a_port_that_others_can_reach(prepared: Prepared, stack: str) -> None:
    assert stack
    for host in hosts(prepared):
        published = [port for line in lines(host, "ps", "--format={{.Ports}}") for port in line.split(", ")]
        open_ports = [port for port in published if "->" in port]
        # The manager leads to the pages and the API.
        assert bool(open_ports) == (host == "one")
        assert [port for port in open_ports if not port.startswith("127.0.0.1:")] == [], host


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results of its own, in which a test finds only its own runs."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def measured(workload: str, settings: Settings) -> StepEntry:
    """A short load on the stack, as `lab run` makes it, with a stored run and report."""
    folder, step = execute.execute(Load(workload=workload, users=4, duration_seconds=10, warm_up_seconds=5), settings)
    assert (folder / "report.html").is_file()
    return step


def check_fault(step: StepEntry) -> None:
    """The only fault of a load was made and healed, and flows succeeded all the same."""
    (fault,) = step.faults
    assert (fault.problem, fault.was_made) == (None, True)
    assert fault.healed_at is not None
    assert step.requests.ok > 0


def test_commands_find_the_stack_with_its_shape(prepared: Prepared, stack: str) -> None:
    lab = running.deployed(prepared.settings)
    assert (lab.project, {*lab.hosts}) == (stack, {"one", "two", "three"})
    services = {service.name: service for service in lab.services()}
    assert {name: service.container.context for name, service in services.items()} == {
        name: place.host for name, place in prepared.fitted.places.items()
    }
    assert all(service.is_ready for service in services.values())
    assert lab.exec("partyb", "hostname").stdout.strip() == "partyb"


@pytest.mark.parametrize("workload", ["iou", "cash-issue-and-pay"])
def test_a_load_has_no_errors_and_counts_and_audit_agree(
    workload: str, settings: Settings, stack: str, results: Path
) -> None:
    assert stack
    step = measured(workload, settings)
    assert step.requests.ok > 0
    assert (step.requests.failed, step.requests.unknown) == (0, 0)
    assert step.counts.verdict == "agree"
    run = stored.read(folders.find_run("latest"))
    assert audits.read(run.folder)[1].verdict == "passed"
    placed = run.environment(run.steps[0]).placement
    assert placed is not None
    assert set(placed.hosts) == {"one", "two", "three"}
    assert placed.hosts["two"].services == ["partyb", "partyc"]
    assert results in run.folder.parents


def test_a_load_has_the_rows_of_all_hosts_and_no_value_that_needs_one_clock(
    settings: Settings, stack: str, results: Path
) -> None:
    assert stack
    assert results
    step = measured("cash-issue-and-pay", settings)
    (table,) = step.stages.flows
    assert table.rows == table.requests
    assert step.stages.reason is None
    assert step.stages.clocks_left_out == [f"start of {table.part}", f"end of {table.part}", "consensus latency"]
    assert step.stages.consensus_latency_ms.count == 0
    # The counters of this machine are not those of the hosts.
    assert step.calibration is None
    assert step.value("host_busy_percent") is None
    # Nodes tell what they use themselves.
    assert set(step.by_part("cpu_percent")) == set(settings.nodes)


def test_a_worker_generates_load_on_another_host_than_the_driver(settings: Settings, stack: str, results: Path) -> None:
    assert stack
    assert results
    options = Load(workload="iou", users=4, duration_seconds=10, warm_up_seconds=5, workers=1)
    _, step = execute.execute(options, settings)
    assert step.requests.failed == 0
    assert step.counts.verdict == "agree"


def test_a_node_that_was_killed_is_replaced_once(settings: Settings, stack: str, results: Path) -> None:
    assert results
    before = lines("two", "ps", "--all", "--quiet", f"--filter=name={stack}_partyb")
    kill = Fault(kind="kill", target="partyb", at_seconds=10, for_seconds=5)
    options = Load(workload="iou", users=4, duration_seconds=40, warm_up_seconds=5, faults=(kill,))
    _, step = execute.execute(options, settings)
    check_fault(step)
    after = lines("two", "ps", "--all", "--quiet", f"--filter=name={stack}_partyb")
    assert len(after - before) == 1
    assert all(service.is_ready for service in running.deployed(settings).services())


@pytest.mark.parametrize("kind", ["kill", "restart"])
def test_the_services_of_a_host_that_was_killed_or_drained_run_again(
    kind: FaultKind, settings: Settings, stack: str, results: Path
) -> None:
    assert results
    before = lines("two", "ps", "--all", "--quiet", f"--filter=name={stack}_party")
    fault = Fault(kind=kind, target="two", at_seconds=10, for_seconds=5)
    options = Load(workload="iou", users=4, duration_seconds=30, warm_up_seconds=5, faults=(fault,))
    folder, step = execute.execute(options, settings)
    check_fault(step)
    assert audits.read(folder)[1].verdict == "passed"
    after = lines("two", "ps", "--all", "--quiet", f"--filter=name={stack}_party")
    assert len(after - before) == 2
    assert all(service.is_ready for service in running.deployed(settings).services())


def with_images_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a stack start with the images that the manager has."""
    monkeypatch.setattr(host_engine, "ensure_images", lambda *_: None)
    monkeypatch.setattr(lifecycle, "build", lambda *_: None)


def test_a_sweep_runs_on_the_hosts_with_one_of_them_cut_off_and_healed(
    settings: Settings, stack: str, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts a stack of its own in place of that of the other tests, in the same shape and with the same images."""
    with_images_of_the_stack(monkeypatch)
    file = tmp_path / "cut-off.yaml"
    file.write_text(CUT_OFF, encoding="utf-8")
    run = stored.read(command.begin(SweepRequest(str(file), replace=True, placement=PLACEMENT), settings))
    (step,) = run.steps
    check_fault(step)
    assert step.counts.verdict == "agree"
    assert audits.read(run.folder)[1].verdict == "passed"
    assert results in run.folder.parents
    assert running.deployed(settings).project == stack


def test_the_sweep_that_is_compared_with_one_machine_has_agreeing_counts_and_ledgers(
    settings: Settings, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run is kept, in .cache/swarm-test-results. docs/scale-out.md compares it with one on this machine."""
    with_images_of_the_stack(monkeypatch)
    run = stored.read(command.begin(SweepRequest("hosts", replace=True, placement=PLACEMENT), settings))
    assert [step.counts.verdict for step in run.steps] == ["agree"] * 3
    assert {one.verdict for one in audits.read(run.folder).values()} == {"passed"}
    assert [step.requests.failed for step in run.steps] == [0] * 3
    assert running.deployed(settings).project == stack


def test_nothing_of_a_load_is_left_on_any_host(prepared: Prepared, stack: str) -> None:
    for host in hosts(prepared):
        assert lines(host, "ps", "--all", "--quiet", "--filter=label=org.cordalab.run") == set(), host
    three = "three"
    (locust,) = lines(three, "ps", "--filter=name=_locust", "--format={{.Names}}")
    assert Container(locust, three).inside("ls", "/var/lib/corda-lab/rows").stdout.split() == []
    assert stack


def test_a_host_that_is_lost_during_a_load_ends_it_with_its_name(
    settings: Settings, stack: str, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stack
    let_go = containers.let_go

    def lose(lab: Lab, plan: Plan) -> None:
        let_go(lab, plan)
        assert come_true(rows_are_written, seconds_max=60)
        # A context whose engine is gone: this host is not reached any more.
        monkeypatch.setattr(subprocess, "run", lost("two"))

    monkeypatch.setattr(containers, "let_go", lose)
    with pytest.raises(LabError, match="two: its engine does not answer"):
        measured("iou", settings)
    monkeypatch.undo()
    assert any(file.stat().st_size for file in results.glob("*/steps/*/evidence/*.ndjson")), "those of the others"


def rows_are_written() -> bool:
    """Whether the worker has written rows."""
    host = "one"
    names = lines(host, "ps", "--filter=label=org.cordalab.run", "--format={{.Names}}")
    command = ("sh", "-c", "cat /var/lib/corda-lab/rows/*.ndjson")
    return any(Container(name, host).inside(*command).stdout for name in names)


def lost(name: str) -> Callable[..., CompletedProcess[str]]:
    """Docker's client on a machine from which a host is not reached."""
    real = subprocess.run

    def run(command: Sequence[str], **options: Any) -> CompletedProcess[str]:
        if list(command[:3]) == ["docker", "--context", name]:
            return CompletedProcess(command, 1, "", "error during connect: no route to host")
        return real(command, **options)

    return run


def test_a_second_start_changes_no_container(settings: Settings, stack: str) -> None:
    # The sweep has started a stack of its own, whose variables may differ.
    prepared = lifecycle.prepare(settings, PLACEMENT)
    lifecycle.start(prepared, PLACEMENT)
    before = {host: lines(host, "ps", "--quiet") for host in hosts(prepared)}
    lifecycle.start(prepared, PLACEMENT)
    assert {host: lines(host, "ps", "--quiet") for host in hosts(prepared)} == before
    assert stack


def test_a_stop_keeps_ledgers_and_a_stop_with_volumes_leaves_nothing(prepared: Prepared, stack: str) -> None:
    settings = prepared.settings
    lifecycle.down(settings, PLACEMENT, volumes=False)
    for host in hosts(prepared):
        assert containers_on(host) == set(), host
    kept = lines("one", "volume", "ls", "--quiet")
    assert f"{stack}_partya-persistence" in kept
    lifecycle.start(prepared, PLACEMENT)
    lifecycle.down(settings, PLACEMENT, volumes=True)
    own = {"bridge", "docker_gwbridge", "host", "ingress", "none"}
    for host in hosts(prepared):
        assert containers_on(host) == set(), host
        assert lines(host, "volume", "ls", "--quiet") == set(), host
        assert lines(host, "network", "ls", "--format={{.Name}}") <= own, host
    for kind in ("service", "secret", "config"):
        assert docker(kind, "ls", "--quiet").stdout == "", kind
    assert not prepared.folder.root.exists()
