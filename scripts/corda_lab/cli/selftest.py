"""The verbs that test the lab itself: ``test`` and ``bench``."""

from dataclasses import replace
from enum import StrEnum
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
"""Load options of ``bench bridge`` and ``bench overhead``. Their measurements are shorter than those of ``run``."""

REPEATS_OPTIONS = tuple(
    replace(option, default=10.0) if name == "warm_up" else option
    for name, option in LOAD_OPTIONS.items()
    if name != "name"
)
"""Load options of ``bench repeats``: those of ``run``, except the name. The nodes are warm before the first repeat."""

KILLS_OPTIONS = (
    replace(LOAD_OPTIONS["users"], default=8),
    replace(LOAD_OPTIONS["duration"], default=15.0),
    replace(LOAD_OPTIONS["warm_up"], default=2.0),
    LOAD_OPTIONS["seed"],
)
"""Load options of ``bench kills``. A trial is short, so that many moments of a load are tried."""


class KillTarget(StrEnum):
    """What ``bench kills`` kills."""

    BRIDGE = "bridge"
    GENERATOR = "generator"


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
    from corda_lab.bench import parts

    defaults = {option.name: option.default for option in BENCH_OPTIONS}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    parts.bridge(asked, load_settings(), rounds=rounds)


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


@locks_lab
@takes(REPEATS_OPTIONS)
def repeats(
    *,
    repeats: Annotated[int, typer.Option(min=3, max=100, help="How often the load is measured.")] = 10,
    workload: Annotated[str, typer.Option(help="Workload that is repeated.")] = "iou",
    **given: Any,
) -> None:
    """Repeat one load on one start of the lab, and show how much its values vary and how many repeats that takes.

    The first load lasts until throughput is steady, and does not count. Prints the coefficients of variation of
    throughput, p50 and p99 with intervals, the trend over the repeats, and how many repeats show differences of 1, 2, 5
    and 10 %. Every repeat is a run of its own; their values are also stored in `results/bench/`.

    Example: `scripts/lab bench repeats --users 20 --repeats 10`
    """
    from corda_lab.bench.repeats import command

    defaults = {option.name: option.default for option in REPEATS_OPTIONS}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    command.run(asked, load_settings(), repeats=repeats)


@locks_lab
@takes(KILLS_OPTIONS)
def kills(
    *,
    trials: Annotated[int, typer.Option(min=1, max=1000, help="How often each target is killed.")] = 20,
    target: Annotated[
        list[KillTarget] | None, typer.Option(help="Kill only this. Repeatable. Default: both, in turns.")
    ] = None,
    workload: Annotated[str, typer.Option(help="Workload with one flow that only adds states.")] = "iou",
    **given: Any,
) -> None:
    """Kill the bridge and the load generator at random moments of loads, and check that every flow is accounted for.

    After each load, every acknowledged flow must be on the ledger once, every unknown outcome must be what the ledger
    says, and the run must have its report. Prints a line for each trial, and stores all in `results/bench/`. Trial n
    has the seed SEED + n - 1; a trial is repeated with `--trials 1`, its target and its seed. Exit status 1 if one
    fails.

    Example: `scripts/lab bench kills --trials 3 --seed 100`
    """
    from corda_lab.bench.kills import command
    from corda_lab.bench.kills.model import TARGETS

    defaults = {option.name: option.default for option in KILLS_OPTIONS}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    chosen = [one for one in TARGETS if not target or one in {each.value for each in target}]
    if not command.run(asked, chosen, load_settings(), trials=trials):
        raise typer.Exit(1)


@takes(BENCH_OPTIONS)
@locks_lab
def overhead(
    *,
    blocks: Annotated[int, typer.Option(min=1, max=50, help="Blocks of on-off-off-on for each part.")] = 5,
    workload: Annotated[str, typer.Option(help="Workload during which the parts are switched.")] = "iou",
    only: Annotated[
        str | None,
        typer.Option(help="Only these of recording, monitoring, stages, everything; separated by commas."),
    ] = None,
    **given: Any,
) -> None:
    """Measure what recording, monitoring and stage timing cost in throughput, each and all together.

    Each is switched on and off without a restart of the nodes, in blocks of on-off-off-on. At the end, everything is on
    again. Prints the ratio of throughput on to off and the smallest loss that could be seen, and stores every
    measurement in `results/bench/`.

    Example: `scripts/lab bench overhead --blocks 5 --duration 60s`
    """
    from corda_lab.bench.overhead import command

    subjects = command.read_subjects(only)
    defaults = {option.name: option.default for option in BENCH_OPTIONS}
    asked = load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})
    command.run(asked, load_settings(), blocks=blocks, subjects=subjects)


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
    from corda_lab.bench import parts

    parts.stages(load_settings())
