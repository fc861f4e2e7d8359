"""The verb ``chaos``: loads with faults, each followed by an audit of the ledgers."""

from typing import Annotated

import typer

from corda_lab.chaos import command
from corda_lab.cli.options import load_options
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings

TRIALS_MAX = 1000
FAULTS_MAX = 20
USERS = 8
PACING_SECONDS = 0.25
"""Time between two starts of a user. Without it, the users would fail thousands of times while a node is away."""


@locks_lab
def chaos(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Make the faults of this run again, under the same load.")
    ] = None,
    *,
    trials: Annotated[
        int, typer.Option(min=1, max=TRIALS_MAX, help="Number of loads, each with faults and an audit of its own.")
    ] = 1,
    faults: Annotated[int, typer.Option(min=1, max=FAULTS_MAX, help="Faults in each load, one after the other.")] = 4,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of the first trial, of which its faults are drawn; then one more each.")
    ] = 1,
    workload: Annotated[str, typer.Option(help="Workload of the load.")] = "iou",
    kinds: Annotated[
        str, typer.Option(help="Only these faults, separated by commas: kill,pause,partition. Default: all.")
    ] = "",
    targets: Annotated[
        str, typer.Option(help="Only at these parts, separated by commas: notary,partya,bridge. Default: all.")
    ] = "",
) -> None:
    """Kill, freeze, restart and cut off parts of the lab under load, and prove from the ledgers that nothing was lost.

    Each trial is a run with faults that its seed draws: kill, pause, restart, partition, slow-link, reset-link,
    full-disk and memory-limit, on nodes, PostgreSQL, bridge, load generator and Prometheus. Then all is healed, and
    every ledger is audited. Links can be slowed and reset if the lab has some (`lab up --link`). The verdict of a trial
    is chaos.json in the folder of its run.

    Exit status 1 if a trial fails: something lost, doubled or made from nothing, or a flow that nobody can explain.

    Example: `scripts/lab chaos --trials 10 --seed 100`

    Only kills of the notary: `scripts/lab chaos --kinds kill --targets notary`

    The same again: `scripts/lab chaos 20260102T030405Z-chaos`
    """
    if run is not None:
        passed = command.replay(run, load_settings())
    else:
        options = load_options(workload, {"users": USERS, "seed": seed, "pacing": PACING_SECONDS})
        passed = command.make(options, load_settings(), trials=trials, faults=faults, kinds=kinds, targets=targets)
    if not passed:
        raise typer.Exit(1)
