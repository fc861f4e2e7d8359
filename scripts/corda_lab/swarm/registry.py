"""The registry of a stack, and the way to it on every host.

The name of every image begins with the address of the registry, and every host has to find it there. The registry runs
on the manager, at a port of 127.0.0.1, and the other hosts have a proxy at the same port, which leads to it through an
overlay. A registry of one's own, which all hosts reach by its name, needs none of this.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab import images
from corda_lab.lab.engine import on_each, run_docker
from corda_lab.lab.settings import Settings
from corda_lab.swarm import overlays
from corda_lab.swarm.beside import FOLDER, UNSET, Beside
from corda_lab.swarm.folder import StackFolder
from corda_lab.swarm.hosts import Host
from corda_lab.text import ui

SAVE_SECONDS_MAX = 300.0
LOAD_SECONDS_MAX = 600.0
_LOOPBACK = re.compile(r"(?:127\.\d+\.\d+\.\d+|localhost):(\d+)")


def own_port(registry: str) -> int | None:
    """Return the port of a registry that the lab has to provide; None if it is somebody else's."""
    found = _LOOPBACK.fullmatch(registry)
    return int(found[1]) if found else None


@dataclass(frozen=True)
class Registry:
    """The registry that the lab provides for a stack."""

    folder: StackFolder
    hosts: Sequence[Host]
    """All but the manager."""
    environment: Mapping[str, str]

    @property
    def network(self) -> str:
        return images_network(self.folder.stack)

    def start(self, tools: str, *, encrypted: bool) -> None:
        """Start the registry and the ways to it, and wait until every host reaches it. Raises LabError.

        ``tools`` is the image of the proxies, which the hosts get from here.
        """
        overlays.create(self.network, self.folder.stack, encrypted=encrypted)
        self.at_manager().up()
        send_image(tools, self.hosts)
        try:
            on_each(self.hosts, lambda host: self.at(host).up())
        except LabError as error:
            remedy = (
                "Run `scripts/lab doctor --placement NAME` with this placement: it measures the network between hosts."
            )
            raise LabError(problems=error.problems, remedy=remedy, exit_code=1) from None

    def remove(self, *, volumes: bool) -> None:
        """Remove the registry itself. Raises LabError."""
        self.at_manager().down(volumes=volumes)

    def at_manager(self) -> Beside:
        return Beside(FOLDER / "registry.yaml", project_of(self.folder.stack), environment=self.environment)

    def at(self, host: Host) -> Beside:
        return Beside(FOLDER / "forward.yaml", project_of(self.folder.stack), host, self.environment)


def registry_of(
    settings: Settings, folder: StackFolder, hosts: Sequence[Host], *, port: int, tools: str = UNSET
) -> Registry:
    """Return the registry of a stack. To remove one, neither its port nor the image of the tools matters."""
    environment = {
        "REGISTRY_IMAGE": images.image_name(settings, "REGISTRY_IMAGE"),
        "LAB_TOOLS_IMAGE": tools,
        "LAB_REGISTRY_PORT": str(port),
        "LAB_IMAGES_NETWORK": images_network(folder.stack),
    }
    return Registry(folder, hosts, environment)


def project_of(stack: str) -> str:
    """Return the Compose project of the registry, and of the ways to it."""
    return f"{stack}-registry"


def images_network(stack: str) -> str:
    """Return the name of the overlay through which images reach the hosts."""
    return f"{stack}-images"


def send_image(image: str, hosts: Iterable[Host]) -> None:
    """Give an image to the hosts that do not have it, without a registry. Raises LabError."""
    lacking = [host for host in hosts if host.run("image", "inspect", image).returncode != 0]
    if not lacking:
        return
    with TemporaryDirectory(prefix="image-") as folder:
        file = Path(folder) / "image.tar"
        done = run_docker(["save", "--output", str(file), image], seconds_max=SAVE_SECONDS_MAX)
        if done.returncode != 0:
            raise LabError(f"`docker save {image}` failed: {last_words(done.stderr)}", exit_code=1)
        load = ("load", "--quiet", "--input", str(file))
        on_each(lacking, lambda host: host.checked(*load, seconds_max=LOAD_SECONDS_MAX))
    ui.note(f"{image} sent to {', '.join(host.name for host in lacking)}")
