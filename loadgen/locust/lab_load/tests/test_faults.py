"""The faults on the metrics page of the generator, which the command line writes to a file."""

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from lab_load.metrics import FaultCollector
from lab_workload.faults import FAULTS_FILE, ShownFault, read_shown, write_shown

KILL = ShownFault(110.0, "kill", "notary")
SLOW = ShownFault(130.5, "slow-link", "partya-partyb")


def samples(rows: Path, now: float) -> list[str]:
    registry = CollectorRegistry()
    registry.register(FaultCollector(rows, lambda: now))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_a_fault_is_shown_until_it_is_over(tmp_path: Path) -> None:
    (tmp_path / FAULTS_FILE).write_text(write_shown([KILL, SLOW]))
    kill = 'lab_fault_info{kind="kill",target="notary"} 1.0'
    slow = 'lab_fault_info{kind="slow-link",target="partya-partyb"} 1.0'
    assert samples(tmp_path, 100) == [kill, slow]
    assert samples(tmp_path, 120) == [slow]
    assert samples(tmp_path, 200) == []


def test_without_the_file_there_is_no_fault(tmp_path: Path) -> None:
    assert samples(tmp_path, 100) == []


def test_a_line_that_is_no_fault_is_left_out() -> None:
    assert list(read_shown("soon kill notary\n110 kill\n" + write_shown([KILL]) + "13")) == [KILL]
