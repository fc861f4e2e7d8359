"""The containers of a run: named, removed whatever happens, and their rows counted.

Docker itself is a small program here that writes down how it was called: what it would do is tested on the real lab.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.samples import Sample

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results.manifest import Image
from corda_lab.runs import collect, containers, spans
from corda_lab.runs import live as runs_live
from corda_lab.steps import rows
from corda_lab.steps.load import Conditioning
from lab_workload.faults import Fault
from lab_workload.load import Load
from lab_workload.plan import Plan
from support import simulation
from support.docker import listed
from support.entries import run_end
from support.runs import ENVIRONMENT, RUN_IDENTITY, plan_of

OPTIONS = Load(workload="iou", users=20, duration_seconds=60, warm_up_seconds=15)
TWO_WORKERS = OPTIONS.updated(workers=2)
DRIVER = f"my-lab-load-{RUN_IDENTITY}"
ENDED_NODE = r"PartyA ended with exit status 137 \(its container reached its memory limit\)"


SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab"})
BRIDGE = Image(name="corda-lab/bridge:4.10", id="sha256:bridge")

InstallDocker = Callable[[dict[str, str | list[str]]], Path]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallDocker:
    """Put a docker on PATH that notes its arguments, a JSON list per line, and answers by what they contain.

    Of a list each call gets the next answer, and those after the last the last one.
    """

    def install(answers: dict[str, str | list[str]]) -> Path:
        calls, program = tmp_path / "calls", tmp_path / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(
            "#!/usr/bin/env python3\n"
            "import json, re, sys\n"
            f"with open({str(calls)!r}, 'a') as file: file.write(json.dumps(sys.argv[1:]) + '\\n')\n"
            f"with open({str(calls)!r}) as file: lines = [' '.join(json.loads(line)) for line in file]\n"
            f"answers = {answers | {'service=locust': 'web-ui'}!r}\n"
            "said = ' '.join(sys.argv[1:])\n"
            "service = re.search('compose.service=([a-z]+)', said)\n"
            "if service: sys.exit(print(f'lab-{service[1]}-1'))\n"
            "def text_of(part, text):\n"
            "    if isinstance(text, str): return text\n"
            "    return text[min(sum(part in line for line in lines), len(text)) - 1]\n"
            "found = [text_of(part, text) for part, text in answers.items() if part in said]\n"
            "print(found[0] if found else '')\n"
            "sys.exit(1 if found and found[0] == 'FAIL' else 0)\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")
        return calls

    return install


def called(calls: Path) -> list[list[str]]:
    return [json.loads(line) for line in calls.read_text(encoding="utf-8").splitlines()]


def compose() -> Compose:
    return Compose(SETTINGS)


def plan(options: Load = OPTIONS) -> Plan:
    return plan_of(options)


def names_of(load: containers.LoadContainers) -> list[str]:
    return [container.name for container in load.all]


def test_one_process_is_one_container_and_workers_stand_beside_their_master() -> None:
    assert names_of(containers.containers_of(compose(), plan())) == [DRIVER]
    names = containers.containers_of(compose(), plan(TWO_WORKERS))
    assert names_of(names) == [DRIVER, f"{DRIVER}-worker-1", f"{DRIVER}-worker-2"]
    assert collect.rows_files(plan()) == {0: f"{RUN_IDENTITY}.ndjson"}
    assert collect.rows_files(plan(TWO_WORKERS)) == {1: f"{RUN_IDENTITY}.1.ndjson", 2: f"{RUN_IDENTITY}.2.ndjson"}


def test_every_container_is_labelled_and_removed_when_the_run_fails(docker: InstallDocker) -> None:
    running = f"/{DRIVER}-worker-1 running\n/{DRIVER}-worker-2 running"
    calls = docker({"State.Status": running, "--quiet": "strange", "{{.Id}}": "0123456789abcdef"})
    with pytest.raises(KeyboardInterrupt), containers.generating(compose(), plan(TWO_WORKERS)):
        raise KeyboardInterrupt
    said = called(calls)
    started = [call for call in said if "run" in call]
    assert [call[call.index("--name") + 1] for call in started] == names_of(
        containers.containers_of(compose(), plan(TWO_WORKERS))
    )
    assert all(f"org.cordalab.run={RUN_IDENTITY}" in call for call in started)
    assert ["--use-aliases" in call for call in started] == [True, False, False]
    # The generator is told nothing of the load but where its plan is; workers get it from their master.
    path = f"/var/lib/corda-lab/rows/{RUN_IDENTITY}.plan.json"
    (copied,) = [call for call in said if call[:1] == ["cp"]]
    assert copied[-1] == f"lab-locust-1:{path}"
    assert started[0][-3:] == ["--plan", path, "--hold"]
    assert started[0][started[0].index("--expect-workers") + 1] == "2"
    assert [call[-2:] for call in started[1:]] == [["--worker-index", "1"], ["--worker-index", "2"]]
    # The name of a container may be longer than the 63 characters of a DNS label.
    assert [call[call.index("--master-host") + 1] for call in started[1:]] == ["0123456789ab"] * 2
    (removed,) = [call for call in said if call[:2] == ["rm", "--force"]]
    # By name and by label: also one that the client started but was not there to tell of.
    assert removed[2:] == ["--volumes", DRIVER, f"{DRIVER}-worker-1", f"{DRIVER}-worker-2", "strange"]


def test_the_files_of_a_load_stay_in_the_volume_until_they_are_stored(docker: InstallDocker) -> None:
    calls = docker({})
    with containers.generating(compose(), plan()):
        pass
    assert called(calls)[-1][:2] == ["rm", "--force"]
    assert not [call for call in called(calls) if "rm -f" in " ".join(call)]


def test_the_image_of_the_load_is_the_one_that_made_it(docker: InstallDocker) -> None:
    images = {DRIVER: "sha256:new", f"{DRIVER}-worker-1": "sha256:new", f"{DRIVER}-worker-2": "sha256:odd"}
    docker({"inspect": "\n".join(f"/{name} my-lab/locust {image}" for name, image in images.items())})
    web_ui = Image(name="corda-lab/locust", id="sha256:old")
    before = ENVIRONMENT.model_copy(update={"images": {"bridge": BRIDGE, "locust": web_ui}})
    names = containers.containers_of(compose(), plan(TWO_WORKERS))
    assert containers.with_load_images(before, names, compose()).images == {
        "bridge": BRIDGE,
        "locust": Image(name="corda-lab/locust", id="sha256:new"),
        "locust worker 2": Image(name="corda-lab/locust", id="sha256:odd"),
    }
    with pytest.raises(LabError, match="was removed"):
        containers.with_load_images(before, containers.containers_of(compose(), plan()), compose())


def test_containers_are_removed_when_a_worker_does_not_start(docker: InstallDocker) -> None:
    inspected = f"/{DRIVER}-worker-1 exited 1\n/{DRIVER}-worker-2 running 0"
    calls = docker({"{{.Name}}": inspected})
    with (
        pytest.raises(LabError, match="worker-1 ended early"),
        containers.generating(compose(), plan(TWO_WORKERS)),
    ):
        pytest.fail("the block must not be entered")
    assert [call for call in called(calls) if call[:2] == ["rm", "--force"]]


def test_workers_that_ended_well_are_waited_for_until_their_master_ends(
    docker: InstallDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "POLL_SECONDS", 0.01)
    names = containers.containers_of(compose(), plan(TWO_WORKERS))
    workers_done = f"/{DRIVER} running 0\n/{DRIVER}-worker-1 exited 0\n/{DRIVER}-worker-2 exited 0"
    docker({"inspect": [workers_done, workers_done, workers_done.replace("running", "exited")]})
    load = containers.generate_load(compose(), plan(TWO_WORKERS), Bridge("http://127.0.0.1:1"), names)
    assert len(load.timeline.cpu) == 2
    assert load.warm_up is None


def test_a_worker_that_ends_with_an_error_ends_the_run(
    docker: InstallDocker,
) -> None:
    names = containers.containers_of(compose(), plan(TWO_WORKERS))
    docker({"inspect": f"/{DRIVER} running 0\n/{DRIVER}-worker-1 exited 137\n/{DRIVER}-worker-2 running 0"})
    with pytest.raises(LabError, match="worker-1 ended early"):
        containers.generate_load(compose(), plan(TWO_WORKERS), Bridge("http://127.0.0.1:1"), names)


def install_ended_node(docker: InstallDocker) -> None:
    node = "my-lab-partya-1"
    bridge = listed("bridge", "running", container="my-lab-bridge-1")
    running = "\n".join([listed("partya", "running", container=node), bridge])
    ended = "\n".join([listed("partya", "exited", exit_code=137, container=node), bridge])
    docker(
        {
            "ready.json": "FAIL",
            "{{.Status}}": [running, ended],
            "OOMKilled": "0 true 2099-01-02T03:04:00Z 2099-01-02T03:04:05Z",
            "{{.Name}}": f"/{DRIVER} running 0\n/{node} exited 137\n/my-lab-bridge-1 running 0",
        }
    )


def test_a_load_whose_node_ends_ends_with_the_reason(docker: InstallDocker) -> None:
    install_ended_node(docker)
    with containers.generating(compose(), plan()) as names:
        assert names.services == {Container("my-lab-partya-1"): "partya", Container("my-lab-bridge-1"): "bridge"}
        with pytest.raises(LabError, match=ENDED_NODE):
            containers.generate_load(compose(), plan(), Bridge("http://127.0.0.1:1"), names)


def test_a_set_up_whose_node_ends_ends_with_the_reason(docker: InstallDocker) -> None:
    install_ended_node(docker)
    with containers.generating(compose(), plan()) as names, pytest.raises(LabError, match=ENDED_NODE):
        containers.await_setup(compose(), plan(), names)


def test_a_run_with_faults_goes_on_without_a_node(docker: InstallDocker) -> None:
    docker({"{{.Status}}": listed("partya", "running", container="my-lab-partya-1")})
    faults = (Fault(kind="kill", target="partya", at_seconds=5, for_seconds=0),)
    with containers.generating(compose(), plan(OPTIONS.updated(faults=faults))) as names:
        assert names.watched == names.all


def test_tells_what_the_set_up_prepared(docker: InstallDocker) -> None:
    ready = {"setup": [{"name": "coins", "items": 500, "seconds": 2.5}]}
    docker({"ready.json": json.dumps(ready)})
    names = containers.containers_of(compose(), plan())
    assert [vars(one) for one in containers.await_setup(compose(), plan(), names)] == ready["setup"]


def test_a_set_up_that_fails_is_told_in_the_generator_s_words(docker: InstallDocker) -> None:
    docker(
        {
            "ready.json": "FAIL",
            "inspect": f"/{DRIVER} exited 2",
            "logs": "x\nlocust: error: rate_max: is missing\nnode: too",
        }
    )
    with pytest.raises(LabError, match=r"^rate_max: is missing\nnode: too$") as caught:
        containers.await_setup(compose(), plan(), containers.containers_of(compose(), plan()))
    assert caught.value.exit_code == 2


def test_a_container_that_is_gone_is_an_error(docker: InstallDocker) -> None:
    docker({"inspect": f"/{DRIVER} running 0\n"})
    with pytest.raises(LabError, match="worker-1 was removed"):
        containers.exit_codes(containers.containers_of(compose(), plan(TWO_WORKERS)).all)


def test_spans_of_a_node_that_is_gone_are_left_out(docker: InstallDocker, tmp_path: Path) -> None:
    docker({"partyb": "FAIL", "partya": "{}"})
    paths = spans.collect(compose(), {"PartyA": 0, "PartyB": 7}, tmp_path)
    assert paths == {"PartyA": tmp_path / "spans.partya.ndjson"}


def test_spans_are_copied_from_where_they_stood(docker: InstallDocker, tmp_path: Path) -> None:
    calls = docker({"spans size": "1234", "spans tail": "new"})
    before = spans.offsets(compose(), ["PartyA"])
    assert before == {"PartyA": 1234}
    path = spans.collect(compose(), before, tmp_path)["PartyA"]
    assert path.read_text(encoding="utf-8") == "new\n"
    assert called(calls)[-1][-1] == "1235"


def test_a_node_that_keeps_no_spans_is_left_out(docker: InstallDocker) -> None:
    docker({"exec": ""})
    assert spans.offsets(compose(), ["PartyA"]) == {}


@pytest.mark.parametrize(
    ("traces", "content", "told", "left"),
    [("on", None, "0", None), ("on", "12345", "5", "12345"), ("on", "123456", "0", ""), ("off", "123", "", "123")],
    ids=["none yet", "small", "too large", "off"],
)
def test_a_node_tells_the_size_of_its_spans_and_empties_a_large_file(
    tmp_path: Path, traces: str, content: str | None, told: str, left: str | None
) -> None:
    file = tmp_path / "spans.ndjson"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    environment = {**os.environ, "LAB_TRACES": traces, "LAB_TRACES_FILE": str(file)}
    command = ["sh", "-c", spans.SCRIPT, "spans", "size", "5"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == told
    assert (file.read_text(encoding="utf-8") if file.exists() else None) == left


def test_every_worker_s_rows_have_to_be_there(tmp_path: Path) -> None:
    content = [simulation.row(number, number, number + 1, worker=1 + number % 2) for number in range(6)]
    frame = rows.read_rows([simulation.write_rows(tmp_path / "rows.ndjson", content)])
    collect.check_row_counts(frame, run_end(rows={"1": 3, "2": 3}))
    with pytest.raises(LabError, match="Worker 2 wrote 4 rows, but 3 were found"):
        collect.check_row_counts(frame, run_end(rows={"1": 3, "2": 4}))


@pytest.mark.parametrize(("expects_failures", "done"), [(False, 3.0), (True, 10.0)])
def test_failures_that_a_workload_expects_are_work_done(
    monkeypatch: pytest.MonkeyPatch, expects_failures: bool, done: float
) -> None:
    bridge = Bridge("http://127.0.0.1:1")
    live = runs_live.LiveRate(bridge, plan().subject, expects_failures=expects_failures)
    labels = {"node": "PartyA"}
    for completed, failed in ((100.0, 50.0), (103.0, 57.0)):
        samples = [
            Sample("bridge_flows_completed_total", labels, completed),
            Sample("bridge_flows_failed_total", labels, failed),
        ]
        monkeypatch.setattr(Bridge, "metrics", lambda _, found=samples: found)
        said = live.tell()
    assert live.done == done
    assert "3 completed, 7 failed" in said


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (137, "The load generator was killed (status 137) during its load"),
        (1, "The load generator ended with status 1 during its load"),
    ],
)
def test_a_generator_that_is_lost_during_its_load_did_not_end_before_it(
    docker: InstallDocker, tmp_path: Path, code: int, reason: str
) -> None:
    docker({"cp ": "FAIL", "inspect": f"/{DRIVER} exited {code}"})
    with pytest.raises(LabError) as error:
        collect.collect(plan_of(OPTIONS), containers.LoadContainers(Container(DRIVER)), tmp_path)
    assert error.value.message == reason


def test_a_load_that_conditions_nodes_measures_nothing() -> None:
    options = Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15)
    assert [containers.stage_of(options, at) for at in (10, 20)] == ["warm-up", "measuring"]
    assert {containers.stage_of(Conditioning(options).until_steady, at) for at in (10, 70, 200)} == {"conditioning"}


def test_what_is_left_is_a_time_or_a_number_of_flows() -> None:
    assert containers.left_of(Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15), 20) == "55 s left"
    assert (
        containers.left_of(
            Conditioning(Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=15)).until_steady, 20
        )
        == "at most 220 s left"
    )
    assert (
        containers.left_of(
            Load(workload="iou", users=8, duration_seconds=3600, warm_up_seconds=0, flows=400, flows_after=2), 20
        )
        == "402 flows in all"
    )
    assert (
        containers.stage_of(
            Load(workload="iou", users=8, duration_seconds=3600, warm_up_seconds=0, arrivals="burst"), 0
        )
        == "measuring"
    )
