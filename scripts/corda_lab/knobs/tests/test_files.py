"""``.env`` and the documents say what the declarations of the knobs say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.knobs import files, shape
from corda_lab.paths import ENV_FILE


@pytest.mark.parametrize(("path", "made"), [(ENV_FILE, files.env_text), (files.OPERATIONS, files.docs_text)])
def test_the_files_are_as_declared(path: Path, made: Callable[[str], str]) -> None:
    text = path.read_text(encoding="utf-8")
    assert made(text) == text, f"run: {files.COMMAND}"


def test_a_new_knob_is_added_behind_the_one_before_it() -> None:
    heap = shape.BY_VARIABLE["NODE_HEAP"]
    text = ENV_FILE.read_text(encoding="utf-8")
    before, _, rest = text.partition(f"# {heap.help}")
    _, _, after = rest.partition(f"NODE_HEAP={heap.default}\n")
    assert files.env_text(before + after) == text


def test_an_old_comment_is_replaced_and_a_heading_stays() -> None:
    text = files.env_text("# --- Heading ---\n# What it was for.\nNODE_CORES=4\nOTHER=1\n")
    cores = shape.BY_VARIABLE["NODE_CORES"]
    assert text.startswith(f"# --- Heading ---\n# {cores.help}\nNODE_CORES=0\n")
    assert "\nOTHER=1\n" in text
