"""The files of the project, for tests that read all of them."""

import os
from collections.abc import Iterator
from pathlib import Path

from corda_lab.paths import ROOT

SKIPPED_FOLDERS = {".git", ".venv", ".cache", "target", "node_modules", "__pycache__"}


def sources() -> Iterator[Path]:
    """Yield the files of the project, relative to its root. Files that tools have generated are left out."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.endswith("_cache"))
        if Path(folder) == ROOT and "results" in folders:
            folders.remove("results")
        for name in sorted(files):
            yield (Path(folder) / name).relative_to(ROOT)
