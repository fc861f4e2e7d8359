"""The verbs that help to write workloads: ``flows``, ``workload new``, ``workload check``."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from corda_lab.cli.options import JsonOption
from corda_lab.lab.settings import load_settings
from corda_lab.paths import WORKLOADS
from corda_lab.text import ui
from corda_lab.text.words import plural

if TYPE_CHECKING:
    from corda_lab.clients.bridge import Bridge


def _bridge() -> "Bridge":
    from corda_lab.clients.bridge import Bridge

    settings = load_settings()
    return Bridge(settings.bridge_url, settings.bridge_token)


def flows(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA.")],
    as_json: JsonOption = False,
) -> None:
    """List the flows that a node can start, with their parameters and types.

    Example: `scripts/lab flows PartyA`
    """
    from corda_lab.workloads import flows as flows_module

    bridge = _bridge()
    found = flows_module.find_node(node, bridge)
    definitions = bridge.flow_definitions(found.name)
    if as_json:
        print(json.dumps(flows_module.as_dicts(definitions), indent=2))
    else:
        flows_module.show(found.name, definitions)


def new(
    node: Annotated[str, typer.Option(help="Node that starts the flow.")],
    flow: Annotated[
        str, typer.Option(help="Class of the flow, as full or short name. `scripts/lab flows NODE` lists them.")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the workload. Default: from the flow's name.")] = None,
) -> None:
    """Create a workload file for a flow, with an example value for every parameter. Never overwrites a file.

    Example: `scripts/lab workload new --node PartyA --flow com.example.MyFlow`
    """
    from corda_lab.workloads import flows as flows_module
    from corda_lab.workloads import new as new_workload

    bridge = _bridge()
    found = flows_module.find_node(node, bridge)
    definition = new_workload.find_flow(flow, found.name, bridge.flow_definitions(found.name))
    file_name = new_workload.check_name(name or new_workload.default_name(definition))
    parties = [one.name for one in bridge.nodes().values() if not one.is_notary and one.name != found.name]
    path = WORKLOADS / f"{file_name}.yaml"
    new_workload.write(path, new_workload.text_of(definition, found, next(iter(parties), None)))
    ui.console.print(f"written: configs/workloads/{file_name}.yaml. Replace the example values, then:", markup=False)
    ui.console.print(f"  scripts/lab workload check {file_name}", markup=False)
    ui.console.print(f"  scripts/lab run {file_name} --users 5 --duration 30s", markup=False)


def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of workloads. Default: all.")
    ] = None,
) -> None:
    """Check workload files. If the lab is up, also check their flows and arguments against its nodes.

    Lists all problems at once. Exit status 2 if there are any.

    Example: `scripts/lab workload check my-workload`
    """
    from corda_lab.workloads import check as check_workloads
    from corda_lab.workloads import resolve

    bridge = _bridge()
    is_up = bridge.is_ready()
    found = check_workloads.problems_of(
        WORKLOADS, names or (), (lambda workload: resolve.lab_problems(workload, bridge)) if is_up else None
    )
    for name, problems in found.items():
        ui.console.print(f"{name}: {plural(len(problems), 'problem') if problems else 'ok'}", markup=False)
        for problem in problems:
            ui.console.print(f"  {problem}", style="red", markup=False)
    if not is_up:
        ui.console.print("The lab is not up, so flows and arguments were not checked against its nodes.", markup=False)
    if any(found.values()):
        raise typer.Exit(2)
