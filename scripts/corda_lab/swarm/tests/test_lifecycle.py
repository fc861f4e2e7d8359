"""How a stack starts and is removed, with a client that answers like a swarm. Real engines are in tests/swarm."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm import lifecycle
from corda_lab.swarm.deployment import StackFolder, Task, tasks_of
from corda_lab.swarm.lifecycle import StackProgress, deploy, make_network, open_ports, push, remove
from corda_lab.swarm.stack import Stack, StackImage
from support.docker import docker_client, stack_task
from support.stacks import deployment

FOLDER = StackFolder("lab-swarm")
STACK = Stack("lab-swarm", {"services": {"partya": {"image": "r/node:1"}}, "secrets": {"lab-keys-2": {}}}, {}, ())
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "lab"})

Client = Callable[[str], None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the client notes its calls."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    for name in ("POLL_SECONDS", "NETWORK_POLL_SECONDS"):
        monkeypatch.setattr(lifecycle, name, 0.01)
    monkeypatch.setattr(lifecycle, "SETTLED_SECONDS", 0.0)
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def client(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a function that puts a client on PATH, which answers by the cases of a shell script."""

    def install(cases: str) -> None:
        script = f'PATH=/usr/bin:/bin; cd {home}\necho "$LAB_NODE_IMAGE $*" >> calls\ncase "$*" in\n{cases}\nesac'
        docker_client(tmp_path, monkeypatch, script)

    return install


def calls(home: Path, part: str) -> list[str]:
    return [line.strip() for line in (home / "calls").read_text().splitlines() if part in line]


BOOTSTRAPPER = """
  "compose "*) [ ! -e fails ] || { echo 'bootstrap: NOTARY is jpa' >&2; exit 2; } ;;
  "cp "*) from=${2#*:/}; mkdir "$3/$from"; echo "$from" > "$3/$from/file" ;;
"""


def test_the_bootstrapper_has_a_project_of_its_own_and_its_files_replace_an_earlier_copy(
    home: Path, client: Client
) -> None:
    client(BOOTSTRAPPER)
    FOLDER.create()
    (FOLDER.network / "old").mkdir(parents=True)
    network = make_network(SETTINGS, FOLDER)
    (started,) = calls(home, " run ")
    assert started.startswith("lab/node:4.10 compose ")
    assert "--project-name lab-swarm run --no-deps --no-TTY --name lab-swarm-bootstrap bootstrap" in started
    assert {path.name for path in network.iterdir()} == {"network", "nodes", "secrets"}
    assert FOLDER.root.stat().st_mode & 0o077 == 0
    assert calls(home, "")[-1].endswith("rm --force lab-swarm-bootstrap")


def test_a_failure_of_the_bootstrapper_leaves_no_container_and_the_earlier_copy(home: Path, client: Client) -> None:
    client(BOOTSTRAPPER)
    make_network(SETTINGS, FOLDER)
    (home / "fails").touch()
    with pytest.raises(LabError, match="The bootstrapper failed: bootstrap: NOTARY is jpa"):
        make_network(SETTINGS, FOLDER)
    assert calls(home, "")[-1].endswith("rm --force lab-swarm-bootstrap")
    assert (FOLDER.network / "network" / "file").is_file()


def test_an_image_that_is_built_again_stays_the_same(client: Client, home: Path) -> None:
    client('"buildx build "*) echo "$BUILDX_NO_DEFAULT_ATTESTATIONS" > attestations ;;')
    file = home / "parties"
    file.write_text("PartyA\n")
    push([StackImage("lab/node:1", "registry/node:1-a", {"/network/parties": file})])
    assert (home / "attestations").read_text() == "1\n"
    assert calls(home, "push") == ["push --quiet registry/node:1-a"]


def task(state: str, *, number: int = 1, trouble: str = "") -> Task:
    return Task(str(number), state, "h1", trouble)


def test_the_newest_task_of_each_service_counts(home: Path, client: Client) -> None:
    tasks = (
        stack_task("lab-swarm_partya", "t3", "Running 3 seconds ago", host="h1"),
        stack_task("lab-swarm_partya", "t1", "Shutdown 4 seconds ago", host="h1", trouble="task: non-zero exit (2)"),
        stack_task("lab-swarm_bridge", "t2", "Pending 2 minutes ago", trouble="no suitable node"),
    )
    (home / "tasks").write_text("\n".join(tasks))
    client("*) cat tasks ;;")
    by_service = tasks_of("lab-swarm")
    assert by_service == {
        "partya": Task("t3", "running", "h1"),
        "bridge": Task("t2", "pending", trouble="no suitable node"),
    }
    assert [str(newest) for newest in by_service.values()] == ["running on h1", "pending: no suitable node"]


def test_a_stack_without_a_task_has_none_and_an_engine_that_fails_is_an_error(client: Client) -> None:
    client("*) echo 'nothing found in stack: lab-swarm' >&2; exit 1 ;;")
    assert tasks_of("lab-swarm") == {}
    client("*) echo 'this node is not a swarm manager' >&2; exit 1 ;;")
    with pytest.raises(LabError, match="`docker stack ps lab-swarm` failed: this node is not a swarm manager"):
        tasks_of("lab-swarm")


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> StackProgress:
    monkeypatch.setattr(lifecycle, "SETTLED_SECONDS", 0.0)
    return StackProgress(("partya", "bridge"))


def test_a_stack_is_ready_when_every_service_runs_and_none_is_about_to_be_replaced(
    progress: StackProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    for tasks_now in (
        {"partya": task("running")},
        {"partya": task("running"), "bridge": task("starting", number=2)},
        {"partya": task("running"), "bridge": task("running", number=2)},
    ):
        progress.take(tasks_now)
        states.append((progress.is_ready, progress.words()))
    assert states == [(False, "waiting: bridge"), (False, "starting: bridge"), (True, "all services run")]
    monkeypatch.setattr(lifecycle, "SETTLED_SECONDS", 60.0)
    assert not progress.is_ready


@pytest.mark.parametrize(("state", "limit"), [("failed", "ENDED_SECONDS_MAX"), ("pending", "PENDING_SECONDS_MAX")])
def test_a_task_that_stays_ended_or_without_a_host_is_a_failure(
    progress: StackProgress, monkeypatch: pytest.MonkeyPatch, state: str, limit: str
) -> None:
    progress.take({"partya": task(state, trouble="why"), "bridge": task("running", number=2)})
    # Swarm may be about to make another one, or to find a host.
    assert progress.failed == {}
    monkeypatch.setattr(lifecycle, limit, 0.0)
    assert progress.failed == {"partya": "why"}


SWARM = """
  "stack deploy "*) [ ! -e refused ] || { echo 'invalid mount' >&2; exit 1; } ;;
  "stack ps "*) cat tasks ;;
  "service update "*) cp running tasks ;;
  "service logs "*) echo 'run-corda: /node/node.conf does not exist' ;;
  "secret ls "*) echo lab-keys-1; echo lab-keys-2 ;;
"""


@pytest.fixture
def has(home: Path, client: Client) -> Callable[..., None]:
    """Return a function that lets the only service of the stack have a task in a state."""
    client(SWARM)

    def write(state: str, trouble: str = "", *, for_good: bool = False) -> None:
        now = stack_task("lab-swarm_partya", "t1", f"{state} 3 seconds ago", host="h1", trouble=trouble)
        (home / "tasks").write_text(now)
        running = stack_task("lab-swarm_partya", "t2", "Running 1 second ago", host="h1")
        (home / "running").write_text(now if for_good else running)

    return write


def test_a_stack_is_deployed_when_its_services_run_and_earlier_keys_are_deleted(
    home: Path, has: Callable[..., None]
) -> None:
    has("Running")
    deploy(STACK, Path("/stack.yaml"))
    assert calls(home, "stack deploy") == [
        "stack deploy --prune --with-registry-auth --compose-file /stack.yaml lab-swarm"
    ]
    assert calls(home, "service update") == []
    assert calls(home, "secret rm") == ["secret rm lab-keys-1"]


def test_a_service_that_has_ended_is_started_again(home: Path, has: Callable[..., None]) -> None:
    has("Failed", "task: non-zero exit (143)")
    deploy(STACK, Path("/stack.yaml"))
    assert len(calls(home, "service update --detach --force")) == 1


def test_a_service_that_ends_while_it_starts_is_named_with_its_last_lines(
    has: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lifecycle, "ENDED_SECONDS_MAX", 0.0)
    has("Failed", "task: non-zero exit (2)", for_good=True)
    with pytest.raises(LabError, match=r"did not start: partya: task: non-zero exit \(2\)") as caught:
        deploy(STACK, Path("/stack.yaml"))
    assert "docker service logs lab-swarm_partya" in caught.value.remedy
    assert "| run-corda: /node/node.conf does not exist" in capsys.readouterr().out


def test_a_start_has_a_limit(has: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "READY_SECONDS_MAX", 0.1)
    has("Starting")
    with pytest.raises(LabError, match="not ready within 0 s: starting: partya"):
        deploy(STACK, Path("/stack.yaml"))


def test_the_manager_leads_to_the_ports_and_to_the_bridge_at_its_address(home: Path, client: Client) -> None:
    client('"compose "*) echo "$BRIDGE_ADDRESS $LAB_STACK_NETWORK $LAB_LINKS_IMAGE" > variables ;;')
    with pytest.raises(LabError, match="lets other machines reach the bridge, but there is no token"):
        open_ports(SETTINGS.with_values({"BRIDGE_ADDRESS": "192.0.2.7"}), "lab-swarm")
    token = {"BRIDGE_ADDRESS": "192.0.2.7", "BRIDGE_TOKEN": "0123456789abcdef"}
    for settings, address in ((SETTINGS, "127.0.0.1"), (SETTINGS.with_values(token), "192.0.2.7")):
        open_ports(settings, "lab-swarm")
        assert (home / "variables").read_text() == f"{address} lab-swarm_default lab/links\n"


REMOVED = """
  "--context b "*) [ ! -e silent ] || { echo 'error during connect: refused' >&2; exit 1; } ;;
esac
case "$*" in
  *"ps --all"*) [ ! -e left ] || echo lab-swarm_partya.1.x ;;
  "network ls "*) echo lab-swarm_default ;;
  "network rm "*) : > gone ;;
  "network inspect "*) [ ! -e gone ] ;;
  "container inspect "*) exit 1 ;;
  *"volume ls --quiet --filter=label=com.docker.stack"*) echo lab-swarm_partya-persistence ;;
"""


@pytest.mark.parametrize("volumes", [False, True])
def test_volumes_and_keys_are_kept_unless_they_are_to_be_deleted(home: Path, client: Client, *, volumes: bool) -> None:
    client(REMOVED)
    FOLDER.note(deployment("one", hosts=["a", "b"]))
    remove(FOLDER, ["a", "b"], volumes=volumes)
    assert calls(home, "stack rm") == ["stack rm lab-swarm"]
    assert calls(home, "network rm") == ["network rm lab-swarm_default"]
    deleted = "volume rm --force lab-swarm_partya-persistence"
    # The engine of this machine has those of the bootstrapper.
    expected = [f"--context a {deleted}", f"--context b {deleted}", deleted] if volumes else []
    assert sorted(calls(home, "volume rm")) == expected
    assert FOLDER.root.exists() is not volumes


def test_a_host_that_is_not_reached_is_named_and_the_others_are_cleared(home: Path, client: Client) -> None:
    client(REMOVED)
    (home / "silent").touch()
    FOLDER.note(deployment("one", hosts=["a", "b"]))
    with pytest.raises(LabError, match="b: its engine does not answer") as caught:
        remove(FOLDER, ["a", "b"], volumes=True)
    assert len(caught.value.problems) == 1
    assert len(calls(home, "--context a volume rm")) == 1
    # Later, they can still be found there.
    assert FOLDER.known() is not None


def test_containers_that_stay_are_named(home: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client(REMOVED)
    monkeypatch.setattr(lifecycle, "GONE_SECONDS_MAX", 0.05)
    (home / "left").touch()
    with pytest.raises(LabError, match="still there: partya on a, partya on b"):
        remove(FOLDER, ["a", "b"], volumes=False)
