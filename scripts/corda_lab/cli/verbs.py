"""The verbs of the command line: one table. A verb's module is imported when the verb or its help is asked for.

A verb can have modes: verbs of two words, such as ``sweep plan``, with options of their own.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from corda_lab import __version__


@dataclass(frozen=True)
class Verb:
    """A verb: the function that does its work, and its line in ``--help``."""

    place: str
    """The module in this package, and the function in it: ``run:quickstart``."""
    summary: str
    modes: Mapping[str, str] = field(default_factory=dict)
    """The places of its modes by their names."""


GROUPS: Mapping[str, Mapping[str, Verb]] = {
    "Start": {
        "quickstart": Verb("run:quickstart", "Go from nothing to a first report"),
        "doctor": Verb("lab:doctor", "Check this machine, or the hosts of a placement"),
        "up": Verb("lab:up", "Start the lab, in any shape"),
        "down": Verb("lab:down", "Stop the lab; --volumes also deletes its ledgers"),
        "status": Verb("status:status", "Show services, addresses and alerts; --watch follows them live"),
    },
    "Measure": {
        "run": Verb("run:run", "Put a load on the lab, and report what it did"),
        "sweep": Verb(
            "sweep:sweep",
            "Measure many points from one file",
            {"plan": "sweep:plan", "resume": "sweep:resume", "finish": "sweep:finish"},
        ),
        "workload": Verb(
            "workload:workload",
            "List flows; create and check workload files",
            {"flows": "workload:flows", "new": "workload:new", "check": "workload:check"},
        ),
        "reproduce": Verb(
            "reproduce:reproduce",
            "Repeat a published figure, and judge what was claimed about it",
            {"list": "reproduce:list_figures", "judge": "reproduce:judge", "book": "reproduce:book"},
        ),
    },
    "Read results": {
        "list": Verb("listing:list_runs", "List all runs, and what is unfinished"),
        "report": Verb(
            "report:report", "Write the report of a run again; charts; loads of the web UI", {"web-ui": "report:web_ui"}
        ),
        "compare": Verb("compare:compare", "Compare runs, with confidence intervals"),
    },
    "Look deeper": {
        "logs": Verb("logs:logs", "Print the log of a node"),
        "flow": Verb("flow:flow", "Show where the time of one request went"),
        "profile": Verb("profile:profile", "Take a flame graph of a node, or count its heap", {"heap": "profile:heap"}),
        "audit": Verb("audit:audit", "Prove from the ledgers that nothing was lost"),
        "chaos": Verb("chaos:chaos", "Inject faults under load, then audit"),
    },
    "Test the lab": {
        "test": Verb("test:run_tests", "Run the tests of the lab itself"),
    },
}
"""All verbs by name, in the groups and the order of ``--help``."""

VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}

OPTIONS = {
    "--help, -h": "Explain a command: scripts/lab run --help",
    "--install": "Agree to the installation of missing packages, and to the start",
    "": "of Docker. The same: LAB_INSTALL=yes",
    "--version": "Print the version",
}
"""The options of every command, as ``--help`` shows them. ``scripts/lab`` reads ``--install`` itself."""


class Commands(Mapping[str, TyperCommand]):
    """The commands of verbs and modes by name, such as ``sweep plan``. Each is made when it is asked for."""

    def __init__(self, verbs: Mapping[str, Verb]) -> None:
        self._places = {
            name: place
            for verb_name, verb in verbs.items()
            for name, place in (
                (verb_name, verb.place),
                *((f"{verb_name} {mode}", place) for mode, place in verb.modes.items()),
            )
        }

    def __getitem__(self, name: str) -> TyperCommand:
        module, _, function = self._places[name].partition(":")
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        app.command(name, epilog=self._about_modes(name))(
            getattr(importlib.import_module(f"corda_lab.cli.{module}"), function)
        )
        command = get_command(app)
        assert isinstance(command, TyperCommand)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _about_modes(self, name: str) -> str | None:
        """Name the modes of a verb, which its help does not show otherwise."""
        modes = [f"`{each} --help`" for each in self._places if each.startswith(f"{name} ")]
        return f"More: scripts/lab {', '.join(modes)}" if modes else None


class Lab(TyperGroup):
    """The command line. Its help is one screen, in which each verb has one line."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": Commands(VERBS)})

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
        lines += [title, *(f"  {name:<{width}}  {verb.summary}" for name, verb in verbs.items()), ""]
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
