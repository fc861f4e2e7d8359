"""URLs of the lab's services, and links to the Grafana dashboard."""

from collections.abc import Iterable

from corda_lab.lab import images
from corda_lab.lab.settings import Settings

DASHBOARD = "lab-overview"


def link(settings: Settings, started_at: float, ended_at: float) -> str | None:
    """Return the URL of the dashboard for a time range (Unix seconds); None if the lab runs without Grafana."""
    if not images.grafana_present():
        return None
    url = settings.url("GRAFANA_PORT")
    return f"{url}/d/{DASHBOARD}?from={1000 * started_at:.0f}&to={1000 * ended_at:.0f}"


def urls(settings: Settings, *, without: Iterable[str] = ()) -> dict[str, str]:
    """Return the URL of each service with a web page: title → URL. ``without`` names services to leave out."""
    addresses = {
        "Locust": settings.url("LOCUST_PORT"),
        "Grafana": settings.url("GRAFANA_PORT"),
        "Prometheus": settings.url("PROMETHEUS_PORT"),
        "Bridge": settings.bridge_url + "/v1/nodes",
    }
    return {name: address for name, address in addresses.items() if name.lower() not in set(without)}
