"""The names of third-party images: those that a shape needs, and those of stand-ins."""

from pathlib import Path

import pytest

from bare import prepare, standins
from corda_lab.lab import images
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE

SETTINGS = Settings({"JAVA8_IMAGE": "temurin:8", "PYTHON_IMAGE": "python:3.13", "GRAFANA_IMAGE": "grafana:12"})
JAVA8, PYTHON = standins.OWN_NAMES["JAVA8_IMAGE"], standins.OWN_NAMES["PYTHON_IMAGE"]


@pytest.fixture(autouse=True)
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins of two images are in use."""
    file = tmp_path / "stand-ins.env"
    file.write_text(
        f"JAVA8_IMAGE={JAVA8} # in place of temurin:8\nPYTHON_IMAGE={PYTHON} # in place of python:3.13\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(prepare, "STAND_INS_FILE", file)


def test_stand_in_takes_the_place_of_its_image() -> None:
    assert images.in_use(SETTINGS) == {"JAVA8_IMAGE": JAVA8, "PYTHON_IMAGE": PYTHON}
    assert images.image_name(SETTINGS, "PYTHON_IMAGE") == PYTHON
    assert images.image_name(SETTINGS, "GRAFANA_IMAGE") == "grafana:12"
    assert images.official_name(SETTINGS, PYTHON) == "python:3.13"


def test_image_that_the_user_chooses_later_is_not_replaced() -> None:
    mirrored = SETTINGS.with_values({"PYTHON_IMAGE": "mirror/python:3.13"})
    assert images.in_use(mirrored) == {"JAVA8_IMAGE": JAVA8}
    assert images.image_name(mirrored, "PYTHON_IMAGE") == "mirror/python:3.13"


def test_every_image_but_grafana_has_a_stand_in() -> None:
    settings = load_settings(ENV_FILE, {"DATABASE": "postgres", "LINKS": "partya-partyb=+40ms"})
    of_a_stack = {"REGISTRY_IMAGE"}
    needed = {*images.image_names(settings), *of_a_stack}
    assert needed == {s.variable for s in standins.STAND_INS} | {"GRAFANA_IMAGE"}
    assert {**images.image_names(settings), "REGISTRY_IMAGE": settings["REGISTRY_IMAGE"]} == prepare.official_images()


def test_images_that_a_shape_does_not_need_are_not_asked_for() -> None:
    needed = images.image_names(load_settings(ENV_FILE, {}))
    assert not needed.keys() & {"POSTGRES_IMAGE", "POSTGRES_EXPORTER_IMAGE", "TOXIPROXY_IMAGE", "REGISTRY_IMAGE"}
