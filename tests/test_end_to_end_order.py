"""The end-to-end tests run lab by lab, and each module names its own; held without a lab, by collecting them only."""

import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from corda_lab.paths import ROOT
from support.commands import PYTHONPATH

FOLDER = ROOT / "tests" / "e2e"


def collect(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """What pytest would run of a folder of end-to-end tests, one name a line."""
    settings = ("-c", str(ROOT / "pyproject.toml"))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settings, str(folder), "--collect-only", "--quiet", *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": PYTHONPATH, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def modules(listed: str) -> list[str]:
    """The modules of the collected tests in their order, a module once for each time that its turn comes."""
    return [name for name, _ in groupby(re.findall(r"(test_\w+)\.py::", listed))]


def test_the_tests_of_a_lab_run_together() -> None:
    done = collect(FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    order = modules(done.stdout)
    assert sorted(order) == sorted(path.stem for path in FOLDER.glob("test_*.py")), "every module has one turn"
    changing = [
        *("test_finance", "test_shapes", "test_more_parties", "test_restarts", "test_own_image"),
        *("test_reproduce", "test_sweep"),
    ]
    assert order[-len(changing) :] == changing


def test_what_takes_long_is_left_out_by_its_marker() -> None:
    done = collect(FOLDER, "-m", "not nightly")
    assert done.returncode == 0, done.stdout + done.stderr
    kept = modules(done.stdout)
    assert {"test_run", "test_sweep"} <= set(kept)
    assert not {"test_shapes", "test_finance", "test_own_cordapp", "test_restarts"} & set(kept)


def test_a_module_that_names_no_lab_is_refused(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "conftest.py", tmp_path)
    (tmp_path / "test_new.py").write_text("def test_new() -> None: ...\n", encoding="utf-8")
    done = collect(tmp_path)
    assert done.returncode == 4
    assert "test_new.py::test_new: mark its module with pytest.mark.lab and one of none, standard" in done.stderr
