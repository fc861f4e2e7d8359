"""Measures the latency of the configured links."""

import json

from corda_lab.lab.compose import Compose
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.settings import Settings
from corda_lab.results.manifest import MeasuredLink
from corda_lab.text import ui


def measure_links(compose: Deployed) -> list[MeasuredLink]:
    """Measure the round-trip time of every link, directly and through its proxy, in milliseconds. Raises LabError."""
    done = compose.run("exec", "-T", "links", "/opt/corda-lab/measure")
    return [MeasuredLink(**json.loads(line)) for line in done.stdout.splitlines()]


def show_links(settings: Settings) -> None:
    if not settings.values.get("LINKS"):
        return
    for link in measure_links(Compose(settings)):
        ui.note(
            f"{link.name:<20} round-trip time {link.through_ms:.1f} ms, {link.direct_ms:.1f} ms without the link's"
            f" latency (+{link.wanted_ms} ms configured)"
        )
