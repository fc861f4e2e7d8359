"""What a shape needs that this machine does not have: cores, memory, or an image."""

from corda_lab.host import machine
from corda_lab.lab import doctor, shape
from corda_lab.lab.settings import GRAFANA, Settings

CORES_ENOUGH = 1_000_000
"""More cores than any machine has: what is wrong with a shape even then is a mistake."""


def lacking(settings: Settings) -> list[str]:
    """Return why this machine cannot have a shape, one sentence each; empty if it can.

    Mistakes, which no machine would mend, are not among them: ``shape.problems`` has those too. Raises LabError for
    values that have no meaning.
    """
    mistakes = {problem.text for problem in shape.problems(settings, cores=CORES_ENOUGH)}
    found = [problem.text.rstrip(".") for problem in shape.problems(settings) if problem.text not in mistakes]
    if shape.is_enterprise(settings["NODE_PRESET"]) and not settings.foreign_image:
        found.append(f"the preset {settings['NODE_PRESET']} needs an image of Corda Enterprise (CORDA_IMAGE)")
    return [*found, *_memory(settings)]


def _memory(settings: Settings) -> list[str]:
    """Return whether all memory of this machine is too little. What other programs use now may be free later."""
    total = machine.memory_total_bytes()
    services = [service for service in settings.services if service != GRAFANA]
    needed = int(doctor.memory_limits(settings, services) * doctor.MEMORY_SHARE_MIN)
    if needed <= total:
        return []
    return [f"the lab needs about {doctor.gib(needed)} of memory; this machine has {doctor.gib(total)}"]
