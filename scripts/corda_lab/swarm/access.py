"""Leads from 127.0.0.1 of the manager to the ports of a stack. So all clients of the lab work as on one machine."""

from collections.abc import Mapping

from corda_lab.lab.settings import Settings
from corda_lab.swarm.beside import FOLDER, Beside

PORTS = ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
PAGES, API = "pages", "api"
"""The services of ``access.yaml``: Locust, Prometheus and Grafana, and the bridge."""


def project_of(stack: str) -> str:
    """Return the Compose project of the proxies."""
    return f"{stack}-access"


def open_ports(settings: Settings, stack: str, tools: str, *, with_bridge: bool) -> None:
    """Open the ports of this machine, or open them anew if they have changed. Raises LabError.

    ``with_bridge`` is False if the bridge is published for all and runs on this machine: it has the port already.
    """
    environment = {
        "LAB_TOOLS_IMAGE": tools,
        "LAB_STACK_NETWORK": f"{stack}_default",
        **{name: str(settings.port(name)) for name in PORTS},
    }
    _access(stack, environment).up(*((PAGES, API) if with_bridge else (PAGES,)))


def remove(stack: str) -> None:
    """Close the ports. Raises LabError."""
    _access(stack, {}).down()


def _access(stack: str, environment: Mapping[str, str]) -> Beside:
    return Beside(FOLDER / "access.yaml", project_of(stack), environment=environment)
