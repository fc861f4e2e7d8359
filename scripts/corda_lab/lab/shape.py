"""The shape of a lab: the shape that runs, and which values of the knobs are possible and fit together.

Nodes carry their shape as a label, so that every later command knows it, however the lab was started.
"""

import os
import re
from collections.abc import Mapping

from corda_lab.errors import LabError
from corda_lab.knobs import checks
from corda_lab.knobs.shape import CORDA_VERSIONS, KNOBS, LAB_IMAGES, SIZES
from corda_lab.lab.compose import run_docker
from corda_lab.lab.cordapps import platform_version
from corda_lab.lab.settings import Settings, parse_size
from corda_lab.paths import CONFIGS

LABEL = "org.cordalab.shape"

KEPT = {knob.name.replace("_", "-"): knob.variable for knob in KNOBS if knob.is_kept}
"""What kept volumes are bound to: name in the bootstrapper's file ``shape``, and the variable."""

NOTARY_PLATFORM_MIN = {"jpa": 8, "raft": 4, "bft": 4}
"""Platform version from which the lab runs a kind of notary; configs/notaries/ says the same to the bootstrapper."""

MEMORY_BESIDE_HEAP_MIN = 1024**3
"""Metaspace, code cache, direct buffers and threads of a node."""

MAINTENANCE_CONNECTIONS = 10
"""Connections to PostgreSQL in addition to the nodes' pools: its exporter, health checks, a person."""


_LINK = re.compile(
    r"([a-z][a-z0-9]*)-([a-z][a-z0-9]*)=(?:\+\d{1,4}ms|(?:\+\d{1,4}ms,)?(?![0.]+[km])\d{1,6}(?:\.\d+)?[km]bit)"
)
_WORD = re.compile(r"([A-Z_]+)=(?:'([^']*)'|(\S*))")


def parse_label(text: str) -> dict[str, str]:
    """The knobs in a label such as ``CORDA_VERSION=4.10 … LINKS='partya-partyb=+40ms'``."""
    return {match[1]: match[2] if match[2] is not None else match[3] for match in _WORD.finditer(text)}


def running(project: str) -> dict[str, str]:
    """The shape of the lab whose containers are there, running or stopped; empty when there are none."""
    filters = [f"label=com.docker.compose.project={project}", "label=com.docker.compose.service=partya"]
    done = run_docker(
        [
            "ps",
            "--all",
            *(word for each in filters for word in ("--filter", each)),
            "--format",
            f'{{{{.Label "{LABEL}"}}}}',
        ]
    )
    return parse_label(done.stdout) if done.returncode == 0 else {}


def of_running(settings: Settings) -> Settings:
    """The settings with the shape of the lab that runs, if one does, whatever ``.env`` says now."""
    return settings.with_values(running(settings.project))


def memory_for(heap: str) -> str:
    """Memory limit of a node's container for a heap: a quarter more, and at least 1 GiB more."""
    heap_bytes = parse_size(heap, option="--heap")
    return f"{(heap_bytes + max(MEMORY_BESIDE_HEAP_MIN, heap_bytes // 4)) // 1024**2}m"


def is_enterprise(preset: str) -> bool:
    """Whether a preset says of itself that it needs Corda Enterprise."""
    path = CONFIGS / "nodes" / f"{preset}.conf"
    return path.exists() and bool(re.search(r"^enterprise = true$", path.read_text(encoding="utf-8"), re.MULTILINE))


def problems(settings: Settings, *, cores: int | None = None) -> list[str]:
    """Every value that is not possible and everything that does not fit together, a line each with its remedy.

    ``cores`` are those of this machine.
    """
    cores = cores or os.cpu_count() or 1
    found = [
        problem for knob in KNOBS if (problem := checks.problem(knob, settings[knob.variable], cores=cores)) is not None
    ]
    if is_enterprise(settings["NODE_PRESET"]) and settings.node_image.startswith(LAB_IMAGES):
        found.append(
            f"NODE_PRESET: {settings['NODE_PRESET']} sets what only Corda Enterprise has; choose another preset, or set"
            " CORDA_IMAGE."
        )
    found += _notary_problems(settings)
    found += _pool_problems(settings)
    found += _memory_problems(settings)
    return found + _link_problems(settings)


def _pool_problems(settings: Settings) -> list[str]:
    if settings["DATABASE"] != "postgres":
        return []
    sizes = {}
    for name in ("POSTGRES_POOL_SIZE", "POSTGRES_MAX_CONNECTIONS"):
        if not re.fullmatch(r"[1-9]\d{0,4}", settings[name]):
            return [f"{name}: {settings[name]!r} is not a number of connections; write it like 10."]
        sizes[name] = int(settings[name])
    try:
        nodes = len(settings.nodes)
    except LabError:
        # The number of parties is a problem of its own.
        return []
    needed = nodes * sizes["POSTGRES_POOL_SIZE"] + MAINTENANCE_CONNECTIONS
    if needed > sizes["POSTGRES_MAX_CONNECTIONS"]:
        return [f"POSTGRES_POOL_SIZE: {nodes} nodes need {needed} connections; set POSTGRES_MAX_CONNECTIONS={needed}."]
    return []


def _notary_problems(settings: Settings) -> list[str]:
    notary, version = settings["NOTARY"], settings["CORDA_VERSION"]
    found = []
    needed = NOTARY_PLATFORM_MIN.get(notary, 0)
    if version in CORDA_VERSIONS and (platform_version(version) or 0) < needed:
        first = next(name for name in CORDA_VERSIONS if (platform_version(name) or 0) >= needed)
        found.append(f"NOTARY: {notary} does not run on Corda {version} here; use Corda {first} or newer.")
    if notary == "jpa" and settings["DATABASE"] != "postgres":
        found.append("NOTARY: jpa keeps its records in PostgreSQL; add --database postgres.")
    return found


def _memory_problems(settings: Settings) -> list[str]:
    heap, memory = settings["NODE_HEAP"], settings["NODE_MEMORY"]
    if not checks.is_size(heap) or not checks.is_size(memory):
        # Either is a problem of its own.
        return []
    if settings.size("NODE_HEAP") >= settings.size("NODE_MEMORY"):
        return [f"NODE_HEAP: {heap} leaves no room in NODE_MEMORY={memory}; set NODE_MEMORY={memory_for(heap)}."]
    return []


def _link_problems(settings: Settings) -> list[str]:
    found = []
    try:
        hosts = [node.lower() for node in settings.nodes]
    except LabError:
        # The number of parties is a problem of its own.
        return []
    seen: set[str] = set()
    for word in settings["LINKS"].split():
        match = _LINK.fullmatch(word)
        if not match:
            found.append(
                f"LINKS: {word!r} is not a link; write it like partya-partyb=+40ms, partya-partyb=10mbit or"
                " partya-postgres=+8ms,10mbit."
            )
            continue
        if match[1].startswith("notary") and match[2].startswith("notary"):
            found.append(
                f"LINKS: {word} connects two members of the notary, whose consensus does not use links; remove it."
            )
        if match[1] == match[2]:
            found.append(f"LINKS: {word} connects {match[1]} with itself; remove it.")
        if word.partition("=")[0] in seen:
            found.append(f"LINKS: {word} sets the same link a second time; remove it.")
        seen.add(word.partition("=")[0])
        if match[2] == "postgres" and settings["DATABASE"] != "postgres":
            found.append(f"LINKS: {word} needs PostgreSQL; add --database postgres.")
        ends = (match[1], *(() if match[2] == "postgres" else (match[2],)))
        found += [
            f"LINKS: unknown node {end!r} in {word}; choose from {', '.join(hosts)}, and postgres as the second end."
            for end in ends
            if end not in hosts
        ]
    return found


def require_possible(settings: Settings) -> None:
    """Raises LabError with every problem at once."""
    found = problems(settings)
    if found:
        raise LabError("\n".join(found))


def with_options(settings: Settings, variables: Mapping[str, str], *, size: str | None) -> Settings:
    """The settings with the variables that were given, over those of a size. A heap brings its memory limit along."""
    values = dict(variables)
    if size is not None:
        if size not in SIZES:
            raise LabError(f"--size: unknown size {size!r}", f"Choose from {', '.join(SIZES)}.")
        values = {"NODE_HEAP": SIZES[size].heap, "NODE_CORES": str(SIZES[size].cores), **values}
    if "NODE_HEAP" in values and "NODE_MEMORY" not in values:
        values["NODE_MEMORY"] = memory_for(values["NODE_HEAP"])
    return settings.with_values(values)
