"""The row file: no row is torn but perhaps the last, and there is an end only when all is written."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab_load.row_writer import RowsError, RowWriter, end_path, rows_path, write_whole


def written(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in rows_path(folder, "run").read_text().splitlines()]


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """A disk that is full after ``size_bytes``, as far as this process can tell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_are_in_the_file_after_a_flush(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path, "run")
    writer.append({"request_id": 1, "error": "é\n"})
    writer.append({"request_id": 2})
    assert written(tmp_path) == []

    writer.flush()

    assert written(tmp_path) == [{"request_id": 1, "error": "é\n"}, {"request_id": 2}]
    writer.close()


def test_a_file_that_is_written_whole_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_whole(end_path(tmp_path, "run"), {"requests": 1})

    assert json.loads(end_path(tmp_path, "run").read_text()) == {"requests": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.end.json"]


def test_a_full_disk_leaves_whole_rows_and_no_end(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path, "run")
    writer.append({"request_id": 1})
    writer.flush()
    writer.append({"request_id": 2, "error": "x" * 1000})

    with file_size_limit(500), pytest.raises(RowsError, match=r"cannot write rows to .*/run.ndjson: File too large"):
        writer.flush()
    with pytest.raises(RowsError, match="File too large"):
        writer.close()

    assert written(tmp_path) == [{"request_id": 1}]
    assert not end_path(tmp_path, "run").exists()


def test_a_run_id_is_used_once(tmp_path: Path) -> None:
    RowWriter(tmp_path, "run").close()

    with pytest.raises(RowsError, match="run id 'run' is already used"):
        RowWriter(tmp_path, "run")


def test_a_killed_process_leaves_every_row_that_it_wrote(tmp_path: Path) -> None:
    program = """
import sys, pathlib
from lab_load.row_writer import RowWriter
writer = RowWriter(pathlib.Path(sys.argv[1]), "run")
number = 0
while True:
    number += 1
    writer.append({"request_id": number, "text": "x" * (number % 5000)})
    if number % 7 == 0:
        writer.flush()
    if number == 1000:
        print("ready", flush=True)
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)

    content = rows_path(tmp_path, "run").read_bytes()
    # The kernel may stop a write between two pages, so what follows the last line break is no row.
    rows = [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    assert len(rows) >= 994
    assert [row["request_id"] for row in rows] == list(range(1, len(rows) + 1))
