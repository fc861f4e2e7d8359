"""Starts services of Swarm again whose containers have ended. Swarm makes new containers; it starts none again."""

from corda_lab.lab.deployed import Deployed, is_here
from corda_lab.lab.engine import HERE, output_of

UPDATE_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 150.0
"""How long a container may take to end before Swarm makes another one: as for the engine of one machine."""


RESTART_SECONDS = 5.0
"""After this time, Swarm starts what has failed again, if the policy wants it: the delay that it takes by itself."""
NEVER = "none"
"""The restart policy with which it does not."""


def replacer_of(lab: Deployed, service: str) -> str:
    """Return the service of Swarm that makes new containers of a service; empty if the engine starts the same again."""
    return "" if is_here(lab) else f"{lab.project}_{service}"


def is_restarted(service: str) -> bool:
    """Whether Swarm by itself starts a service again that was killed. Raises LabError."""
    form = "{{if .Spec.TaskTemplate.RestartPolicy}}{{.Spec.TaskTemplate.RestartPolicy.Condition}}{{end}}"
    condition = HERE.checked("service", "inspect", "--format", form, service, seconds_max=UPDATE_SECONDS_MAX)
    return condition.strip() != NEVER


def replace_ended(service: str) -> None:
    """Let Swarm make a new container of a service that has ended, unless it is about to. Raises LabError.

    Each update ends what the one before it has begun, so it must not be repeated until there is a container. Whether
    Swarm means to run a task shows in its tasks: a restart policy may have used up its attempts. In the moment before
    Swarm has noticed the end, nothing is done; callers that wait ask again.

    This machine is a manager of the swarm. ``service`` is the whole name of the service.
    """
    wanted = ("--filter=desired-state=ready", "--filter=desired-state=running")
    if not HERE.checked("service", "ps", "--quiet", *wanted, service, seconds_max=UPDATE_SECONDS_MAX).strip():
        replace(service)


def replace(service: str) -> None:
    """Let Swarm end the container of a service, if it runs, and make a new one. Raises LabError."""
    update = ("service", "update", "--detach", "--force", "--quiet", service)
    output_of(HERE.run(*update, seconds_max=UPDATE_SECONDS_MAX), f"{service} could not be started again")
