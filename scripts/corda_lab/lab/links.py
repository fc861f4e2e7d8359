"""The links between nodes: their measured latency."""

import json

from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import MeasuredLink
from corda_lab.text import ui


def measure_links(compose: Compose) -> list[MeasuredLink]:
    """Round trips of every link, directly and through its proxy, in milliseconds. Raises LabError."""
    done = compose.run("exec", "-T", "links", "/opt/corda-lab/measure")
    return [MeasuredLink(**json.loads(line)) for line in done.stdout.splitlines()]


def show_links(settings: Settings) -> None:
    """Say what the links really add, if there are any."""
    if not settings.values.get("LINKS"):
        return
    for link in measure_links(Compose(settings)):
        ui.note(
            f"{link.name:<20} round trip {link.through_ms:.1f} ms, {link.direct_ms:.1f} ms without"
            f" (+{link.wanted_ms} ms wanted)"
        )
