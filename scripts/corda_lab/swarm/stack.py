"""Derives the file for ``docker stack deploy`` from the Compose project and a placement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from corda_lab.swarm.fit import Fitted
from corda_lab.swarm.images import StackImage
from corda_lab.swarm.project import Project
from corda_lab.swarm.shared_files import Kind, StackFile
from corda_lab.swarm.translate import Derivation, DerivedService, Fragment, literal

VERSION = "3.9"
"""The form of the file. Engines before 25 want it."""
SUFFIX = "-swarm"
"""What the names of the stack and of its volumes have after the project's. On a machine that also has a lab of its own,
the stack must not open the ledgers of that lab."""


@dataclass(frozen=True)
class Stack:
    """A stack, and what has to be there before it can be deployed."""

    name: str
    document: Mapping[str, Any]
    """The stack file."""
    images: tuple[StackImage, ...]
    """Every image once, in the order of the services."""

    @property
    def services(self) -> tuple[str, ...]:
        """The names of its services."""
        return tuple(self.document["services"])

    def image_of(self, service: str) -> str:
        """Return the image of a service, by its name in the registry."""
        return str(self.document["services"][service]["image"])

    def file_names(self, kind: Kind) -> frozenset[str]:
        """Return the names that its secrets, or its configs, have in Swarm."""
        return frozenset(self.document[kind.value])

    @property
    def text(self) -> str:
        """The stack file as YAML."""
        header = "# Derived from compose.yaml and a placement; docs/scale-out.md says how. Do not edit it.\n"
        header += f"#   docker stack deploy --compose-file FILE {self.name}\n"
        return header + yaml.dump(dict(self.document), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes equal lists in full. PyYAML would write aliases, which hide what a service has."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def derive(derivation: Derivation) -> Stack:
    """Derive the stack. Raises LabError if Swarm cannot do what the project asks for."""
    project, fitted = derivation.project, derivation.fitted
    derived_services = [DerivedService(name, service, derivation) for name, service in project.running.items()]
    services = {derived.name: derived.fragment for derived in derived_services}
    document: Fragment = {"version": VERSION, "services": {**services}}
    document["networks"] = {name: _network(name, project, fitted) for name in _used(services, "networks")}
    document["volumes"] = {name: {"name": f"{project.name}{SUFFIX}_{name}"} for name in _used(services, "volumes")}
    files = [file for derived in derived_services for file in derived.files]
    for kind in Kind:
        document[kind.value] = {file.name: _definition(file) for file in files if file.kind is kind}
    images = tuple(dict.fromkeys(derived.image for derived in derived_services))
    return Stack(f"{project.name}{SUFFIX}", document, images)


def _used(services: Mapping[str, Fragment], field: str) -> list[str]:
    """Return the names of the networks, or of the volumes, that any service has, each once."""
    entries = [entry for service in services.values() for entry in service.get(field, ())]
    names = [entry.get("source") if isinstance(entry, dict) else entry for entry in entries]
    return list(dict.fromkeys(filter(None, names)))


def _network(name: str, project: Project, fitted: Fitted) -> Fragment:
    """Return an overlay network. The options of the project's networks are those of bridges on one machine."""
    options: Fragment = {"driver_opts": {"encrypted": "true"}} if fitted.placement.fields.is_encrypted else {}
    is_internal = project.networks[name].get("internal", False)
    # Containers of the manager that are in no service lead to the ports of services.
    return {"driver": "overlay", "attachable": True, "internal": is_internal, **options}


def _definition(file: StackFile) -> Fragment:
    return {"name": file.name, "file": literal(str(file.path))}
