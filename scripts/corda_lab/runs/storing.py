"""Stores a run of one step: a folder of ``results/`` with its values, tables and report, complete or not there."""

from pathlib import Path

from corda_lab.report import page
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Manifest


def store(manifest: Manifest, measured: Measured, *, results: Path | None = None) -> Path:
    """Write the folder of a run, and return it. Raises LabError if the disk does not take it."""
    parent = results or folders.unfinished_folder().parent
    try:
        with folders.new_run(manifest.id, results=parent) as folder:
            files.write_run(folder, manifest, [measured])
            page.render(folder)
    except OSError as error:
        raise folders.unwritable(parent / manifest.id, error) from None
    return parent / manifest.id
