"""Ends a load when one of its nodes ends: its flows would only run into their time limits, one after the other."""

from collections.abc import Mapping

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose, run_docker
from corda_lab.runs import broken


def running_nodes(compose: Compose) -> dict[str, str]:
    """Return the nodes whose containers run, by name of the container."""
    # It takes less of the machine than `docker compose ps`: a load is about to begin.
    filters = [f"label=com.docker.compose.project={compose.project}", "label=com.docker.compose.oneoff=False"]
    form = '{{.Names}} {{.Label "com.docker.compose.service"}}'
    done = run_docker(["ps", *(part for each in filters for part in ("--filter", each)), "--format", form])
    services = dict(line.split() for line in done.stdout.splitlines() if line)
    nodes = {node.lower(): node for node in compose.settings.nodes}
    return {container: nodes[service] for container, service in services.items() if service in nodes}


def check_nodes(compose: Compose, nodes: Mapping[str, str], codes: Mapping[str, int | None], since: float) -> None:
    """Raise LabError if a node has ended, with its reason.

    ``nodes`` and ``codes`` have names of containers; ``codes`` is None for those that run. ``since`` is when the load
    began, in unix seconds.
    """
    ended = [node for container, node in nodes.items() if codes[container] is not None]
    if ended:
        raise LabError(
            broken.why_broken(compose, since) or f"{ended[0]} ended during the load",
            f"See `docker compose logs {ended[0].lower()}`. If it needs more memory, start the lab with more --heap.",
            exit_code=1,
        )
