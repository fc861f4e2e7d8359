"""Rows and ledgers of a stack: each is read on the host that has it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.audit.databases import Databases, Deadline, Extract
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import leftovers
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.swarm.deployment import DeployedStack, StackFolder
from support.docker import docker_client
from support.stacks import deployment as record

SETTINGS = Settings(load_settings(ENV_FILE, {}).with_values({"PARTIES": "2"}).values, "lab")
RUN = "20260102T030405Z-iou"
KNOWN = record(
    "three",
    {"notary": "one", "partya": "one", "partyb": "two", "locust": "load"},
    workers=["two", "far"],
    helper_image="registry/locust:1",
    reader_image="registry/node:1",
    hosts=["one", "two", "load", "far"],
    is_running=True,
)
SERVICES = {"one": ("notary", "partya"), "two": ("partyb",), "load": ("locust",), "far": ()}
LISTED = "".join(
    f"""
    "--context {host} ps --all"*) printf '{"".join(f"{name}-1|running|Up|lab-swarm_{name};" for name in names)}' |
        tr '|;' '\\t\\n';;"""
    for host, names in SERVICES.items()
)
"""What each engine says of the containers of the stack."""
VOLUMES = {"load": "exec locust-1", "two": "run --rm", "far": "run --rm"}
"""How the volume with rows is seen on each host: through the service, or by a container of its own."""

Install = Callable[..., None]


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployedStack:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return DeployedStack(SETTINGS, StackFolder.of("lab"), KNOWN)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a client on PATH that writes down its calls. A script may answer first."""

    def install(first: str = "") -> None:
        (tmp_path / "bin").mkdir()
        script = f"""PATH=/usr/bin:/bin
            echo "$@" >> {tmp_path}/calls
            {first}
            case "$*" in {LISTED}
                "--context load ps --filter"*) echo locust-1;;
                "--context one volume inspect"*) exit 1;;
                *" ls /var/lib/corda-lab/rows") echo {RUN}.$2.ndjson {RUN}.go web-20260102T030405Z.ndjson;;
                *" cat /var/lib/corda-lab/rows/"*) echo "rows of $2";;
            esac"""
        docker_client(tmp_path / "bin", monkeypatch, script)

    return install


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def test_rows_are_fetched_from_every_host_that_has_some(stack: DeployedStack, docker: Install, tmp_path: Path) -> None:
    docker()
    volume = RowsVolume(stack)
    assert volume.identities() == [RUN]
    volume.fetch(RUN, tmp_path / "rows")
    assert {path.name: path.read_text() for path in (tmp_path / "rows").iterdir()} == {
        f"{RUN}.{host}.ndjson": f"rows of {host}\n" for host in VOLUMES
    }
    volume.delete(RUN)
    deleted = [call for call in calls(tmp_path) if call.endswith(f"rm -f /var/lib/corda-lab/rows/{RUN}.*")]
    assert len(deleted) == len(VOLUMES)
    for host, how in VOLUMES.items():
        assert any(call.startswith(f"--context {host} {how}") for call in deleted), host


def test_a_host_that_is_lost_keeps_no_rows_of_the_others(
    stack: DeployedStack, docker: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docker('case "$*" in "--context far "*) echo "error during connect" >&2; exit 1;; esac')
    volume = RowsVolume(stack)
    volume.fetch(RUN, tmp_path / "rows")
    assert {path.name for path in (tmp_path / "rows").iterdir()} == {f"{RUN}.load.ndjson", f"{RUN}.two.ndjson"}
    assert "far: its engine does not answer" in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["load", "far"])
def test_a_host_that_is_lost_while_rows_are_fetched_keeps_none_of_the_others_and_loses_none(
    stack: DeployedStack, docker: Install, tmp_path: Path, lost: str
) -> None:
    docker(f'case "$*" in "--context {lost} "*" cat "*) echo "error during connect" >&2; exit 1;; esac')
    volume = RowsVolume(stack)
    volume.fetch(RUN, tmp_path / "rows")
    volume.delete(RUN)
    left = {"load", "two", "far"} - {lost}
    assert {path.name for path in (tmp_path / "rows").iterdir()} == {f"{RUN}.{host}.ndjson" for host in left}
    deleted = {call.split()[1] for call in calls(tmp_path) if " rm -f " in call}
    assert deleted == left, "what was not fetched stays"


def test_what_a_lost_host_has_does_not_keep_loads_on_the_others(
    stack: DeployedStack, docker: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docker(
        f"""case "$*" in
            "--context far "*) echo "error during connect" >&2; exit 1;;
            "--context two ps "*org.cordalab.run*) echo "load-1 {RUN}"; exit;;
            *" ps "*org.cordalab.run*) exit;;
        esac"""
    )
    leftovers.stop_orphans(stack)
    assert "--context two rm --force --volumes load-1" in calls(tmp_path)
    assert "far: its engine does not answer" in capsys.readouterr().out


def test_the_rows_of_a_lab_on_this_machine_are_not_read_through_a_load(docker: Install, tmp_path: Path) -> None:
    docker('case "$*" in *" ps --all"*) echo "{}"; exit;; "ps "*oneoff=False*) echo lab-locust-1; exit;; esac')
    RowsVolume(Compose(SETTINGS)).delete(RUN)
    listed, deleted = calls(tmp_path)
    assert "--filter=label=com.docker.compose.oneoff=False" in listed
    assert deleted.startswith("exec lab-locust-1 sh -c rm -f ")


def test_without_any_host_there_is_an_error(stack: DeployedStack, docker: Install) -> None:
    docker('case "$*" in *" volume inspect"*|*" exec "*) echo "error during connect" >&2; exit 1;; esac')
    with pytest.raises(LabError, match=r"its engine does not answer|cannot be read"):
        RowsVolume(stack).identities()


def test_ledgers_are_read_by_one_container_on_each_host_that_has_some(
    stack: DeployedStack, docker: Install, tmp_path: Path
) -> None:
    docker("""case "$*" in *" audit "*) printf '@@ end\\n'; exit;; esac""")
    (tmp_path / "read").mkdir()
    answers = Databases(stack, tmp_path / "read", Deadline(30)).read(Extract())
    assert len(answers) == 2
    readers = [call for call in calls(tmp_path) if "--label=org.cordalab.audit=lab-swarm" in call]
    one, two = sorted(readers)
    assert one.startswith("--context one run --rm")
    assert "--volume=lab-swarm_notary-persistence:" in one
    assert "--volume=lab-swarm_partya-persistence:" in one
    assert "partyb" not in one
    assert two.startswith("--context two run --rm")
    assert "--volume=lab-swarm_partyb-persistence:" in two
    assert "registry/node:1" in two
