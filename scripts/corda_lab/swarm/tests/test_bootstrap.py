"""How the bootstrapper runs for a stack, with a client that answers like an engine. A real one is in tests/swarm."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.swarm.deploy import make_network
from corda_lab.swarm.folder import StackFolder
from support.docker import docker_client

CLIENT = """\
echo "$LAB_NODE_IMAGE $*" >> {home}/calls
case "$*" in
  "compose "*) [ ! -e {home}/fails ] || {{ echo 'bootstrap: NOTARY is jpa' >&2; exit 2; }} ;;
  "cp "*) from=${{2#*:/}}; /bin/mkdir "$3/$from"; echo "$from" > "$3/$from/file" ;;
esac
"""
FOLDER = StackFolder("lab-swarm")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the client, which notes its calls there."""
    folder = tmp_path / "home"
    folder.mkdir()
    docker_client(tmp_path, monkeypatch, CLIENT.format(home=folder))
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return folder


@pytest.fixture
def settings() -> Settings:
    return load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "lab"})


def calls(home: Path) -> list[str]:
    return (home / "calls").read_text().splitlines()


def test_it_has_a_project_of_its_own_and_the_image_of_the_lab(home: Path, settings: Settings) -> None:
    make_network(settings, FOLDER)
    (started,) = [call for call in calls(home) if " run " in call]
    assert started.startswith("lab/node:4.10 compose ")
    assert "--project-name lab-swarm run --no-deps --no-TTY --name lab-swarm-bootstrap bootstrap" in started


def test_what_it_wrote_is_copied_in_place_of_an_earlier_copy(home: Path, settings: Settings) -> None:
    FOLDER.create()
    (FOLDER.network / "old").mkdir(parents=True)
    network = make_network(settings, FOLDER)
    assert {path.name for path in network.root.iterdir()} == {"network", "nodes", "secrets"}
    assert [path.name for path in network.of("/secrets").iterdir()] == ["file"]
    assert FOLDER.root.stat().st_mode & 0o077 == 0
    assert [path.name for path in FOLDER.root.iterdir()] == ["bootstrapped"]
    assert calls(home)[-1].endswith("rm --force lab-swarm-bootstrap")


def test_its_failure_is_shown_and_leaves_no_container_and_the_earlier_copy(home: Path, settings: Settings) -> None:
    make_network(settings, FOLDER)
    (home / "fails").touch()
    with pytest.raises(LabError, match="The bootstrapper failed: bootstrap: NOTARY is jpa"):
        make_network(settings, FOLDER)
    assert calls(home)[-1].endswith("rm --force lab-swarm-bootstrap")
    assert (FOLDER.network / "network" / "file").is_file()
