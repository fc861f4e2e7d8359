"""Starts services of Swarm again whose containers have ended. Swarm makes new containers; it starts none again."""

from corda_lab.errors import LabError
from corda_lab.lab.engine import HERE

UPDATE_SECONDS_MAX = 60.0
NEVER = "none"
"""The restart policy with which Swarm itself makes no new container."""


def replace_ended(service: str) -> None:
    """Let Swarm make a new container of a service that has ended, unless it does so by itself. Raises LabError.

    This machine is a manager of the swarm. ``service`` is the whole name of the service.
    """
    form = "{{if .Spec.TaskTemplate.RestartPolicy}}{{.Spec.TaskTemplate.RestartPolicy.Condition}}{{end}}"
    condition = HERE.checked("service", "inspect", "--format", form, service, seconds_max=UPDATE_SECONDS_MAX).strip()
    if condition == NEVER:
        replace(service)


def replace(service: str) -> None:
    """Let Swarm end the container of a service, if it runs, and make a new one. Raises LabError."""
    update = ("service", "update", "--detach", "--force", "--quiet", service)
    done = HERE.run(*update, seconds_max=UPDATE_SECONDS_MAX)
    if done.returncode != 0:
        raise LabError(f"{service} could not be started again: {done.stderr.strip()}", exit_code=1)
