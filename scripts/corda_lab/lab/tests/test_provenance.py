"""The manifest's list of what was fetched: every kind with names and hashes."""

import hashlib
import json
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.host import fetched, image_files
from corda_lab.lab import images, provenance
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE, ROOT
from support.docker import docker_client

SETTINGS = load_settings(ENV_FILE, {})


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A lab with two stand-ins, one official image with a digest, and a plugin that was fetched for the machine."""
    docker_client(
        tmp_path,
        monkeypatch,
        """for last; do :; done
case "$1 $last" in
  "image prom/"*) echo '["prom/prometheus@sha256:abc"]' ;;
  "image "*/node:*) echo sha256:12ab ;;
  "run "*) printf '%s\n' "02  drivers/b-2.jar" "01  bin/a-1.jar" "03  /finance/c-4.10.jar" ;;
  "image "*/bridge:*) exit 1 ;;
  *) echo '[]' ;;
esac""",
    )
    monkeypatch.setattr(image_files, "CACHE", tmp_path)
    used = ("JAVA8_IMAGE", "PYTHON_IMAGE", "POSTGRES_IMAGE")
    monkeypatch.setattr(images, "IN_USE", tmp_path / "stand-ins.json")
    images.IN_USE.write_text(json.dumps({name: SETTINGS[name] for name in used}), encoding="utf-8")
    monkeypatch.setattr(fetched, "RECORD", tmp_path / "fetched.json")
    monkeypatch.setattr(fetched, "LAUNCHER_RECORD", tmp_path / "packages.sha256")
    fetched.record({"docker-compose_2.40.3-3_amd64.deb": "c0"})
    return SETTINGS


def test_kinds_have_names_and_hashes(lab: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {"java8": {"bash_5_amd64.deb": "b5", "java_8_amd64.deb": "08"}, "python": {"bash_5_amd64.deb": "b5"}}
    asked: list[str] = []

    def packages_of(image: str) -> dict[str, str]:
        asked.append(image)
        return lists[image.removeprefix("corda-lab/standin-").partition(":")[0]]

    monkeypatch.setattr(provenance, "packages_of", packages_of)
    found = provenance.fetched_files(lab)
    assert found["host"] == {"docker-compose_2.40.3-3_amd64.deb": "c0"}
    assert found["images"] == {SETTINGS["PROMETHEUS_IMAGE"]: "sha256:abc"}
    assert found["stand-ins"] == {"bash_5_amd64.deb": "b5", "java_8_amd64.deb": "08"}
    assert len(asked) == 2, "a lab on H2 does not need the third"
    assert list(found["java-node"].items()) == [("a-1.jar", "01"), ("b-2.jar", "02"), ("c-4.10.jar", "03")]
    assert "java-bridge" not in found, "the image of an earlier version has no list"
    name = "loadgen/locust/requirements.txt"
    assert found["lists"][name] == hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def test_stand_in_that_is_gone_is_left_out(lab: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def packages_of(image: str) -> dict[str, str]:
        raise LabError(f"Looking for {image} failed")

    monkeypatch.setattr(provenance, "packages_of", packages_of)
    assert "stand-ins" not in provenance.fetched_files(lab)


def test_java_files_are_bounded(lab: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "JAVA_FILES_MAX", 2)
    assert list(provenance.java_files(lab, "java-node")) == ["a-1.jar", "b-2.jar"]
