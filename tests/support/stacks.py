"""Projects and records of stacks, for the tests of the lab on several hosts."""

from dataclasses import replace

from corda_lab.swarm.deployment import Deployment
from corda_lab.swarm.stack import Project


def with_service(project: Project, name: str, **values: object) -> Project:
    """Return a project in which a service has other fields."""
    return replace(project, services={**project.services, name: {**project.services[name], **values}})


def deployment(placement: str, hosts: list[str], *, is_running: bool = False) -> Deployment:
    """Return the record of a stack with a node on the first host, and the load generator on the last."""
    return Deployment(
        placement=placement,
        text="",
        overlay="plain",
        services={"partya": hosts[0], "locust": hosts[-1]},
        workers=[],
        images={},
        helper_image="images.lab/lab/locust",
        reader_image="images.lab/lab/node",
        hosts=hosts,
        is_running=is_running,
    )
