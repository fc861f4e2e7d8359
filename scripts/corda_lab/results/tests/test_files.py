"""What a run keeps of its steps."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab import __version__
from corda_lab.errors import LabError
from corda_lab.results import folders
from corda_lab.results.files import Measured, command_line, read_step, write_tables
from corda_lab.steps.entry import StepEntry
from support.runs import ENVIRONMENT


def measured(index: int, stage_rows: pl.DataFrame | None) -> Measured:
    needed: dict[str, Any] = {"index": index}
    step = StepEntry.model_construct(**needed)
    rows = pl.DataFrame({"client_id": ["a"]})
    return Measured(step, rows, rows, stage_rows, ENVIRONMENT, "iou", "")


def test_steps_of_different_workloads_have_different_stages(tmp_path: Path) -> None:
    first = pl.DataFrame({"client_id": ["a"], "collect_signatures_ms": [1.5]})
    second = pl.DataFrame({"client_id": ["b"], "select_ms": [2.5], "notarise_ms": [None]})
    write_tables(tmp_path, [measured(1, first), measured(2, None), measured(3, second)])
    assert {path.stem for path in tmp_path.iterdir()} == {"requests", "metrics", "stages"}
    assert pl.read_parquet(tmp_path / "stages.parquet").to_dicts() == [
        {"step": 1, "client_id": "a", "collect_signatures_ms": 1.5, "select_ms": None, "notarise_ms": None},
        {"step": 3, "client_id": "b", "collect_signatures_ms": None, "select_ms": 2.5, "notarise_ms": None},
    ]


def test_the_manifest_names_the_version_that_wrote_it(stored_run: Callable[..., Path]) -> None:
    assert folders.read_json(stored_run() / "run.json")["lab_version"] == __version__


def test_a_damaged_table_of_a_step_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "workload.json").write_text('{"name": "iou", "text": ""}', encoding="utf-8")
    (tmp_path / "requests.parquet").write_bytes(b"PAR1")
    with pytest.raises(LabError, match="its tables cannot be read"):
        read_step(tmp_path)


def test_the_command_can_be_typed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "run", "iou", "--users", "40", "--name", "it's mine"])
    assert shlex.split(command_line()) == ["scripts/lab", "run", "iou", "--users", "40", "--name", "it's mine"]
