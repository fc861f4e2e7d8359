"""The verbs that test the lab itself: ``test`` and ``bench``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import ImagesOption, forced_images, load_options, takes
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT
from corda_lab.selftest.parts import EVERY_TIME, UNIT, SuitePart
from corda_lab.steps.load import LOAD_OPTIONS, LoadOption, LoadOptions

BENCH_TIMES = (replace(LOAD_OPTIONS["duration"], default=30.0), replace(LOAD_OPTIONS["warm_up"], default=10.0))
"""Load options of the benches. Their measurements are shorter than those of ``run``."""
OVERLOAD_TIMES = (replace(LOAD_OPTIONS["duration"], default=30.0), replace(LOAD_OPTIONS["warm_up"], default=35.0))
"""Load options of ``bench overload``. Its warm-up is longer than a caller waits, so that the window is steady."""


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


@locks_lab
@takes(BENCH_TIMES)
def bridge(
    *,
    workload: Annotated[str, typer.Option(help="Workload with one flow, which both sides run.")] = "iou",
    users: Annotated[str, typer.Option(help="Numbers of flows in flight, separated by commas.")] = "20",
    connections: Annotated[
        str, typer.Option(help="Numbers of RPC connections to each node, separated by commas.")
    ] = "1",
    rounds: Annotated[int, typer.Option(min=1, max=50, help="How often both sides are measured at each place.")] = 3,
    **given: Any,
) -> None:
    """Compare Locust and the bridge with a direct RPC client, in alternating pairs with equally many flows in flight.

    Prints throughput, latency, CPU time and what limits the lab, for every number of flows in flight and of RPC
    connections, and stores them in `results/bench/`. Before another number of connections, only the bridge is
    started again.

    Example: `scripts/lab bench bridge --workload empty --users 1,20,100,800 --connections 1,4`
    """
    from corda_lab.bench.bridge import command
    from corda_lab.bench.peers.command import read_users

    loads, counts = read_users(users), command.read_connections(connections)
    command.run(_bench_options(workload, BENCH_TIMES, given), loads, counts, load_settings(), rounds=rounds)


@locks_lab
@takes(OVERLOAD_TIMES)
def overload(
    *,
    workload: Annotated[str, typer.Option(help="Workload to offer.")] = "iou",
    limits: Annotated[
        str | None,
        typer.Option(
            help="Limits of outstanding flows at the bridge, or none, separated by commas. "
            "Default: that of the running bridge, and none."
        ),
    ] = None,
    levels: Annotated[
        str, typer.Option(help="Numbers of outstanding flows among which the knee is searched, separated by commas.")
    ] = "1,2,5,10,20,50,100,200",
    time_limit: Annotated[
        int, typer.Option(min=1, max=300, help="How long a caller waits for its flow, in seconds.")
    ] = 30,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="How often everything is measured.")] = 1,
    **given: Any,
) -> None:
    """Find the knee, then offer 2, 4 and 8 times the peak, with the bridge's limit of outstanding flows and without.

    Prints goodput (flows that complete within the time limit of their callers), latency and rejected starts, and
    stores them in `results/bench/`. Without a limit, the flows that are too many drain for several minutes.

    Example: `scripts/lab bench overload --workload iou --limits 50,200,none`
    """
    from corda_lab.bench.overload import command
    from corda_lab.bench.peers.command import read_users

    asked = command.Overload(
        options=_bench_options(workload, OVERLOAD_TIMES, given),
        levels=read_users(levels, option="--levels"),
        limits=None if limits is None else command.read_limits(limits),
        time_limit_seconds=time_limit,
        rounds=rounds,
    )
    command.run(asked, load_settings())


def _bench_options(workload: str, times: Sequence[LoadOption], given: Mapping[str, Any]) -> LoadOptions:
    """Return the load of a bench, whose measurements are shorter than those of ``run``. Raises LabError."""
    defaults = {option.name: option.default for option in times}
    return load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})


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
    asked = _bench_options(workload, BENCH_TIMES, given)
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
