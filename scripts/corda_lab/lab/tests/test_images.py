"""Where images come from, in which order stand-ins are built, and what their recipes keep to."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import pytest

from corda_lab.host import image_files, standin_base, standins
from corda_lab.lab import images
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client

CURRENT = f"true {standin_base.REVISION}"
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
    script = f"""
for last; do :; done
case "$last" in a:1) echo {CURRENT};; b:1) echo " ";; old:1) echo "true ";; *) exit 1;; esac
"""
    docker_client(tmp_path, monkeypatch, script)
    assert standins.present_images(["a:1", "b:1", "c:1", "old:1"]) == {"a:1": STAND_IN, "b:1": OFFICIAL}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The images of a scripted engine: a file with lines ``name=label revision``. No image can be pulled."""
    listed = tmp_path / "images"
    listed.touch()
    script = f"""
for last; do :; done
case "$1 $2" in
  "image inspect") /bin/grep --quiet "^$last=" {listed} && /bin/sed -n "s|^$last=||p" {listed} ;;
  "image ls") /bin/sed -n 's|=true.*||p' {listed} ;;
  "image rm") /bin/sed -i "\\|^$last=|d" {listed} ;;
  *) echo "Error response from daemon: no such host" >&2; exit 1 ;;
esac
"""
    docker_client(tmp_path, monkeypatch, script)
    monkeypatch.setattr(images, "IN_USE", tmp_path / "stand-ins.json")
    monkeypatch.setattr(images, "IN_USE_VARIABLES", tmp_path / "stand-ins.env")
    monkeypatch.setattr(images, "ROOT", tmp_path)
    return listed


@pytest.fixture
def built(engine: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variables whose stand-ins were built, in their order. Each then exists in the scripted engine."""
    built: list[str] = []

    def build(variables: Collection[str]) -> None:
        built.extend(sorted(variables))
        add(engine, *(f"{standins.OWN_NAMES[variable]}={CURRENT}" for variable in variables))

    monkeypatch.setattr(images, "build", build)
    return built


def add(engine: Path, *lines: str) -> None:
    engine.write_text(engine.read_text(encoding="utf-8") + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def names_in(engine: Path) -> list[str]:
    return [line.partition("=")[0] for line in engine.read_text(encoding="utf-8").splitlines()]


SETTINGS = Settings(NAMES)
JAVA8, PYTHON = standins.OWN_NAMES["JAVA8_IMAGE"], standins.OWN_NAMES["PYTHON_IMAGE"]


def prepare(forced: Literal["registry", "local"] | None = None) -> None:
    images.ensure_images(images.choose_source(NAMES, forced), NAMES)


def test_stand_ins_have_names_of_their_own_which_compose_gets_by_variables(engine: Path, built: list[str]) -> None:
    prepare()
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]
    assert images.in_use(SETTINGS) == {"JAVA8_IMAGE": JAVA8, "PYTHON_IMAGE": PYTHON}
    assert set(names_in(engine)) == {JAVA8, PYTHON}, "no official name was given to them"
    assert images.image_name(SETTINGS, "PYTHON_IMAGE") == PYTHON
    assert images.image_name(SETTINGS, "GRAFANA_IMAGE") == "grafana:12"
    assert images.official_name(SETTINGS, PYTHON) == "python:3.13"
    by_hand = images.IN_USE_VARIABLES.read_text(encoding="utf-8").splitlines()
    assert by_hand == [f"JAVA8_IMAGE={JAVA8}", f"PYTHON_IMAGE={PYTHON}"]


def test_stand_ins_are_built_once(engine: Path, built: list[str]) -> None:
    prepare()
    prepare()
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]


def test_another_checkout_uses_the_stand_ins_that_are_there(
    engine: Path, built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add(engine, f"{JAVA8}={CURRENT}")
    prepare()
    assert built == ["PYTHON_IMAGE"]
    assert "as in another checkout" in capsys.readouterr().out


def test_stand_in_of_an_earlier_recipe_is_built_again(engine: Path, built: list[str]) -> None:
    add(engine, f"{JAVA8}=true ")
    prepare()
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]


def test_image_that_the_user_chooses_later_is_not_replaced(engine: Path, built: list[str]) -> None:
    prepare()
    mirrored = SETTINGS.with_values({"PYTHON_IMAGE": "mirror/python:3.13"})
    assert images.in_use(mirrored) == {"JAVA8_IMAGE": JAVA8}
    assert images.image_name(mirrored, "PYTHON_IMAGE") == "mirror/python:3.13"


def test_existing_official_images_are_kept(engine: Path, built: list[str]) -> None:
    add(engine, "temurin:8= ")
    prepare("local")
    assert images.in_use(SETTINGS) == {"PYTHON_IMAGE": PYTHON}


def test_registry_replaces_the_stand_ins(engine: Path, built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    prepare()
    pulled: list[str] = []
    monkeypatch.setattr(images, "_pull", pulled.extend)
    prepare("registry")
    assert pulled == list(NAMES.values())
    assert images.in_use(SETTINGS) == {}
    assert images.IN_USE_VARIABLES.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("content", ["", "{", "[]", '{"PYTHON_IMAGE": 3, "OTHER": "x"}'])
def test_without_a_readable_record_no_stand_in_is_in_use(engine: Path, content: str) -> None:
    images.IN_USE.write_text(content, encoding="utf-8")
    assert images.in_use(SETTINGS) == {}


def test_false_official_names_are_removed_and_nothing_else(engine: Path) -> None:
    false = ["postgres:17.5-bookworm=true ", f"prom/prometheus:v3.4={CURRENT}"]
    # An official image, a stand-in, an image of the lab and one that somebody built on a false one: all but the first
    # carry the label.
    kept = ["python:3.13= ", f"{JAVA8}={CURRENT}", "corda-lab/node:4.10=true ", "company/postgres:17=true "]
    add(engine, *false, *kept)
    assert standins.remove_false_names() == ["postgres:17.5-bookworm", "prom/prometheus:v3.4"]
    assert names_in(engine) == [line.partition("=")[0] for line in kept]


def test_official_repositories_are_those_of_the_settings() -> None:
    settings = load_settings(ENV_FILE, {})
    for stand_in in standins.STAND_INS:
        assert settings[stand_in.variable].startswith(f"{stand_in.official}:")


def test_digests_are_those_of_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Path) -> None:
    script = """
for last; do :; done
case "$last" in prom/*) echo '["prom/prometheus@sha256:abc"]';; grafana/*) exit 1;; *) echo '[]';; esac
"""
    docker_client(tmp_path, monkeypatch, script)
    settings = load_settings(ENV_FILE, {})
    assert images.digests(settings) == {settings["PROMETHEUS_IMAGE"]: "sha256:abc"}


def test_packages_of_a_stand_in_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""
case "$1" in
  image) echo sha256:12ab ;;
  run)
    echo "aa  /var/cache/apt/archives/curl_1%3a8.14-2_amd64.deb"
    echo "h1:x=  example.org/m@v1"
    echo >> {tmp_path}/runs ;;
esac
"""
    docker_client(tmp_path, monkeypatch, script)
    monkeypatch.setattr(image_files, "CACHE", tmp_path)
    wanted = {"curl_1:8.14-2_amd64.deb": "aa", "example.org/m@v1": "h1:x="}
    assert standins.packages_of(JAVA8) == wanted
    assert standins.packages_of(JAVA8) == wanted
    assert (tmp_path / "runs").read_text(encoding="utf-8") == "\n"


def test_stand_in_is_built_after_the_one_it_builds_on() -> None:
    order = [stand_in.folder for stand_in in standins.build_order([s.variable for s in standins.STAND_INS])]
    assert set(order) == {stand_in.folder for stand_in in standins.STAND_INS}
    assert order.index("java21") < order.index("maven")


def test_parent_is_built_along_even_when_its_own_image_is_there() -> None:
    assert [stand_in.folder for stand_in in standins.build_order(["MAVEN_IMAGE"])] == ["java21", "maven"]
    assert [stand_in.folder for stand_in in standins.build_order(["JAVA8_IMAGE"])] == ["java8"]


def test_every_image_but_grafana_has_a_stand_in() -> None:
    settings = load_settings(ENV_FILE, {"DATABASE": "postgres", "LINKS": "partya-partyb=+40ms"})
    of_a_stack = {"REGISTRY_IMAGE"}
    needed = {*images.image_names(settings), *of_a_stack}
    assert needed == {s.variable for s in standins.STAND_INS} | {"GRAFANA_IMAGE"}


def test_images_that_a_shape_does_not_need_are_not_asked_for() -> None:
    needed = images.image_names(load_settings(ENV_FILE, {}))
    assert not needed.keys() & {"POSTGRES_IMAGE", "POSTGRES_EXPORTER_IMAGE", "TOXIPROXY_IMAGE", "REGISTRY_IMAGE"}


def certificate(body: str, line_end: str = "\n") -> str:
    return line_end.join(["-----BEGIN CERTIFICATE-----", body, "-----END CERTIFICATE-----"]) + line_end


def test_only_certificates_that_the_base_lacks_are_added() -> None:
    host = "# Company\n" + certificate("AAA=") + certificate("BBB+", "\r\n") + certificate("CCC/")
    base = certificate("BBB+") + certificate("DDD=")
    assert standin_base.extra_certificates(host, base) == [certificate("AAA="), certificate("CCC/")]


def test_host_without_a_bundle_adds_nothing() -> None:
    assert standin_base.extra_certificates("", certificate("AAA=")) == []


@pytest.mark.parametrize("stand_in", standins.STAND_INS, ids=lambda stand_in: stand_in.folder)
def test_recipe_is_labelled_and_builds_on_what_is_built_before_it(stand_in: standins.StandIn) -> None:
    recipe = (standins.OFFLINE / stand_in.folder / "Dockerfile").read_text(encoding="utf-8")
    assert f'LABEL {standin_base.STANDIN_LABEL}="true"' in recipe
    parent = stand_in.parent.own_tag if stand_in.parent else standin_base.BASE_IMAGE
    assert re.findall(r"^FROM (\S+)$", recipe, re.MULTILINE) == [parent]
    own_stages = set(re.findall(r"^FROM \S+ AS (\S+)$", recipe, re.MULTILINE))
    assert set(re.findall(r"from=([^,\s]+)", recipe)) <= {standins.PACKAGES_IMAGE} | own_stages


@pytest.mark.parametrize("path", sorted(standins.OFFLINE.rglob("Dockerfile")), ids=lambda path: path.parent.name)
def test_recipe_works_with_an_old_engine_and_names_no_archive(path: Path) -> None:
    recipe = path.read_text(encoding="utf-8")
    for unsupported in ("# syntax=", "<<", "--link"):
        assert unsupported not in recipe
    assert not re.search(r"https?://", recipe)
