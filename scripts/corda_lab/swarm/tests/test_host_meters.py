"""What a program on each host prints of the host and its containers, from control groups of both versions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.lab.engine import Container, Engine
from corda_lab.swarm import host_meters
from corda_lab.swarm.host_meters import LIMITS, StackMeters, Watched, parse_lines
from corda_lab.swarm.inside import meters
from support.docker import docker_client

ID, OTHER = "a" * 64, "b" * 64


def line(at: float, idle: int = 800, **changes: object) -> str:
    said = {
        "time": at,
        "cpu": f"cpu  100 0 50 {idle} 50 0 0 10 0 0",
        "memory": [1000, 400],
        "swapped": 3,
        "network": [70, 80],
        "containers": {
            ID: ["2000000000", "total_rss 5\n", "8:0 Write 7\n"],
            OTHER: ["usage_usec 1500000", "anon 6", ""],
        },
    }
    return json.dumps(said | changes)


def test_lines_are_read_by_host_and_by_part() -> None:
    watched = Watched(Engine("two"), {ID: "PartyB", OTHER: "PartyC"})
    found = parse_lines([line(10.0), '{"time": 11.0, "cp'], watched)
    assert found.hosts.rows() == [("two", 10.0, pytest.approx(1.6), 0.1, 10.1, 600, 3, 70, 80)]
    assert found.containers.rows() == [("two", "PartyB", 10.0, 2.0, 5, 7), ("two", "PartyC", 10.0, 1.5, 6, 0)]


def test_containers_of_one_part_are_added_up_and_one_that_has_ended_is_left_out() -> None:
    watched = Watched(Engine("two"), dict.fromkeys((ID, OTHER), "locust"))
    ended = line(11.0, containers={ID: ["2000000000", "total_rss 5\n", None], OTHER: [None, None, None]})
    found = parse_lines([line(10.0), ended], watched)
    assert found.containers.rows() == [("two", "locust", 10.0, 3.5, 11, 7)]


@pytest.mark.parametrize(
    ("files", "texts"),
    [
        (
            {
                f"cpuacct/docker/{ID}/cpuacct.usage": "1",
                f"cpu/docker/{ID}/cpu.stat": "nr_periods 0",
                f"memory/docker/{ID}/memory.stat": "cache 9\nrss 1\ntotal_rss 2\n",
                f"blkio/docker/{ID}/blkio.throttle.io_service_bytes": "8:0 Write 3",
            },
            ["1", "total_rss 2\n", "8:0 Write 3"],
        ),
        (
            {
                f"system.slice/docker-{ID}.scope/cpu.stat": "usage_usec 1",
                f"system.slice/docker-{ID}.scope/memory.stat": "anon 2\nfile 3\n",
            },
            ["usage_usec 1", "anon 2\n", None],
        ),
    ],
    ids=["version 1", "version 2"],
)
def test_the_program_finds_the_counters_of_containers(
    files: dict[str, str], texts: list[str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meters, "GROUPS", tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = meters.counters([ID, OTHER])
    assert [meters.read(path) for path in found[ID]] == texts
    assert found[OTHER] == [None] * 3


def test_the_program_prints_what_this_kernel_counts_and_ends_with_its_input() -> None:
    command = [sys.executable, "-c", host_meters.text_of_program(), "127.0.0.1"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    first = process.stdout.readline().decode()
    process.stdin.close()
    assert process.wait(30) == 0
    process.stdout.close()
    found = parse_lines([first], Watched(Engine("here"), {}))
    (host,) = found.hosts.rows(named=True)
    assert host["total_seconds"] > host["busy_seconds"] > 0
    assert host["memory_used_bytes"] > 0
    assert host["received_bytes"] is not None


def test_a_program_runs_on_every_host_and_one_without_lines_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "said").write_text(line(10.0, containers={ID: ["1", "anon 2", None]}) + "\n")
    script = f"""
        echo "$*" | cut -c -400 >> {tmp_path}/calls
        case "$*" in
            *inspect*) echo "/lab_b {ID}";;
            *NodeAddr*) echo 10.0.0.2;;
            "--context two run "*) cat {tmp_path}/said; cat > /dev/null;;
            *" run "*) echo "no such image" >&2; exit 125;;
        esac"""
    docker_client(tmp_path, monkeypatch, f"PATH=/usr/bin:/bin{os.linesep}{script}")
    running = StackMeters([Engine("two"), Engine("three")], "tools:1", "lab=x")
    running.start({Container("lab_b", Engine("two")): "PartyB"})
    found = running.stop()
    assert found.hosts["host"].to_list() == ["two"]
    assert found.containers["container"].to_list() == ["PartyB"]
    assert "three: what it used was not measured: no such image" in " ".join(capsys.readouterr().out.split())
    assert f"run --rm --interactive {' '.join(LIMITS)} --label=lab=x" in (tmp_path / "calls").read_text()
