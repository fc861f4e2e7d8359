"""What a machine lacks for a shape, apart from the mistakes in the shape."""

import pytest

from corda_lab.host import machine
from corda_lab.lab import doctor
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE

SETTINGS = load_settings(ENV_FILE, {})
GIB = 1024**3


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_total_bytes", lambda: 64 * GIB)


def test_a_machine_has_the_lab_of_the_repository() -> None:
    assert doctor.lacking(SETTINGS) == []


def test_cores_that_the_machine_does_not_have_are_lacking() -> None:
    (found,) = doctor.lacking(SETTINGS.with_values({"NODE_CORES": "9999"}))
    assert found.startswith("NODE_CORES: 9999 cores are too many; this machine has ")


def test_memory_that_the_machine_does_not_have_is_lacking() -> None:
    (found,) = doctor.lacking(SETTINGS.with_values({"NODE_HEAP": "60g", "NODE_MEMORY": "75g"}))
    assert "of memory; this machine has 64.0 GiB" in found


def test_an_image_of_corda_enterprise_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corda_lab.lab.shape.is_enterprise", lambda preset: preset == "stock")
    (found,) = doctor.lacking(SETTINGS)
    assert found == "the preset stock needs an image of Corda Enterprise (CORDA_IMAGE)"
    assert doctor.lacking(SETTINGS.with_values({"CORDA_IMAGE": "example/enterprise:4.10"})) == []


def test_a_mistake_is_not_lacking() -> None:
    assert doctor.lacking(SETTINGS.with_values({"NOTARY": "jpa", "NODE_CORES": "many"})) == []
