"""The running lab that a load is put on."""

from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings


@dataclass(frozen=True)
class RunningLab:
    """The running lab that a load is put on, and the clients of its parts."""

    settings: Settings
    compose: Compose
    bridge: Bridge
    prometheus: Prometheus

    @classmethod
    def of(cls, settings: Settings, compose: Compose | None = None) -> "RunningLab":
        """The lab with these settings. ``compose`` is its project if it is not the usual one."""
        bridge = Bridge(settings.bridge_url, settings.bridge_token)
        prometheus = Prometheus(settings.url("PROMETHEUS_PORT"))
        return cls(settings, compose or Compose(settings), bridge, prometheus)

    def close(self) -> None:
        """Close the connections of the clients."""
        self.bridge.close()
        self.prometheus.close()
