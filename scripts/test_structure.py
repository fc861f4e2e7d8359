"""Code stays small enough to be read: how long functions and modules may be, and which ones are longer for a reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

from corda_lab.paths import ROOT
from corda_lab.selftest.suite import sources

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 400

LONG_FUNCTIONS: dict[str, str] = {}
LONG_MODULES = {
    "scripts/corda_lab/steps/entry.py": "the form of steps.json, which is looked up as a whole",
    "scripts/corda_lab/testing/sweeps.py": "one simulated sweep, from its rows to its folder",
    "scripts/corda_lab/sweeps/tests/test_store.py": "one sweep, interrupted at every place",
}
"""What may be longer, and why. What is short again has to leave the list."""


def python_files() -> list[Path]:
    return [path for path in sources() if path.suffix == ".py"]


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{path.as_posix()} {node.name}"


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    assert {name for path in python_files() for name in long_functions(path)} == LONG_FUNCTIONS.keys()


def test_no_module_is_longer_than_its_subject_needs() -> None:
    found = {
        path.as_posix()
        for path in python_files()
        if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > MODULE_LINES_MAX
    }
    assert found == LONG_MODULES.keys()
