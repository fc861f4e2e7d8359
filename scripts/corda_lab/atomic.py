"""Files and folders that others see whole or not at all: written beside their place, then moved there."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL = ".partial-"
"""How the name of something begins that is still being written."""


@contextmanager
def whole_file(final: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A file to write. It takes the place of ``final`` when the block ends well; otherwise ``final`` stays as it was."""
    final.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{PARTIAL}{final.name}-", dir=final.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(mode)
        _sync(partial)
        partial.replace(final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_text(final: Path, text: str) -> None:
    """Write a text file whole, in place of what was there."""
    with whole_file(final) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """A folder to fill. It becomes ``final`` when the block ends well, and nothing otherwise; a power cut tears nothing."""
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{final.name}-", dir=final.parent))
    try:
        yield partial
        partial.chmod(0o755)
        for path in [*partial.rglob("*"), partial]:
            _sync(path)
        partial.rename(final)
        _sync(final.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _sync(path: Path) -> None:
    """Have the disk hold a file's content, or what a folder lists."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
