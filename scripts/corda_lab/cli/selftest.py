"""The verbs that test the lab itself: ``test`` and ``selfcheck``."""

from typing import Annotated

import typer

from corda_lab.cli.options import ImagesOption, forced_images
from corda_lab.lab.settings import load_settings
from corda_lab.selftest.parts import EVERY_TIME, UNIT, LongSuite, SuitePart


def run_tests(
    part: Annotated[list[SuitePart] | None, typer.Option(help="Run only this part. Repeatable.")] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Run only the parts that need no running lab.")] = False,
    e2e: Annotated[bool, typer.Option("--e2e", help="Run only the end-to-end tests, on a separate lab.")] = False,
    suite: Annotated[
        list[LongSuite] | None,
        typer.Option(
            help="Run only this long suite. slow: end-to-end tests that take minutes each. matrix: every version of "
            "Corda on every database, an hour. swarm: the lab on three engines of this machine; needs root on Linux. "
            "Repeatable."
        ),
    ] = None,
    images: ImagesOption = None,
) -> None:
    """Run formatters, linters, unit tests and end-to-end tests. The last line is `N passed, N failed`.

    Example: `scripts/lab test --unit`

    One of the long suites: `scripts/lab test --suite slow`
    """
    from corda_lab.selftest import suite as selftest_suite
    from corda_lab.selftest import swarm
    from corda_lab.selftest.suite import Totals

    parts = [*(part or ()), *(UNIT if unit else ()), *([SuitePart.END_TO_END] if e2e else [])]
    chosen: list[SuitePart | LongSuite] = [*parts, *(suite or ())]
    totals = Totals()
    if others := [one for one in chosen or EVERY_TIME if one is not LongSuite.SWARM]:
        selftest_suite.run(totals, load_settings(), others, forced_images(images))
    if LongSuite.SWARM in chosen:
        swarm.run(totals, forced_images(images))
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
