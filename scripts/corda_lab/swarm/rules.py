"""What becomes of each field of a Compose service on Docker Swarm: carried over, translated or left out, and why.

``docs/scale-out.md`` has the same table, and a test compares them. Every rule names the fields of the stack file that
it may set, so that nothing is in the stack file for which no rule is responsible.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from pydantic import JsonValue

from corda_lab.errors import LabError
from corda_lab.lab.settings import parse_size
from corda_lab.paths import ROOT
from corda_lab.swarm.fit import Fitted
from corda_lab.swarm.images import ImageCommand, StackImage, stack_image
from corda_lab.swarm.project import Port, Project, Service
from corda_lab.swarm.shared_files import Kind, NetworkFiles, StackFile, config_file, files_of
from lab_workload.problems import Problem

Fragment = dict[str, JsonValue]
"""A part of a service in the stack file."""

AWAIT = ROOT / "deploy" / "swarm" / "await-services"
AWAIT_TARGET = "/opt/corda-lab/await-services"
AWAIT_SECONDS_MAX = 900
"""As long as the health check of a node waits for its start."""
RETRIES = 1_000_000
"""Failed health checks until Swarm stops a container: months. A node that collects garbage, or a bridge that has lost a
node, is not to be stopped in the middle of a load."""
PUBLISHED = "published"
"""The network of services with ports. Without a published port, nothing needs it."""
ANY_ADDRESS = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "::1")
TOKEN = "BRIDGE_TOKEN"
_RESTART = re.compile(r"on-failure:(\d+)")
_TMPFS_DEFAULTS = {"exec", "mode=1777"}
"""Options of a temporary file system that are those of Swarm, or without which it can do."""


class Fate(Enum):
    """What becomes of a field. The values are the words of the table in ``docs/scale-out.md``."""

    CARRIED = "as it is"
    TRANSLATED = "translated"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Derivation:
    """All that a stack is derived from."""

    project: Project
    fitted: Fitted
    network: NetworkFiles
    commands: Mapping[str, ImageCommand]
    """What images run by themselves, by the name that Compose has for them. Only those that must wait are needed."""


@dataclass(frozen=True)
class DerivedService:
    """One service on its way into the stack."""

    name: str
    service: Service
    derivation: Derivation

    @cached_property
    def files(self) -> list[StackFile]:
        """Its secrets and configs. Raises LabError."""
        found = files_of(self.name, self.service, self.derivation.project, self.derivation.network)
        if self.awaited:
            found.append(config_file(self.derivation.project, self.service, AWAIT, AWAIT_TARGET))
        return found

    @cached_property
    def image(self) -> StackImage:
        """Its image in the registry of the stack."""
        registry = self.derivation.fitted.placement.fields.registry
        return stack_image(self.name, self.service.image, registry, self.derivation.network.image_hash)

    @cached_property
    def awaited(self) -> list[str]:
        """The services of this shape that must be healthy before its command starts.

        The bootstrapper is none of them: its files are secrets and configs, which a task has before it starts.
        """
        running = self.derivation.project.running
        on = self.service.depends_on.items()
        return [one for one, how in on if how.condition == "service_healthy" and one in running]

    @cached_property
    def published(self) -> list[Port]:
        """Its ports that other machines are meant to reach. Raises LabError."""
        return [port for port in self.service.ports or () if is_published(self.name, self.service, port)]


@dataclass(frozen=True)
class Rule:
    """What becomes of one field."""

    fate: Fate
    reason: str
    """One sentence, which the table in ``docs/scale-out.md`` also has."""
    into: tuple[str, ...] = ()
    """The fields of a service in the stack file that it may set, with dots between levels."""
    translate: Callable[[DerivedService], Fragment] = lambda _: {}


def literal(text: str) -> str:
    """Return a text that the Docker client reads as it is: it takes words after a ``$`` for variables."""
    return text.replace("$", "$$")


def _carried(name: str, reason: str = "Swarm has the same field.") -> Rule:
    """Return the rule of a field that stays as it is. An empty list or mapping says nothing, and is left out."""

    def translate(derived: DerivedService) -> Fragment:
        value = derived.service.model_dump(include={name}, exclude_none=True).get(name)
        return {} if value in (None, [], {}) else {name: value}

    return Rule(Fate.CARRIED, reason, (name,), translate)


def _image(derived: DerivedService) -> Fragment:
    return {"image": derived.image.name}


def _entrypoint(derived: DerivedService) -> Fragment:
    own = derived.service.entrypoint
    if not derived.awaited:
        return {"entrypoint": [*own]} if own else {}
    if own is None:
        own = [literal(word) for word in _command_of_image(derived).entrypoint]
    awaiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX), ",".join(derived.awaited)]
    return {"entrypoint": [*awaiting, *own]}


def _command(derived: DerivedService) -> Fragment:
    own = derived.service.command
    if own is None and derived.service.entrypoint is None and derived.awaited:
        # An image's own command is dropped with its entrypoint.
        own = [literal(word) for word in _command_of_image(derived).command]
    return {"command": [*own]} if own else {}


def _command_of_image(derived: DerivedService) -> ImageCommand:
    found = derived.derivation.commands.get(derived.service.image)
    if found is None or not (found.entrypoint or found.command):
        text = f"{derived.name}: it is not known what the image {derived.service.image} runs"
        raise LabError(text, "Pull or build the image first.")
    return found


def _volumes(derived: DerivedService) -> Fragment:
    own = derived.derivation.project.bootstrapped
    kept: list[JsonValue] = []
    for mount in derived.service.volumes:
        if mount.type == "volume" and mount.source not in own:
            source: Fragment = {"source": mount.source} if mount.source else {}
            read_only: Fragment = {"read_only": True} if mount.read_only else {}
            kept.append({"type": "volume", **source, "target": mount.target, **read_only})
    fragment: Fragment = {"volumes": kept} if kept else {}
    for kind in Kind:
        if references := [file.reference for file in derived.files if file.kind is kind]:
            fragment[kind.value] = [dict(reference) for reference in references]
    return fragment


def _tmpfs(derived: DerivedService) -> Fragment:
    folders = [_temporary(derived.name, entry) for entry in derived.service.tmpfs or ()]
    return {"volumes": [*folders]} if folders else {}


def _temporary(service: str, entry: str) -> Fragment:
    target, _, options = entry.partition(":")
    sizes = {}
    for option in filter(None, options.split(",")):
        if option.startswith("size="):
            sizes["size"] = parse_size(option.removeprefix("size="), option=f"{service}: tmpfs")
        elif option not in _TMPFS_DEFAULTS:
            raise LabError(f"{service}: tmpfs: Swarm has no option {option!r}", "Remove it from compose.yaml.")
    mounted: Fragment = {"type": "tmpfs", "target": target}
    return {**mounted, "tmpfs": {**sizes}} if sizes else mounted


def _shm_size(derived: DerivedService) -> Fragment:
    if derived.service.shm_size is None:
        return {}
    return {"volumes": [{"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(derived.service.shm_size)}}]}


def is_published(name: str, service: Service, port: Port) -> bool:
    """Return whether a port is meant for other machines. Raises LabError if Swarm cannot publish it so."""
    if port.host_ip in LOOPBACK:
        return False
    if port.host_ip and port.host_ip not in ANY_ADDRESS:
        text = f"{name}: Swarm publishes a port on all addresses of a host, not only on {port.host_ip}"
        raise LabError(text, "Use 127.0.0.1, which publishes nothing, or 0.0.0.0.")
    if not (service.environment or {}).get(TOKEN):
        problem = Problem.of(TOKEN, f"is empty, but other machines are to reach {name}")
        raise LabError(
            problems=[problem], remedy="Set it to 16 or more random characters, or BRIDGE_ADDRESS=127.0.0.1."
        )
    return True


def _ports(derived: DerivedService) -> Fragment:
    ports: list[JsonValue] = [
        {"mode": "host", "target": port.target, "published": int(port.published), "protocol": port.protocol}
        for port in derived.published
    ]
    return {"ports": ports} if ports else {}


def _networks(derived: DerivedService) -> Fragment:
    return {"networks": [name for name in derived.service.networks if name != PUBLISHED or derived.published]}


def _healthcheck(derived: DerivedService) -> Fragment:
    check = derived.service.healthcheck
    return {} if check is None else {"healthcheck": {**check.model_dump(), "retries": RETRIES}}


def _restart(derived: DerivedService) -> Fragment:
    restart = derived.service.restart
    attempts = _RESTART.fullmatch(restart)
    if attempts:
        policy: Fragment = {"condition": "on-failure", "max_attempts": int(attempts[1])}
    elif restart in ("no", "on-failure"):
        policy = {"condition": "none" if restart == "no" else restart}
    else:
        policy = {"condition": "any"}
    return {"deploy": {"restart_policy": policy}}


def _limit(name: str, value: JsonValue) -> Fragment:
    return {"deploy": {"resources": {"limits": {name: value}}}}


def _cpus(derived: DerivedService) -> Fragment:
    cpus = derived.service.cpus
    return {} if cpus is None or math.isclose(cpus, 0) else _limit("cpus", f"{cpus:g}")


def _cpuset(derived: DerivedService) -> Fragment:
    if derived.service.cpuset:
        text = f"{derived.service.cpuset} are cores of one machine, and Swarm cannot bind a service to cores"
        problem = Problem.of("NODE_CPUSET", text, "Leave it empty, and give the service a host of its own.")
        raise LabError(problems=[problem])
    return {}


RULES: Mapping[str, Rule] = {
    "image": Rule(
        Fate.TRANSLATED,
        "Every host pulls from the registry of the stack. Nodes and bridge have an image with the CorDapps in it.",
        ("image",),
        _image,
    ),
    "build": Rule(Fate.LEFT_OUT, "Images are built on one machine before, not on every host."),
    "entrypoint": Rule(
        Fate.TRANSLATED,
        "`await-services` stands in front of it where the service has to wait for others.",
        ("entrypoint",),
        _entrypoint,
    ),
    "command": Rule(
        Fate.TRANSLATED,
        "As it is. That of the image is spelled out where `await-services` is the entrypoint.",
        ("command",),
        _command,
    ),
    "hostname": _carried("hostname", "A node knows from it which node it is."),
    "profiles": Rule(Fate.LEFT_OUT, "Compose has chosen the services of this shape already."),
    "labels": _carried("labels", "They are labels of containers, from which the shape is read."),
    "environment": _carried("environment"),
    "volumes": Rule(
        Fate.TRANSLATED,
        "A service's own volume stays, on its host. Files that several share are secrets and configs.",
        ("volumes", "secrets", "configs"),
        _volumes,
    ),
    "ports": Rule(
        Fate.TRANSLATED,
        "Swarm cannot publish on 127.0.0.1 alone. Such a port is left out; one on 0.0.0.0 is that of the host.",
        ("ports",),
        _ports,
    ),
    "networks": Rule(
        Fate.TRANSLATED,
        "They are overlays. A service is in the one for published ports only if it publishes one.",
        ("networks",),
        _networks,
    ),
    "dns": _carried("dns"),
    "depends_on": Rule(
        Fate.TRANSLATED,
        "Swarm starts all services at once. `await-services` waits for the names of those that must be healthy, "
        f"{AWAIT_SECONDS_MAX} s at most.",
        ("entrypoint", "command", "configs"),
    ),
    "healthcheck": Rule(
        Fate.TRANSLATED,
        "As it is, but its `retries` never run out: Swarm would stop what is not healthy, and Compose lets it run.",
        ("healthcheck",),
        _healthcheck,
    ),
    "stop_grace_period": _carried("stop_grace_period"),
    "restart": Rule(
        Fate.TRANSLATED,
        "It is `restart_policy`, and always given: Swarm restarts everything by default, a node that failed too.",
        ("deploy.restart_policy",),
        _restart,
    ),
    "shm_size": Rule(
        Fate.TRANSLATED,
        "`docker stack deploy` ignores it. A tmpfs on `/dev/shm` has the size.",
        ("volumes",),
        _shm_size,
    ),
    "mem_limit": Rule(
        Fate.TRANSLATED,
        "It is a limit in `deploy.resources`.",
        ("deploy.resources.limits",),
        lambda derived: _limit("memory", derived.service.mem_limit),
    ),
    "cpus": Rule(Fate.TRANSLATED, "It is a limit in `deploy.resources`.", ("deploy.resources.limits",), _cpus),
    "cpuset": Rule(Fate.LEFT_OUT, "Swarm cannot bind a service to cores. A value is refused.", (), _cpuset),
    "cpu_shares": Rule(
        Fate.LEFT_OUT,
        "`docker stack deploy` refuses it. The placement keeps cores free for the load generator instead.",
    ),
    "pids_limit": Rule(
        Fate.TRANSLATED,
        "It is a limit in `deploy.resources`.",
        ("deploy.resources.limits",),
        lambda derived: _limit("pids", derived.service.pids_limit),
    ),
    "user": _carried("user"),
    "read_only": _carried("read_only"),
    "tmpfs": Rule(
        Fate.TRANSLATED,
        "`docker stack deploy` ignores it. It is a volume of the type tmpfs, which is always `noexec`.",
        ("volumes",),
        _tmpfs,
    ),
    "cap_drop": _carried("cap_drop", "From engine 20.10 on."),
    "security_opt": Rule(
        Fate.LEFT_OUT,
        "`docker stack deploy` ignores it. `no-new-privileges` in the engine's `daemon.json` has the same effect.",
    ),
    "logging": _carried("logging"),
}
"""Every field of ``Service``, in the order of ``compose.yaml``."""
