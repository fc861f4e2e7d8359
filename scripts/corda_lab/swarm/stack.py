"""Derives the file for ``docker stack deploy`` from the Compose project and a placement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml
from pydantic import JsonValue

from corda_lab.swarm.fit import Fitted, Place
from corda_lab.swarm.images import StackImage
from corda_lab.swarm.project import Project
from corda_lab.swarm.rules import RULES, Derivation, DerivedService, Fragment, literal
from corda_lab.swarm.shared_files import Kind, StackFile

VERSION = "3.9"
"""The form of the file. Engines before 25 want it."""
SUFFIX = "-swarm"
"""What the names of the stack and of its volumes have after the project's. On a machine that also has a lab of its own,
the stack must not open the ledgers of that lab."""
PLACED = (
    "deploy.mode",
    "deploy.replicas",
    "deploy.endpoint_mode",
    "deploy.placement",
    "deploy.update_config",
    "deploy.resources.reservations",
)
"""The fields of a service in the stack file that come from the placement, or are the same for all services."""


@dataclass(frozen=True)
class Stack:
    """A stack, and what has to be there before it can be deployed."""

    name: str
    document: Mapping[str, JsonValue]
    """The stack file."""
    images: tuple[StackImage, ...]
    """Every image once, in the order of the services."""

    @property
    def services(self) -> tuple[str, ...]:
        """The names of its services."""
        return tuple(_mapping(self.document["services"]))

    def image_of(self, service: str) -> str:
        """Return the image of a service, by its name in the registry."""
        return str(_mapping(_mapping(self.document["services"])[service])["image"])

    def file_names(self, kind: Kind) -> frozenset[str]:
        """Return the names that its secrets, or its configs, have in Swarm."""
        return frozenset(_mapping(self.document[kind.value]))

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
    services = {derived.name: stack_service(derived) for derived in derived_services}
    document: dict[str, JsonValue] = {"version": VERSION, "services": {**services}}
    document["networks"] = {name: _network(name, project, fitted) for name in _used(services, "networks")}
    document["volumes"] = {name: {"name": f"{project.name}{SUFFIX}_{name}"} for name in _used(services, "volumes")}
    files = [file for derived in derived_services for file in derived.files]
    for kind in Kind:
        document[kind.value] = {file.name: _definition(file) for file in files if file.kind is kind}
    images = tuple(dict.fromkeys(derived.image for derived in derived_services))
    return Stack(f"{project.name}{SUFFIX}", document, images)


def stack_service(derived: DerivedService) -> Fragment:
    """Return one service of the stack file. Raises LabError."""
    merged: Fragment = {}
    for rule in RULES.values():
        _merge(merged, rule.translate(derived))
    label = derived.derivation.fitted.placement.fields.label
    _merge(merged, _placed(derived.derivation.fitted.places[derived.name], label))
    return merged


def _placed(place: Place, label: str) -> Fragment:
    return {
        "deploy": {
            "mode": "replicated",
            "replicas": 1,
            # Names lead straight to the tasks. The other mode needs IPVS in the kernel of every host.
            "endpoint_mode": "dnsrr",
            "placement": {"constraints": [f"node.labels.{label} == {place.host}"]},
            "resources": {"reservations": {"cpus": f"{place.cores:g}", "memory": str(place.memory)}},
            # Two containers must never open the same ledger.
            "update_config": {"order": "stop-first"},
        }
    }


def _merge(into: Fragment, fragment: Fragment) -> None:
    """Add a fragment: mappings are merged, lists are put together."""
    for name, value in fragment.items():
        present = into.get(name)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            into[name] = [*present, *value]
        else:
            into[name] = value


def _used(services: Mapping[str, Fragment], field: str) -> list[str]:
    """Return the names of the networks, or of the volumes, that any service has, each once."""
    return list(dict.fromkeys(name for service in services.values() for name in _names(service.get(field))))


def _names(entries: JsonValue) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("source") if isinstance(entry, dict) else entry
        if isinstance(name, str):
            yield name


def _network(name: str, project: Project, fitted: Fitted) -> JsonValue:
    """Return an overlay network. The options of the project's networks are those of bridges on one machine."""
    options: Fragment = {"encrypted": "true"} if fitted.placement.fields.is_encrypted else {}
    # Containers of the manager that are in no service lead to the ports of services.
    network: Fragment = {"driver": "overlay", "attachable": True, "internal": project.networks[name].internal}
    return {**network, "driver_opts": options} if options else network


def _definition(file: StackFile) -> JsonValue:
    return {"name": file.name, "file": literal(str(file.path))}


def _mapping(value: JsonValue) -> Fragment:
    return value if isinstance(value, dict) else {}
