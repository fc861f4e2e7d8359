"""The Typer application: registers the verbs in the order of ``--help``. A new verb is a function and one line here."""

from typing import Annotated

import typer

from corda_lab import __version__
from corda_lab.cli import (
    audit,
    chaos,
    flow,
    heap,
    lab,
    logs,
    profile,
    reproduce,
    results,
    run,
    sweep,
    test,
    top,
    workload,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Benchmark a real Corda network on this machine. To begin: scripts/lab quickstart",
)


def print_version(asked: bool) -> None:
    """Print the version as ``scripts/lab`` does, which answers ``--version`` itself if it is the only argument."""
    if asked:
        print(f"corda-lab {__version__}")
        raise typer.Exit


def agree_to_install(asked: bool) -> None:
    """Agree to changes of the operating system. ``scripts/lab`` does this itself, wherever the option stands."""
    if asked:
        from bare import consent

        consent.give()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    install: Annotated[
        bool,
        typer.Option(
            "--install",
            callback=agree_to_install,
            help="Agree that the lab installs missing packages of the operating system, and starts Docker. "
            "May also follow the verb. The same: LAB_INSTALL=yes.",
        ),
    ] = False,
) -> None:
    """Declare the options that precede the verb."""


workload_app = typer.Typer(no_args_is_help=True, help="Create and check workload files.")
app.add_typer(workload_app, name="workload")

for verb in (run.quickstart, lab.doctor, lab.up, lab.down, lab.status, top.top):
    app.command()(verb)
app.command(cls=run.RunCommand)(run.run)
app.command()(sweep.sweep)
app.command()(run.rerun)
app.command()(workload.flows)
app.command()(reproduce.reproduce)
app.command()(audit.audit)
app.command()(chaos.chaos)
app.command()(profile.profile)
app.command()(heap.heap)
app.command()(flow.flow)
app.command()(logs.logs)
workload_app.command()(workload.new)
workload_app.command()(workload.check)
app.command()(results.report)
app.command()(results.compare)
app.command(name="list")(results.list_runs)
app.command(name="test")(test.run_tests)
