"""The verbs that test the lab itself: ``test`` and ``selfcheck``."""

from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, forced_images
from corda_lab.lab.settings import load_settings
from corda_lab.selftest.parts import EVERY_TIME, UNIT, SuitePart


def run_tests(
    part: Annotated[list[SuitePart] | None, typer.Option(help="Run only this part. Repeatable.")] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Run only the parts that need no running lab.")] = False,
    e2e: Annotated[bool, typer.Option("--e2e", help="Run only the end-to-end tests, on a separate lab.")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also run the slow end-to-end tests (minutes each).")] = False,
    matrix: Annotated[
        bool,
        typer.Option("--matrix", help="Instead test every version of Corda with every database. Takes an hour."),
    ] = False,
    images: ImagesOption = None,
) -> None:
    """Run formatters, linters, unit tests and end-to-end tests. The last line is `N passed, N failed`.

    Example: `scripts/lab test --unit`
    """
    from corda_lab.selftest import suite

    if matrix:
        totals = suite.run_matrix(forced_images(images))
        print(totals.closing_line, flush=True)
        if totals.failed:
            raise typer.Exit(1)
        return
    chosen = [*(part or ()), *(UNIT if unit else ()), *([SuitePart.END_TO_END] if e2e else [])] or EVERY_TIME
    totals = suite.run(load_settings(), [*chosen, *([SuitePart.SLOW] if slow else [])], forced_images(images))
    print(totals.closing_line, flush=True)
    if totals.failed or not totals.passed:
        raise typer.Exit(1)


def selfcheck() -> None:
    """Measure systems whose truth is known with the whole pipeline, and check that broken copies of it are caught.

    The nodes are stubs behind the real bridge. Needs no running lab, and touches none. Takes about four minutes.

    Example: `scripts/lab selfcheck`
    """
    from corda_lab.lab import project
    from corda_lab.selfcheck import command

    project.settle()
    if not command.run():
        raise typer.Exit(1)
