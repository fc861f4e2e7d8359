"""The verb ``lab chaos``: loads with faults, each followed by an audit of the ledgers."""

from pathlib import Path
from typing import Annotated

import typer

from corda_lab.cli.locking import locks_lab
from corda_lab.cli.options import load_options
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import RESULTS
from corda_lab.steps.load import USERS_MAX, LoadOptions
from lab_workload.load import SEED_DEFAULT

TRIALS_MAX = 1000
FAULTS_MAX = 20
USERS = 8
PACING_SECONDS = 0.25
"""Time between two starts of a user. Without it, the users would fail thousands of times while a node is away."""


Kinds = Annotated[str, typer.Option(help="Only these faults, separated by commas: kill,pause,partition. Default: all.")]
Targets = Annotated[
    str, typer.Option(help="Only at these parts, separated by commas: notary,partya,bridge. Default: all.")
]
Files = Annotated[
    list[Path] | None, typer.Argument(metavar="[FILE]…", help="With --report: the results. Default: all stored.")
]
OUTPUT = RESULTS / "chaos" / "reliability.md"


@locks_lab
def replayed(run_name: str) -> None:
    """Make the faults of a run again. Exits with status 1 if the trial fails."""
    from corda_lab.chaos import command

    if not command.replay(run_name, load_settings()):
        raise typer.Exit(1)


@locks_lab
def campaign(options: LoadOptions, trials: int, faults: int, kinds: str, targets: str) -> None:
    """Make the trials of a campaign. Exits with status 1 if one fails."""
    from corda_lab.chaos import command

    if not command.campaign(options, command.Asked(trials, faults, kinds, targets), load_settings()):
        raise typer.Exit(1)


def chaos(
    *,
    trials: Annotated[
        int, typer.Option(min=1, max=TRIALS_MAX, help="Number of loads, each with faults and an audit of its own.")
    ] = 5,
    faults: Annotated[int, typer.Option(min=1, max=FAULTS_MAX, help="Faults in each load, one after the other.")] = 4,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of the first trial, of which its faults are drawn; then one more each.")
    ] = SEED_DEFAULT,
    workload: Annotated[str, typer.Option(help="Workload of the load.")] = "iou",
    users: Annotated[int, typer.Option(min=1, max=USERS_MAX, help="Users; each has one flow in flight.")] = USERS,
    kinds: Kinds = "",
    targets: Targets = "",
    replay: Annotated[
        str | None, typer.Option(metavar="RUN", help="Make the faults of this run again, under the same load.")
    ] = None,
    report: Annotated[
        bool,
        typer.Option("--report", help="Make no trial; write stored results, also of the long suites, as a document."),
    ] = False,
    files: Files = None,
    output: Annotated[Path, typer.Option(help="With --report: the file to write.")] = OUTPUT,
) -> None:
    """Kill, freeze, restart and cut off parts of the lab under load, and prove from the ledgers that nothing was lost.

    Each trial is a load with faults that its seed draws: kill, pause, restart, partition, slow-link, reset-link,
    full-disk and memory-limit, on nodes, PostgreSQL, bridge, load generator and Prometheus. Then all is healed, and
    `lab audit` checks every ledger. Links can be slowed and reset if the lab has some (`lab up --link`). Stores every
    trial in results/chaos/, and a report of every run in results/.

    Exit status 1 if a trial fails: something lost, doubled or made from nothing, or a flow that nobody can explain.

    Example: `scripts/lab chaos --trials 10 --seed 100`

    Only kills of the notary: `scripts/lab chaos --kinds kill --targets notary`

    The same again: `scripts/lab chaos --replay 20260102T030405Z-chaos`

    As a document: `scripts/lab chaos --report docs/reliability/*.json --output docs/reliability.md`
    """
    if report:
        from corda_lab.reliability import document

        document.write(files or [], output)
        return
    if files:
        raise LabError(f"FILE: {files[0]} is only for --report", "Add --report, or leave it out.")
    if replay is not None:
        replayed(replay)
        return
    options = load_options(workload, {"users": users, "seed": seed, "pacing": PACING_SECONDS})
    campaign(options, trials, faults, kinds, targets)
