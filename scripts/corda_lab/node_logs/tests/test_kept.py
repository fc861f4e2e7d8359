"""The logs that are kept with a failed load: bounded, compressed if large, and stored with a run or a sweep."""

import gzip
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.node_logs import model
from corda_lab.node_logs.model import BoundedText, ErrorKind, KeptLog, KeptLogs, LogEntry

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


@pytest.mark.parametrize(("count", "is_short"), [(3, True), (1000, False)])
def test_of_a_long_text_the_beginning_and_the_end_are_kept(count: int, is_short: bool) -> None:
    text = BoundedText(bytes_max=100)
    for number in range(count):
        text.add(f"line {number:03}")
    lines = text.content().decode().splitlines()
    assert (lines[0], lines[-1]) == ("line 000", f"line {count - 1:03}")
    assert (f"… {text.left_out} lines are left out here …" in lines) == (not is_short)
    assert text.left_out == count - len(lines) + (not is_short)
    assert sum(len(line) + 1 for line in lines) <= 100 + 50


def test_a_large_log_is_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = LogEntry(("a line", "ä second"))
    assert model.keep_log(tmp_path, "PartyA", []) is None
    assert model.keep_log(tmp_path, "PartyA", [entry]) == KeptLog(node="PartyA", file="PartyA.log", entries=1)
    assert (tmp_path / "PartyA.log").read_text(encoding="utf-8") == "a line\nä second\n"
    monkeypatch.setattr(model, "PLAIN_BYTES_MAX", 3)
    assert model.keep_log(tmp_path, "PartyB", [entry]) == KeptLog(node="PartyB", file="PartyB.log.gz", entries=1)
    assert gzip.decompress((tmp_path / "PartyB.log.gz").read_bytes()).decode() == "a line\nä second\n"


def test_the_index_is_read_again_and_a_damaged_one_is_one_error(tmp_path: Path) -> None:
    assert model.read_index(tmp_path) is None
    model.write_index(tmp_path, KEPT)
    assert model.read_index(tmp_path) == KEPT
    (tmp_path / model.INDEX).write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match=r"logs\.json: why: Field required"):
        model.read_index(tmp_path)


def test_a_run_has_the_logs_of_each_step(tmp_path: Path) -> None:
    assert list(model.of_run(tmp_path)) == []
    for step in ("0012-users-8_r1", "0002-users-2_r1"):
        model.write_index(tmp_path / "steps" / step / "logs", KEPT)
    kept = [(step, path.parent.name) for step, path, _ in model.of_run(tmp_path)]
    assert kept == [(2, "0002-users-2_r1"), (12, "0012-users-8_r1")]
