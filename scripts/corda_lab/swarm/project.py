"""The Compose project as ``docker compose config --format json`` prints it, with a type for every field.

A field that is not declared here is an error: nobody has decided what becomes of it on Swarm.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from corda_lab.errors import LabError
from corda_lab.lab.settings import BOOTSTRAP
from lab_workload.problems import Problem

UNDECIDED = "Declare it in scripts/corda_lab/swarm/project.py, and what becomes of it on Swarm in rules.py beside it."


class _Parsed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Dependency(_Parsed):
    """What a service waits for before it starts."""

    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]
    required: bool = True
    restart: bool = False


class Mount(_Parsed):
    """A volume, or a file or folder of this machine, and its place in the container."""

    type: Literal["volume", "bind"]
    target: str
    source: str = ""
    """Empty for a volume without a name."""
    read_only: bool = False
    volume: Annotated[Mapping[str, JsonValue], Field(max_length=0)] = {}
    bind: Mapping[Literal["create_host_path"], bool] = {}


class Port(_Parsed):
    """A port of a container, and the one of this machine that leads to it."""

    mode: str = "ingress"
    host_ip: str = ""
    target: int
    published: str
    protocol: str = "tcp"


class Healthcheck(_Parsed):
    """When a container is healthy. Durations are text, such as ``15m0s``."""

    test: list[str]
    interval: str
    timeout: str
    start_period: str
    retries: int


class Logging(_Parsed):
    """Where the output of a container goes."""

    driver: str
    options: Mapping[str, str]


class Service(_Parsed):
    """One service. ``rules.py`` has a rule for each of these fields, with their order."""

    image: str
    build: Mapping[str, JsonValue] | None = None
    entrypoint: list[str] | None = None
    command: list[str] | None = None
    hostname: str | None = None
    profiles: list[str] | None = None
    labels: Mapping[str, str] | None = None
    environment: Mapping[str, str | None] | None = None
    volumes: list[Mount] = []
    ports: list[Port] | None = None
    networks: Mapping[str, None] = {}
    dns: list[str] | None = None
    depends_on: Mapping[str, Dependency] = {}
    healthcheck: Healthcheck | None = None
    stop_grace_period: str | None = None
    restart: str = "no"
    """The default is that of Compose. Swarm has another one."""
    shm_size: str | None = None
    mem_limit: str
    """Bytes."""
    cpus: float | None = None
    cpuset: str | None = None
    cpu_shares: int | None = None
    pids_limit: int
    user: str
    read_only: bool
    tmpfs: list[str] | None = None
    cap_drop: list[str]
    security_opt: list[str]
    logging: Logging


class Network(_Parsed):
    """A network of the project."""

    name: str
    driver_opts: Mapping[str, str] | None = None
    ipam: Annotated[Mapping[str, JsonValue], Field(max_length=0)] = {}
    internal: bool = False


class Volume(_Parsed):
    """A volume of the project."""

    name: str


class Project(_Parsed):
    """The whole project, in one shape."""

    name: str
    services: Mapping[str, Service]
    networks: Mapping[str, Network]
    volumes: Mapping[str, Volume]

    @property
    def running(self) -> dict[str, Service]:
        """The services that keep running: all but the one that creates the network."""
        return {name: service for name, service in self.services.items() if name != BOOTSTRAP}

    @property
    def bootstrapped(self) -> dict[str, str]:
        """The volumes that the bootstrapper writes → their places in its container."""
        own = self.services[BOOTSTRAP].volumes if BOOTSTRAP in self.services else []
        return {mount.source: mount.target for mount in own if mount.type == "volume"}


def parse_project(config: Mapping[str, Any]) -> Project:
    """Read the output of ``docker compose config``. Raises LabError that names each field without a rule."""
    try:
        # Extensions (x-) are the anchors of compose.yaml, already in their places.
        return Project.model_validate({name: value for name, value in config.items() if not name.startswith("x-")})
    except ValidationError as error:
        problems = [_problem(detail) for detail in error.errors(include_url=False)]
        raise LabError(problems=problems, remedy=UNDECIDED) from None


def _problem(detail: Any) -> Problem:
    location = ("compose.yaml", *detail["loc"])
    if detail["type"] == "extra_forbidden":
        return Problem("has no rule for Docker Swarm", location)
    return Problem(f"has another form than the rules for Docker Swarm expect ({detail['msg']})", location)
