"""The knobs of ``.env`` as Docker Compose reads them: a variable of the same name in the environment wins."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase

from corda_lab.errors import LabError
from corda_lab.knobs import checks
from corda_lab.knobs.shape import BY_VARIABLE
from corda_lab.paths import ENV_FILE
from lab_workload.load import PARTIES_MAX

PROJECT_DEFAULT = "corda-lab"
NOTARY = "Notary"
PARTIES = tuple(f"Party{letter}" for letter in ascii_uppercase[:PARTIES_MAX])
"""Every party that the lab's network can have, in the order in which they join.

A node's service and host name is its name in lower case.
"""

NOTARY_MEMBERS = {"simple": 1, "validating": 1, "jpa": 1, "raft": 3, "bft": 4}
"""Nodes that make each kind of notary of configs/notaries/."""

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SIZE_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|CREDENTIAL", re.IGNORECASE)


def parse_env_file(text: str, *, name: str) -> dict[str, str]:
    """Assignments of a ``.env`` file; a line that is none is an error that names it."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(stripped)
        if match is None:
            raise LabError(f"{name}, line {number}: {stripped!r} is not NAME=value", "Correct or remove the line.")
        value = match[2]
        if value[:1] in {"'", '"'} and value.find(value[0], 1) > 0:
            value = value[1 : value.index(value[0], 1)]
        else:
            value = re.split(r"\s+#", value, maxsplit=1)[0].strip()
        values[match[1]] = value
    return values


def parse_size(text: str, *, option: str) -> int:
    """Bytes meant by ``1g``, ``512m`` and so on, powers of 1024 as Docker and the JVM read them."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise LabError(f"{option}: {text!r} is not a size", "Write it like 512m or 2g.")
    return int(float(match[1]) * _SIZE_FACTORS[match[2].lower()])


@dataclass(frozen=True)
class Settings:
    """Every knob with its value, and the name of the Compose project."""

    values: Mapping[str, str]
    project: str = PROJECT_DEFAULT

    def __getitem__(self, name: str) -> str:
        try:
            return self.values[name]
        except KeyError:
            raise LabError(f".env: {name} is missing", "Restore it from the repository's own .env.") from None

    def port(self, name: str) -> int:
        """A host port; the range is checked here so that the error names the variable."""
        text = self[name]
        if not text.isdecimal() or not 1 <= int(text) <= 65535:
            raise LabError(f"{name}: {text!r} is not a port", "Set it to a number from 1 to 65535.")
        return int(text)

    def url(self, port_name: str) -> str:
        """Address on this machine of the service behind a port variable."""
        return f"http://127.0.0.1:{self.port(port_name)}"

    def size(self, name: str) -> int:
        """Bytes of a memory setting."""
        return parse_size(self[name], option=name)

    @property
    def party_count(self) -> int:
        """Members of the network besides the notary: PARTIES of ``.env`` or the environment. Raises LabError."""
        knob = BY_VARIABLE["PARTIES"]
        text = self.values.get(knob.variable) or knob.default
        if problem := checks.problem(knob, text, cores=0):
            raise LabError(problem)
        return int(text)

    def with_values(self, values: Mapping[str, str]) -> "Settings":
        """The same settings with some values replaced."""
        return replace(self, values={**self.values, **values})

    @property
    def parties(self) -> tuple[str, ...]:
        """Names of the parties of the lab's network."""
        return PARTIES[: self.party_count]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes of the lab's network, the notary's first."""
        return (*self.notaries, *self.parties)

    @property
    def notaries(self) -> tuple[str, ...]:
        """Names of the nodes that are the notary: Notary, and Notary2 and so on where it is a cluster."""
        count = NOTARY_MEMBERS.get(self.values.get("NOTARY", "simple"), 1)
        return (NOTARY, *(f"{NOTARY}{number}" for number in range(2, count + 1)))

    @property
    def node_image(self) -> str:
        """Name of the image that every node runs on."""
        return self["CORDA_IMAGE"].replace("${CORDA_VERSION}", self["CORDA_VERSION"])

    @property
    def extra_services(self) -> tuple[str, ...]:
        """Services that only some shapes have, in the order in which they start."""
        database = ("postgres", "postgres-exporter") if self.values.get("DATABASE") == "postgres" else ()
        return (*database, *(("links",) if self.values.get("LINKS") else ()))

    def public(self) -> dict[str, str]:
        """All knobs but those that hold a secret."""
        return {name: value for name, value in sorted(self.values.items()) if not _SECRET.search(name)}


def load_settings(env_file: Path = ENV_FILE, environment: Mapping[str, str] | None = None) -> Settings:
    """Read ``.env`` and lay the environment over it."""
    environment = os.environ if environment is None else environment
    try:
        text = env_file.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{env_file.name}: cannot be read ({error.strerror})", "Restore it from the repository."
        ) from None
    values = parse_env_file(text, name=env_file.name)
    values.update({name: environment[name] for name in values if name in environment})
    project = environment.get("COMPOSE_PROJECT_NAME", PROJECT_DEFAULT)
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", project):
        raise LabError(
            f"COMPOSE_PROJECT_NAME: {project!r} is not a project name",
            "Use lower-case letters, digits, hyphens and underscores.",
        )
    return Settings(values, project)
