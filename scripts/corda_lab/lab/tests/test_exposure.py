"""What a person is told of a lab before it starts: holes of old versions, and an open network."""

import subprocess

import pytest

from corda_lab.lab import doctor, lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.doctor import Level
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE


def settings_with(**changes: str) -> Settings:
    return load_settings(ENV_FILE, {}).with_values(changes)


def exposures(settings: Settings) -> list[doctor.Check]:
    return doctor.run(doctor.EXPOSURES, doctor.Examined(settings))


def warnings_of(settings: Settings) -> list[str]:
    return [check.name for check in exposures(settings) if check.level is Level.WARNING]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.3", True), ("4.0", True), ("4.5", True), ("4.6", True), ("4.8", True), ("4.9", False), ("4.10", False)],
)
def test_versions_with_log4shell_are_called_out(version: str, expected: bool) -> None:
    settings = settings_with(CORDA_VERSION=version)
    assert warnings_of(settings) == ([f"Corda {version}"] if expected else [])
    own = settings.with_values({"CORDA_IMAGE": "own:1"})
    assert warnings_of(own) == warnings_of(settings)
    findings = [check.finding for check in exposures(own)]
    assert any("does not know whether this image has it" in finding for finding in findings) is expected


def test_an_open_network_is_called_out() -> None:
    assert warnings_of(settings_with(INTERNAL_NETWORK="false")) == ["network"]
    (wrong,) = exposures(settings_with(INTERNAL_NETWORK="no"))
    assert (wrong.level, wrong.finding) == (Level.FAILURE, "INTERNAL_NETWORK: 'no' is neither true nor false")


@pytest.mark.parametrize(
    ("found", "wanted", "removed"),
    [("", "true", 0), ("true", "true", 0), ("false", "false", 0), ("false", "true", 1), ("true", "false", 1)],
)
def test_a_network_of_the_other_kind_is_removed_before_the_start(
    monkeypatch: pytest.MonkeyPatch, found: str, wanted: str, removed: int
) -> None:
    calls: list[tuple[str, ...]] = []

    def answer(*_arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, f"{found}\n", "")

    def record(_self: Compose, *arguments: str, seconds_max: float) -> None:
        calls.append(arguments)

    monkeypatch.setattr(lifecycle, "docker", answer)
    monkeypatch.setattr(Compose, "run", record)
    lifecycle.replace_network(settings_with(INTERNAL_NETWORK=wanted))
    assert calls == [("down", "--remove-orphans")] * removed


@pytest.mark.parametrize(
    ("engine", "loopback", "names"),
    [
        ("20.10.24+dfsg1", True, True),
        ("23.0.10", True, True),
        ("23.0.11", True, False),
        ("24.0.9", True, True),
        ("25.0.3", True, True),
        ("25.0.5", True, False),
        ("26.0.0", True, False),
        ("27.5.1", True, False),
        ("28.0.0", False, False),
        ("29.1.3", False, False),
        ("", False, False),
    ],
)
def test_holes_of_old_engines_are_called_out(engine: str, loopback: bool, names: bool) -> None:
    findings = [check.finding for check in doctor.engine_exposures(engine)]
    assert any("127.0.0.1" in finding for finding in findings) == loopback
    assert any("CVE-2024-29018" in finding for finding in findings) == names
