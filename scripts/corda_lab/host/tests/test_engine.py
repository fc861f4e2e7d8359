"""What is concluded from a docker client's answers, and that nothing is changed without consent."""

from pathlib import Path

import pytest
from packaging.version import Version

from bare import commands, consent, debian, dockerd, plugins, prepare
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.host.engine import EngineState
from support.docker import docker_client


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Docker Compose version v2.24.5-desktop.1", "2.24.5"),
        ("Docker Compose version 2.40.3-3", "2.40.3"),
        ("github.com/docker/buildx 0.29.1 0.29.1+ds1-1", "0.29.1"),
        ("20.10.24+dfsg1", "20.10.24"),
        ("2.24", "2.24.0"),
        ("", None),
        ("dev", None),
    ],
)
def test_versions_are_read_as_packagers_write_them(text: str, version: str | None) -> None:
    assert engine.parse_version(text) == (None if version is None else Version(version))


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "no daemon",
        ),
        (
            "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct",
            "no daemon",
        ),
        ("error during connect: Get http://desktop/v1.47/version: EOF", "no daemon"),
        ("permission denied while trying to connect to the Docker daemon socket at unix:///x", "no permission"),
        ("Error response from daemon: client version 1.52 is too new. Maximum supported API version is 1.41", "failed"),
    ],
)
def test_failures_of_the_client_are_told_apart(words: str, state: str) -> None:
    assert engine.classify_failure(words) is EngineState(state)


def test_engine_that_hangs_counts_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "exec /bin/sleep 60")
    monkeypatch.setattr(commands, "COMMAND_SECONDS_MAX", 0.2)
    found = engine.probe()
    assert found.state is EngineState.FAILED
    assert "no answer" in found.detail


@pytest.mark.parametrize(
    ("printed", "host", "problem"),
    [
        ("permission denied while trying to connect", "", "no permission to use the Docker engine"),
        ("Is the docker daemon running?", "", "engine is not running"),
        ("Cannot connect to the Docker daemon", "tcp://remote.example:2376", r"DOCKER_HOST=tcp://remote\.example:2376"),
    ],
    ids=["no permission", "stopped", "chosen by the user"],
)
def test_an_engine_that_does_not_answer_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], printed: str, host: str, problem: str
) -> None:
    docker_client(tmp_path, monkeypatch, f"echo '{printed}' >&2; exit 1")
    if host:
        monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(LabError, match=problem) as caught:
        # One that has stopped would be started, if the user agrees.
        engine.ensure_engine(install="daemon running" not in printed)
    assert caught.value.remedy
    assert caught.value.exit_code == 2
    assert changes == []


def test_missing_compose_is_a_clear_error_where_it_may_not_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, 'test "$1" = buildx && echo 0.29.1')
    with pytest.raises(LabError, match=r"missing or too old: compose .*2\.24") as caught:
        engine.ensure_compose(install=False)
    assert "docker-compose-plugin" in caught.value.remedy


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was changed on a machine where the lab could change everything, but the user has refused."""
    made: list[str] = []
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(debian, "apt_install", lambda packages: made.append(f"installed {' '.join(packages)}"))
    monkeypatch.setattr(dockerd, "start_engine", lambda: made.append("started dockerd"))
    monkeypatch.setattr(plugins, "_fetch_plugins_from_sid", lambda names: made.append(f"fetched {' '.join(names)}"))
    monkeypatch.setenv(consent.VARIABLE, consent.NO)
    return made


@pytest.mark.parametrize(
    ("missing", "action"),
    [([], "start dockerd as root"), (["docker.io", "iptables"], "install docker.io iptables with apt-get and start")],
)
def test_engine_is_neither_installed_nor_started_without_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], missing: list[str], action: str
) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'Is the docker daemon running?' >&2; exit 1")
    monkeypatch.setattr(prepare, "_missing_packages", lambda: missing)
    with pytest.raises(LabError, match=f"The lab would have to {action}.* says no. Nothing was changed") as caught:
        engine.ensure_engine()
    assert "LAB_INSTALL=yes" in caught.value.remedy
    assert changes == []


def test_plugins_are_not_fetched_without_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str]
) -> None:
    docker_client(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(
        LabError, match="The lab would have to install Docker's compose and buildx, for all users, from"
    ):
        engine.ensure_compose()
    assert changes == []
