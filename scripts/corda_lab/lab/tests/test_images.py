"""Where images come from, in which order stand-ins are built, and what their recipes keep to."""

import re
from pathlib import Path

import pytest

from corda_lab.host import standins
from corda_lab.lab import images
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.testing.docker import docker_client

NAMES = {"JAVA8_IMAGE": "temurin:8", "PYTHON_IMAGE": "python:3.13", "GRAFANA_IMAGE": "grafana:12"}
OFFICIAL, STAND_IN = False, True


@pytest.mark.parametrize(
    ("present", "source"),
    [
        ({}, None),
        ({"temurin:8": OFFICIAL}, None),
        ({"temurin:8": OFFICIAL, "python:3.13": OFFICIAL, "grafana:12": OFFICIAL}, "present"),
        ({"temurin:8": STAND_IN, "python:3.13": OFFICIAL, "grafana:12": OFFICIAL}, "present"),
        ({"temurin:8": STAND_IN, "python:3.13": STAND_IN}, "local"),
        ({"temurin:8": STAND_IN}, "local"),
    ],
    ids=["nothing", "one official", "all official", "all, mixed", "stand-ins without Grafana", "one stand-in"],
)
def test_source_follows_from_what_is_there(present: dict[str, bool], source: str | None) -> None:
    assert images.decide(NAMES, present) == source


def test_registry_counts_as_reachable_at_the_first_sign_of_a_pull(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, "echo '8-jre: Pulling from library/temurin'; exec /bin/sleep 60")
    assert images.registry_problem("temurin:8") == ""


def test_registry_that_refuses_gives_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'Error response from daemon: no such host' >&2; exit 1")
    assert images.registry_problem("temurin:8") == "Error response from daemon: no such host"


def test_registry_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "exec /bin/sleep 60")
    monkeypatch.setattr(images, "REGISTRY_SECONDS_MAX", 0.2)
    assert images.registry_problem("temurin:8") == "no answer within 0.2 s"


def test_present_images_tell_stand_ins_from_official_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'for last; do :; done; case "$last" in a:1) echo true;; b:1) echo;; *) exit 1;; esac'
    docker_client(tmp_path, monkeypatch, script)
    assert standins.present_images(["a:1", "b:1", "c:1"]) == {"a:1": STAND_IN, "b:1": OFFICIAL}


def test_stand_in_is_built_after_the_one_it_builds_on() -> None:
    order = [stand_in.folder for stand_in in standins.build_order([s.variable for s in standins.STAND_INS])]
    assert set(order) == {stand_in.folder for stand_in in standins.STAND_INS}
    assert order.index("java21") < order.index("maven")


def test_parent_is_built_along_even_when_its_own_image_is_there() -> None:
    assert [stand_in.folder for stand_in in standins.build_order(["MAVEN_IMAGE"])] == ["java21", "maven"]
    assert [stand_in.folder for stand_in in standins.build_order(["JAVA8_IMAGE"])] == ["java8"]


def test_every_image_but_grafana_has_a_stand_in() -> None:
    settings = load_settings(ENV_FILE, {"DATABASE": "postgres", "LINKS": "partya-partyb=+40ms"})
    assert set(images.image_names(settings)) == {s.variable for s in standins.STAND_INS} | {"GRAFANA_IMAGE"}


def test_images_that_a_shape_does_not_need_are_not_asked_for() -> None:
    needed = images.image_names(load_settings(ENV_FILE, {}))
    assert not needed.keys() & {"POSTGRES_IMAGE", "POSTGRES_EXPORTER_IMAGE", "TOXIPROXY_IMAGE"}


def certificate(body: str, line_end: str = "\n") -> str:
    return line_end.join(["-----BEGIN CERTIFICATE-----", body, "-----END CERTIFICATE-----"]) + line_end


def test_only_certificates_that_the_base_lacks_are_added() -> None:
    host = "# Company\n" + certificate("AAA=") + certificate("BBB+", "\r\n") + certificate("CCC/")
    base = certificate("BBB+") + certificate("DDD=")
    assert standins.extra_certificates(host, base) == [certificate("AAA="), certificate("CCC/")]


def test_host_without_a_bundle_adds_nothing() -> None:
    assert standins.extra_certificates("", certificate("AAA=")) == []


@pytest.mark.parametrize("stand_in", standins.STAND_INS, ids=lambda stand_in: stand_in.folder)
def test_recipe_is_labelled_and_builds_on_what_is_built_before_it(stand_in: standins.StandIn) -> None:
    recipe = (standins.OFFLINE / stand_in.folder / "Dockerfile").read_text(encoding="utf-8")
    assert f'LABEL {standins.STANDIN_LABEL}="true"' in recipe
    parent = stand_in.parent.own_tag if stand_in.parent else standins.BASE_IMAGE
    assert re.findall(r"^FROM (\S+)$", recipe, re.MULTILINE) == [parent]
    own_stages = set(re.findall(r"^FROM \S+ AS (\S+)$", recipe, re.MULTILINE))
    assert set(re.findall(r"from=([^,\s]+)", recipe)) <= {standins.PACKAGES_IMAGE} | own_stages


@pytest.mark.parametrize("path", sorted(standins.OFFLINE.rglob("Dockerfile")), ids=lambda path: path.parent.name)
def test_recipe_works_with_an_old_engine_and_names_no_archive(path: Path) -> None:
    recipe = path.read_text(encoding="utf-8")
    for unsupported in ("# syntax=", "<<", "--link"):
        assert unsupported not in recipe
    assert not re.search(r"https?://", recipe)
