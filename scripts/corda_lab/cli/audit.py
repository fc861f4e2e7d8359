"""The verb ``audit``: what the ledgers of all nodes prove."""

from typing import Annotated

import typer
from rich.markup import escape

from corda_lab.audit import audit_lab
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings
from corda_lab.results import folders
from corda_lab.results.audits import Audit
from corda_lab.runs.running import deployed, tell
from corda_lab.text import tables, ui

COLOURS = {"passed": "green", "violations": "red", "cannot tell": "yellow"}
DEADLINE_SECONDS = 60.0
"""How long reading may take by default: about a thousand transactions a second on a node, and ten seconds a gigabyte.
"""
DEADLINE_SECONDS_MAX = 3600.0


def verdict_words(audit: Audit) -> str:
    """The verdict in one line, with markup."""
    return f"[{COLOURS[audit.verdict]}]{escape(audit.summary)}[/]"


@locks_lab
def audit(
    run_name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="Name of a run, the beginning of a name, or latest. Without it, the whole ledgers are audited.",
        ),
    ] = None,
    *,
    deadline: Annotated[
        float,
        typer.Option(
            "--deadline", metavar="SECONDS", min=1, max=DEADLINE_SECONDS_MAX, help="How long reading may take."
        ),
    ] = DEADLINE_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON, with all ids.")] = False,
) -> None:
    """Prove from the ledgers of all nodes that nothing was lost, doubled or made from nothing.

    Reads the databases of the nodes, and changes nothing in them. The lab should be at rest. Every run and step is
    audited when it ends (audit.json in its folder); this audits a run again on the ledgers as they are now.

    Exit status 0 if the ledgers are right, 1 if there are violations or the ledgers cannot tell.

    Example: `scripts/lab audit latest`
    """
    run = folders.find_run(run_name) if run_name else None
    lab = deployed(load_settings())
    if not as_json:
        tell(lab)
    end(audit_lab(lab, run, deadline), as_json=as_json)


def end(result: Audit, *, as_json: bool) -> None:
    """Print an audit, and exit with 1 unless it passed."""
    if as_json:
        ui.print_json(result.model_dump(mode="json"))
    else:
        table = tables.table("counted", "number", numbers=["number"])
        for name, count in result.counts.items():
            table.add_row(name.replace("_", " "), f"{count:,}")
        if result.counts:
            tables.show(table)
        for one in result.violations:
            ui.console.print(f"[red]{one.kind}[/red] {escape(one.text)}", soft_wrap=True)
        for reason in result.reasons:
            ui.console.print(f"[yellow]cannot tell[/yellow] {escape(reason)}", soft_wrap=True)
        ui.console.print(f"{verdict_words(result)}, in {result.seconds:.1f} s", soft_wrap=True)
    if result.verdict != "passed":
        raise typer.Exit(1)
