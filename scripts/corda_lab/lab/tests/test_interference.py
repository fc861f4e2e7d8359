"""What bends measurements on this machine, read from trees of files like those of the kernel."""

from pathlib import Path

import pytest

from corda_lab.host import machine, neighbours
from corda_lab.lab.doctor import DISTORTIONS, Check, Examined, Level, run
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client

CONTAINER, OWN = "ab" * 32, "cd" * 32
SETTINGS = load_settings(ENV_FILE, {})


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


def cpu_times(root: Path, *, total: int, stolen: int | None = 0, cores: int = 2) -> None:
    """The CPU times of a machine in ticks, of which none was guest time."""
    fields = [total - (stolen or 0), 0, 0, 0, 0, 0, 0, *([] if stolen is None else [stolen, 50, 50])]
    lines = [f"cpu  {' '.join(map(str, fields))}", *(f"cpu{core} 1 2 3" for core in range(cores)), "intr 1 2 3"]
    write(root / "proc" / "stat", "\n".join(lines))


def process(root: Path, pid: int, name: str, ticks: int, *, container: str = "", started: int = 7) -> None:
    """A process that has used this many ticks, most of them in user mode."""
    group = f"12:cpuacct:/docker/{container}" if container else "0::/user.slice"
    write(root / "proc" / str(pid) / "cgroup", f"{group}\n")
    fields = ["S", *["0"] * 10, str(ticks - 1), "1", *["0"] * 6, str(started), "0"]
    write(root / "proc" / str(pid) / "stat", f"{pid} ({name}) {' '.join(fields)}\n")


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def examined(root: Path, later: object = None) -> dict[str, Check]:
    """The checks of a tree that ``later`` changes between the two readings."""
    it = Examined(SETTINGS, root=root, pause=lambda _: later() if callable(later) else None)
    return by_name(run(DISTORTIONS, it))


def test_a_machine_that_shows_nothing_can_be_told_nothing_about(tmp_path: Path) -> None:
    checks = examined(tmp_path)
    assert [check.level for check in checks.values()] == [Level.UNKNOWN] * 4
    assert all("cannot be told here" in check.finding and check.remedy for check in checks.values())


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


def test_cpu_steal_is_that_between_the_readings(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000, stolen=500)
    assert examined(tmp_path, lambda: cpu_times(tmp_path, total=1200, stolen=501))["CPU steal"].level is Level.OK
    cpu_times(tmp_path, total=1000, stolen=500)
    seen = examined(tmp_path, lambda: cpu_times(tmp_path, total=1200, stolen=525))["CPU steal"]
    assert seen.level is Level.WARNING
    assert seen.finding.startswith("12.5 % now: other virtual machines")


def test_a_kernel_without_steal_is_not_one_with_none(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000, stolen=None)
    later = examined(tmp_path, lambda: cpu_times(tmp_path, total=1200, stolen=None))
    assert later["CPU steal"].level is Level.UNKNOWN


def test_names_the_programs_and_containers_that_use_the_cpu(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000)
    process(tmp_path, 10, "firefox", 100)
    process(tmp_path, 11, "firefox", 100)
    process(tmp_path, 12, "java", 100, container=CONTAINER)
    process(tmp_path, 13, "java", 100, container=OWN)
    process(tmp_path, 14, "odd) S (name", 100)
    process(tmp_path, 15, "idle", 100)

    def later() -> None:
        cpu_times(tmp_path, total=1200)
        process(tmp_path, 10, "firefox", 120)
        process(tmp_path, 11, "firefox", 120)
        process(tmp_path, 12, "java", 150, container=CONTAINER)
        process(tmp_path, 13, "java", 180, container=OWN)
        process(tmp_path, 14, "odd) S (name", 110)
        process(tmp_path, 15, "idle", 101)

    seen = examined(tmp_path, later)["neighbours"]
    assert seen.level is Level.WARNING
    assert seen.finding.startswith(
        "container shop-web-1 (0.50 cores), firefox (0.40 cores), odd) S (name (0.10 cores): what they use"
    )
    assert "idle" not in seen.finding
    assert "partya" not in seen.finding


def test_a_process_with_the_id_of_one_that_ended_begins_at_nothing(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000)
    process(tmp_path, 10, "old", 900, started=7)
    before = neighbours.read(tmp_path)
    cpu_times(tmp_path, total=1200)
    process(tmp_path, 10, "new", 30, started=1900)
    after = neighbours.read(tmp_path)
    assert before is not None
    assert after is not None
    ((program, cores),) = neighbours.cores_used(before, after)
    assert (program.name, round(cores, 3)) == ("new", 0.3)


def test_a_quiet_machine_has_no_neighbours(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000)
    process(tmp_path, 10, "idle", 100)
    assert examined(tmp_path, lambda: cpu_times(tmp_path, total=1200))["neighbours"].level is Level.OK


def test_only_the_busiest_neighbours_are_named(tmp_path: Path) -> None:
    cpu_times(tmp_path, total=1000)
    for pid in range(8):
        process(tmp_path, pid + 1, f"program-{pid}", 100)

    def later() -> None:
        cpu_times(tmp_path, total=1200)
        for pid in range(8):
            process(tmp_path, pid + 1, f"program-{pid}", 110 + pid)

    finding = examined(tmp_path, later)["neighbours"].finding
    assert finding.startswith("program-7 (0.17 cores)")
    assert "program-2" not in finding
    assert "and 3 more: " in finding


def test_this_machine_can_be_examined(tmp_path: Path) -> None:
    checks = by_name(run(DISTORTIONS, Examined(SETTINGS)))
    assert set(checks) == {"CPU governor", "CPU turbo", "CPU steal", "neighbours"}
    assert Level.FAILURE not in {check.level for check in checks.values()}
