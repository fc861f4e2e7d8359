"""Links into Grafana."""

from collections.abc import Iterable

from corda_lab.lab import images
from corda_lab.lab.settings import Settings

DASHBOARD = "lab-overview"


def link(settings: Settings, started_at: float, ended_at: float) -> str | None:
    """The dashboard over a span of unix seconds; None where the lab runs without Grafana."""
    if not images.grafana_present():
        return None
    url = settings.url("GRAFANA_PORT")
    return f"{url}/d/{DASHBOARD}?from={1000 * started_at:.0f}&to={1000 * ended_at:.0f}"


def urls(settings: Settings, *, without: Iterable[str] = ()) -> dict[str, str]:
    """Where a browser finds each part."""
    addresses = {
        "Locust": settings.url("LOCUST_PORT"),
        "Grafana": settings.url("GRAFANA_PORT"),
        "Prometheus": settings.url("PROMETHEUS_PORT"),
        "Bridge": settings.url("BRIDGE_PORT") + "/v1/nodes",
    }
    return {name: address for name, address in addresses.items() if name.lower() not in set(without)}
