"""Leads from 127.0.0.1 of the manager to the ports of a stack. So all clients of the lab work as on one machine.

Swarm publishes a port on all addresses of a host or not at all. So the proxies are plain containers on the manager, a
Compose project that ``deploy/swarm/access.yaml`` describes.
"""

from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab.errors import LabError
from corda_lab.lab.engine import output_of, run_docker
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT

FILE = ROOT / "deploy" / "swarm" / "access.yaml"
PORTS = ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
PAGES, API = "pages", "api"
"""The services of the file: Locust, Prometheus and Grafana, and the bridge."""
UP_SECONDS_MAX = 180.0
DOWN_SECONDS_MAX = 120.0


def project_of(stack: str) -> str:
    return f"{stack}-access"


def open_ports(settings: Settings, stack: str, image: str, *, with_bridge: bool) -> None:
    """Open the ports of this machine, or open them anew if they have changed. Raises LabError with what it last said.

    ``image`` is that of links. ``with_bridge`` is False if the bridge is published for all and runs on this machine: it
    has the port already.
    """
    values = {name: str(settings.port(name)) for name in PORTS}
    values |= {"LAB_LINKS_IMAGE": image, "LAB_STACK_NETWORK": f"{stack}_default"}
    services = (PAGES, API) if with_bridge else (PAGES,)
    wait = ("--wait", "--wait-timeout", f"{UP_SECONDS_MAX:.0f}")
    done = _compose(stack, values, "up", "--detach", *wait, *services, seconds_max=UP_SECONDS_MAX + 30)
    if done.returncode != 0:
        log = _compose(stack, values, "logs", "--no-color", "--tail=3", *services, seconds_max=30).stdout
        words = " | ".join(filter(None, (last_words(done.stderr, 1), last_words(log, 3))))
        raise LabError(f"the ports of this machine were not opened: {words}", exit_code=1)


def remove(stack: str) -> None:
    # The file needs values, even for what is only removed.
    values = dict.fromkeys((*PORTS, "LAB_LINKS_IMAGE", "LAB_STACK_NETWORK"), "0")
    done = _compose(stack, values, "down", "--remove-orphans", "--timeout=5", seconds_max=DOWN_SECONDS_MAX)
    output_of(done, f"the project {project_of(stack)} was not removed")


def _compose(stack: str, values: dict[str, str], *arguments: str, seconds_max: float) -> CompletedProcess[str]:
    command = ["compose", "--file", str(FILE), "--project-name", project_of(stack), *arguments]
    return run_docker(command, seconds_max=seconds_max, environment=values)
