"""The running lab that a load is put on."""

from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.settings import Settings


def deployed(settings: Settings) -> Deployed:
    """Return the lab that runs, in its shape. Raises LabError."""
    return Compose(shape.of_running(settings))


@dataclass(frozen=True)
class RunningLab:
    """The running lab that a load is put on, and the clients of its parts."""

    settings: Settings
    compose: Deployed
    bridge: Bridge
    prometheus: Prometheus

    @classmethod
    def of(cls, settings: Settings, compose: Deployed | None = None) -> "RunningLab":
        """The lab that runs, in its shape: that of ``compose``, or the one that ``deployed`` finds. Raises LabError."""
        compose = deployed(settings) if compose is None else compose
        settings = compose.settings
        bridge = Bridge(settings.bridge_url, settings.bridge_token)
        prometheus = Prometheus(settings.url("PROMETHEUS_PORT"))
        return cls(settings, compose, bridge, prometheus)
