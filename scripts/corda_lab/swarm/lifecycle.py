"""Starts and stops a stack: ``lab up --on PLACEMENT`` and ``lab down --on PLACEMENT``.

Everything before ``start`` needs the engine of this machine, which must be a manager of the swarm. ``start`` takes the
images that are here.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.lab import doctor as machine_doctor
from corda_lab.lab import images, lifecycle, ownership, shape
from corda_lab.lab.checks import Check, Level, exposures
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import Engine, run_docker
from corda_lab.lab.settings import Settings
from corda_lab.swarm import access, bootstrap, deploy, doctor
from corda_lab.swarm import images as stack_images
from corda_lab.swarm.fit import Fitted, fit
from corda_lab.swarm.folder import Deployment, StackFolder
from corda_lab.swarm.hosts import Member, members
from corda_lab.swarm.load_container import SERVICE
from corda_lab.swarm.placement import CORES_MAX, find_placement
from corda_lab.swarm.project import Project, parse_project
from corda_lab.swarm.remove import remove
from corda_lab.swarm.stack import Derivation, Stack, derive, is_published
from corda_lab.text import ui

LINKS = "links"
"""The service whose image has the proxy that leads to the ports of the services."""
ANSWER_SECONDS_MAX = 60.0
"""How long the bridge may take to answer at the manager's port, once it runs."""
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Prepared:
    """A placement that fits a shape, with the hosts as they are."""

    settings: Settings
    project: Project
    """Without the services for which there is no image here."""
    fitted: Fitted
    hosts: doctor.SwarmHosts
    folder: StackFolder

    @property
    def engines(self) -> list[Engine]:
        return [Engine(name) for name in self.fitted.hosts]


def prepare(settings: Settings, name: str) -> Prepared:
    """Read a placement, fit it to the shape, and ask all hosts. Raises LabError for what does not fit."""
    placement = find_placement(name)
    # The nodes may have more cores than this machine: it is not the one on which they run.
    if problems := shape.problems(settings, cores=CORES_MAX):
        raise LabError(problems=problems)
    engine.ensure_compose(install=False)
    project = project_of(settings)
    fitted = fit(placement, project)
    hosts = doctor.SwarmHosts.ask(fitted, members())
    return Prepared(settings, project, fitted, hosts, StackFolder.of(settings.project))


def project_of(settings: Settings) -> Project:
    return parse_project(Compose(settings).config()).without(lifecycle.left_out())


def check(prepared: Prepared) -> list[Check]:
    # Ports that the stack has open already are its own.
    beside = Settings(prepared.settings.values, access.project_of(prepared.folder.stack))
    ports = machine_doctor.check_ports(beside, published=machine_doctor.published_ports())
    checks = [*doctor.examine(prepared.fitted, prepared.hosts), machine_doctor.check_disk(prepared.settings)]
    checks += [*ports, *exposures(prepared.settings)]
    if all(one.level is not Level.FAILURE for one in checks):
        # Engines that do not answer have been named already.
        checks += doctor.examine_registry(prepared.fitted.placement.fields.registry, prepared.engines)
    return checks


def examine(prepared: Prepared) -> list[Check]:
    """Run all checks, and ask the kernels of all hosts whether their clocks are synchronised."""
    known = prepared.folder.known()
    image = known.helper_image if known else None
    return [*check(prepared), *doctor.examine_kernel_clocks(prepared.engines, image)]


def up(settings: Settings, name: str, forced: lifecycle.ImageChoice | None, *, mark: str | None = None) -> None:
    """Build all images, and start the stack. Raises LabError.

    ``mark`` is the record in ``ownership`` during the start.
    """
    lifecycle.require_engine()
    lifecycle.check_extra_cordapps(settings)
    with ui.phase("Third-party images"):
        # Those of the builds and the services, and that of the ways to their ports.
        names = {**images.image_names(settings), "TOXIPROXY_IMAGE": settings["TOXIPROXY_IMAGE"]}
        engine.ensure_images(names, forced)
    with ui.phase("Checking the hosts"):
        prepared = prepare(settings, name)
        machine_doctor.require_sound(check(prepared), shown=lambda one: one.name.startswith("host "))
    build(settings)
    ownership.mark(prepared.folder.stack, mark)
    start(prepared, name)


def build(settings: Settings) -> None:
    lifecycle.build(settings)
    if LINKS not in settings.services:
        lifecycle.build(settings, LINKS)


def start(prepared: Prepared, name: str) -> None:
    """Start the stack with the images that are on this machine, and wait until it is ready. Raises LabError.

    ``name`` is the placement, as it was given.
    """
    settings, folder, fitted, project = prepared.settings, prepared.folder, prepared.fitted, prepared.project
    deployment = deployment_of(prepared, name)
    folder.note(deployment)
    with ui.phase("Making the network"):
        network = bootstrap.run(settings, folder)
    with ui.phase("Images for the hosts"):
        deploy.require_overlay(folder.overlay, encrypted=fitted.placement.fields.is_encrypted)
        commands = stack_images.commands_of(service["image"] for service in project.running.values())
        stack = derive(Derivation(project, fitted, network, commands))
        stack_images.push(stack.images, network)
        stack_images.pull(images_by_host(stack, fitted))
    with ui.phase("Starting the stack"):
        deploy.deploy(stack, deploy.write(stack, folder))
    with ui.phase("Opening the ports of this machine"):
        with_bridge = not bridge_is_here(prepared)
        access.open_ports(settings, stack.name, settings.own_image(LINKS), with_bridge=with_bridge)
        await_bridge(settings)
    folder.note(deployment.model_copy(update={"is_running": True}))


def deployment_of(prepared: Prepared, name: str) -> Deployment:
    fitted, running = prepared.fitted, prepared.project.running
    generator = stack_images.stack_image(SERVICE, running[SERVICE]["image"], fitted.placement.fields.registry, "")
    return Deployment(
        placement=name,
        text=fitted.placement.source.path.read_text(encoding="utf-8"),
        overlay=fitted.placement.fields.overlay,
        services={service: place.host for service, place in fitted.places.items()},
        workers=list(fitted.workers),
        images={service: form["image"] for service, form in running.items()},
        helper_image=generator.name,
        hosts=list(fitted.hosts),
    )


def bridge_is_here(prepared: Prepared) -> bool:
    """Return whether the bridge is published for all, and runs on this machine."""
    service = prepared.project.services["bridge"]
    published = any(is_published("bridge", service, port) for port in service.get("ports") or ())
    own_node = run_docker(["info", "--format", "{{.Swarm.NodeID}}"]).stdout.strip()
    return published and prepared.hosts.node_names.get(own_node) == prepared.fitted.places["bridge"].host


def images_by_host(stack: Stack, fitted: Fitted) -> Mapping[Engine, Sequence[str]]:
    """Return the images that each host needs, each once. That of the load generator reads files and makes faults."""
    found = {host: [stack.image_of(SERVICE)] for host in fitted.hosts}
    for service, place in fitted.places.items():
        found[place.host].append(stack.image_of(service))
    return {Engine(host): list(dict.fromkeys(names)) for host, names in found.items()}


def await_bridge(settings: Settings) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    with closing(Bridge(settings.bridge_url, settings.bridge_token)) as bridge:
        while not bridge.is_ready():
            if time.monotonic() > deadline:
                raise LabError(
                    f"The bridge runs, but does not answer at {settings.bridge_url}",
                    "See `docker logs` of the containers whose names contain -access-.",
                    exit_code=1,
                )
            time.sleep(POLL_SECONDS)


def hosts_left(folder: StackFolder, name: str, found: Sequence[Member]) -> list[Engine]:
    """Return the hosts on which something of a stack may be: those of its record, and all with the placement's label.

    They need not belong to this shape. Raises LabError.
    """
    known = folder.known()
    label = find_placement(name).fields.label
    labelled = [member.labels[label] for member in found if label in member.labels]
    return [Engine(one) for one in dict.fromkeys([*(known.hosts if known else ()), *labelled])]


def down(settings: Settings, name: str, *, volumes: bool, mark: str | None = None) -> None:
    """Stop the stack. Ledgers and identities are kept, unless ``volumes``. Raises LabError.

    ``name`` is the placement. ``mark`` is the record in ``ownership`` for anything that remains.
    """
    folder = StackFolder.of(settings.project)
    # From an engine that is no manager, nothing of the stack could be seen or removed.
    hosts = hosts_left(folder, name, members())
    ownership.mark(folder.stack, mark)
    remove(folder, hosts, volumes=volumes)
