"""The containers that generate the load of a stack: plain containers, derived from the service ``locust`` of its file.

Swarm has no one-off containers.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from corda_lab.errors import LabError
from corda_lab.swarm.deploy import LABEL, NAMESPACE

SERVICE = "locust"
FIELDS = (
    *("image", "entrypoint", "labels", "environment", "volumes", "configs", "networks", "dns", "stop_grace_period"),
    *("user", "read_only", "cap_drop", "logging", "deploy"),
    # The arguments of the load replace the command, nothing waits for its health, and the web UI has the ports.
    *("command", "healthcheck", "ports"),
)
"""The fields of the service that its containers have, too, and those that they do without."""
LIMITS = {"memory": "--memory", "cpus": "--cpus", "pids": "--pids-limit"}
_UNITS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d+)([hms])")


def read_stack_file(text: str) -> Mapping[str, Any]:
    """Return a stack file as ``docker stack deploy`` reads it: ``$$`` is ``$``. Raises YAMLError."""
    document: Mapping[str, Any] = yaml.safe_load(text.replace("$$", "$"))
    return document


@dataclass(frozen=True)
class LoadTemplate:
    """The service from which load containers are made, in its stack file."""

    stack: str
    document: Mapping[str, Any]

    @cached_property
    def service(self) -> Mapping[str, Any]:
        """The service. Raises LabError if it has a field that would be lost."""
        service: Mapping[str, Any] = self.document["services"][SERVICE]
        if unknown := sorted({*service} - {*FIELDS}):
            text = f"{SERVICE}: {', '.join(unknown)} has no rule for the containers of a load"
            raise LabError(text, "Add it to scripts/corda_lab/swarm/load_container.py.")
        return service

    @cached_property
    def files(self) -> dict[str, Path]:
        """The files that Swarm would give it as configs: path in the container → path on this machine."""
        configs = self.document["configs"]
        return {file["target"]: Path(configs[file["source"]]["file"]) for file in self.service.get("configs", ())}

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(PurePosixPath(target).parent) for target in self.files))

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a docker command that creates a container: it has the values of the container's.

        Other users of this machine can read a command line, and one of the values is a token. Raises LabError.
        """
        values = self.service.get("environment", {})
        if wrong := [name for name in values if name in ("HOME", "PATH") or name.startswith("DOCKER_")]:
            text = f"{SERVICE}.environment.{wrong[0]}: the docker client would take it for its own"
            raise LabError(text, "Give the variable another name in compose.yaml.")
        return {name: "" if value is None else str(value) for name, value in values.items()}

    def create(self, name: str, arguments: Sequence[str], *, label: str, has_alias: bool = False) -> list[str]:
        """Return the arguments of ``docker`` that create a container for a load. Raises LabError."""
        alias = [f"--network-alias={SERVICE}"] if has_alias else []
        labels = [f"--label={label}", f"--label={LABEL}={self.stack}"]
        # Nothing waits for its health. What the stack file cannot say, a plain container can.
        also = ["--no-healthcheck", "--security-opt=no-new-privileges:true"]
        first, *others = self.service.get("entrypoint") or [""]
        entrypoint = [f"--entrypoint={first}"] if first else []
        options = [*labels, *alias, *also, *entrypoint, *self._options(), *self._mounts()]
        return ["create", f"--name={name}", *options, self.service["image"], *others, *arguments]

    def _options(self) -> Iterator[str]:
        service = self.service
        yield from (f"--env={name}" for name in self.environment)
        yield from (f"--label={name}={value}" for name, value in service.get("labels", {}).items())
        yield from (f"--dns={address}" for address in service.get("dns", ()))
        yield from (f"--cap-drop={capability}" for capability in service.get("cap_drop", ()))
        if len(service["networks"]) > 1:
            names = ", ".join(service["networks"])
            text = f"{SERVICE}: a container of a load can be created in one network, not in {names}"
            raise LabError(text, "Leave one of them in compose.yaml.")
        yield from (f"--network={self.stack}_{name}" for name in service["networks"])
        if "user" in service:
            yield f"--user={service['user']}"
        if service.get("read_only"):
            yield "--read-only"
        if period := service.get("stop_grace_period"):
            yield f"--stop-timeout={sum(int(number) * _UNITS[unit] for number, unit in _DURATION.findall(period))}"
        limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
        yield from (f"{LIMITS[name]}={value}" for name, value in limits.items())
        if logging := service.get("logging"):
            yield f"--log-driver={logging['driver']}"
            yield from (f"--log-opt={name}={value}" for name, value in logging.get("options", {}).items())

    def _mounts(self) -> Iterator[str]:
        for mount in self.service.get("volumes", ()):
            target = mount["target"]
            if mount["type"] == "tmpfs":
                size = mount.get("tmpfs", {}).get("size")
                yield f"--tmpfs={target}" + (f":size={size}" if size else "")
                continue
            source = mount.get("source")
            name = f",source={self.document['volumes'][source]['name']}" if source else ""
            read_only = ",readonly" if mount.get("read_only") else ""
            # On a host without the service, it is new. `lab down --volumes` finds it by its label.
            yield f"--mount=type=volume{name},target={target}{read_only},volume-label={NAMESPACE}={self.stack}"
        # Its file system cannot be written to. So each folder of files is a volume, which goes with the container.
        yield from (f"--mount=type=volume,target={folder}" for folder in self.folders)


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
                raise LabError(text, "Restore it, or run `scripts/lab up --on PLACEMENT` again.") from None
    return folder
