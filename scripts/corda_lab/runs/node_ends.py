"""Ends a load when one of its nodes ends: its flows would only run into their time limits, one after the other."""

from collections.abc import Mapping

from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.engine import Container
from corda_lab.runs import broken


def running_nodes(compose: Deployed) -> dict[Container, str]:
    """Return the nodes whose containers run, by container."""
    nodes = {node.lower(): node for node in compose.settings.nodes}
    found = compose.running_containers()
    return {container: nodes[service] for service, container in found.items() if service in nodes}


def check_nodes(
    compose: Deployed, nodes: Mapping[Container, str], codes: Mapping[Container, int | None], since: float
) -> None:
    """Raise LabError if a node has ended, with its reason.

    ``codes`` is None for containers that run. ``since`` is when the load began, in unix seconds.
    """
    ended = [node for container, node in nodes.items() if codes[container] is not None]
    if ended:
        raise LabError(
            broken.why_broken(compose, since) or f"{ended[0]} ended during the load",
            f"See `{compose.shown('logs', ended[0].lower())}`. For more memory, start the lab with more --heap.",
            exit_code=1,
        )
