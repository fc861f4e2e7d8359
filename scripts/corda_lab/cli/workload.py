"""The verb ``workload``, and its modes ``flows``, ``new`` and ``check``."""

from typing import Annotated

import typer

from corda_lab.cli.options import JsonOption
from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.lab.lock import locks_lab
from corda_lab.lab.settings import load_settings
from corda_lab.paths import WORKLOADS
from corda_lab.runs import counters, preflight
from corda_lab.runs.running import deployed
from corda_lab.text import tables, ui
from corda_lab.text.words import plural
from corda_lab.workloads import flows as node_flows
from corda_lab.workloads import new as new_workload
from corda_lab.workloads import resolve, trial
from lab_workload.flows import Flow
from lab_workload.names import did_you_mean
from lab_workload.workload import workload_names

MODES = ("flows", "new", "check")


def _bridge() -> Bridge:
    settings = load_settings()
    return Bridge(settings.bridge_url, settings.bridge_token)


def workload(
    mode: Annotated[str | None, typer.Argument(metavar="[flows|new|check]", help="What to do.")] = None,
) -> None:
    """List the workload files, each with what it is. Its modes list flows, and create and check such files.

    Example: `scripts/lab workload`

    The flows of a node: `scripts/lab workload flows PartyA`

    A file for a flow: `scripts/lab workload new --node PartyA --flow com.example.MyFlow`

    Are all files right? `scripts/lab workload check`
    """
    if mode is not None:
        raise LabError(f"There is no {mode!r}{did_you_mean(mode, MODES)}", f"Choose from {', '.join(MODES)}.")
    table = tables.table("workload", "what it is")
    for name in workload_names(WORKLOADS):
        table.add_row(name, resolve.read_workload(name).description)
    tables.show(table)


def flows(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node, such as PartyA.")],
    as_json: JsonOption = False,
) -> None:
    """List the flows that a node can start, with their parameters and types.

    Example: `scripts/lab workload flows PartyA`
    """
    bridge = _bridge()
    found = node_flows.find_node(node, bridge)
    definitions = bridge.flow_definitions(found.name)
    if as_json:
        ui.print_json(node_flows.as_dicts(definitions))
    else:
        node_flows.show(found.name, definitions)


def new(
    node: Annotated[str, typer.Option(help="Node that starts the flow.")],
    flow: Annotated[
        str,
        typer.Option(
            help="Class of the flow, full or short: MyFlow, MyFlow.Initiator. `lab workload flows` lists them."
        ),
    ],
    name: Annotated[str | None, typer.Option(help="Name of the workload. Default: from the flow's name.")] = None,
    is_tried: Annotated[
        bool,
        typer.Option(
            "--try", help="Start the flow once, and write the states that it adds to the vaults into the file."
        ),
    ] = False,
) -> None:
    """Create a workload file for a flow, with an example value for every parameter. Never overwrites a file.

    With --try, the flow is started once on the running lab with the values of the file, also if the file is there
    already. What the flow does stays on the ledger.

    Example: `scripts/lab workload new --node PartyA --flow com.example.MyFlow`
    """
    bridge = _bridge()
    found = node_flows.find_node(node, bridge)
    definition = new_workload.find_flow(flow, found.name, bridge.flow_definitions(found.name))
    file_name = new_workload.check_name(name or new_workload.default_name(definition))
    path = WORKLOADS / f"{file_name}.yaml"
    shown = f"configs/workloads/{file_name}.yaml"
    if is_tried and path.exists():
        ui.say(f"{shown} is there already, and is tried as it is.")
    else:
        parties = [one.name for one in bridge.nodes().values() if not one.is_notary and one.name != found.name]
        new_workload.write(path, new_workload.text_of(definition, found, next(iter(parties), None)))
        advice = "" if is_tried else " Replace the example values, then:"
        ui.say(f"written: {shown}.{advice}")
    if is_tried:
        _try_workload(file_name, found.name, definition)
    else:
        ui.say(f"  scripts/lab workload check {file_name}")
    ui.say(f"  scripts/lab run {file_name} --users 5 --duration 30s")


@locks_lab
def _try_workload(name: str, node: str, flow: Flow) -> None:
    """Start the flow of a workload once, and write the states that it adds into the file.

    Raises LabError if the file is not accepted or the flow fails; the file stays as it is.
    """
    lab = deployed(load_settings())
    workload = resolve.read_workload(name)
    trial.check_kind(workload, node, flow)
    preflight.check_no_other_load(lab, lab.bridge, lab.settings.url("LOCUST_PORT"))
    try:
        with ui.phase(f"Starting {flow.short_name} once on {node}"):
            made = trial.make(
                workload,
                lab.bridge,
                lambda: counters.await_rest(lab),
                flow_seconds_max=float(lab.settings["BRIDGE_FLOW_TIMEOUT_SECONDS"]),
            )
            for line in trial.ledger_words(made):
                ui.note(line)
    except LabError as error:
        retry = f"configs/workloads/{name}.yaml is kept: correct its values, and repeat the command."
        remedy = " ".join(filter(None, (error.remedy, retry)))
        raise LabError(problems=error.problems, remedy=remedy, exit_code=error.exit_code) from None
    states = trial.proposed(made, workload, lab.bridge.nodes())
    path = WORKLOADS / f"{name}.yaml"
    is_proposed = new_workload.propose_states(path, states)
    ui.say(trial.advice(states, is_proposed=is_proposed))


def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of workloads. Default: all.")
    ] = None,
) -> None:
    """Check workload files. If the lab is up, also check their flows and arguments against its nodes.

    Lists all problems at once. Exit status 2 if there are any.

    Example: `scripts/lab workload check my-workload`
    """
    bridge = _bridge()
    is_up = bridge.is_ready()
    found = resolve.problems_of(
        WORKLOADS, names or (), (lambda workload: resolve.lab_problems(workload, bridge)) if is_up else None
    )
    for name, problems in found.items():
        ui.say(f"{name}: {plural(len(problems), 'problem') if problems else 'ok'}")
        for problem in problems:
            ui.say(f"  {problem}", "red")
    if not is_up:
        ui.say("The lab is not up, so flows and arguments were not checked against its nodes.")
    if any(found.values()):
        raise typer.Exit(2)
