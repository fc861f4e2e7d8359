"""The shape of a lab: reads the shape of the existing lab, and checks that the values of all knobs fit together.

Every node's container has its shape as a label. So every later command knows the shape, however the lab was started.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from corda_lab.errors import LabError, chosen
from corda_lab.knobs import shape as knobs
from corda_lab.knobs.shape import BRIDGE, BY_VARIABLE, CORDA_VERSIONS, FINANCE_CORDAPP, KNOBS, LEFT_OPEN, SIZES
from corda_lab.lab.cordapps import platform_version
from corda_lab.lab.docker import PROJECT_LABEL, SERVICE_LABEL, docker, labelled
from corda_lab.lab.settings import SET, Settings, parse_size
from corda_lab.paths import CONFIGS
from corda_lab.text import words
from lab_workload.problems import Problem

LABEL = "org.cordalab.shape"

KEPT = {knob.name.replace("_", "-"): knob.variable for knob in KNOBS if knob.is_kept}
"""Knobs that existing volumes depend on: name in the bootstrapper's file ``shape`` → variable."""

NOTARY_PLATFORM_MIN = {"jpa": 8, "raft": 4, "bft": 4}
"""Lowest platform version for each kind of notary. configs/notaries/ has the same numbers for the bootstrapper."""

MEMORY_BESIDE_HEAP_MIN = 1024**3
"""Bytes that a node needs in addition to its heap: metaspace, code cache, direct buffers and threads."""

BRIDGE_MEMORY_BESIDE_HEAP = 384 * 1024**2
"""Bytes that the bridge needs in addition to its heap (loadgen/bridge/bin/run-java)."""

LEFT_OPEN_HEAP = "1g"
"""The least heap of the bridge if connections are left open."""

LEFT_OPEN_MEMORY = 2 * 1024**3
"""Bytes that the threads of connections that are left open may take in addition."""

ATTACHMENT_HEAP_COPIES = 8
"""Corda's RPC client and the bridge hold an attachment this many times in memory while it is uploaded, at most."""

MAINTENANCE_CONNECTIONS = 10
"""PostgreSQL connections in addition to the nodes' pools: for the exporter, health checks and manual queries."""


_LINK = re.compile(
    r"([a-z][a-z0-9]*)-([a-z][a-z0-9]*)=(?:\+\d{1,4}ms|(?:\+\d{1,4}ms,)?(?![0.]+[km])\d{1,6}(?:\.\d+)?[km]bit)"
)
_INCLUDE = re.compile(r'^include "([^"/]+)\.conf"$', re.MULTILINE)
_WORD = re.compile(r"([A-Z_]+)=(?:'([^']*)'|(\S*))")


def parse_label(text: str) -> dict[str, str]:
    """Return the knobs in a label such as ``CORDA_VERSION=4.10 … LINKS='partya-partyb=+40ms'``."""
    return {match[1]: match[2] or match[3] or "" for match in _WORD.finditer(text)}


def parse_labels(text: str) -> dict[str, str]:
    """Return the settings in lines of a service and its label, such as ``bridge BRIDGE_HEAP=384m …``.

    Of all nodes PartyA counts. Every other service tells only its own knobs, and the bridge also the settings that are
    no part of the shape.
    """
    shape: dict[str, str] = {}
    for line in text.splitlines():
        service, _, label = line.partition(" ")
        own = {knob.variable for knob in KNOBS if (knob.service or "partya") == service}
        values = parse_label(label)
        shape |= {name: value for name, value in values.items() if name in own}
        if service == BRIDGE:
            shape |= beside_shape(values)
    return shape


def beside_shape(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are no part of the shape, and LAB_SET, which keeps them; nothing if there are none."""
    others = {name: value for name, value in values.items() if name not in BY_VARIABLE}
    return {**others, SET: " ".join(f"{name}='{value}'" for name, value in sorted(others.items()))} if others else {}


def running(project: str) -> dict[str, str]:
    """Return the shape of the existing lab, running or stopped; empty if it has no containers."""
    form = f'{{{{.Label "{SERVICE_LABEL}"}}}} {{{{.Label "{LABEL}"}}}}'
    done = docker("ps", "--all", *labelled(f"{PROJECT_LABEL}={project}", LABEL), "--format", form)
    return parse_labels(done.stdout) if done.returncode == 0 else {}


def of_running(settings: Settings) -> Settings:
    return settings.with_values(running(settings.project))


def memory_for(heap: str) -> str:
    """Return the memory limit of a node's container for a heap: 25 % more than the heap, and at least 1 GiB more."""
    heap_bytes = parse_size(heap, option="NODE_HEAP")
    return f"{(heap_bytes + max(MEMORY_BESIDE_HEAP_MIN, heap_bytes // 4)) // 1024**2}m"


def bridge_memory_for(heap: str, rpc: str) -> str:
    beside = BRIDGE_MEMORY_BESIDE_HEAP + (LEFT_OPEN_MEMORY if rpc == LEFT_OPEN else 0)
    return f"{(parse_size(heap, option='BRIDGE_HEAP') + beside) // 1024**2}m"


def is_enterprise(preset: str) -> bool:
    return bool(re.search(r"^enterprise = true$", _preset_text(preset), re.MULTILINE))


def pool_size_of(preset: str) -> str | None:
    """Return the size of a node's pool of database connections that a preset sets, if it does."""
    size = re.search(r"^[^#\n]*\bmaximumPoolSize = (\d+)", _preset_text(preset), re.MULTILINE)
    return size and size[1]


def preset_sha256(preset: str) -> str:
    """Return the SHA-256 of the text of a preset; that of an empty text if there is no such preset."""
    return hashlib.sha256(_preset_text(preset).encode()).hexdigest()


def _preset_text(preset: str, included_by: frozenset[str] = frozenset()) -> str:
    """The text of a preset, with that of the preset it includes in place of the line that does so."""
    if preset in included_by:
        # The bootstrapper refuses it.
        return ""
    path = CONFIGS / "nodes" / f"{preset}.conf"
    # A preset that does not exist is reported separately.
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return _INCLUDE.sub(lambda line: _preset_text(line[1], included_by | {preset}), text)


def problems(settings: Settings, *, cores: int | None = None) -> list[Problem]:
    """Return every impossible value and every conflict between values, named by variable.

    ``cores`` is the number of CPU cores; the default is that of this machine.
    """
    cores = cores or os.cpu_count() or 1
    of_values = (knobs.problem(knob, settings[knob.variable], cores=cores) for knob in KNOBS)
    try:
        nodes = [node.lower() for node in settings.nodes]
    except LabError:
        # An invalid number of parties is among the problems of the values.
        nodes = []
    return [
        *(Problem(text) for text in of_values if text is not None),
        *_version_problems(settings),
        *_postgres_problems(settings, len(nodes)),
        *_memory_problems(settings),
        *(_link_problems(settings, nodes) if nodes else ()),
    ]


def _version_problems(settings: Settings) -> Iterator[Problem]:
    """Yield what the version of Corda, or its edition, does not have."""
    preset, notary, version = settings["NODE_PRESET"], settings["NOTARY"], settings["CORDA_VERSION"]
    if is_enterprise(preset) and not settings.foreign_image:
        remedy = "Choose another preset, or set CORDA_IMAGE to an Enterprise image."
        yield Problem.of("NODE_PRESET", f"{preset} needs Corda Enterprise", remedy)
    if settings["CORDAPP"] == FINANCE_CORDAPP and (platform_version(version) or 4) < 4:
        text = f"{FINANCE_CORDAPP} is not supported with Corda {version}"
        yield Problem.of("CORDAPP", text, "Use Corda 4.0 or newer.")
    needed = NOTARY_PLATFORM_MIN.get(notary, 0)
    if version in CORDA_VERSIONS and (platform_version(version) or 0) < needed:
        first = next(name for name in CORDA_VERSIONS if (platform_version(name) or 0) >= needed)
        yield Problem.of("NOTARY", f"{notary} is not supported with Corda {version}", f"Use Corda {first} or newer.")


def _postgres_problems(settings: Settings, nodes: int) -> Iterator[Problem]:
    """Yield what needs PostgreSQL, or more of its connections. ``nodes`` is 0 if their number is not valid."""
    if settings["DATABASE"] != "postgres":
        if settings["NOTARY"] == "jpa":
            yield Problem.of("NOTARY", "jpa needs PostgreSQL", "Add --database postgres.")
        if settings["POSTGRES_CORES"] not in ("", "0"):
            text = f"{settings['POSTGRES_CORES']} cores of PostgreSQL need PostgreSQL"
            yield Problem.of("POSTGRES_CORES", text, "Add --database postgres, or leave it out.")
        return
    for name in ("POSTGRES_POOL_SIZE", "POSTGRES_MAX_CONNECTIONS"):
        if not re.fullmatch(r"[1-9]\d{0,4}", settings[name]):
            yield Problem.of(name, f"{settings[name]!r} is not a number of connections", "Use a value such as 10.")
            return
    of_preset = pool_size_of(settings["NODE_PRESET"])
    needed = nodes * int(of_preset or settings["POSTGRES_POOL_SIZE"]) + MAINTENANCE_CONNECTIONS
    if nodes and needed > int(settings["POSTGRES_MAX_CONNECTIONS"]):
        variable = "NODE_PRESET" if of_preset else "POSTGRES_POOL_SIZE"
        text = f"{nodes} nodes need {needed} connections"
        yield Problem.of(variable, text, f"Set POSTGRES_MAX_CONNECTIONS={needed}.")


def _memory_problems(settings: Settings) -> Iterator[Problem]:
    """Yield a heap that does not fit into its container, or into which attachments do not fit."""
    for owner in ("NODE", "BRIDGE"):
        heap, memory = settings[f"{owner}_HEAP"], settings[f"{owner}_MEMORY"]
        # An invalid size is reported separately.
        if knobs.is_size(heap) and knobs.is_size(memory) and parse_size(heap) >= parse_size(memory):
            fitting = memory_for(heap) if owner == "NODE" else bridge_memory_for(heap, settings["BRIDGE_RPC"])
            text = f"{heap} does not fit in {owner}_MEMORY={memory}"
            yield Problem.of(f"{owner}_HEAP", text, f"Set {owner}_MEMORY={fitting}.")
    heap, largest = settings["BRIDGE_HEAP"], settings["BRIDGE_MAX_ATTACHMENT_BYTES"]
    needed = int(largest) * ATTACHMENT_HEAP_COPIES if largest.isdecimal() else 0
    if knobs.is_size(heap) and needed > parse_size(heap):
        text = f"attachments of {words.size(int(largest))} need a bridge heap {ATTACHMENT_HEAP_COPIES} times as large"
        remedy = f"Set BRIDGE_HEAP={-(-needed // 1024**2)}m, or use smaller attachments."
        yield Problem.of("BRIDGE_MAX_ATTACHMENT_BYTES", text, remedy)


def _link_problems(settings: Settings, nodes: Sequence[str]) -> Iterator[Problem]:
    links: set[str] = set()
    for word in settings["LINKS"].split():
        match = _LINK.fullmatch(word)
        if not match:
            remedy = "Use a value such as partya-partyb=+40ms, partya-partyb=10mbit or partya-postgres=+8ms,10mbit."
            yield Problem.of("LINKS", f"{word!r} is not a link", remedy)
            continue
        first, second = match[1], match[2]
        if first.startswith("notary") and second.startswith("notary"):
            text = f"{word} connects two members of the notary, whose consensus does not use links"
            yield Problem.of("LINKS", text, "Remove it.")
        if first == second:
            yield Problem.of("LINKS", f"{word} connects {first} with itself", "Remove it.")
        # Only the second end can be postgres.
        for end in (first, *(() if second == "postgres" else (second,))):
            if end not in nodes:
                remedy = f"Choose from {', '.join(nodes)}, and postgres as the second end."
                yield Problem.of("LINKS", f"unknown node {end!r} in {word}", remedy)
        if word.partition("=")[0] in links:
            yield Problem.of("LINKS", f"{word} sets the same link a second time", "Remove it.")
        links.add(word.partition("=")[0])
        if second == "postgres" and settings["DATABASE"] != "postgres":
            yield Problem.of("LINKS", f"{word} needs PostgreSQL", "Add --database postgres.")


def require_possible(settings: Settings) -> None:
    if impossible := problems(settings):
        raise LabError(problems=impossible)


def with_options(settings: Settings, variables: Mapping[str, str], *, size: str | None) -> Settings:
    """Return the settings with the size applied first and the variables second.

    A new heap also sets the memory limit, of the nodes or of the bridge, unless ``variables`` has one. Connections that
    are left open set the heap and the limit of the bridge. Raises LabError for an unknown size.
    """
    values = {**variables, **beside_shape(variables)}
    if size is not None:
        size = chosen("--size: unknown size", size, SIZES)
        values = {"NODE_HEAP": SIZES[size].heap, "NODE_CORES": str(SIZES[size].cores), **values}
    if "NODE_HEAP" in values and "NODE_MEMORY" not in values:
        values["NODE_MEMORY"] = memory_for(values["NODE_HEAP"])
    if values.get("BRIDGE_RPC") == LEFT_OPEN and "BRIDGE_HEAP" not in values:
        values["BRIDGE_HEAP"] = max(settings["BRIDGE_HEAP"], LEFT_OPEN_HEAP, key=parse_size)
    if {"BRIDGE_HEAP", "BRIDGE_RPC"} & values.keys() and "BRIDGE_MEMORY" not in values:
        merged = settings.with_values(values)
        values["BRIDGE_MEMORY"] = bridge_memory_for(merged["BRIDGE_HEAP"], merged["BRIDGE_RPC"])
    return settings.with_values(values)
