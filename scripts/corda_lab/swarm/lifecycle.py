"""Starts and stops a stack: ``lab up --placement NAME`` and ``lab down --on swarm``.

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
from corda_lab.host.processes import last_words
from corda_lab.lab import doctor as machine_doctor
from corda_lab.lab import exposure, images, lifecycle, ownership, shape
from corda_lab.lab.checks import Check, Level
from corda_lab.lab.compose import Compose
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings
from corda_lab.swarm import access, bootstrap, deploy, doctor, measure, overlays, publish, registry
from corda_lab.swarm.fit import Fitted, fit
from corda_lab.swarm.folder import Deployment, StackFolder
from corda_lab.swarm.hosts import Host
from corda_lab.swarm.load_container import SERVICE
from corda_lab.swarm.members import Member, members
from corda_lab.swarm.placement import Placement, find_placement
from corda_lab.swarm.project import Project, parse_project
from corda_lab.swarm.remove import remove
from corda_lab.swarm.rules import Derivation, is_published
from corda_lab.swarm.schema import CORES_MAX
from corda_lab.swarm.stack import Stack, derive
from corda_lab.text import ui

STACK_IMAGES = ("REGISTRY_IMAGE", "TOXIPROXY_IMAGE")
"""Third-party images that only a stack needs, whatever its shape."""
TOOLS = "links"
"""The service whose image has the proxy and Python: all that runs beside a stack is made of it."""
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
    def encrypted(self) -> bool:
        return self.fitted.placement.fields.is_encrypted

    @property
    def beyond(self) -> list[Host]:
        """All hosts but this machine."""
        own = own_node()
        return [Host(name) for node, name in self.hosts.node_names.items() if node != own]


def prepare(settings: Settings, name: str) -> Prepared:
    """Read a placement, fit it to the shape, and ask all hosts. Raises LabError for what does not fit."""
    placement: Placement = find_placement(name)
    # The nodes may have more cores than this machine: it is not the one on which they run.
    if problems := shape.problems(settings, cores=CORES_MAX):
        raise LabError(problems=problems)
    engine.ensure_compose(install=False)
    project = project_of(settings)
    fitted = fit(placement, project)
    hosts = doctor.SwarmHosts.ask(fitted, members())
    return Prepared(settings, project, fitted, hosts, StackFolder.of(settings.project))


def project_of(settings: Settings) -> Project:
    """Return the project without the services for which there is no image here. Raises LabError."""
    project = parse_project(Compose(settings).config())
    left_out = lifecycle.left_out()
    services = {name: service for name, service in project.services.items() if name not in left_out}
    return project.model_copy(update={"services": services})


def own_node() -> str:
    """Return the id of this machine's engine in the swarm."""
    return run_docker(["info", "--format", "{{.Swarm.NodeID}}"]).stdout.strip()


def check(prepared: Prepared) -> list[Check]:
    """Check the hosts, and what this machine, the manager, needs."""
    beside = settings_of_ports(prepared.settings, prepared.folder)
    ports = machine_doctor.check_ports(beside, published=machine_doctor.published_ports())
    disk = machine_doctor.check_disk(prepared.settings)
    return [*doctor.examine(prepared.fitted, prepared.hosts), disk, *ports, *exposure.examine(prepared.settings)]


def examine(prepared: Prepared) -> list[Check]:
    """Run all checks, and measure between hosts if the hosts are sound."""
    checks = check(prepared)
    if any(one.level is Level.FAILURE for one in checks):
        return [*checks, doctor.not_measured("other checks have failed", "Mend them first.")]
    return [*checks, *measure_network(prepared)]


def measure_network(prepared: Prepared) -> list[Check]:
    """Measure between hosts, if they have the image for it. Raises LabError if a host is not reached."""
    if len(prepared.fitted.hosts) < 2:
        return []
    try:
        tools = tools_image(prepared.settings, prepared.folder)
    except LabError as error:
        return [doctor.not_measured(error.message)]
    hosts = [Host(name) for name in prepared.fitted.hosts]
    lacking = [host.name for host in hosts if host.run("image", "inspect", tools).returncode != 0]
    if lacking:
        return [doctor.not_measured(f"{', '.join(lacking)}: has no image {tools}")]
    try:
        measured = measure.measure(hosts, prepared.folder.stack, tools, encrypted=prepared.encrypted)
    except LabError as error:
        # An engine may refuse a container in an overlay that its kernel cannot encrypt.
        return [doctor.not_possible(error, encrypted=prepared.encrypted)]
    return doctor.examine_network(measured, encrypted=prepared.encrypted)


def settings_of_ports(settings: Settings, folder: StackFolder) -> Settings:
    """Return settings for the check of ports: those that the stack has open already are its own."""
    return Settings(settings.values, access.project_of(folder.stack))


def require_sound(checks: Sequence[Check]) -> None:
    """Print warnings, and raise LabError if a check has failed."""
    for one in checks:
        if one.level is Level.WARNING:
            ui.warn(f"{one.name}: {one.finding}")
    if error := machine_doctor.blocking_error(checks):
        raise error
    ui.note("; ".join(f"{one.name}: {one.finding}" for one in checks if one.name.startswith("host ")))


def up(settings: Settings, name: str, forced: lifecycle.ImageChoice | None, *, mark: str | None = None) -> None:
    """Build all images, and start the stack. Raises LabError.

    ``mark`` is the record in ``ownership`` during the start.
    """
    lifecycle.require_engine()
    lifecycle.check_extra_cordapps(settings)
    prepare_images(settings, forced)
    with ui.phase("Checking the hosts"):
        prepared = prepare(settings, name)
        require_sound(check(prepared))
    build(settings)
    ownership.mark(prepared.folder.stack, mark)
    start(prepared, name)


def prepare_images(settings: Settings, forced: lifecycle.ImageChoice | None) -> None:
    """Pull or build the third-party images that the builds, the services and the registry need."""
    with ui.phase("Third-party images"):
        names = {**images.image_names(settings), **{one: settings[one] for one in STACK_IMAGES}}
        engine.ensure_images(names, forced)


def build(settings: Settings) -> None:
    """Build the lab's own images on this machine, with that of the tools, which not every shape has."""
    lifecycle.build(settings)
    if TOOLS not in settings.services:
        lifecycle.build(settings, TOOLS)


def start(prepared: Prepared, name: str) -> None:
    """Start the stack with the images that are on this machine, and wait until it is ready. Raises LabError.

    ``name`` is the placement, as it was given.
    """
    settings, folder, fitted = prepared.settings, prepared.folder, prepared.fitted
    folder.record(name, list(fitted.hosts))
    folder.note_ended()
    tools = tools_image(settings, folder)
    with ui.phase("Making the network"):
        network = bootstrap.run(settings, folder)
    with ui.phase("Images for the hosts"):
        project = prepared.project
        overlays.is_of_kind(f"{folder.stack}_default", encrypted=prepared.encrypted)
        commands = publish.commands_of(service.image for service in project.running.values())
        stack = derive(Derivation(project, fitted, network, commands))
        port = registry.own_port(fitted.placement.fields.registry)
        if port is not None:
            own = registry.registry_of(settings, folder, prepared.beyond, port=port, tools=tools)
            own.start(tools, encrypted=prepared.encrypted)
        registry.send_image(tools, prepared.beyond)
        publish.publish(stack.images, network)
        publish.pull(images_by_host(stack, fitted))
    with ui.phase("Starting the stack"):
        deploy.deploy(stack, deploy.write(stack, folder), prepared.hosts.node_names)
    with ui.phase("Opening the ports of this machine"):
        access.open_ports(settings, stack.name, tools, with_bridge=not bridge_is_here(project, prepared))
        await_bridge(settings)
    folder.note_deployed(deployment_of(prepared, name, tools))


def deployment_of(prepared: Prepared, name: str, tools: str) -> Deployment:
    """Return the record of a stack that runs. ``name`` is the placement, as it was given."""
    fitted, running = prepared.fitted, prepared.project.running
    return Deployment(
        placement=name,
        text=fitted.placement.source.path.read_text(encoding="utf-8"),
        overlay=fitted.placement.fields.overlay,
        services={service: place.host for service, place in fitted.places.items()},
        workers=list(fitted.workers),
        images={service: form.image for service, form in running.items()},
        tools=tools,
    )


def bridge_is_here(project: Project, prepared: Prepared) -> bool:
    """Return whether the bridge is published for all, and runs on this machine."""
    service = project.services["bridge"]
    published = any(is_published("bridge", service, port) for port in service.ports or ())
    return published and prepared.hosts.node_names.get(own_node()) == prepared.fitted.places["bridge"].host


def images_by_host(stack: Stack, fitted: Fitted) -> Mapping[Host, Sequence[str]]:
    """Return the images that each host needs, each once."""
    found: dict[Host, dict[str, None]] = {}
    for service, place in fitted.places.items():
        if service in stack.services:
            found.setdefault(Host(place.host), {})[stack.image_of(service)] = None
    for host in fitted.workers:
        found.setdefault(Host(host), {})[stack.image_of(SERVICE)] = None
    return {host: list(names) for host, names in found.items()}


def tools_image(settings: Settings, folder: StackFolder) -> str:
    """Give the image of the tools a name that says what is in it, and return the name. Raises LabError."""
    source = settings.own_image(TOOLS)
    found = run_docker(["image", "inspect", "--format", "{{.Id}}", source])
    if found.returncode != 0:
        raise LabError(f"There is no image {source}", "Build it: `docker compose build links`.")
    name = f"{folder.stack}/tools:{found.stdout.strip().removeprefix('sha256:')[:12]}"
    tagged = run_docker(["tag", source, name])
    if tagged.returncode != 0:
        raise LabError(f"`docker tag {source} {name}` failed: {last_words(tagged.stderr)}", exit_code=1)
    return name


def await_bridge(settings: Settings) -> None:
    """Wait until the bridge answers on this machine, with all nodes. Raises LabError."""
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


def hosts_left(folder: StackFolder, name: str | None, found: Sequence[Member]) -> list[Host]:
    """Return the hosts on which something of a stack may be. Raises LabError if nothing says which.

    With a placement, these are all hosts with its label, whether or not they belong to this shape.
    """
    recorded = folder.recorded()
    if recorded is None and name is None:
        raise LabError(
            f"It is not known on which hosts the stack {folder.stack} is",
            "Give the placement with which it was started: --placement NAME.",
        )
    names = recorded.hosts if recorded else []
    if name is not None:
        label = find_placement(name).fields.label
        names = [*names, *(member.labels[label] for member in found if label in member.labels)]
    return [Host(one) for one in dict.fromkeys(names)]


def down(settings: Settings, name: str | None, *, volumes: bool, mark: str | None = None) -> None:
    """Stop the stack. Ledgers and identities are kept, unless ``volumes``. Raises LabError.

    ``mark`` is the record in ``ownership`` for anything that remains.
    """
    folder = StackFolder.of(settings.project)
    # From an engine that is no manager, nothing of the stack could be seen or removed.
    hosts = hosts_left(folder, name, members())
    ownership.mark(folder.stack, mark)
    remove(settings, folder, hosts, volumes=volumes)
