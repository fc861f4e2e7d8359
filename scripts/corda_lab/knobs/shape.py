"""The knobs that make the shape of a lab, each declared once.

From this table come the comments and defaults of ``.env``, the options of ``lab up``, the fields of ``shape`` in a sweep
file, the shape in words, and the ``lab up`` that a report prints. A new knob is an entry here and its use in
``compose.yaml``; ``python -m corda_lab.knobs`` then writes it into ``.env`` and ``docs/operations.md``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corda_lab.knobs.options import Kind, Option
from corda_lab.text.words import plural
from lab_workload.load import PARTIES_MAX

CORDA_VERSIONS = ("3.3", "4.0", "4.1", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10")
"""Versions of the whole node on Maven Central that the lab runs."""
PARTIES_MIN = 2
LAB_IMAGES = "corda-lab/node:"
"""How the names of the node images begin that the lab builds."""


@dataclass(frozen=True, kw_only=True)
class Knob(Option):
    """A variable of ``.env`` that is part of the shape. A knob without a name is set by its variable only."""

    name: str = ""
    variable: str
    default: str
    """As it stands in ``.env``, where it may refer to another variable."""
    note: str = ""
    """What only ``.env`` says, after the help."""
    folder: str = ""
    """Of ``configs/``, for a FILE."""
    is_kept: bool = False
    """Whether volumes are bound to the value with which they were made."""
    label: Callable[[str], str] = str
    """A value in words; empty where it is not worth a word. WORDS are given one by one."""


@dataclass(frozen=True)
class Size:
    """A published size of node: heap, and cores of the node."""

    heap: str
    cores: int


SIZES = {"small": Size("1g", 1), "medium": Size("4g", 8), "large": Size("32g", 32)}
"""The sizes of R3's sizing guide."""
_SIZES_IN_WORDS = ", ".join(f"{name} ({size.heap}, {plural(size.cores, 'core')})" for name, size in SIZES.items())
SIZE = Option(name="size", kind=Kind.TEXT, help=f"Heap and cores of each node: {_SIZES_IN_WORDS}.")
"""Sets two knobs at once, which win when they are given too."""


def _image_label(image: str) -> str:
    return "" if image.startswith(LAB_IMAGES) else f"image {image}"


def _mode_label(is_development: str) -> str:
    return "development mode" if is_development == "true" else "production mode"


def _database_label(name: str) -> str:
    return {"h2": "H2", "postgres": "PostgreSQL"}.get(name, name)


def _cores_label(cores: str) -> str:
    return f"{cores} core{'' if float(cores) == 1 else 's'} a node" if float(cores) else ""


def _unsaid(_: str) -> str:
    return ""


KNOBS = (
    Knob(
        variable="CORDA_VERSION",
        name="corda",
        kind=Kind.TEXT,
        choices=CORDA_VERSIONS,
        default="4.10",
        help=f"Version of Corda: {', '.join(CORDA_VERSIONS)}.",
        note="All are on Maven Central. 3.3 runs the IOU and the empty flow only. Volumes hold the ledgers of one version.",
        is_kept=True,
        label="Corda {}".format,
    ),
    Knob(
        variable="CORDA_IMAGE",
        kind=Kind.TEXT,
        default="corda-lab/node:${CORDA_VERSION}",
        help="Image of every node.",
        note="Your own image, Community or Enterprise, has to keep the layout that docs/operations.md describes.",
        label=_image_label,
    ),
    Knob(
        variable="DATABASE",
        name="database",
        kind=Kind.FILE,
        folder="databases",
        default="h2",
        help="Database: h2 inside each node, or postgres, one PostgreSQL with a role and a schema for each node.",
        is_kept=True,
        label=_database_label,
    ),
    Knob(
        variable="NOTARY",
        name="notary",
        kind=Kind.FILE,
        folder="notaries",
        default="simple",
        help="Notary: simple, validating, jpa (needs postgres), raft (three nodes) or bft (four).",
        note="Each is a file in configs/notaries/.",
        is_kept=True,
        label="{} notary".format,
    ),
    Knob(
        variable="PARTIES",
        name="parties",
        kind=Kind.COUNT,
        at_least=PARTIES_MIN,
        at_most=PARTIES_MAX,
        default="3",
        help=f"Number of parties in addition to the notary, {PARTIES_MIN} to {PARTIES_MAX}.",
        note="They are PartyA to PartyJ. You can add parties to an existing network. Parties that you remove keep their"
        " data; with plain Compose they run until `docker compose --profile '*' down`. Each takes 0.7 to 1.4 GB of memory.",
        label="{} parties".format,
    ),
    Knob(
        variable="DEV_MODE",
        name="dev_mode",
        kind=Kind.FLAG,
        default="false",
        help="Corda's development mode, or a network with its own root, as in production.",
        note="true is the development mode, with the certificate authority that everybody has and with checks that cost"
        " time.",
        is_kept=True,
        label=_mode_label,
    ),
    Knob(
        variable="NODE_PRESET",
        name="preset",
        kind=Kind.FILE,
        folder="nodes",
        default="stock",
        help="Preset of the nodes: the name of a file in configs/nodes/.",
        note="It is merged into every node.conf.",
        label="preset {}".format,
    ),
    Knob(
        variable="NODE_HEAP",
        name="heap",
        kind=Kind.SIZE,
        default="1g",
        help="Heap of each node's JVM, such as 1g; with --heap the memory limit follows.",
        note="1g is enough to send attachments of 10 MB; one of 50 MB ends the node, as Corda does when the heap is too"
        " small.",
        label="heap {}".format,
    ),
    Knob(
        variable="NODE_MEMORY",
        kind=Kind.SIZE,
        default="2g",
        help="Memory limit of each node's container.",
        note="It must leave room beside the heap for metaspace, code cache and direct buffers, of which the message"
        " broker's journal alone takes 200 MB.",
        label=_unsaid,
    ),
    Knob(
        variable="NODE_CORES",
        name="cores",
        kind=Kind.CORES,
        default="0",
        help="CPU cores that each node may use, such as 2 or 0.5; 0 for all.",
        label=_cores_label,
    ),
    Knob(
        variable="NODE_CPUSET",
        name="cpuset",
        kind=Kind.CPUSET,
        default="",
        help="Which CPU cores nodes may use, such as 0-3 or 0,2.",
        note="Empty for any.",
        label="on cores {}".format,
    ),
    Knob(
        variable="LINKS",
        name="link",
        kind=Kind.WORDS,
        default="",
        help="Added latency and bandwidth limit of a link, such as partya-partyb=+40ms or partya-postgres=+8ms,10mbit.",
        note="A link is between two nodes, or a node and PostgreSQL; several are separated by spaces. Latency is added to the"
        " round trip.",
        label="link {}".format,
    ),
)
"""In the order in which they are listed, described and printed."""

BY_VARIABLE = {knob.variable: knob for knob in KNOBS}
SHAPE_VARIABLES = tuple(BY_VARIABLE)
"""As compose.yaml writes them into the label of every node."""
BY_NAME = {knob.name: knob for knob in KNOBS if knob.name}
SHAPE_OPTIONS: tuple[Option, ...] = (*BY_NAME.values(), SIZE)
"""Options of ``lab up``, and fields of ``shape`` in a sweep file."""


def variables_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Variables and their values by the options that were given, by name; None is not given, and ``size`` is left out."""
    return {knob.variable: knob.text(given[name]) for name, knob in BY_NAME.items() if given.get(name) is not None}
