"""Reads workload files for the command line, and binds them to the running network with ``lab_workload``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import FinalError
from corda_lab.lab.settings import NOTARY, PARTIES, Settings
from corda_lab.paths import WORKLOADS
from corda_lab.steps.load import with_flag
from lab_workload.flows import Party
from lab_workload.load import Load
from lab_workload.network import Network, Roles, bind
from lab_workload.plan import Plan
from lab_workload.plan import make_plan as bound_plan
from lab_workload.problems import Location, Problem, WorkloadError
from lab_workload.schema import Workload
from lab_workload.starts import check_starts
from lab_workload.workload import load_workload, workload_names

UPLOAD_MAX = "BRIDGE_MAX_ATTACHMENT_BYTES"
"""The variable that limits the size of an attachment at the bridge."""
MEGABYTE = 1_000_000
ZIP_BYTES = 1024
"""More than the headers of a zip file that has one entry."""
NODE_BASE_HEAP_BYTES = 300 * 2**20
ATTACHMENT_HEAP_COPIES = 20
"""Heap that a node needs to send an attachment, as a multiple of its size. Measured: with 1 GiB, 10 MB work and 50 MB
end the node."""


def read_workload(name: str, overrides: Mapping[str, str] | None = None) -> Workload:
    """Read a workload file. Raises FinalError with all its problems."""
    try:
        return load_workload(WORKLOADS, name, (NOTARY, *PARTIES), overrides)
    except WorkloadError as error:
        raise FinalError(problems=error.problems, remedy="Workloads are the files in configs/workloads/.") from None


def problems_of(
    folder: Path, names: Sequence[str], against_lab: Callable[[Workload], list[Problem]] | None
) -> dict[str, list[Problem]]:
    """Return the problems of the named workloads, or of all if ``names`` is empty: name → problems.

    ``against_lab`` checks a valid file against the running nodes; it is None if the lab is not up.
    """
    found: dict[str, list[Problem]] = {}
    for name in names or workload_names(folder):
        try:
            workload = load_workload(folder, name, (NOTARY, *PARTIES))
            found[name] = against_lab(workload) if against_lab else []
        except WorkloadError as error:
            found[name] = list(error.problems)
    return found


def check_attachments(workload: Workload, settings: Settings) -> None:
    """Check that the attachments of the set-up fit in the nodes' heap; a node ends if one does not. Raises LabError."""
    for step, megabytes in _attachments(workload):
        needed_bytes = NODE_BASE_HEAP_BYTES + megabytes * MEGABYTE * ATTACHMENT_HEAP_COPIES
        if needed_bytes > settings.size("NODE_HEAP"):
            heap = settings["NODE_HEAP"]
            text = f"{megabytes} MB need a node heap of {needed_bytes / 2**30:.1f} GiB, but NODE_HEAP is {heap}"
            remedy = "Use smaller attachments (--set megabytes=10), or start the lab with a larger NODE_HEAP."
            raise FinalError(problems=[workload.source.problem(step, text, remedy)])


def check_uploads(workload: Workload, settings: Settings) -> None:
    """Check that the bridge accepts the attachments of the set-up. Raises LabError."""
    limit = int(settings[UPLOAD_MAX])
    for step, megabytes in _attachments(workload):
        needed = megabytes * MEGABYTE + ZIP_BYTES
        if needed > limit:
            text = f"{megabytes} MB are more than the bridge accepts ({UPLOAD_MAX}={limit})"
            wanted = -(-needed // 1024**2)
            remedy = f"Start the lab with --set {UPLOAD_MAX}={wanted}m --set BRIDGE_HEAP={max(384, 8 * wanted)}m."
            raise FinalError(problems=[workload.source.problem(step, text, remedy)])


def _attachments(workload: Workload) -> Iterator[tuple[Location, int]]:
    """Where the file sets the size of an attachment, and how many megabytes it has."""
    for step in workload.setup:
        if step.megabytes:
            yield (*step.location, "attachments", "megabytes"), step.megabytes


def network_of(bridge: Bridge, nodes: Mapping[str, Node]) -> Network:
    """Return the running network, as ``lab_workload`` needs it. ``nodes`` are all nodes of the bridge, by name."""
    return Network(
        parties={name: Party(name, node.x500_name) for name, node in nodes.items() if not node.is_notary},
        flows=cache(bridge.flow_definitions),
        platform_version=lambda name: nodes[name].platform_version,
        start_problem=bridge.start_problem,
        notaries=[name for name, node in nodes.items() if node.is_notary],
        notary=next((name for node in nodes.values() for name in node.notary_x500_names), None),
        startable=PARTIES,
    )


def make_plan(identity: str, load: Load, workload: Workload, bridge: Bridge, nodes: Mapping[str, Node]) -> Plan:
    """Bind a load to the running network. Raises LabError with everything that the network would refuse."""
    try:
        return bound_plan(identity, load, workload, network_of(bridge, nodes), load.total_seconds)
    except WorkloadError as error:
        problems = [problem if problem.path else with_flag(problem) for problem in error.problems]
        raise FinalError(problems=problems) from None


def checked_starters(workload: Workload, load: Load, network: Network) -> tuple[Roles, ...]:
    """Bind a workload to the running network, and check parties, flows, arguments and templates. Raises WorkloadError.

    The bridge converts the arguments of one start of each kind, but starts no flow.
    """
    starters = bind(workload, load, network)
    check_starts(workload, starters, network)
    return starters


def lab_problems(workload: Workload, bridge: Bridge) -> list[Problem]:
    """Everything that the running network would refuse of a valid workload file."""
    try:
        checked_starters(workload, Load(workload=workload.name), network_of(bridge, bridge.nodes()))
    except WorkloadError as error:
        return list(error.problems)
    return []
