"""A lab without nodes: the real bridge with stub nodes, the real generator and Prometheus, and no Corda node.

It is a Compose project of its own, on free ports, so it touches no other lab. A proxy between the generator and the
bridge breaks chosen connections.
"""

import json
import shutil
from pathlib import Path

import httpx

from corda_lab.errors import LabError
from corda_lab.lab import doctor, lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.text import ui
from pipeline.cases import Case
from pipeline.truth import TrueFlow, read_flow

PORTS = ("BRIDGE_PORT", "LOCUST_PORT", "PROMETHEUS_PORT")
NODES = ("PartyA", "PartyB")
FOLDER = CACHE / "pipeline"
START_SECONDS_MAX = 300.0
LOG_SECONDS_MAX = 30.0
OUTSTANDING_MAX = 2000
"""More than the largest pool, so that the bridge rejects nothing."""

OPEN = {"BRIDGE_ADDRESS": "127.0.0.1", "BRIDGE_TOKEN": ""}
"""No token, because Prometheus reads the metrics of the stub nodes from the bridge's own port."""
OWN = ("BRIDGE_MAX_OUTSTANDING_FLOWS", *OPEN)
"""The settings in which it differs from the lab of this checkout, except the ports."""

OVERRIDE = """\
# Written by tests/pipeline.
services:
  bridge:
    environment:
      BRIDGE_STUB: /pipeline/plan.json
      BRIDGE_ALLOWED_HOSTS: bridge,faults,${ALLOWED_HOSTS}
    volumes: ["%(folder)s:/pipeline:ro"]
  faults:
    image: ${COMPOSE_PROJECT_NAME}/locust
    entrypoint: [python, /pipeline/proxy.py, /pipeline/faults.json]
    volumes: ["%(folder)s:/pipeline:ro"]
    # In place of the image's volume, of which one would be left when the container is made again.
    tmpfs: ["/var/lib/corda-lab/rows"]
    healthcheck:
      test: [CMD, python, -c, "import socket; socket.create_connection(('127.0.0.1', 8080)).close()"]
      interval: 2s
      retries: 30
    user: "10001:10001"
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    mem_limit: 256m
    pids_limit: 64
  locust:
    environment:
      BRIDGE_URL: http://faults:8080
  prometheus:
    volumes: ["%(folder)s/targets.json:/network/targets.json:ro"]
"""


class StubCompose(Compose):
    """The lab's Compose file with that of the stub nodes over it, as a project on other ports."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, files=(FOLDER / "compose.yaml",))
        self.environment |= {name: settings[name] for name in (*PORTS, *OWN)}


def own_settings(base: Settings) -> Settings:
    """The settings of a checkout with a project and ports of its own, in the simplest shape."""
    ports = {name: str(port) for name, port in zip(PORTS, doctor.free_ports(len(PORTS)), strict=True)}
    shape = {"DATABASE": "h2", "LINKS": "", "NOTARY": "simple", "BRIDGE_MAX_OUTSTANDING_FLOWS": str(OUTSTANDING_MAX)}
    return Settings({**base.values, **ports, **shape, **OPEN}, f"{base.project}-pipeline")


def write(case: Case) -> None:
    """Write what the containers read when they start: the stub nodes' plan, the faults, the targets of Prometheus."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    targets = [
        {"targets": ["bridge:8080"], "labels": {"node": node, "__metrics_path__": f"/v1/stub/nodes/{node}/metrics"}}
        for node in NODES
    ]
    faults = {"to": ["bridge", 8080], "dropped": sorted(case.dropped), "lost": sorted(case.lost)}
    for name, content in (("plan.json", case.plan()), ("faults.json", faults), ("targets.json", targets)):
        (FOLDER / name).write_text(json.dumps(content), encoding="utf-8")
    shutil.copy(Path(__file__).with_name("proxy.py"), FOLDER / "proxy.py")
    (FOLDER / "compose.yaml").write_text(OVERRIDE % {"folder": FOLDER}, encoding="utf-8")


class StubLab:
    """The containers: bridge, proxy, generator and Prometheus."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.compose = StubCompose(settings)
        self._is_up = False

    def build(self, case: Case) -> None:
        """Build the images, unless they are there. Raises LabError."""
        write(case)
        lifecycle.build(self.settings)

    def start(self, case: Case) -> None:
        """Start everything with the system of a case, in place of that of the last one. Raises LabError."""
        write(case)
        up = ("up", "--detach", "--wait")
        if not self._is_up:
            self.compose.run(*up, "bridge", "faults", "locust", "prometheus", seconds_max=START_SECONDS_MAX)
            self._is_up = True
            return
        # Bridge and proxy read their files when they start.
        self.compose.run(*up, "--no-deps", "--force-recreate", "bridge", "faults", seconds_max=START_SECONDS_MAX)

    def flows(self) -> list[TrueFlow]:
        """What the stub nodes did: one entry per flow, in the order of their starts. Raises LabError."""
        try:
            answer = httpx.get(
                f"{self.settings.url('BRIDGE_PORT')}/v1/stub/flows", timeout=LOG_SECONDS_MAX, trust_env=False
            ).raise_for_status()
        except httpx.HTTPError as error:
            raise LabError(f"The stub nodes did not send their log: {error}", exit_code=1) from None
        return [read_flow(json.loads(line)) for line in answer.text.splitlines()]

    def stop(self) -> None:
        """Remove the containers and volumes."""
        done = self.compose.run("down", "--volumes", "--remove-orphans", check=False, seconds_max=START_SECONDS_MAX)
        if done.returncode != 0:
            ui.warn(f"the containers of the stub nodes could not be removed: {done.stderr.strip()}")
