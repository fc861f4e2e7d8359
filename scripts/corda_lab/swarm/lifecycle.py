"""Starts and stops a stack: ``lab up --on PLACEMENT`` and ``lab down --on PLACEMENT``.

Everything before ``start`` needs the engine of this machine, which must be a manager of the swarm. ``start`` takes the
images that are here. Swarm says that a task is running when its health check has passed. A task that has ended is never
started again: Swarm makes another one, if the service's restart policy says so.
"""

import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess

from bare.commands import last_words
from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.host.processes import last_lines
from corda_lab.lab import doctor as machine_doctor
from corda_lab.lab import images, lifecycle, project, shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import (
    HERE,
    PROJECT_LABEL,
    ask,
    docker,
    labelled,
    on_each,
    outcomes,
    output_of,
    problems_of,
    replace_ended,
)
from corda_lab.lab.doctor import Check, Examined, Level
from corda_lab.lab.settings import BOOTSTRAP, Settings
from corda_lab.paths import ROOT
from corda_lab.swarm import hosts
from corda_lab.swarm.deployment import RUNNING, Deployment, StackFolder, Task, tasks_of
from corda_lab.swarm.hosts import Host, Member, ask_hosts, members
from corda_lab.swarm.placement import CORES_MAX, GENERATOR, Fitted, find_placement, fit
from corda_lab.swarm.stack import (
    LABEL,
    NAMESPACE,
    Derivation,
    ImageCommand,
    Project,
    Stack,
    StackImage,
    derive,
    is_executable,
    parse_project,
)
from corda_lab.text import ui, words
from lab_workload.problems import Problem

LINKS = "links"
"""The service whose image has the proxy that leads to the ports of the services."""
BOOTSTRAP_FILE = ROOT / "deploy" / "swarm" / "bootstrap.yaml"
BOOTSTRAP_SECONDS_MAX = 300.0
COPY_SECONDS_MAX = 60.0
PLACES = ("/network", "/nodes", "/secrets")
"""The folders of its container in which the bootstrapper writes what services read."""
DOCKERFILE = ROOT / "deploy" / "swarm" / "Dockerfile"
BUILD_SECONDS_MAX = 300.0
PUSH_SECONDS_MAX = 900.0
PULL_SECONDS_MAX = 1200.0
NO_ATTESTATIONS = {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
"""They have times in them: the same image would have another id after every build."""
ACCESS_FILE = ROOT / "deploy" / "swarm" / "access.yaml"
PORTS = ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
ADDRESS = "BRIDGE_ADDRESS"
OPEN_SECONDS_MAX = 180.0
CLOSE_SECONDS_MAX = 120.0
ANSWER_SECONDS_MAX = 60.0
"""How long the bridge may take to answer at the manager's port, once it runs."""
DEPLOY_SECONDS_MAX = 300.0
READY_SECONDS_MAX = 1200.0
"""A node may take 900 s until its health check has passed. It may wait for a database before."""
POLL_SECONDS = 2.0
REPORT_EVERY_SECONDS = 15.0
LOG_LINES = 15
ENDED = ("complete", "shutdown", "failed", "rejected", "remove", "orphaned")
SETTLED_SECONDS = 5.0
"""How long Swarm may take to replace a task whose service has changed. `docker service update` waits as long."""
PENDING_SECONDS_MAX = 60.0
"""How long Swarm may look for a host. What does not fit now will not fit later: nothing else is to run there."""
ENDED_SECONDS_MAX = 10.0
"""How long a task may have ended without another one in its place. Swarm makes one after five seconds."""
GONE_SECONDS_MAX = 240.0
"""A node may take two minutes to close its database."""
NETWORK_SECONDS_MAX = 60.0
"""How long hosts may take to let go of an overlay, once no container is in it."""
NETWORK_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Prepared:
    settings: Settings
    project: Project
    """Without the services for which there is no image here."""
    fitted: Fitted
    hosts: Mapping[str, Host | LabError]
    folder: StackFolder


def prepare(settings: Settings, name: str) -> Prepared:
    """Read a placement, fit it to the shape, and ask all hosts. Raises LabError for what does not fit."""
    placement = find_placement(name)
    # The nodes may have more cores than this machine: it is not the one on which they run.
    if problems := shape.problems(settings, cores=CORES_MAX):
        raise LabError(problems=problems)
    engine.ensure_compose(install=False)
    compose_project = project_of(settings)
    fitted = fit(placement, compose_project.running)
    return Prepared(settings, compose_project, fitted, ask_hosts(fitted, members()), StackFolder.of(settings.project))


def project_of(settings: Settings) -> Project:
    return parse_project(Compose(settings).config()).without(lifecycle.left_out())


def check(prepared: Prepared) -> list[Check]:
    # Ports that the stack has open already are its own.
    beside = Settings(prepared.settings.values, access_project(prepared.folder.stack))
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
    settings, folder, fitted = prepared.settings, prepared.folder, prepared.fitted
    folder.note_ended()
    with ui.phase("Making the network"):
        network = make_network(settings, folder)
    with ui.phase("Images for the hosts"):
        require_overlay(folder.overlay, encrypted=fitted.placement.fields.is_encrypted)
        commands = commands_of(service["image"] for service in prepared.project.running.values())
        stack = derive(Derivation(prepared.project, fitted, network, commands))
        deployment = deployment_of(prepared, name, stack)
        folder.note(deployment)
        push(stack.images)
        pull(images_by_host(stack, fitted))
    with ui.phase("Starting the stack"):
        folder.write(stack)
        deploy(stack, folder.stack_file)
    with ui.phase("Opening the ports of this machine"):
        open_ports(settings, stack.name)
        await_bridge(settings)
    folder.note(deployment.model_copy(update={"is_running": True}))


def deployment_of(prepared: Prepared, name: str, stack: Stack) -> Deployment:
    fitted = prepared.fitted
    return Deployment(
        placement=name,
        text=fitted.placement.source.path.read_text(encoding="utf-8"),
        overlay=fitted.placement.fields.overlay,
        services={service: place.host for service, place in fitted.places.items()},
        workers=list(fitted.workers),
        images={service: form["image"] for service, form in prepared.project.running.items()},
        helper_image=stack.image_of(GENERATOR),
        reader_image=stack.image_of(prepared.settings.nodes[0].lower()),
        hosts=list(fitted.hosts),
    )


def bootstrap_container(stack: str) -> str:
    return f"{stack}-{BOOTSTRAP}"


def make_network(settings: Settings, folder: StackFolder) -> Path:
    """Run the bootstrapper once for a stack, and return a copy of what it has written. Raises LabError.

    It knows itself whether the network exists already and fits the shape. It has a Compose project of the stack's name,
    so that identities and ledgers of a lab on this machine are never touched.
    """
    folder.create()
    compose = Compose(replace(settings, project=folder.stack), files=[BOOTSTRAP_FILE])
    compose.environment["LAB_NODE_IMAGE"] = settings.own_node_image
    container = bootstrap_container(folder.stack)
    # A command that was killed may have left one.
    _remove_container(container)
    try:
        command = ("run", "--no-deps", "--no-TTY", "--name", container, BOOTSTRAP)
        done = compose.run(*command, check=False, seconds_max=BOOTSTRAP_SECONDS_MAX)
        for line in done.stdout.splitlines():
            ui.note(f"| {line}")
        remedy = "Mend what it names, or delete stack and ledgers: `scripts/lab down --on PLACEMENT --volumes`."
        output_of(done, "The bootstrapper failed", remedy)
        _copy_network(container, folder)
    finally:
        _remove_container(container)
    return folder.network


def _copy_network(container: str, folder: StackFolder) -> None:
    """Replace the copy of the network's files by those of a container, which has ended. Raises LabError."""
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.root))
    try:
        for place in PLACES:
            done = docker("cp", f"{container}:{place}", str(partial), seconds_max=COPY_SECONDS_MAX)
            output_of(done, f"Copying {place} of the bootstrapper failed", "Run it again.")
        if folder.network.exists():
            shutil.rmtree(folder.network)
        partial.rename(folder.network)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove_container(container: str) -> None:
    # An engine that does not answer is the error of the command before.
    with suppress(LabError):
        docker("rm", "--force", container)


def require_overlay(name: str, *, encrypted: bool) -> None:
    """Raise LabError if an overlay is there, and not of the kind that the placement wants."""
    form = '{{if index .Options "encrypted"}}encrypted{{else}}plain{{end}}'
    done = docker("network", "inspect", "--format", form, name)
    needed, present = "encrypted" if encrypted else "plain", done.stdout.strip()
    if done.returncode == 0 and present != needed:
        raise LabError(
            f"overlay: the placement says {needed}, but the overlay {name} exists and is {present}",
            "Remove the stack first, `scripts/lab down --on PLACEMENT`. Ledgers are kept.",
        )


def commands_of(sources: Iterable[str]) -> dict[str, ImageCommand]:
    """Return what images run by themselves. An image that is not here is left out."""
    commands = {}
    for source in dict.fromkeys(sources):
        done = docker("image", "inspect", "--format", "{{json .Config}}", source)
        if done.returncode == 0:
            config = json.loads(done.stdout)
            commands[source] = ImageCommand(tuple(config.get("Entrypoint") or ()), tuple(config.get("Cmd") or ()))
    return commands


def push(stack_images: Sequence[StackImage]) -> None:
    """Build every image with its files, under its name in the registry, and push it there. Raises LabError."""
    remedy = "The registry is that of the placement; `docker login` to it, if it asks for that."
    for image in stack_images:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="image-files-") as folder:
            copy_files(image.files, Path(folder) / "files")
            options = ["--load", "--quiet", "--file", str(DOCKERFILE), "--build-arg", f"IMAGE={image.source}"]
            command = ("buildx", "build", *options, "--tag", image.name, folder)
            done = docker(*command, seconds_max=BUILD_SECONDS_MAX, environment=NO_ATTESTATIONS)
            output_of(done, f"Building {image.name} failed")
        done = docker("push", "--quiet", image.name, seconds_max=PUSH_SECONDS_MAX)
        output_of(done, f"Pushing {image.name} failed", remedy)
        ui.note(f"{image.name} ({time.monotonic() - started:.0f} s)")


def copy_files(files: Mapping[str, Path], root: Path) -> None:
    """Copy files to their places below a folder, so that every user of an image can read them."""
    root.mkdir()
    for target, path in files.items():
        copy = root / target.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o755 if is_executable(path) else 0o644)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def images_by_host(stack: Stack, fitted: Fitted) -> dict[str, list[str]]:
    """Return the images that each host needs, each once. That of the load generator reads files and makes faults."""
    by_host = {host: [stack.image_of(GENERATOR)] for host in fitted.hosts}
    for service, place in fitted.places.items():
        by_host[place.host].append(stack.image_of(service))
    return {host: list(dict.fromkeys(names)) for host, names in by_host.items()}


def pull(by_host: Mapping[str, Sequence[str]]) -> None:
    """Let every host pull its images, all hosts at once. So what lasts is not part of the start. Raises LabError."""

    def pull_here(host: str) -> None:
        started = time.monotonic()
        for image in by_host[host]:
            ask("pull", "--quiet", image, on=host, seconds_max=PULL_SECONDS_MAX)
        count = words.plural(len(by_host[host]), "image")
        ui.note(f"{host}: has {count} ({time.monotonic() - started:.0f} s)")

    on_each(by_host, pull_here)


@dataclass
class StackProgress:
    """What becomes of each service of a stack while it starts. It is fed with tasks, and asks nobody itself."""

    expected: Sequence[str]
    started_at: float = field(default_factory=time.monotonic)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    """Since when a task was seen, by its id, and in a state, by its id and the state."""

    def take(self, tasks: Mapping[str, Task]) -> None:
        """Take what Swarm says now, and print which services became ready or ended since the last time."""
        now = time.monotonic()
        self.tasks = {name: task for name, task in tasks.items() if name in self.expected}
        for name, task in self.tasks.items():
            if (task.id, task.state) not in self._since and task.state in (RUNNING, *ENDED):
                ui.note(f"{now - self.started_at:6.1f} s  {name:<17} {task}")
            self._since.setdefault((task.id, ""), now)
            self._since.setdefault((task.id, task.state), now)

    @property
    def is_ready(self) -> bool:
        """Whether all services run, and Swarm replaces none of their tasks."""
        settled = time.monotonic() - SETTLED_SECONDS
        tasks = [self.tasks.get(name) for name in self.expected]
        return all(task and task.state == RUNNING and self._since[task.id, ""] <= settled for task in tasks)

    @property
    def failed(self) -> dict[str, str]:
        """The services that will not run, with the reason in Swarm's words."""
        now = time.monotonic()
        reasons = {}
        for name, task in self.tasks.items():
            seconds = now - self._since[task.id, task.state]
            if task.state in ENDED and seconds >= ENDED_SECONDS_MAX:
                reasons[name] = task.trouble or f"its task has ended ({task.state})"
            elif task.state == "pending" and task.trouble and seconds >= PENDING_SECONDS_MAX:
                reasons[name] = task.trouble
        return reasons

    def words(self) -> str:
        states: dict[str, list[str]] = {}
        for name in self.expected:
            state = self.tasks[name].state if name in self.tasks else "waiting"
            if state != RUNNING:
                states.setdefault(state, []).append(name)
        return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "all services run"


def deploy(stack: Stack, file: Path) -> None:
    """Hand the stack to Swarm, and wait until every service runs. Raises LabError that names those that do not."""
    command = ["stack", "deploy", "--prune", "--with-registry-auth", "--compose-file", str(file), stack.name]
    by_hand = shlex.join(["docker", *command])
    ui.note(f"by hand: {by_hand}")
    output_of(docker(*command, seconds_max=DEPLOY_SECONDS_MAX), "`docker stack deploy` failed", f"Run `{by_hand}`.")
    for name, task in tasks_of(stack.name).items():
        if task.state in ENDED:
            # Swarm does not start it, if its service is as it was before.
            replace_ended(f"{stack.name}_{name}")
    await_ready(stack.name, StackProgress(stack.services))
    # Swarm keeps the secrets of earlier forms of the stack: the keys of old nodes.
    names = docker("secret", "ls", *labelled(f"{NAMESPACE}={stack.name}"), "--format={{.Name}}").stdout.split()
    if old := [name for name in names if name not in stack.document["secrets"]]:
        # One that a task still has is refused, and goes with the next start.
        docker("secret", "rm", *old)


def await_ready(stack: str, progress: StackProgress) -> None:
    """Wait until every service of a stack runs. Raises LabError if one cannot, or after READY_SECONDS_MAX."""
    deadline = progress.started_at + READY_SECONDS_MAX
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while True:
            progress.take(tasks_of(stack))
            if progress.is_ready:
                return
            if failed := progress.failed:
                raise _start_error(stack, failed)
            now = time.monotonic()
            if now > deadline:
                raise LabError(
                    f"The stack was not ready within {READY_SECONDS_MAX:.0f} s: {progress.words()}",
                    f"See `docker stack ps --no-trunc {stack}`. `scripts/lab down --on PLACEMENT` removes the stack.",
                    exit_code=1,
                )
            ticker.show(f"{now - progress.started_at:.0f} s: {progress.words()}")
            time.sleep(POLL_SECONDS)


def _start_error(stack: str, failed: Mapping[str, str]) -> LabError:
    for name in [*failed][:2]:
        ui.note(f"last lines of {name}:")
        done = docker("service", "logs", "--raw", f"--tail={2 * LOG_LINES}", f"{stack}_{name}", seconds_max=30)
        for line in last_lines(done.stdout + done.stderr, LOG_LINES):
            ui.note(f"| {line}")
    reasons = "; ".join(f"{name}: {trouble}" for name, trouble in failed.items())
    first = next(iter(failed))
    remedy = f"See `docker service logs {stack}_{first}` and `docker service ps --no-trunc {stack}_{first}`."
    return LabError(f"The stack did not start: {reasons}", f"{remedy} Then run this command again.", exit_code=1)


def access_project(stack: str) -> str:
    return f"{stack}-access"


def open_ports(settings: Settings, stack: str) -> None:
    """Lead from the manager to the ports of a stack. So all clients of the lab work as on one machine.

    Swarm publishes a port on all addresses of a host or not at all. So the proxy is a plain container on the manager,
    with the image of links, which is made anew if the ports have changed. Raises LabError with what it last said.
    """
    settings.check_bridge_address()
    values = {name: str(settings.port(name)) for name in PORTS}
    values |= {ADDRESS: settings.values.get(ADDRESS) or "127.0.0.1", "LAB_LINKS_IMAGE": settings.own_image(LINKS)}
    values["LAB_STACK_NETWORK"] = StackFolder(stack).overlay
    wait = ("--wait", "--wait-timeout", f"{OPEN_SECONDS_MAX:.0f}")
    done = _access(stack, values, "up", "--detach", "--remove-orphans", *wait, seconds_max=OPEN_SECONDS_MAX + 30)
    if done.returncode != 0:
        log = _access(stack, values, "logs", "--no-color", "--tail=3", seconds_max=30).stdout
        reasons = " | ".join(filter(None, (last_words(done.stderr, 1), last_words(log, 3))))
        raise LabError(f"the ports of this machine were not opened: {reasons}", exit_code=1)


def close_ports(stack: str) -> None:
    # The file needs values, even for what is only removed.
    values = {**dict.fromkeys((*PORTS, "LAB_LINKS_IMAGE", "LAB_STACK_NETWORK"), "0"), ADDRESS: "127.0.0.1"}
    done = _access(stack, values, "down", "--remove-orphans", "--timeout=5", seconds_max=CLOSE_SECONDS_MAX)
    output_of(done, f"the project {access_project(stack)} was not removed")


def _access(stack: str, values: dict[str, str], *arguments: str, seconds_max: float) -> CompletedProcess[str]:
    command = ("compose", "--file", str(ACCESS_FILE), "--project-name", access_project(stack), *arguments)
    return docker(*command, seconds_max=seconds_max, environment=values)


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
    known_hosts = hosts_left(folder, name, members())
    project.mark(folder.stack, mark)
    remove(folder, known_hosts, volumes=volumes)


def remove(folder: StackFolder, known_hosts: Sequence[str], *, volumes: bool) -> None:
    """Remove the stack, and what runs beside it. Raises LabError with all that is still there, and why.

    With ``volumes``, also delete the ledgers, the metrics and the identities on every host.
    A host that cannot be reached does not keep the others from being cleared.
    """
    stack = folder.stack
    folder.note_ended()
    problems: list[Problem] = []
    with ui.phase("Stopping the stack" + (" and deleting its volumes" if volumes else "")):
        with _noted(problems):
            name = bootstrap_container(stack)
            if docker("container", "inspect", name).returncode == 0:
                output_of(docker("rm", "--force", name), f"The container {name} was not removed")
        problems += problems_of(outcomes(known_hosts, lambda host: _remove_plain(host, stack)))
        with _noted(problems):
            close_ports(stack)
        with _noted(problems):
            output_of(docker("stack", "rm", stack), f"The stack {stack} was not removed")
        problems += _await_gone(known_hosts, stack)
        overlays = docker("network", "ls", *labelled(f"{NAMESPACE}={stack}"), "--format={{.Name}}")
        for name in overlays.stdout.split():
            with _noted(problems):
                _remove_network(name)
        if volumes:
            # The engine of this machine may be that of a host, so it comes afterwards.
            for engines in (known_hosts, [HERE]):
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
    left = ask("ps", "--all", "--quiet", *labelled(f"{LABEL}={stack}"), on=host).split()
    if left:
        ask("rm", "--force", "--volumes", *left, on=host)


def _await_gone(known_hosts: Sequence[str], stack: str) -> list[Problem]:
    """Wait until no host has a container of the stack. Return what is wrong with those that keep one, or are lost."""
    listing = ("ps", "--all", *labelled(f"{NAMESPACE}={stack}"), "--format={{.Names}}")
    problems: list[Problem] = []
    waiting = list(known_hosts)
    started = time.monotonic()
    with ui.Ticker(every_seconds=REPORT_EVERY_SECONDS) as ticker:
        while True:
            listed = outcomes(waiting, lambda host: ask(*listing, on=host).split())
            problems += problems_of(listed)
            left = {host: names for host, names in listed.items() if names and not isinstance(names, LabError)}
            waiting = list(left)
            if not waiting:
                return problems
            # The name of a task's container is that of its service, with a number and an id.
            shown = ", ".join(
                f"{name.removeprefix(f'{stack}_').partition('.')[0]} on {host}" for host in left for name in left[host]
            )
            seconds = time.monotonic() - started
            if seconds > GONE_SECONDS_MAX:
                remedy = "A restart of the engine removes what it has lost."
                return [*problems, Problem(f"containers of the stack are still there: {shown}", remedy=remedy)]
            ticker.show(f"{seconds:.0f} s: {shown}")
            time.sleep(POLL_SECONDS)


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
    for label in (NAMESPACE, PROJECT_LABEL):
        names += ask("volume", "ls", "--quiet", *labelled(f"{label}={stack}"), on=host).split()
    if names:
        output_of(docker("volume", "rm", "--force", *names, on=host), "Volumes were not deleted")
