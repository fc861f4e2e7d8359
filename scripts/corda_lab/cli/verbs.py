"""The verbs of the command line: one table. A verb's module is imported when the verb or its help is asked for.

A verb can have modes: verbs of two words, such as ``sweep plan``, with options of their own.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from corda_lab import __version__

GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "quickstart": ("measure:quickstart", "Go from nothing to a first report"),
        "doctor": ("start:doctor", "Check this machine, or the hosts of a placement"),
        "up": ("start:up", "Start the lab, in any shape"),
        "down": ("start:down", "Stop the lab; --volumes also deletes its ledgers"),
        "status": ("start:status", "Show services, addresses and alerts; --watch follows them live"),
    },
    "Measure": {
        "run": ("measure:run", "Put a load on the lab, and report what it did"),
        "sweep": ("measure:sweep", "Measure many points from one file"),
        "workload": ("workload:workload", "List flows; create and check workload files"),
        "reproduce": ("measure:reproduce", "Repeat a published figure, and judge what was claimed about it"),
    },
    "Read results": {
        "list": ("listing:list_runs", "List all runs, and what is unfinished"),
        "report": ("results:report", "Write the report of a run again; charts; loads of the web UI"),
        "compare": ("results:compare", "Compare runs, with confidence intervals"),
    },
    "Look deeper": {
        "logs": ("logs:logs", "Print the log of a node"),
        "flow": ("deeper:flow", "Show where the time of one request went"),
        "profile": ("deeper:profile", "Take a flame graph of a node, or count its heap"),
        "audit": ("deeper:audit", "Prove from the ledgers that nothing was lost"),
        "chaos": ("measure:chaos", "Inject faults under load, then audit"),
    },
    "Test the lab": {
        "test": ("deeper:run_tests", "Run the tests of the lab itself"),
    },
}
"""All verbs by name, in the groups and the order of ``--help``: the module in this package with the function that does
its work, and its line in ``--help``."""
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}
MODES: Mapping[str, str] = {
    "sweep plan": "measure:plan",
    "sweep resume": "measure:resume",
    "sweep finish": "measure:finish",
    "workload flows": "workload:flows",
    "workload new": "workload:new",
    "workload check": "workload:check",
    "reproduce list": "measure:list_figures",
    "reproduce judge": "measure:judge",
    "reproduce book": "measure:book",
    "report web-ui": "results:web_ui",
    "profile heap": "deeper:heap",
}

OPTIONS = {
    "--help, -h": "Explain a command: scripts/lab run --help",
    "--install": "Agree to the installation of missing packages, and to the start",
    "": "of Docker. The same: LAB_INSTALL=yes",
    "--version": "Print the version",
}
"""The options of every command, as ``--help`` shows them. ``scripts/lab`` reads ``--install`` itself."""
PLACES: Mapping[str, str] = {**{name: place for name, (place, _) in VERBS.items()}, **MODES}


class Commands(Mapping[str, TyperCommand]):
    """The commands of verbs and modes by name, such as ``sweep plan``. Each is made when it is asked for."""

    def __getitem__(self, name: str) -> TyperCommand:
        module, _, function = PLACES[name].partition(":")
        # Its help does not show its modes otherwise.
        modes = [f"`{mode} --help`" for mode in MODES if mode.startswith(f"{name} ")]
        more = f"More: scripts/lab {', '.join(modes)}" if modes else None
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        app.command(name, epilog=more)(getattr(importlib.import_module(f"corda_lab.cli.{module}"), function))
        command = get_command(app)
        assert isinstance(command, TyperCommand)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class Lab(TyperGroup):
    """The command line. Its help is one screen, in which each verb has one line."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": Commands()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a verb, or a mode by its two words."""
        if (mode := " ".join(args[:2])) in self.commands:
            args = [mode, *args[2:]]
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(overview())


def overview() -> str:
    width = max(map(len, VERBS))
    lines = ["Usage: scripts/lab COMMAND …    Benchmark a real Corda network on this machine.", ""]
    for title, verbs in GROUPS.items():
        lines += [title, *(f"  {name:<{width}}  {summary}" for name, (_, summary) in verbs.items()), ""]
    lines += ["Options", *(f"  {name:<{width}}  {text}" for name, text in OPTIONS.items())]
    return "\n".join(lines) + "\n"


app = typer.Typer(
    cls=Lab,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(asked: bool) -> None:
    """Print the version as ``scripts/lab`` does, which answers ``--version`` itself if it is the only argument."""
    if asked:
        print(f"corda-lab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True)] = False,
) -> None:
    """Declare the option that precedes the verb."""
