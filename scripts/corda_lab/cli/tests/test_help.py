"""``--help`` answers at once: what only the work needs is not imported for it."""

import os
import subprocess
import sys

import pytest

from corda_lab.cli.app import app
from support.commands import PYTHONPATH, verbs

LARGE = {"httpx", "jinja2", "matplotlib", "numpy", "plotly", "polars", "scipy"}
PROGRAM = f"""
import runpy, sys
sys.argv[0] = "lab"
try:
    runpy.run_module("corda_lab", run_name="__main__")
finally:
    print(*sorted({LARGE} & sys.modules.keys()), file=sys.stderr)
"""


@pytest.mark.parametrize("verb", ["", *verbs(app)])
def test_help_imports_no_large_library(verb: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *verb.split(), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "\n")
    assert "Usage: scripts/lab" in done.stdout
