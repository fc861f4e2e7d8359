"""What distorts measurements on this machine."""

from pathlib import Path

import pytest

from corda_lab.host import machine
from corda_lab.host.machine import Activity, CpuTime, Program
from corda_lab.lab.doctor import DISTORTIONS, Check, Examined, Level, run
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client

CONTAINER, OWN = "ab" * 32, "cd" * 32
SETTINGS = load_settings(ENV_FILE, {})
PROGRAMS = {"other": Program("", CONTAINER), "own": Program("", OWN)}


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine with a container of this lab, and another one."""
    lines = f"{CONTAINER}\tshop-web-1\tshop\n{OWN}\tcorda-lab-partya-1\t{SETTINGS.project}"
    docker_client(tmp_path, monkeypatch, f"case $1 in version) echo 28;; ps) echo '{lines}';; esac")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def cpus(root: Path, governors: list[str]) -> Path:
    """A tree with a governor for each core. Returns the folder of all cores."""
    folder = root / machine.CPUS
    for core, governor in enumerate(governors):
        write(folder / f"cpu{core}" / "cpufreq" / "scaling_governor", f"{governor}\n")
    return folder


def reading(at: float, *, stolen: float | None = 0.0, **seconds: float) -> Activity:
    """The CPU times of a machine with two cores, and the CPU-seconds of its processes by their names."""
    processes = {
        (pid, 7.0): (PROGRAMS.get(name, Program(name)), used) for pid, (name, used) in enumerate(seconds.items())
    }
    return Activity(processes, CpuTime(at, 2 * at, stolen), at)


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


QUIET = (reading(100), reading(101))


def examined(root: Path, readings: tuple[Activity, Activity] = QUIET) -> dict[str, Check]:
    it = Examined(SETTINGS, root=root)
    it.readings = readings
    return by_name(run(DISTORTIONS, it))


def test_a_machine_that_shows_nothing_can_be_told_nothing_about(tmp_path: Path) -> None:
    unknown = (reading(100, stolen=None), reading(101, stolen=None))
    checks = examined(tmp_path, unknown)
    levels = {name: check.level for name, check in checks.items()}
    assert levels == {
        **dict.fromkeys(("CPU governor", "CPU turbo", "CPU steal"), Level.UNKNOWN),
        "neighbours": Level.OK,
    }
    assert all("cannot be told here" in check.finding and check.remedy for check in checks.values() if check.remedy)


def test_a_fixed_frequency_is_fine(tmp_path: Path) -> None:
    folder = cpus(tmp_path, ["performance", "performance"])
    write(folder / "intel_pstate" / "no_turbo", "1\n")
    checks = examined(tmp_path)
    assert (checks["CPU governor"].level, checks["CPU turbo"].level) == (Level.OK, Level.OK)


def test_a_governor_that_follows_the_load_is_a_warning_with_what_it_means_and_a_remedy(tmp_path: Path) -> None:
    cpus(tmp_path, ["powersave", "performance", "powersave"])
    seen = examined(tmp_path)["CPU governor"]
    assert seen.level is Level.WARNING
    assert seen.finding.startswith("performance, powersave: ")
    assert "scaling_governor" in seen.remedy


@pytest.mark.parametrize(
    ("switch", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "0\n", True),
        ("intel_pstate/no_turbo", "1\n", False),
        ("cpufreq/boost", "1\n", True),
        ("cpufreq/boost", "0\n", False),
        ("cpufreq/policy0/boost", "1\n", True),
        ("cpufreq/boost", "what?\n", None),
    ],
)
def test_turbo_is_read_from_the_switch_of_any_driver(
    tmp_path: Path, switch: str, text: str, turbo: bool | None
) -> None:
    write(tmp_path / machine.CPUS / switch, text)
    assert machine.frequency(tmp_path).turbo is turbo
    level = {True: Level.WARNING, False: Level.OK, None: Level.UNKNOWN}[turbo]
    assert examined(tmp_path)["CPU turbo"].level is level


@pytest.mark.parametrize(("stolen", "level"), [(0.01, Level.OK), (0.25, Level.WARNING)])
def test_cpu_steal_is_that_between_the_readings(tmp_path: Path, stolen: float, level: Level) -> None:
    check = examined(tmp_path, (reading(100, stolen=5), reading(101, stolen=5 + stolen)))["CPU steal"]
    assert check.level is level
    assert check.finding.startswith(f"{50 * stolen:.1f} % now")


def test_names_the_programs_and_containers_that_use_the_cpu(tmp_path: Path) -> None:
    before = reading(100, firefox=1, other=1, own=1, idle=1)
    after = reading(101, firefox=1.4, other=1.5, own=1.8, idle=1.01)
    check = examined(tmp_path, (before, after))["neighbours"]
    assert check.level is Level.WARNING
    assert check.finding.startswith("container shop-web-1 (0.50 cores), firefox (0.40 cores): what they use")


def test_processes_of_one_name_count_together_and_one_with_the_id_of_another_begins_at_nothing() -> None:
    program = Program("java")
    before = Activity({(1, 7.0): (program, 90.0), (2, 7.0): (program, 5.0)}, at=100)
    after = Activity({(1, 1900.0): (program, 0.5), (2, 7.0): (program, 5.5)}, at=102)
    assert machine.cores_used(before, after) == [(program, 0.5)]
    assert machine.cores_used(before, after, without={1}) == [(program, 0.25)]


def test_only_the_busiest_neighbours_are_named(tmp_path: Path) -> None:
    names = [f"program-{number}" for number in range(8)]
    before = reading(100, **dict.fromkeys(names, 1.0))
    after = reading(101, **{name: 1.1 + number / 100 for number, name in enumerate(names)})
    finding = examined(tmp_path, (before, after))["neighbours"].finding
    assert finding.startswith("program-7 (0.17 cores)")
    assert "program-2" not in finding
    assert "and 3 more: " in finding


def test_this_machine_can_be_examined(tmp_path: Path) -> None:
    checks = by_name(run(DISTORTIONS, Examined(SETTINGS)))
    assert set(checks) == {"CPU governor", "CPU turbo", "CPU steal", "neighbours"}
    assert Level.FAILURE not in {check.level for check in checks.values()}
