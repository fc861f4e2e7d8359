"""The containers that generate the load of a stack: plain containers, derived from the service ``locust`` of its file.

Swarm has no one-off containers. There is one rule for each field of the service in the stack file, as ``rules`` has one
for each field of Compose: a field without a rule is an error that names it.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from corda_lab.errors import LabError
from corda_lab.lab.deployed import LoadStart
from corda_lab.swarm.deploy import NAMESPACE
from corda_lab.swarm.overlays import LABEL
from corda_lab.swarm.rules import Fragment

SERVICE = "locust"
_UNITS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d+)([hms])")


@dataclass(frozen=True)
class LoadTemplate:
    """The service from which load containers are made, in its stack file."""

    stack: str
    document: Mapping[str, JsonValue]
    """The stack file."""

    @cached_property
    def service(self) -> Fragment:
        return _mapping(_mapping(self.document["services"])[SERVICE])

    @property
    def image(self) -> str:
        return _text(self.service["image"])

    @cached_property
    def files(self) -> dict[str, Path]:
        """The files that Swarm would give it as configs: path in the container → path on this machine."""
        definitions = _mapping(self.document.get("configs"))
        return {
            _text(one["target"]): Path(_text(_mapping(definitions[str(one["source"])])["file"]))
            for one in map(_mapping, _list(self.service.get("configs")))
        }

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of these files in the container, each once."""
        return tuple(dict.fromkeys(str(PurePosixPath(target).parent) for target in self.files))


@dataclass(frozen=True)
class FieldRule:
    """What becomes of one field of the service."""

    options: Callable[[LoadTemplate], list[str]] | None
    """Returns options of ``docker create``; None if it is left out."""
    reason: str = ""
    """Why it is left out; empty if it is not."""


def create_arguments(template: LoadTemplate, load: LoadStart) -> list[str]:
    """Return the arguments of ``docker`` that create a container for a load. Raises LabError."""
    options = [word for name in _fields_of(template) for word in _options(name, template)]
    alias = [f"--network-alias={SERVICE}"] if load.has_alias else []
    labels = [f"--label={load.label}", f"--label={LABEL}={template.stack}"]
    # Nothing waits for its health. What the stack file cannot say, a plain container can.
    also = ["--no-healthcheck", "--security-opt=no-new-privileges:true"]
    entrypoint = [_text(word) for word in _list(template.service.get("entrypoint"))]
    first = [f"--entrypoint={entrypoint[0]}"] if entrypoint else []
    named = ["create", f"--name={load.container.name}", *labels, *alias, *also, *first]
    return [*named, *options, template.image, *entrypoint[1:], *load.arguments]


def environment_of(template: LoadTemplate) -> dict[str, str]:
    """Return the environment of a docker command that creates a container: it has the values of the container's.

    Other users of this machine can read a command line, and one of the values is a token. Raises LabError.
    """
    values = _mapping(template.service.get("environment"))
    if wrong := [name for name in values if name in ("HOME", "PATH") or name.startswith("DOCKER_")]:
        text = f"{SERVICE}.environment.{wrong[0]}: the docker client would take it for its own"
        raise LabError(text, "Give the variable another name in compose.yaml.")
    return {name: "" if value is None else _text(value) for name, value in values.items()}


def _fields_of(template: LoadTemplate) -> list[str]:
    """Return the fields of the service, with dots between levels. Raises LabError for one without a rule."""
    found = []
    for name, value in template.service.items():
        inner = _mapping(value) if name == "deploy" else {}
        found += [f"{name}.{one}" for one in inner] or [name]
    unknown = [name for name in found if name not in RULES]
    if unknown:
        text = f"{SERVICE}: {', '.join(unknown)} has no rule for the containers of a load"
        raise LabError(text, "Add it to scripts/corda_lab/swarm/load_container.py.")
    return found


def _options(name: str, template: LoadTemplate) -> list[str]:
    translate = RULES[name].options
    return translate(template) if translate else []


def _text(value: JsonValue) -> str:
    """Return a text of the stack file as the engine has it: ``docker stack deploy`` reads ``$$`` as ``$``."""
    return str(value).replace("$$", "$")


def _environment(template: LoadTemplate) -> list[str]:
    return [f"--env={name}" for name in environment_of(template)]


def _labels(template: LoadTemplate) -> list[str]:
    return [f"--label={name}={_text(value)}" for name, value in _mapping(template.service["labels"]).items()]


def _volumes(template: LoadTemplate) -> list[str]:
    names = _mapping(template.document["volumes"])
    options = []
    for mount in map(_mapping, _list(template.service["volumes"])):
        target = _text(mount["target"])
        if mount["type"] == "tmpfs":
            size = _mapping(mount.get("tmpfs")).get("size")
            options.append(f"--tmpfs={target}" + (f":size={size}" if size else ""))
            continue
        source = mount.get("source")
        name = f",source={_text(_mapping(names[str(source)])['name'])}" if source else ""
        read_only = ",readonly" if mount.get("read_only") else ""
        # On a host without the service, it is new. `lab down --volumes` finds it by its label.
        options.append(
            f"--mount=type=volume{name},target={target}{read_only},volume-label={NAMESPACE}={template.stack}"
        )
    return options


def _configs(template: LoadTemplate) -> list[str]:
    """The file system of the container cannot be written to. So each folder is a volume, which goes with it."""
    return [f"--mount=type=volume,target={folder}" for folder in template.folders]


def _networks(template: LoadTemplate) -> list[str]:
    names = [_text(name) for name in _list(template.service["networks"])]
    if len(names) > 1:
        text = f"{SERVICE}: a container of a load can be created in one network, not in {', '.join(names)}"
        raise LabError(text, "Leave one of them in compose.yaml.")
    return [f"--network={template.stack}_{name}" for name in names]


def _dns(template: LoadTemplate) -> list[str]:
    return [f"--dns={_text(one)}" for one in _list(template.service["dns"])]


def _stop_timeout(template: LoadTemplate) -> list[str]:
    found = _DURATION.findall(_text(template.service["stop_grace_period"]))
    return [f"--stop-timeout={sum(int(number) * _UNITS[unit] for number, unit in found)}"]


def _limits(template: LoadTemplate) -> list[str]:
    limits = _mapping(_mapping(_mapping(template.service["deploy"])["resources"]).get("limits"))
    options = {"memory": "--memory", "cpus": "--cpus", "pids": "--pids-limit"}
    if unknown := limits.keys() - options.keys():
        raise LabError(f"{SERVICE}: deploy.resources.limits.{min(unknown)} has no rule for the containers of a load")
    return [f"{options[name]}={value}" for name, value in limits.items()]


def _logging(template: LoadTemplate) -> list[str]:
    logging = _mapping(template.service["logging"])
    options = [f"--log-opt={name}={_text(value)}" for name, value in _mapping(logging.get("options")).items()]
    return [f"--log-driver={_text(logging['driver'])}", *options]


RULES: Mapping[str, FieldRule] = {
    "image": FieldRule(None, "It stands behind the options."),
    "entrypoint": FieldRule(None, "Its first word is an option, the others stand before the arguments of the load."),
    "command": FieldRule(None, "The arguments of the load replace it."),
    "labels": FieldRule(_labels),
    "environment": FieldRule(_environment),
    "volumes": FieldRule(_volumes),
    "configs": FieldRule(_configs),
    "networks": FieldRule(_networks),
    "dns": FieldRule(_dns),
    "healthcheck": FieldRule(None, "Nothing waits for the health of a container of a load."),
    "stop_grace_period": FieldRule(_stop_timeout),
    "user": FieldRule(lambda template: [f"--user={_text(template.service['user'])}"]),
    "read_only": FieldRule(lambda template: ["--read-only"] if template.service["read_only"] else []),
    "cap_drop": FieldRule(lambda template: [f"--cap-drop={_text(one)}" for one in _list(template.service["cap_drop"])]),
    "logging": FieldRule(_logging),
    "ports": FieldRule(None, "The web UI has them."),
    "deploy.restart_policy": FieldRule(None, "A load that has ended is over."),
    "deploy.resources": FieldRule(_limits),
    "deploy.mode": FieldRule(None, "It is not a service."),
    "deploy.replicas": FieldRule(None, "It is not a service."),
    "deploy.endpoint_mode": FieldRule(None, "It is not a service."),
    "deploy.placement": FieldRule(None, "It is created on the engine of its host."),
    "deploy.update_config": FieldRule(None, "It is not a service."),
}
"""Every field that the service may have in the stack file."""


def _mapping(value: JsonValue) -> Fragment:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


def copy_files(files: Mapping[str, Path], target: str, folder: Path) -> Path:
    """Copy the files of one folder of a container to ``folder``, so that every user can read them, and return it.

    Raises LabError if one cannot be read.
    """
    folder.mkdir()
    folder.chmod(0o755)
    for place, path in files.items():
        parent, _, name = place.rpartition("/")
        if parent == target:
            copy = folder / name
            try:
                shutil.copyfile(path, copy)
                copy.chmod(0o755 if path.stat().st_mode & 0o111 else 0o644)
            except OSError as error:
                text = f"{path}: cannot be read ({error.strerror}), but the load generator of the stack has it"
                raise LabError(text, "Restore it, or run `scripts/lab up --placement NAME` again.") from None
    return folder
