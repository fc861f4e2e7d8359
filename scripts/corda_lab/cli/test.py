"""The verb that runs the checks and tests of the project itself."""

import importlib
import sys
from enum import StrEnum
from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, forced_images
from corda_lab.paths import ROOT


class Part(StrEnum):
    """What ``--part`` accepts: the parts of tests/runner.py."""

    LINT = "lint"
    UNIT = "unit"
    JAVA = "java"
    PIPELINE = "pipeline"
    E2E = "e2e"


class Suite(StrEnum):
    """What ``--suite`` accepts: what tests/runner.py does not run every time."""

    NIGHTLY = "nightly"
    SWARM = "swarm"


def run_tests(
    part: Annotated[list[Part] | None, typer.Option(help="Run only this part. Repeatable.")] = None,
    suite: Annotated[
        list[Suite] | None,
        typer.Option(
            help="Run only this suite. nightly: what takes too long to run every time. swarm: the lab on three "
            "engines of this machine; needs root on Linux. Repeatable."
        ),
    ] = None,
    images: ImagesOption = None,
) -> None:
    """Run the checks and tests of the lab itself. The last line is `N passed, N failed`.

    Example: `scripts/lab test --part lint --part unit`
    """
    sys.path.insert(0, str(ROOT / "tests"))
    runner = importlib.import_module("runner")
    if not runner.run(part or (), suite or (), forced_images(images)):
        raise typer.Exit(1)
