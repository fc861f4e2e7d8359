"""Processor time of containers, from the control groups of either version."""

from pathlib import Path

import pytest

from corda_lab.host import control_groups
from corda_lab.host.control_groups import (
    Meter,
    files,
    meter,
    parse_memory,
    parse_usage,
)

ID = "3f0c" * 16
OTHER = "77aa" * 16
VERSION_1_MOUNTS = """\
23 29 0:21 / /proc rw,nosuid - proc proc rw
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime shared:10 - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/unified rw,relatime shared:11 - cgroup2 cgroup2 rw
"""
VERSION_2_MOUNTS = "31 30 0:27 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.mark.parametrize(
    ("kind", "groups", "mounts", "file"),
    [
        (
            "memory",
            f"4:memory:/docker/{ID}\n0::/\n",
            VERSION_1_MOUNTS,
            f"/sys/fs/cgroup/memory/docker/{ID}/memory.stat",
        ),
        ("memory", f"0::/docker/{ID}\n", VERSION_2_MOUNTS, f"/sys/fs/cgroup/docker/{ID}/memory.stat"),
        (
            "cpu",
            f"4:memory:/docker/{ID}\n2:cpu,cpuacct:/docker/{ID}\n0::/\n",
            VERSION_1_MOUNTS,
            f"/sys/fs/cgroup/cpu,cpuacct/docker/{ID}/cpuacct.usage",
        ),
        (
            "cpu",
            f"0::/system.slice/docker-{ID}.scope\n",
            VERSION_2_MOUNTS,
            f"/sys/fs/cgroup/system.slice/docker-{ID}.scope/cpu.stat",
        ),
        # The engine and this process are in a container themselves.
        (
            "cpu",
            f"0::/outer/docker/{ID}\n",
            VERSION_2_MOUNTS.replace(" / ", " /outer "),
            f"/sys/fs/cgroup/docker/{ID}/cpu.stat",
        ),
    ],
)
def test_finds_the_group_of_a_container(kind: str, groups: str, mounts: str, file: str) -> None:
    assert list(files(kind, ID, groups, mounts)) == [Path(file)]


@pytest.mark.parametrize("groups", [f"0::/docker/{OTHER}\n", "0::/user.slice/user-1000.slice/session-2.scope\n", ""])
def test_a_process_of_the_same_number_that_is_not_the_container_s_does_not_count(groups: str) -> None:
    assert list(files("cpu", ID, groups, VERSION_2_MOUNTS)) == []


def test_reads_what_processes_have_allocated_without_the_page_cache() -> None:
    assert parse_memory("cache 900\nrss 700\nrss_huge 0\ntotal_cache 900\ntotal_rss 800\n") == 800
    assert parse_memory("anon 700\nfile 900\nanon_thp 600\n") == 700
    with pytest.raises(ValueError, match="neither"):
        parse_memory("cache 900\n")


def test_reads_nanoseconds_of_version_1_and_microseconds_of_version_2() -> None:
    assert parse_usage("41425734365\n") == pytest.approx(41.425734365)
    assert parse_usage("usage_usec 41425734\nuser_usec 30000000\nsystem_usec 11425734\n") == pytest.approx(41.425734)


def test_a_meter_reads_cpu_time_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "cgroup" / "docker" / ID
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 2500000\n")
    (group / "memory.stat").write_text("anon 4096\nfile 8192\n")
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(f"0::/docker/{ID}\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_text(f"31 30 0:27 / {tmp_path}/cgroup rw - cgroup2 cgroup2 rw\n")
    monkeypatch.setattr(control_groups, "PROC", tmp_path)
    found = meter(ID, 7)
    assert found == Meter(group / "cpu.stat", group / "memory.stat")
    cpu_seconds, memory_bytes = found.read()
    assert cpu_seconds == pytest.approx(2.5)
    assert memory_bytes == 4096
    assert meter(ID, 8) is None
    assert meter(OTHER, 7) is None
