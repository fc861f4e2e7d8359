"""The verbs ``lab bench``: they measure the lab itself."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import load_options, takes
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import RESULTS
from corda_lab.steps.load import COUNTED_OPTIONS, LOAD_OPTIONS, LoadOption, LoadOptions

TIMES = (replace(LOAD_OPTIONS["duration"], default=30.0), replace(LOAD_OPTIONS["warm_up"], default=10.0))
"""Load options of most benches. Their measurements are shorter than those of ``run``."""

OVERLOAD_OPTIONS = (replace(LOAD_OPTIONS["duration"], default=30.0), replace(LOAD_OPTIONS["warm_up"], default=35.0))
"""Load options of ``bench overload``. Its warm-up is longer than a caller waits, so that the window is steady."""

OVERHEAD_OPTIONS = (LOAD_OPTIONS["users"], *TIMES)

REPEATS_OPTIONS = tuple(
    replace(option, default=10.0) if name == "warm_up" else option
    for name, option in LOAD_OPTIONS.items()
    if name != "name" and option not in COUNTED_OPTIONS
)
"""Load options of ``bench repeats``: those of ``run``, except the name. Its loads end after a time. The nodes are warm
before the first repeat."""

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


def settings_here() -> Settings:
    """Return the settings. Raises LabError if a stack is up: a bench measures the lab on this machine."""
    from corda_lab.runs.running import machine_only

    settings = load_settings()
    machine_only(settings)
    return settings


def load_of(workload: str, options: Iterable[LoadOption], given: Mapping[str, Any]) -> LoadOptions:
    """Return the load of a bench: what was given, otherwise the defaults of its options. Raises LabError.

    Options of one model of load only keep the default that ``LoadOptions`` has: given, they are refused for the other.
    """
    defaults = {option.name: option.default for option in options if option.model is None}
    return load_options(workload, defaults | {name: value for name, value in given.items() if value is not None})


@locks_lab
@takes(TIMES)
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
    from corda_lab.bench.job import read_users
    from corda_lab.bench.peers import command

    loads = read_users(users)
    asked = load_of(workload, TIMES, given)
    command.run(asked, loads, settings_here(), rounds=rounds)


@locks_lab
@takes(TIMES)
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
    from corda_lab.bench.job import read_users

    loads, counts = read_users(users), command.read_connections(connections)
    command.run(load_of(workload, TIMES, given), loads, counts, settings_here(), rounds=rounds)


@takes(OVERHEAD_OPTIONS)
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
    asked = load_of(workload, OVERHEAD_OPTIONS, given)
    command.run(asked, settings_here(), blocks=blocks, subjects=subjects)


@locks_lab
@takes(OVERLOAD_OPTIONS)
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
    from corda_lab.bench.job import read_users
    from corda_lab.bench.overload import command

    asked = command.Overload(
        options=load_of(workload, OVERLOAD_OPTIONS, given),
        levels=read_users(levels, option="--levels"),
        limits=None if limits is None else command.read_limits(limits),
        time_limit_seconds=time_limit,
        rounds=rounds,
    )
    command.run(asked, settings_here())


@locks_lab
def stages() -> None:
    """Measure how much the timing of stages slows a flow. Needs the images, but no running lab.

    Example: `scripts/lab bench stages`
    """
    from corda_lab.bench import stages as stage_timing

    stage_timing.measure(settings_here())


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

    asked = load_of(workload, REPEATS_OPTIONS, given)
    command.run(asked, settings_here(), repeats=repeats)


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
    from corda_lab.bench.kills.measurement import TARGETS

    asked = load_of(workload, KILLS_OPTIONS, given)
    chosen = [one for one in TARGETS if not target or one in {each.value for each in target}]
    if not command.run(asked, chosen, settings_here(), trials=trials):
        raise typer.Exit(1)


def report(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]…", help="Stored results. Default: all in results/bench/.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The file to write.")] = RESULTS / "bench" / "performance.md",
) -> None:
    """Write the stored results of all benches as a document. Needs no running lab.

    Example: `scripts/lab bench report results/bench/*-peers.json`
    """
    from corda_lab.bench import report as document

    document.write(files or [], output)
