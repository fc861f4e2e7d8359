"""The settings in ``.env``, read as Docker Compose reads them: environment variables take precedence."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase

from corda_lab.errors import LabError
from corda_lab.knobs import shape as knobs
from corda_lab.knobs.shape import BY_VARIABLE, LAB_IMAGES
from corda_lab.paths import ENV_FILE
from lab_workload.load import PARTIES_MAX

PROJECT_DEFAULT = "corda-lab"
"""Name of the Compose project in ``compose.yaml``, and the beginning of the names that ``project`` makes."""

VARIABLE = "COMPOSE_PROJECT_NAME"
OVERRIDE = "compose.override.yaml"
"""File with the name of the project of this checkout; Compose also reads it."""

SET = "LAB_SET"
"""The variable that lists settings of a running lab which are no part of its shape and differ from ``.env``."""

NOTARY = "Notary"
PARTIES = tuple(f"Party{letter}" for letter in ascii_uppercase[:PARTIES_MAX])
"""All parties of the largest network, in the order in which they join.

The service name and host name of a node is its name in lower case.
"""

NOTARY_MEMBERS = {"simple": 1, "validating": 1, "jpa": 1, "raft": 3, "bft": 4}
"""Number of nodes of each kind of notary in configs/notaries/."""

BOOTSTRAP = "bootstrap"
"""The service that creates the network and ends. All others keep running."""

GRAFANA = "grafana"
"""The only service that the lab can do without."""

BASE_SERVICES = ("bridge", "locust", "prometheus", GRAFANA)
"""The services of every lab in addition to its nodes, in the order of their start."""

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SIZE_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_PROJECT = re.compile(r"""^name:\s*["']?([a-z0-9][a-z0-9_-]*)["']?\s*(?:#.*)?$""", re.MULTILINE)
_ANY_ADDRESS = ("0.0.0.0", "::", "[::]")
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[?::1\]?")
"""The same as in the bridge, which checks it again, for those who use Compose alone."""
_ENDPOINT = re.compile(r"https?://[^\s/?#]+(/[^\s/?#]+)*")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,256}")
_SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|CREDENTIAL", re.IGNORECASE)


def project_in(checkout: Path) -> str | None:
    """Return the name of the project in the override file of a checkout; None if there is none."""
    try:
        name = _PROJECT.search((checkout / OVERRIDE).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return name[1] if name else None


def parse_env_file(text: str, *, name: str) -> dict[str, str]:
    """Return the assignments in a ``.env`` file. Raises LabError that names the first invalid line."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(stripped)
        if match is None:
            raise LabError(f"{name}, line {number}: {stripped!r} is not NAME=value", "Correct or delete the line.")
        value = match[2]
        if value[:1] in {"'", '"'} and value.find(value[0], 1) > 0:
            value = value[1 : value.index(value[0], 1)]
        else:
            value = re.split(r"\s+#", value, maxsplit=1)[0].strip()
        values[match[1]] = value
    return values


def parse_size(text: str, *, option: str = "size") -> int:
    """Return the bytes of ``1g``, ``512m`` and so on. Units are powers of 1024, as for Docker and the JVM."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise LabError(f"{option}: {text!r} is not a memory size", "Use a value such as 512m or 2g.")
    return int(float(match[1]) * _SIZE_FACTORS[match[2].lower()])


@dataclass(frozen=True)
class Settings:
    """The values of all variables in ``.env``, and the name of the Compose project."""

    values: Mapping[str, str]
    project: str = PROJECT_DEFAULT

    def __getitem__(self, name: str) -> str:
        try:
            return self.values[name]
        except KeyError:
            raise LabError(f".env: {name} is missing", "Restore it from the .env file of the repository.") from None

    def port(self, name: str) -> int:
        """Return a host port. Raises LabError that names the variable if the value is not a port."""
        text = self[name]
        if not text.isdecimal() or not 1 <= int(text) <= 65535:
            raise LabError(f"{name}: {text!r} is not a port", "Use a number from 1 to 65535.")
        return int(text)

    def url(self, port_name: str) -> str:
        """Return the URL on this machine of the service whose port the variable sets."""
        return f"http://127.0.0.1:{self.port(port_name)}"

    @property
    def bridge_url(self) -> str:
        """The URL of the bridge, as this machine reaches it. Raises LabError if its address must not be published."""
        self.check_bridge_address()
        address = self._bridge_address
        host = "127.0.0.1" if address in _ANY_ADDRESS else address.strip("[]")
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port('BRIDGE_PORT')}"

    @property
    def bridge_token(self) -> str:
        """The token that requests to the bridge need; empty if they need none. Raises LabError if it is not valid."""
        token = self.values.get("BRIDGE_TOKEN", "")
        if token and not _TOKEN.fullmatch(token):
            raise LabError(
                "BRIDGE_TOKEN: is not a token", "Use 16 to 256 letters, digits and the characters . _ ~ + / = -"
            )
        return token

    @property
    def _bridge_address(self) -> str:
        return self.values.get("BRIDGE_ADDRESS") or "127.0.0.1"

    def check_traces_endpoint(self) -> None:
        """Raise LabError if the nodes cannot send spans to TRACES_ENDPOINT."""
        endpoint = self.values.get("TRACES_ENDPOINT", "")
        if endpoint and not _ENDPOINT.fullmatch(endpoint):
            raise LabError(
                f"TRACES_ENDPOINT: {endpoint!r} is not the URL of a receiver of OTLP/HTTP",
                "Use http:// or https:// with a host and a port, without /v1/traces: http://jaeger:4318.",
            )

    def check_bridge_address(self) -> None:
        """Raise LabError if other machines could reach the bridge, which starts flows, without a token."""
        if not _LOOPBACK.fullmatch(self._bridge_address) and not self.bridge_token:
            raise LabError(
                f"BRIDGE_ADDRESS: {self._bridge_address} lets other machines reach the bridge, but there is no token",
                "Set BRIDGE_TOKEN to 16 or more random characters, or BRIDGE_ADDRESS to 127.0.0.1.",
            )

    def size(self, name: str) -> int:
        return parse_size(self[name], option=name)

    @property
    def party_count(self) -> int:
        """The number of parties, without the notary: the variable PARTIES. Raises LabError."""
        knob = BY_VARIABLE["PARTIES"]
        text = self.values.get(knob.variable) or knob.default
        if problem := knobs.problem(knob, text, cores=0):
            raise LabError(problem)
        return int(text)

    def with_values(self, values: Mapping[str, str]) -> "Settings":
        return replace(self, values={**self.values, **values})

    @property
    def parties(self) -> tuple[str, ...]:
        return PARTIES[: self.party_count]

    @property
    def nodes(self) -> tuple[str, ...]:
        return (*self.notaries, *self.parties)

    @property
    def notaries(self) -> tuple[str, ...]:
        """Names of the notary's nodes: Notary, and also Notary2 and so on if it is a cluster."""
        count = NOTARY_MEMBERS.get(self.values.get("NOTARY", "simple"), 1)
        return (NOTARY, *(f"{NOTARY}{number}" for number in range(2, count + 1)))

    @property
    def node_image(self) -> str:
        return self.foreign_image or self.own_node_image

    @property
    def own_node_image(self) -> str:
        """Name of the lab's own image of a node, which every lab has: the bootstrapper runs on it."""
        return self.own_image(f"node:{self['CORDA_VERSION']}")

    @property
    def foreign_image(self) -> str:
        """Name of the image of every node if the lab does not build it, otherwise empty."""
        image = self["CORDA_IMAGE"].replace("${CORDA_VERSION}", self["CORDA_VERSION"])
        return "" if image.startswith(LAB_IMAGES) else image

    @property
    def recorded_image(self) -> str:
        """The image of every node as manifests name it: that of the lab has the same name in every checkout."""
        return self.foreign_image or f"{LAB_IMAGES}{self['CORDA_VERSION']}"

    def own_image(self, name: str) -> str:
        """Return the name of an image that the lab builds, such as ``locust``, as compose.yaml has it.

        Every project has its own, so checkouts with different code never replace each other's images. Their builds
        share the cache.
        """
        return f"{self.project}/{name}"

    def recorded_name(self, image: str) -> str:
        """Return the name of an image as manifests have it: without the project if the lab has built it."""
        own = self.own_image("")
        return f"{PROJECT_DEFAULT}/{image.removeprefix(own)}" if image.startswith(own) else image

    @property
    def extra_services(self) -> tuple[str, ...]:
        """The services that this shape has in addition to nodes and basic services, in the order of their start."""
        database = ("postgres", "postgres-exporter") if self.values.get("DATABASE") == "postgres" else ()
        return (*database, *(("links",) if self.values.get("LINKS") else ()))

    @property
    def services(self) -> tuple[str, ...]:
        return (BOOTSTRAP, *self.extra_services, *(node.lower() for node in self.nodes), *BASE_SERVICES)

    def public(self) -> dict[str, str]:
        """Return all settings except passwords, tokens and other secrets, sorted by name."""
        return {name: value for name, value in sorted(self.values.items()) if name != SET and not _SECRET.search(name)}

    def secrets(self) -> frozenset[str]:
        """Return the passwords, tokens and other secrets that the user has set. The lab generates others."""
        return frozenset(value for name, value in self.values.items() if value and _SECRET.search(name))


def load_settings(env_file: Path = ENV_FILE, environment: Mapping[str, str] | None = None) -> Settings:
    environment = os.environ if environment is None else environment
    try:
        text = env_file.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{env_file.name}: cannot be read ({error.strerror})", "Restore it from the repository."
        ) from None
    values = parse_env_file(text, name=env_file.name)
    values.update({name: environment[name] for name in values if name in environment})
    # The order in which Compose itself looks for the name.
    project = environment.get(VARIABLE) or values.get(VARIABLE) or project_in(env_file.parent) or PROJECT_DEFAULT
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", project):
        raise LabError(
            f"{VARIABLE}: {project!r} is not a project name",
            "Use lower-case letters, digits, hyphens and underscores.",
        )
    return Settings(values, project)
