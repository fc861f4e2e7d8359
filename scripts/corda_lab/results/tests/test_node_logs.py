"""The logs that are kept with a failed load: bounded, compressed if large, and stored with a run or a sweep."""

import gzip
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import node_logs
from corda_lab.results.node_logs import BoundedText, ErrorKind, KeptLog, KeptLogs

KIND = ErrorKind(
    level="WARN", logger="a.B", message="m …", exception=None, count=2, first_at=1.0, last_at=2.5, example="m 7"
)
KEPT = KeptLogs(
    why="2 of 20 requests failed",
    since=1.0,
    until=9.0,
    logs=[KeptLog(node="PartyA", file="PartyA.log", entries=3, errors=[KIND])],
    missing={"PartyB": "its log cannot be read (gone)"},
)


def lines_of(text: BoundedText) -> list[str]:
    return text.content().decode().splitlines()


def test_a_short_text_is_kept_as_it_is() -> None:
    text = BoundedText(bytes_max=100)
    for line in ("one", "zwei ä"):
        text.add(line)
    assert (lines_of(text), text.left_out) == (["one", "zwei ä"], 0)


def test_of_a_long_text_the_beginning_and_the_end_are_kept() -> None:
    text = BoundedText(bytes_max=100)
    for number in range(1000):
        text.add(f"line {number:03}")
    lines = lines_of(text)
    assert (lines[0], lines[-1]) == ("line 000", "line 999")
    assert f"… {text.left_out} lines are left out here …" in lines
    assert text.left_out == 1000 - (len(lines) - 1)
    assert sum(len(line) + 1 for line in lines) <= 100 + 50


def test_a_large_log_is_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = BoundedText()
    text.add("a line")
    assert node_logs.write_log(tmp_path / "logs", "PartyA", text) == "PartyA.log"
    assert (tmp_path / "logs/PartyA.log").read_text(encoding="utf-8") == "a line\n"
    monkeypatch.setattr(node_logs, "PLAIN_BYTES_MAX", 3)
    assert node_logs.write_log(tmp_path / "logs", "PartyB", text) == "PartyB.log.gz"
    assert gzip.decompress((tmp_path / "logs/PartyB.log.gz").read_bytes()) == b"a line\n"


def test_the_index_is_read_again_and_a_damaged_one_is_one_error(tmp_path: Path) -> None:
    assert node_logs.read_index(tmp_path) is None
    node_logs.write_index(tmp_path, KEPT)
    assert node_logs.read_index(tmp_path) == KEPT
    (tmp_path / node_logs.INDEX).write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match=r"logs\.json: why: Field required"):
        node_logs.read_index(tmp_path)


def test_a_run_has_the_logs_of_each_step(tmp_path: Path) -> None:
    assert list(node_logs.of_run(tmp_path)) == []
    for step in ("0012-users-8_r1", "0002-users-2_r1"):
        node_logs.write_index(tmp_path / "steps" / step / "logs", KEPT)
    assert [(step, path.parent.name) for step, path, _ in node_logs.of_run(tmp_path)] == [
        (2, "0002-users-2_r1"),
        (12, "0012-users-8_r1"),
    ]
