"""Starts and stops a stack: ``lab up --on PLACEMENT`` and ``lab down --on PLACEMENT``.

Everything before ``start`` needs the engine of this machine, which must be a manager of the swarm. ``start`` takes the
images that are here.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.lab import doctor as machine_doctor
from corda_lab.lab import images, lifecycle, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import HERE, ask, docker, labelled, outcomes, output_of, problems_of
from corda_lab.lab.doctor import Check, Examined, Level
from corda_lab.lab.settings import Settings
from corda_lab.swarm import deploy, hosts
from corda_lab.swarm import images as stack_images
from corda_lab.swarm.folder import Deployment, StackFolder
from corda_lab.swarm.hosts import Member, SwarmHosts, members
from corda_lab.swarm.load_container import SERVICE
from corda_lab.swarm.placement import CORES_MAX, Fitted, find_placement, fit
from corda_lab.swarm.project import Project, parse_project
from corda_lab.swarm.stack import Derivation, Stack, derive, is_published, stack_image
from corda_lab.text import ui
from lab_workload.problems import Problem

LINKS = "links"
"""The service whose image has the proxy that leads to the ports of the services."""
ANSWER_SECONDS_MAX = 60.0
"""How long the bridge may take to answer at the manager's port, once it runs."""
POLL_SECONDS = 1.0
GONE_SECONDS_MAX = 240.0
"""A node may take two minutes to close its database."""
GONE_POLL_SECONDS = 2.0
REPORT_EVERY_SECONDS = 15.0
NETWORK_SECONDS_MAX = 60.0
"""How long hosts may take to let go of an overlay, once no container is in it."""
NETWORK_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Prepared:
    settings: Settings
    project: Project
    """Without the services for which there is no image here."""
    fitted: Fitted
    hosts: SwarmHosts
    folder: StackFolder


def prepare(settings: Settings, name: str) -> Prepared:
    """Read a placement, fit it to the shape, and ask all hosts. Raises LabError for what does not fit."""
    placement = find_placement(name)
    # The nodes may have more cores than this machine: it is not the one on which they run.
    if problems := shape.problems(settings, cores=CORES_MAX):
        raise LabError(problems=problems)
    engine.ensure_compose(install=False)
    project = project_of(settings)
    fitted = fit(placement, project)
    hosts = SwarmHosts.ask(fitted, members())
    return Prepared(settings, project, fitted, hosts, StackFolder.of(settings.project))


def project_of(settings: Settings) -> Project:
    return parse_project(Compose(settings).config()).without(lifecycle.left_out())


def check(prepared: Prepared) -> list[Check]:
    # Ports that the stack has open already are its own.
    beside = Settings(prepared.settings.values, deploy.access_project(prepared.folder.stack))
    rows = (machine_doctor.DISK, *machine_doctor.PORT_ROWS, *machine_doctor.EXPOSURES)
    checks = [*hosts.examine(prepared.fitted, prepared.hosts), *machine_doctor.run(rows, Examined(beside))]
    if all(made.level is not Level.FAILURE for made in checks):
        # Engines that do not answer have been named already.
        checks += hosts.examine_registry(prepared.fitted.placement.fields.registry, prepared.fitted.hosts)
    return checks


def up(settings: Settings, name: str, forced: lifecycle.ImageChoice | None, *, mark: str | None = None) -> None:
    """Build all images, and start the stack. Raises LabError.

    ``mark`` is the record of ``project.mark`` during the start.
    """
    lifecycle.require_engine()
    lifecycle.check_extra_cordapps(settings)
    with ui.phase("Third-party images"):
        # Those of the builds and the services, and that of the ways to their ports.
        names = {**images.image_names(settings), "TOXIPROXY_IMAGE": settings["TOXIPROXY_IMAGE"]}
        engine.ensure_images(names, forced)
    with ui.phase("Checking the hosts"):
        prepared = prepare(settings, name)
        machine_doctor.require_sound(check(prepared), shown=lambda made: made.name.startswith("host "))
    build(settings)
    project.mark(prepared.folder.stack, mark)
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
        network = deploy.make_network(settings, folder)
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
        deploy.open_ports(settings, stack.name, settings.own_image(LINKS), with_bridge=with_bridge)
        await_bridge(settings)
    folder.note(deployment.model_copy(update={"is_running": True}))


def deployment_of(prepared: Prepared, name: str) -> Deployment:
    fitted, running = prepared.fitted, prepared.project.running
    generator = stack_image(SERVICE, running[SERVICE]["image"], fitted.placement.fields.registry, "")
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
    own_node = docker("info", "--format", "{{.Swarm.NodeID}}").stdout.strip()
    return published and prepared.hosts.node_names.get(own_node) == prepared.fitted.places["bridge"].host


def images_by_host(stack: Stack, fitted: Fitted) -> Mapping[str, Sequence[str]]:
    """Return the images that each host needs, each once. That of the load generator reads files and makes faults."""
    by_host = {host: [stack.image_of(SERVICE)] for host in fitted.hosts}
    for service, place in fitted.places.items():
        by_host[place.host].append(stack.image_of(service))
    return {host: list(dict.fromkeys(names)) for host, names in by_host.items()}


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


def hosts_left(folder: StackFolder, name: str, known_members: Sequence[Member]) -> list[str]:
    """Return the hosts on which something of a stack may be: those of its record, and all with the placement's label.

    They need not belong to this shape. Raises LabError.
    """
    known = folder.known()
    label = find_placement(name).fields.label
    named = [member.labels[label] for member in known_members if label in member.labels]
    return list(dict.fromkeys([*(known.hosts if known else ()), *named]))


def down(settings: Settings, name: str, *, volumes: bool, mark: str | None = None) -> None:
    """Stop the stack. Ledgers and identities are kept, unless ``volumes``. Raises LabError.

    ``name`` is the placement. ``mark`` is the record of ``project.mark`` for anything that remains.
    """
    folder = StackFolder.of(settings.project)
    # From an engine that is no manager, nothing of the stack could be seen or removed.
    hosts = hosts_left(folder, name, members())
    project.mark(folder.stack, mark)
    remove(folder, hosts, volumes=volumes)


def remove(folder: StackFolder, hosts: Sequence[str], *, volumes: bool) -> None:
    """Remove the stack, and what runs beside it. Raises LabError with all that is still there, and why.

    With ``volumes``, also delete the ledgers, the metrics and the identities on every host.
    A host that cannot be reached does not keep the others from being cleared.
    """
    stack = folder.stack
    folder.note_ended()
    problems: list[Problem] = []
    with ui.phase("Stopping the stack" + (" and deleting its volumes" if volumes else "")):
        with _noted(problems):
            name = deploy.bootstrap_container(stack)
            if docker("container", "inspect", name).returncode == 0:
                output_of(docker("rm", "--force", name), f"The container {name} was not removed")
        problems += problems_of(outcomes(hosts, lambda host: _remove_plain(host, stack)))
        with _noted(problems):
            deploy.close_ports(stack)
        with _noted(problems):
            output_of(docker("stack", "rm", stack), f"The stack {stack} was not removed")
        problems += _await_gone(hosts, stack)
        overlays = docker("network", "ls", f"--filter=label={deploy.NAMESPACE}={stack}", "--format={{.Name}}")
        for name in overlays.stdout.split():
            with _noted(problems):
                _remove_network(name)
        if volumes:
            # The engine of this machine may be that of a host, so it comes afterwards.
            for engines in (hosts, [HERE]):
                problems += problems_of(outcomes(engines, lambda host: _remove_volumes(host, stack)))
    if problems:
        raise LabError(problems=[*dict.fromkeys(problems)], exit_code=1)
    if volumes:
        folder.forget()


@contextmanager
def _noted(problems: list[Problem]) -> Iterator[None]:
    """Note an error of the block, and go on: what can be removed is removed."""
    try:
        yield
    except LabError as error:
        problems += error.problems


def _remove_plain(host: str, stack: str) -> None:
    left = ask("ps", "--all", "--quiet", *labelled(f"{deploy.LABEL}={stack}"), on=host).split()
    if left:
        ask("rm", "--force", "--volumes", *left, on=host)


def _await_gone(hosts: Sequence[str], stack: str) -> list[Problem]:
    """Wait until no host has a container of the stack. Return what is wrong with those that keep one, or are lost."""
    form = ["ps", "--all", f"--filter=label={deploy.NAMESPACE}={stack}", "--format={{.Names}}"]
    problems: list[Problem] = []
    waiting = list(hosts)

    def left() -> list[str]:
        listed = outcomes(waiting, lambda host: ask(*form, on=host).split())
        problems.extend(problems_of(listed))
        names = {host: kept for host, kept in listed.items() if kept and not isinstance(kept, LabError)}
        waiting[:] = [host for host in waiting if host in names]
        # The name of a task's container is that of its service, with a number and an id.
        return [
            f"{name.removeprefix(f'{stack}_').partition('.')[0]} on {host}" for host in names for name in names[host]
        ]

    started = time.monotonic()
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while names := left():
            seconds = time.monotonic() - started
            if seconds > GONE_SECONDS_MAX:
                text = f"containers of the stack are still there: {', '.join(names)}"
                return [*problems, Problem(text, remedy="A restart of the engine removes what it has lost.")]
            ticker.show(f"{seconds:.0f} s: {', '.join(names)}")
            time.sleep(GONE_POLL_SECONDS)
    return problems


def _remove_network(name: str) -> None:
    """Remove an overlay, as soon as no host uses it any more. Raises LabError after NETWORK_SECONDS_MAX."""
    deadline = time.monotonic() + NETWORK_SECONDS_MAX
    while docker("network", "inspect", name).returncode == 0:
        done = docker("network", "rm", name)
        if time.monotonic() > deadline:
            remedy = f"`docker network inspect --verbose {name}` shows what still uses it."
            output_of(done, f"The overlay {name} was not removed", remedy)
        time.sleep(NETWORK_POLL_SECONDS)


def _remove_volumes(host: str, stack: str) -> None:
    """Remove the volumes of the stack, and those of its bootstrapper, from one engine. Raises LabError."""
    names: list[str] = []
    for label in (deploy.NAMESPACE, "com.docker.compose.project"):
        listed = docker("volume", "ls", "--quiet", *labelled(f"{label}={stack}"), on=host)
        names += output_of(listed, "The volumes could not be listed").split()
    if names:
        output_of(docker("volume", "rm", "--force", *names, on=host), "Volumes were not deleted")
