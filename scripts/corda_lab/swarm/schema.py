"""The fields of placement files, ``configs/placements/<name>.yaml``. ``docs/scale-out.md`` describes them."""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, StringConstraints
from pydantic_core import PydanticCustomError

from corda_lab.knobs import checks
from corda_lab.lab.settings import parse_size
from lab_workload.schema import Fields, Text

CORES_MAX = 1024
HOSTS_MAX = 64
WORKERS_MAX = 64
"""Workers of one host. More processes than cores only wait for one another."""
LABEL = "corda-lab.host"
REGISTRY = "127.0.0.1:5000"


def _size(value: Any) -> int:
    if isinstance(value, str) and checks.is_size(value):
        return parse_size(value, option="")
    raise PydanticCustomError("size", "must be a memory size such as 1536m or 2g")


Cores = Annotated[float, Field(gt=0, le=CORES_MAX)]
Size = Annotated[int, PlainValidator(_size)]
"""Bytes, written as ``1536m`` or ``2g``."""
Label = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?$")]
Registry = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]+(:[0-9]{1,5})?$")]


class ReservedFields(Fields):
    """What a host keeps free for one service, whatever else it runs."""

    cores: Cores
    memory: Size


class WorkersFields(ReservedFields):
    """Worker processes of the load generator on one host. Cores and memory are those of each of them."""

    count: Annotated[int, Field(ge=1, le=WORKERS_MAX)]


class HostFields(Fields):
    """One host, or one host for each node, with what it has and what runs on it."""

    each: Literal["node"] | None = None
    """``node`` stands for as many hosts as there are nodes. Each has the name of its node as its label."""
    cores: Cores
    memory: Size
    services: dict[Text, ReservedFields] = Field(default_factory=dict)
    """By the name of the service; ``nodes`` are all nodes that the file does not name."""
    workers: WorkersFields | None = None


class PlacementFields(Fields):
    """A whole placement file."""

    description: Text
    label: Label = LABEL
    """Label of the Swarm nodes whose value is the name of the host."""
    overlay: Literal["encrypted", "plain"]
    """Whether hosts encrypt what services send to one another."""
    registry: Registry = REGISTRY
    """Where every host pulls the images from: ``host:port``."""
    hosts: Annotated[dict[Text, HostFields], Field(min_length=1, max_length=HOSTS_MAX)]

    @property
    def is_encrypted(self) -> bool:
        """Whether hosts encrypt what services send to one another."""
        return self.overlay == "encrypted"
