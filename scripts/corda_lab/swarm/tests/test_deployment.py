"""A stack that runs, and the record of it. The client of the engines is a small program here."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Lab, Service
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm import deployment
from corda_lab.swarm.deployment import DeployedStack, StackFolder, named
from support.docker import docker_client
from support.stacks import deployment as record

SETTINGS = Settings(load_settings(ENV_FILE, {}).values, "lab")
KNOWN = record(
    "three",
    {"notary": "one", "partya": "one", "partyb": "two", "locust": "three"},
    text="description: three\n",
    images={"partya": "lab/node:4.10", "locust": "lab/locust"},
    hosts=["gone", "one", "two", "three"],
    is_running=True,
)
ONE = """\
lab-swarm_partya.1.new\trunning\tUp 2 minutes (healthy)\tlab-swarm_partya
lab-swarm_partya.1.old\texited\tExited (137) 5 minutes ago\tlab-swarm_partya
lab-swarm_notary.1.x\texited\tExited (1) 2 minutes ago\tlab-swarm_notary
"""
CONTAINERS = {
    "one": ONE,
    "two": "lab-swarm_partyb.1.x\tpaused\tUp 2 minutes (Paused)\tlab-swarm_partyb\n",
    "three": "lab-swarm_locust.1.x\trunning\tUp 3 seconds (health: starting)\tlab-swarm_locust\n",
}
INFO = json.dumps(
    {
        "ServerVersion": "20.10.24",
        "NCPU": 4,
        "MemTotal": 8589934592,
        "Architecture": "x86_64",
        "KernelVersion": "6.1.0",
        "SystemTime": "2026-11-26T02:00:00Z",
    }
)
Install = Callable[..., None]


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployedStack:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    folder = StackFolder.of("lab")
    folder.note(KNOWN)
    return DeployedStack(SETTINGS, folder, KNOWN)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a client on PATH that writes down its calls, and knows the containers of three engines.

    A script that is run first may answer in its place.
    """

    def install(first: str = "") -> None:
        program = tmp_path / "bin"
        program.mkdir()
        for name, text in CONTAINERS.items():
            (program / name).write_text(text)
        script = f"""PATH=/usr/bin:/bin
            echo "$@" >> {tmp_path}/calls
            {first}
            case "$*" in
                *" ps --all "*) cat {program}/$2 ;;
                *" ps "*partyb*) ;;
                *" ps "*service.name=*) echo lab-swarm_partya.1.new ;;
                *" info "*) echo '{INFO}' ;;
                *"model name"*) echo "model name\t: Fast 3000" ;;
            esac"""
        docker_client(program, monkeypatch, script)

    return install


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def test_it_is_a_lab_like_that_of_one_machine(stack: DeployedStack) -> None:
    lab: Lab = stack
    assert lab.project == "lab-swarm"
    assert not lab.is_here
    assert lab.hosts == ("one", "two", "three")
    assert stack.helper_image == "images.lab/lab/locust"
    ended = DeployedStack(SETTINGS, stack.folder, KNOWN.model_copy(update={"is_running": False}))
    assert ended.hosts == ("gone", "one", "two", "three"), "where rows may be"


def test_the_newest_container_of_each_service_counts(stack: DeployedStack, docker: Install) -> None:
    docker()
    found = {service.name: service for service in stack.services()}
    assert found["partya"].container == Container("lab-swarm_partya.1.new", "one")
    assert found["partya"].is_ready
    assert (found["notary"].state, found["notary"].exit_code) == ("exited", 1)
    assert found["partyb"].state == "paused"
    assert found["locust"].condition == "starting"


def test_a_command_runs_in_the_container_on_its_host(stack: DeployedStack, docker: Install, tmp_path: Path) -> None:
    docker()
    assert stack.exec("partya", "true").returncode == 0
    stack.exec("partya", "true")
    listed, *executed = calls(tmp_path)
    assert listed.startswith("--context one ps --filter=")
    assert "label=com.docker.swarm.service.name=lab-swarm_partya" in listed
    # The container is looked for once.
    assert executed == ["--context one exec lab-swarm_partya.1.new true"] * 2
    assert stack.logs_command("partya") == "docker service logs lab-swarm_partya"


def test_a_container_that_swarm_has_replaced_is_looked_for_again(
    stack: DeployedStack, docker: Install, tmp_path: Path
) -> None:
    docker('case "$*" in *"exec lab-swarm_partya.1.older"*) echo "No such container: x" >&2; exit 1;; esac')
    stack._containers["partya"] = Container("lab-swarm_partya.1.older", "one")
    assert stack.exec("partya", "true").returncode == 0
    assert calls(tmp_path)[-1] == "--context one exec lab-swarm_partya.1.new true"


def test_a_host_that_does_not_answer_is_named(stack: DeployedStack, docker: Install) -> None:
    docker('case "$*" in *"context two"*) echo "error during connect: ssh" >&2; exit 1;; esac')
    with pytest.raises(LabError, match=r"^two: its engine does not answer"):
        stack.services()


def test_a_load_is_started_on_its_host(stack: DeployedStack, docker: Install, tmp_path: Path) -> None:
    docker()
    load = Container("load", stack.load_contexts[0])
    with pytest.raises(LabError, match=r"load\.json: is gone") as caught:
        stack.start_load(load, ["--headless"], label="org.cordalab.run=x")
    assert "`scripts/lab up --on PLACEMENT`" in caught.value.remedy
    stack.folder.load_file.write_text("{}")
    stack.start_load(load, ["--headless"], label="org.cordalab.run=x", has_alias=True)
    (call,) = calls(tmp_path)
    assert call == (
        f"--context three compose --file {stack.folder.load_file} --project-name lab-swarm-load run --detach --no-deps"
        " --label org.cordalab.run=x --use-aliases --name load locust --headless"
    )


def test_workers_are_where_the_placement_has_them(stack: DeployedStack) -> None:
    assert stack.load_contexts == ("three",)
    placed = KNOWN.model_copy(update={"workers": ["two", "two", "four"]})
    spread = DeployedStack(SETTINGS, stack.folder, placed)
    assert spread.load_contexts == ("three", "two", "two", "four")
    assert "four" in spread.contexts


def test_the_settings_of_a_node_are_those_that_the_bootstrapper_wrote(stack: DeployedStack) -> None:
    with pytest.raises(LabError, match=r"nodes/partya/node\.conf: cannot be read"):
        stack.node_conf("partya")
    file = stack.folder.network / "nodes/partya/node.conf"
    file.parent.mkdir(parents=True)
    file.write_text("password=secret", encoding="utf-8")
    assert stack.node_conf("partya") == "password=secret"


def test_the_manifest_says_what_ran_where_on_what(stack: DeployedStack, docker: Install) -> None:
    docker()
    found = stack.placement
    assert (found.name, found.text, found.overlay) == ("three", KNOWN.text, "plain")
    assert found.hosts["one"].services == ["notary", "partya"]
    assert (found.hosts["one"].cores, found.hosts["one"].cpu_model) == (4, "Fast 3000")


def test_a_service_that_has_ended_is_replaced_unless_swarm_is_about_to(
    stack: DeployedStack, docker: Install, tmp_path: Path
) -> None:
    # An update makes a task at once. Its container is there later: until then, the old one is the newest.
    docker(
        f"""case "$*" in
            "service ps --quiet --filter=desired-state=ready --filter=desired-state=running lab-swarm_bridge") echo 1;;
            "service ps"*) cat {tmp_path}/tasks 2>/dev/null;;
            "service update"*) echo 2 > {tmp_path}/tasks;;
        esac"""
    )
    for name in ("partya", "bridge", "partya", "partya"):
        stack.start_again(Service(name, Container(name), "exited", "", 137))
    updated = [call for call in calls(tmp_path) if call.startswith("service update")]
    assert updated == ["service update --detach --force --quiet lab-swarm_partya"]


def test_a_service_is_replaced_when_its_old_container_has_ended(
    stack: DeployedStack, docker: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(
        f"""case "$*" in
            *State.Status*) [ -f {tmp_path}/asked ] && echo exited || echo running; : > {tmp_path}/asked;;
        esac"""
    )
    bridge = Service("bridge", Container("lab-swarm_bridge.1.x", "two"), "running", "healthy", 0)
    stack.restart(bridge)
    update, *asked = calls(tmp_path)
    assert update == "service update --detach --force --quiet lab-swarm_bridge"
    assert asked == ["--context two container inspect --format {{.State.Status}} lab-swarm_bridge.1.x"] * 2
    monkeypatch.setattr(deployment, "STOP_SECONDS_MAX", 0.0)
    (tmp_path / "asked").unlink()
    with pytest.raises(LabError, match="bridge did not end within 0 s"):
        stack.restart(bridge)


ADDRESSES = """
    case "$*" in
        "--context one ps --filter=network=lab-swarm_default"*) echo "a driver";;
        "--context two ps --filter=network=lab-swarm_default"*) echo "b c";;
        *" ps --filter=network"*) ;;
        "--context one container inspect --format {{.Name}}"*) echo "/a 10.0.0.1 "; echo "/driver 10.0.0.2 ";;
        "--context two container inspect --format {{.Name}}"*) echo "/b 10.0.0.3 "; echo "/c 10.0.0.4 invalid ";;
        *"{{.State.Status}}"*) echo running;;
    esac
    case "$*" in *" --all "*) ;; *) exit 0;; esac"""


def test_the_neighbours_of_a_container_are_on_all_hosts(stack: DeployedStack, docker: Install, tmp_path: Path) -> None:
    docker(ADDRESSES)
    assert stack.neighbours(Container("b", "two")) == ["10.0.0.1", "10.0.0.2", "10.0.0.4"]
    asked = [call for call in calls(tmp_path) if "container inspect" in call]
    assert len(asked) == 2
    assert all('{{with index .NetworkSettings.Networks "lab-swarm_default"}}' in call for call in asked)


@pytest.mark.parametrize(
    ("script", "shape"),
    [
        (
            (
                'case "$1 $2" in "service ls") echo lab-swarm_partya;; '
                "*) printf 'lab-swarm_partya\\tPARTIES=5 NODE_HEAP=768m\\n';; esac"
            ),
            "768m",
        ),
        ("true", None),
        ("case $1 in info) echo inactive;; *) echo 'This node is not a swarm manager.' >&2; exit 1;; esac", None),
    ],
    ids=["its services have the shape", "there are no services", "the engine has left its swarm"],
)
def test_a_stack_of_the_record_is_there_if_it_has_services(
    stack: DeployedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, shape: str | None
) -> None:
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, script)
    present = deployment.find(SETTINGS)
    assert (present and present.settings["NODE_HEAP"]) == shape
    assert present is None or present.known == stack.known


def test_an_engine_that_does_not_say_what_runs_is_told_with_what_to_do(
    stack: DeployedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    said = "case $1 in info) echo active;; *) echo 'This node is not a swarm manager.' >&2; exit 1;; esac"
    docker_client(tmp_path / "bin", monkeypatch, said)
    with pytest.raises(LabError, match="not a swarm manager") as caught:
        deployment.find(SETTINGS)
    assert str(stack.folder.deployment_file) in caught.value.remedy


def test_hosts_of_earlier_deployments_are_not_forgotten_before_the_stack_is_removed(stack: DeployedStack) -> None:
    folder = stack.folder
    assert folder.root.stat().st_mode & 0o777 == 0o700
    folder.note_ended()
    folder.note(record("new", hosts=["three", "four"]))
    known = folder.known()
    assert known is not None
    assert (known.placement, known.hosts, known.is_running) == ("new", ["gone", "one", "two", "three", "four"], False)
    folder.deployment_file.write_text("{", encoding="utf-8")
    with pytest.raises(LabError, match=r"deployment\.json: is damaged"):
        folder.known()
    folder.forget()
    assert folder.known() is None


def test_a_placement_of_this_checkout_is_named_from_its_root_on() -> None:
    assert named(str(paths.ROOT / "tests" / "swarm" / "placement.yaml")) == "tests/swarm/placement.yaml"
    assert named("one-node-per-host") == "one-node-per-host"
    assert named("/elsewhere/mine.yaml") == "/elsewhere/mine.yaml"
