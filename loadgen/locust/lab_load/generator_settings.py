"""Settings of the load generator from environment variables, and the names of runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lab_load.origins import HOST
from lab_workload.problems import LoadError, Problem
from lab_workload.row import ROWS_DIRECTORY

MEBIBYTE = 1024**2
ANSWER_MARGIN_SECONDS = 30.0


@dataclass(frozen=True)
class GeneratorSettings:
    """Address of the bridge, folders and ports. The defaults are those of the generator's image."""

    bridge_url: str
    flow_timeout_seconds: float
    """How long the bridge waits for a flow."""
    party_names: tuple[str, ...]
    """Names of the nodes that can start flows."""
    workloads: Path
    rows: Path
    metrics_port: int
    allowed_hosts: frozenset[str] = frozenset()
    """Host names that requests to the web UI may use in addition to loopback addresses, in lower case."""
    web_loads_max: int = 20
    """Most loads of the web UI whose files are kept until somebody makes a run of them."""
    web_rows_bytes_max: int = 1024 * MEBIBYTE
    """Most bytes of all their files."""

    @property
    def answer_timeout_seconds(self) -> float:
        """How long the generator waits for an answer: slightly longer than the bridge waits for a flow."""
        return self.flow_timeout_seconds + ANSWER_MARGIN_SECONDS

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "GeneratorSettings":
        """Read the settings. Raises ``LoadError`` with all invalid variables."""
        problems: list[Problem] = []
        settings = cls(
            bridge_url=environment.get("BRIDGE_URL", "http://bridge:8080").rstrip("/"),
            flow_timeout_seconds=_number(environment, "BRIDGE_FLOW_TIMEOUT_SECONDS", 300.0, problems),
            party_names=_party_names(environment),
            workloads=Path(environment.get("LAB_WORKLOADS_DIR", "/etc/corda-lab/workloads")),
            rows=Path(environment.get("LAB_ROWS_DIR", ROWS_DIRECTORY)),
            metrics_port=int(_number(environment, "LAB_METRICS_PORT", 9646, problems)),
            allowed_hosts=_hosts(environment, "LAB_ALLOWED_HOSTS", problems),
            web_loads_max=max(1, int(_number(environment, "LAB_WEB_LOADS_MAX", 20, problems))),
            web_rows_bytes_max=int(_number(environment, "LAB_WEB_ROWS_MAX_MIB", 1024, problems) * MEBIBYTE),
        )
        problems += url_problems("BRIDGE_URL", settings.bridge_url)
        if not settings.party_names:
            problems.append(Problem.of("LAB_PARTIES", "must contain the name of a node"))
        if problems:
            raise LoadError(problems)
        return settings


def authorization(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the header with the bridge's token, BRIDGE_TOKEN; none if it is not set. Manifests must not have it."""
    token = environment.get("BRIDGE_TOKEN", "")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _party_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return LAB_PARTIES, else the names that the bootstrapper wrote to the network volume, else the default three.

    They are percent-encoded: an organisation may have spaces and commas.
    """
    text = environment.get("LAB_PARTIES")
    kept = Path(environment.get("LAB_NETWORK_DIR", "/network")) / "parties"
    if text is None:
        text = kept.read_text(encoding="utf-8") if kept.exists() else "PartyA,PartyB,PartyC"
    return tuple(map(unquote, text.replace(",", " ").split()))


def _hosts(environment: Mapping[str, str], name: str, problems: list[Problem]) -> frozenset[str]:
    hosts = [host for entry in environment.get(name, "").split(",") if (host := entry.strip().lower())]
    problems += [
        Problem.of(name, f"{host!r} is not a host name; leave out scheme and port")
        for host in hosts
        if not HOST.fullmatch(host)
    ]
    return frozenset(hosts)


def url_problems(name: str, url: str) -> list[Problem]:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    return [] if usable else [Problem.of(name, f"{url!r} is not an http:// address")]


def utc_run_id(prefix: str) -> str:
    """Return a run id with the current time, such as ``web-20261120T120000Z``."""
    return f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def _number(environment: Mapping[str, str], name: str, default: float, problems: list[Problem]) -> float:
    text = environment.get(name, "") or str(default)
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        problems.append(Problem.of(name, f"{text!r} is not a number above 0"))
        return default
    return number
