"""Projects and records of stacks, for the tests of the lab on several hosts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corda_lab.swarm.deployment import Deployment
from corda_lab.swarm.stack import Project


def with_service(project: Project, name: str, **values: object) -> Project:
    """Return a project in which a service has other fields."""
    return replace(project, services={**project.services, name: {**project.services[name], **values}})


def deployment(placement: str = "three", services: Mapping[str, str] | None = None, **other: Any) -> Deployment:
    """Return the record of a stack. ``services`` have their hosts; by default it has one node, on one host."""
    by_service = services or {"partya": "one", "locust": "one"}
    fields: dict[str, Any] = {
        "text": "",
        "overlay": "plain",
        "workers": [],
        "images": {},
        "helper_image": "images.lab/lab/locust",
        "reader_image": "images.lab/lab/node",
        "hosts": list(dict.fromkeys(by_service.values())),
    }
    return Deployment(placement=placement, services=dict(by_service), **{**fields, **other})
