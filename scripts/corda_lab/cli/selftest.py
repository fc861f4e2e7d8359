"""The verbs that test the lab itself: ``test`` and ``bench``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import ImagesOption, forced_images, load_options, takes
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT
from corda_lab.selftest.parts import EVERY_TIME, UNIT, SuitePart
from corda_lab.steps.load import LOAD_OPTIONS

BENCH_TIMES = (replace(LOAD_OPTIONS["duration"], default=30.0), replace(LOAD_OPTIONS["warm_up"], default=10.0))
BENCH_OPTIONS = (LOAD_OPTIONS["users"], *BENCH_TIMES)
"""Load options of ``bench bridge``. Its measurements are shorter than those of ``run``."""


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


@takes(BENCH_OPTIONS)
@locks_lab
def bridge(
    *,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Number of pairs. Each pair measures each side once.")] = 3,
    workload: Annotated[str, typer.Option(help="Workload that both sides run.")] = "iou",
    **given: Any,
) -> None:
    """Compare Locust and the bridge with a direct RPC client, in alternating pairs with equally many flows in flight.

    Example: `scripts/lab bench bridge --rounds 5`
    """
    from corda_lab.bench import overhead

    defaults = {option.name: option.default for option in BENCH_OPTIONS}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    overhead.bridge(asked, load_settings(), rounds=rounds)


@locks_lab
@takes(BENCH_TIMES)
def peers(
    *,
    workload: Annotated[str, typer.Option(help="Workload with one flow, which every peer runs.")] = "iou",
    users: Annotated[str, typer.Option(help="Numbers of flows in flight, separated by commas.")] = "1,20,100",
    rounds: Annotated[int, typer.Option(min=1, max=50, help="How often each peer is measured under each load.")] = 5,
    **given: Any,
) -> None:
    """Compare Locust and the bridge with a direct RPC client and with Apache JMeter, in turns on the same nodes.

    Prints throughput, latency, CPU time and memory, and stores them in `results/bench/`. The first time, it builds an
    image with JMeter.

    Example: `scripts/lab bench peers --workload iou --users 1,20 --rounds 5`
    """
    from corda_lab.bench.peers import command

    loads = command.read_users(users)
    defaults = {option.name: option.default for option in BENCH_TIMES}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    command.run(asked, loads, load_settings(), rounds=rounds)


def bench_report(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]…", help="Stored results. Default: all in results/bench/.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The file to write.")] = ROOT / "docs" / "performance.md",
) -> None:
    """Write the stored results of all benches as a document. Needs no running lab.

    Example: `scripts/lab bench report results/bench/*-peers.json`
    """
    from corda_lab.bench import report

    report.write(files or [], output)


def selfcheck() -> None:
    """Measure systems whose truth is known with the whole pipeline, and check that broken copies of it are caught.

    The nodes are stubs behind the real bridge. Needs no running lab, and touches none. Takes about three minutes.

    Example: `scripts/lab selfcheck`
    """
    from corda_lab.lab import project
    from corda_lab.selfcheck import command

    project.settle()
    if not command.run():
        raise typer.Exit(1)


@locks_lab
def stages() -> None:
    """Measure how much the timing of stages slows a flow. Needs the images, but no running lab.

    Example: `scripts/lab bench stages`
    """
    from corda_lab.bench import overhead

    overhead.stages(load_settings())
