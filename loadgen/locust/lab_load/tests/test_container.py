"""The control group of the generator's container, in both versions, on its metrics page."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from lab_load.container import ContainerCollector

FIRST = {
    "cpuacct/cpuacct.usage": "1500000000\n",
    "cpu/cpu.stat": "nr_periods 4\nnr_throttled 1\nthrottled_time 250000000\n",
    "memory/memory.stat": "total_cache 9\ntotal_rss 4096\n",
    "memory/memory.limit_in_bytes": "8192\n",
}
SECOND = {
    "cpu.stat": "usage_usec 1500000\nuser_usec 1\nthrottled_usec 250000\n",
    "memory.stat": "anon 4096\nfile 9\n",
    "memory.max": "8192\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def page(groups: Path) -> list[str]:
    registry = CollectorRegistry()
    registry.register(ContainerCollector(groups))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("files", [FIRST, SECOND], ids=["version 1", "version 2"])
def test_both_versions_are_read(tmp_path: Path, files: dict[str, str]) -> None:
    assert page(written(tmp_path, files)) == [
        "container_cpu_seconds_total 1.5",
        "container_cpu_throttled_seconds_total 0.25",
        "container_memory_bytes 4096.0",
        "container_memory_limit_bytes 8192.0",
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"cpuacct/cpuacct.usage": "1000000000\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"},
        {"cpu.stat": "usage_usec 1000000\n", "memory.max": "max\n"},
    ],
    ids=["version 1", "version 2"],
)
def test_without_limits_nothing_is_throttled(tmp_path: Path, files: dict[str, str]) -> None:
    assert page(written(tmp_path, files)) == [
        "container_cpu_seconds_total 1.0",
        "container_cpu_throttled_seconds_total 0.0",
    ]


def test_what_cannot_be_read_is_not_on_the_page(tmp_path: Path) -> None:
    assert page(tmp_path) == []
