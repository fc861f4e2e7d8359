"""Links into Grafana."""

from corda_lab.lab import images
from corda_lab.lab.settings import Settings

DASHBOARD = "lab-overview"


def link(settings: Settings, started_at: float, ended_at: float) -> str | None:
    """The dashboard over a span of unix seconds; None where the lab runs without Grafana."""
    if not images.grafana_present():
        return None
    url = settings.url("GRAFANA_PORT")
    return f"{url}/d/{DASHBOARD}?from={1000 * started_at:.0f}&to={1000 * ended_at:.0f}"
