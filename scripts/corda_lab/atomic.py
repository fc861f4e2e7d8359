"""Atomic writes: a file or folder is written under a temporary name beside its final place, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL = ".partial-"
"""Name prefix of files and folders that are still being written."""


@contextmanager
def whole_file(final: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """Yield a file to write. It replaces ``final`` if the block succeeds; otherwise ``final`` stays unchanged."""
    final.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{PARTIAL}{final.name}-", dir=final.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(mode)
        sync(partial)
        partial.replace(final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_text(final: Path, text: str) -> None:
    """Replace the text file ``final`` atomically."""
    with whole_file(final) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """Yield a folder to fill. It becomes ``final`` if the block succeeds and is deleted otherwise.

    All files are synced to disk before the rename, so a power cut leaves either the whole folder or none.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{final.name}-", dir=final.parent))
    try:
        yield partial
        partial.chmod(0o755)
        for path in [*partial.rglob("*"), partial]:
            sync(path)
        partial.rename(final)
        sync(final.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
