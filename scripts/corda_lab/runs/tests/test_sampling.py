"""The samples of containers each second, from files like those of the kernel."""

import threading
import time
from pathlib import Path

import pytest

from corda_lab.host.control_groups import Meter
from corda_lab.runs import sampling
from corda_lab.steps.usage import SAMPLES_SCHEMA


def group(folder: Path, *, cpu_seconds: float, memory: int) -> Meter:
    """The files of a container's control group."""
    folder.mkdir(exist_ok=True)
    (folder / "cpu.stat").write_text(f"usage_usec {round(cpu_seconds * 1e6)}\n")
    (folder / "memory.stat").write_text(f"anon {memory}\nfile 8192\n")
    return Meter(folder / "cpu.stat", folder / "memory.stat")


def test_the_values_of_several_containers_of_one_part_are_added_up(tmp_path: Path) -> None:
    generators = [
        group(tmp_path / "driver", cpu_seconds=1.5, memory=100),
        group(tmp_path / "worker", cpu_seconds=2.5, memory=200),
    ]
    node = group(tmp_path / "partya", cpu_seconds=9, memory=900)
    rows = list(sampling.read({"locust": generators, "PartyA": [node]}))
    assert [(name, cpu, memory) for name, _, cpu, memory in rows] == [
        ("locust", 4.0, 300),
        ("PartyA", 9.0, 900),
    ]
    assert len({at for _, at, *_ in rows}) == 1, "one time for all, so that they can be added up"


def test_a_container_that_has_ended_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    watched = {
        "locust": [group(tmp_path / "driver", cpu_seconds=1, memory=100)],
        "PartyA": [group(tmp_path / "partya", cpu_seconds=9, memory=900)],
    }
    (tmp_path / "driver" / "cpu.stat").unlink()
    assert [name for name, *_ in sampling.read(watched)] == ["PartyA"]


def test_samples_are_taken_until_the_end_of_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_SECONDS", 0.02)
    meter = group(tmp_path / "partya", cpu_seconds=9, memory=900)
    with sampling.sampling() as sampler:
        assert sampler.samples().height == 0, "none before the start"
        sampler.start({"PartyA": [meter]})
        sampler.wait_until(time.time() + 0.5)
        found = sampler.samples()
    assert found.height > 2
    assert found.schema == SAMPLES_SCHEMA
    assert (found["time"].diff().drop_nulls() > 0).all()
    assert all(thread.name != sampling.THREAD for thread in threading.enumerate())


def test_the_number_of_samples_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(sampling, "SAMPLES_MAX", 10)
    meter = group(tmp_path / "partya", cpu_seconds=9, memory=900)
    with sampling.sampling() as sampler:
        sampler.start({"PartyA": [meter], "PartyB": [meter]})
        sampler.wait_until(time.time() + 0.5)
        assert sampler.samples().height == 10


def test_a_sampler_that_was_not_started_has_no_samples() -> None:
    with sampling.sampling() as sampler:
        pass
    assert sampler.samples().height == 0
