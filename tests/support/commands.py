"""The command line as a test starts it in a separate process: its environment, and all of its verbs."""

import os

import typer

from corda_lab.paths import ROOT

PYTHONPATH = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "loadgen" / "locust")])
"""The value that the launcher sets."""


def verbs(app: typer.Typer) -> list[str]:
    """Return every verb of the command line, in the order of its help: ``run``, ``workload new``."""
    found = []
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        parts = getattr(command, "commands", {})
        found += [f"{name} {part}" for part in parts] if parts else [name]
    return found
