"""Where images come from, in which order stand-ins are built, and what their recipes keep to."""

import re
import threading
from collections.abc import Collection
from pathlib import Path

import pytest

from bare import commands, plugins, prepare, standin_base, standins
from support.docker import docker_client

CURRENT = f"true {standin_base.REVISION}"
NAMES = {"JAVA8_IMAGE": "temurin:8", "PYTHON_IMAGE": "python:3.13", "GRAFANA_IMAGE": "grafana:12"}
JAVA8, PYTHON = standins.OWN_NAMES["JAVA8_IMAGE"], standins.OWN_NAMES["PYTHON_IMAGE"]


@pytest.mark.parametrize(
    ("compose", "buildx", "missing"),
    [
        ("2.24.0", "0.12.0", []),
        ("2.23.9", "0.12.0", ["compose"]),
        ("1.29.2", "", ["compose", "buildx"]),
        ("", "0.29.1", ["compose"]),
        ("2.100.0", "", ["buildx"]),
    ],
)
def test_plugins_that_are_missing_or_too_old_are_named(compose: str, buildx: str, missing: list[str]) -> None:
    assert plugins.missing_plugins(compose, buildx) == missing


@pytest.mark.parametrize(
    ("client", "seconds", "problem"),
    [
        ("echo '8-jre: Pulling from library/temurin'; exec /bin/sleep 60", 30, ""),
        ("echo 'Error response from daemon: no such host' >&2; exit 1", 30, "Error response from daemon: no such host"),
        ("exec /bin/sleep 60", 0.2, "no answer within 0.2 s"),
    ],
    ids=["pulls", "refuses", "does not answer"],
)
def test_registry_counts_as_reachable_at_the_first_sign_of_a_pull(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, seconds: float, problem: str
) -> None:
    docker_client(tmp_path, monkeypatch, client)
    monkeypatch.setattr(prepare, "REGISTRY_SECONDS_MAX", seconds)
    assert prepare.registry_problem("temurin:8") == problem


def test_stand_in_of_an_earlier_recipe_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""
for last; do :; done
case "$last" in a:1) echo {CURRENT};; b:1) echo " ";; old:1) echo "true ";; *) exit 1;; esac
"""
    docker_client(tmp_path, monkeypatch, script)
    assert standins.present_images(["a:1", "b:1", "c:1", "old:1"]) == {"a:1", "b:1"}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The images of a scripted engine: a file with lines ``name=label revision``. No image can be pulled."""
    listed = tmp_path / "images"
    listed.touch()
    script = f"""
for last; do :; done
case "$1 $2" in
  "image inspect") /bin/grep --quiet "^$last=" {listed} && /bin/sed -n "s|^$last=||p" {listed} ;;
  *) echo "Error response from daemon: no such host" >&2; exit 1 ;;
esac
"""
    docker_client(tmp_path, monkeypatch, script)
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    monkeypatch.setattr(prepare, "STAND_INS_FILE", tmp_path / "stand-ins.env")
    return listed


@pytest.fixture
def built(engine: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variables whose stand-ins were built, in their order. Each then exists in the scripted engine."""
    built: list[str] = []

    def build(variables: Collection[str]) -> None:
        built.extend(sorted(variables))
        add(engine, *(f"{standins.OWN_NAMES[variable]}={CURRENT}" for variable in variables))

    monkeypatch.setattr(standins, "build", build)
    return built


def add(engine: Path, *lines: str) -> None:
    engine.write_text(engine.read_text(encoding="utf-8") + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def in_use() -> dict[str, str]:
    return {variable: name for variable, (name, _) in prepare.stand_ins_in_use().items()}


def test_stand_ins_have_names_of_their_own_which_compose_gets_by_variables(engine: Path, built: list[str]) -> None:
    prepare.images(NAMES)
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]
    assert prepare.stand_ins_in_use() == {"JAVA8_IMAGE": (JAVA8, "temurin:8"), "PYTHON_IMAGE": (PYTHON, "python:3.13")}
    assert "temurin" not in engine.read_text(encoding="utf-8"), "no official name was given to them"
    by_hand = prepare.STAND_INS_FILE.read_text(encoding="utf-8").splitlines()
    assert by_hand[1] == f"PYTHON_IMAGE={PYTHON} # in place of python:3.13"


def test_stand_ins_are_built_once(engine: Path, built: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    prepare.images(NAMES)
    prepare.images(NAMES)
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]
    assert "images: local, as before" in capsys.readouterr().out


def test_another_checkout_uses_the_stand_ins_that_are_there(engine: Path, built: list[str]) -> None:
    add(engine, f"{JAVA8}={CURRENT}")
    prepare.images(NAMES)
    assert built == ["PYTHON_IMAGE"]
    assert in_use() == {"JAVA8_IMAGE": JAVA8, "PYTHON_IMAGE": PYTHON}


@pytest.mark.parametrize("left", [f"{PYTHON}={CURRENT}\n", f"{PYTHON}={CURRENT}\n{JAVA8}=true \n"])
def test_stand_in_that_was_removed_or_is_of_an_earlier_recipe_is_built_again(
    engine: Path, built: list[str], left: str
) -> None:
    prepare.images(NAMES)
    engine.write_text(left, encoding="utf-8")
    prepare.images(NAMES)
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE", "JAVA8_IMAGE"]


def test_stand_in_replaces_only_the_image_for_which_it_was_chosen(engine: Path, built: list[str]) -> None:
    prepare.images(NAMES)
    add(engine, "mirror/python:3.13= ")
    prepare.images({**NAMES, "PYTHON_IMAGE": "mirror/python:3.13"})
    assert prepare.stand_ins_in_use()["PYTHON_IMAGE"] == (PYTHON, "python:3.13")
    assert built == ["JAVA8_IMAGE", "PYTHON_IMAGE"]


def test_existing_official_images_are_kept(engine: Path, built: list[str]) -> None:
    add(engine, "temurin:8= ")
    prepare.images(NAMES, "local")
    assert in_use() == {"PYTHON_IMAGE": PYTHON}


def test_registry_replaces_the_stand_ins(engine: Path, built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    prepare.images(NAMES)
    pulled: list[str] = []
    monkeypatch.setattr(prepare, "_pull", pulled.extend)
    prepare.images(NAMES, "registry")
    assert pulled == list(NAMES.values())
    assert in_use() == {}


def test_nothing_is_pulled_or_built_if_all_is_there(
    engine: Path, built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    add(engine, *(f"{name}= " for name in NAMES.values()))
    prepare.images(NAMES)
    assert capsys.readouterr().out == "    images: all present, 0 of 3 are stand-ins\n"
    assert built == []


@pytest.mark.parametrize("content", ["", "{", "PYTHON_IMAGE=python:3.13\n"])
def test_without_a_readable_record_no_stand_in_is_in_use(engine: Path, content: str) -> None:
    prepare.STAND_INS_FILE.write_text(content, encoding="utf-8")
    assert in_use() == {}


def test_stand_in_is_built_after_the_one_it_builds_on_which_is_built_along() -> None:
    every = [stand_in.folder for stand_in in standins.build_order([s.variable for s in standins.STAND_INS])]
    assert sorted(every) == sorted(stand_in.folder for stand_in in standins.STAND_INS)
    assert every.index("java21") < every.index("maven")
    assert [stand_in.folder for stand_in in standins.build_order(["MAVEN_IMAGE"])] == ["java21", "maven"]
    assert [stand_in.folder for stand_in in standins.build_order(["JAVA8_IMAGE"])] == ["java8"]


def certificate(body: str, line_end: str = "\n") -> str:
    return line_end.join(["-----BEGIN CERTIFICATE-----", body, "-----END CERTIFICATE-----"]) + line_end


def test_only_certificates_that_the_base_lacks_are_added() -> None:
    host = "# Company\n" + certificate("AAA=") + certificate("BBB+", "\r\n") + certificate("CCC/")
    base = certificate("BBB+") + certificate("DDD=")
    assert standin_base.extra_certificates(host, base) == [certificate("AAA="), certificate("CCC/")]
    assert standin_base.extra_certificates("", base) == []


@pytest.mark.parametrize("stand_in", standins.STAND_INS, ids=lambda stand_in: stand_in.folder)
def test_recipe_is_labelled_and_builds_on_what_is_built_before_it(stand_in: standins.StandIn) -> None:
    recipe = (standins.RECIPES / stand_in.folder / "Dockerfile").read_text(encoding="utf-8")
    assert f'LABEL {standin_base.STANDIN_LABEL}="true"' in recipe
    parent = stand_in.parent.own_tag if stand_in.parent else standin_base.BASE_IMAGE
    assert re.findall(r"^FROM (\S+)$", recipe, re.MULTILINE) == [parent]
    own_stages = set(re.findall(r"^FROM \S+ AS (\S+)$", recipe, re.MULTILINE))
    assert set(re.findall(r"from=([^,\s]+)", recipe)) <= {standins.PACKAGES_IMAGE} | own_stages


@pytest.mark.parametrize("path", sorted(standins.RECIPES.rglob("Dockerfile")), ids=lambda path: path.parent.name)
def test_recipe_works_with_an_old_engine_and_names_no_archive(path: Path) -> None:
    recipe = path.read_text(encoding="utf-8")
    for unsupported in ("# syntax=", "<<", "--link"):
        assert unsupported not in recipe
    assert not re.search(r"https?://", recipe)


def test_two_commands_prepare_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "CACHE", tmp_path / "cache")
    order: list[str] = []

    def second() -> None:
        with commands.alone():
            order.append("second")

    with commands.alone():
        waiting = threading.Thread(target=second)
        waiting.start()
        assert commands.come_true(lambda: "waiting for it, at most 30 min" in capsys.readouterr().out, seconds_max=10)
        order.append("first")
        monkeypatch.setattr(commands, "ALONE_SECONDS_MAX", 0.0)
        with pytest.raises(commands.PreparationError, match="Another command has prepared"), commands.alone():
            pass
    waiting.join(10)
    assert order == ["first", "second"]
