"""The knobs: the settings that define the shape of a lab. Each is declared once.

The following are derived from this table: the comments and defaults in ``.env``, the options of ``lab up``, the fields
of ``shape`` in a sweep file, the description of a shape, and the ``lab up`` command in reports. To add a knob, add an
entry here, use its variable in ``compose.yaml``, and run ``python -m corda_lab.knobs`` to update ``.env`` and
``docs/operations.md``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corda_lab.knobs.options import Kind, Option
from corda_lab.text.words import plural, size
from lab_workload.load import PARTIES_MAX

CORDA_VERSIONS = ("3.3", "4.0", "4.1", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10")
"""Supported versions. Maven Central has the complete node of each."""
PARTIES_MIN = 2
LAB_CORDAPP = "lab"
FINANCE_CORDAPP = "finance"
CORDAPPS = (LAB_CORDAPP, FINANCE_CORDAPP)
"""CorDapps that nodes can have: the lab's own alone, or also R3's finance CorDapp."""
LAB_IMAGES = "corda-lab/node:"
"""Name prefix of the node images that the lab builds."""
BRIDGE = "bridge"
POSTGRES = "postgres"
LEFT_OPEN = "left-open"
"""The value of BRIDGE_RPC with which every flow start opens a connection that stays open."""
OUTSTANDING_LIMIT = 100_000
"""The largest number of outstanding flows that the bridge can be told to admit."""
BRIDGE_HEAP_DEFAULT = "384m"
ATTACHMENT_BYTES_DEFAULT = str(32 * 1024**2)
FLOW_TIMEOUT_DEFAULT = "300"
FLOW_TIMEOUT_MAX = 86_400
ATTACHMENT_BYTES_MIN, ATTACHMENT_BYTES_MAX = 1024, 200 * 1024**2
"""The range of the bridge. The network accepts messages of up to 200 MiB (configs/network.conf)."""


@dataclass(frozen=True, kw_only=True)
class Knob(Option):
    """A variable in ``.env`` that is part of the shape. A knob without a name can be set only by its variable."""

    name: str = ""
    variable: str
    default: str
    """The text in ``.env``, which may refer to another variable."""
    note: str = ""
    """Further explanation, added to the help in ``.env`` only."""
    folder: str = ""
    """For the kind FILE: the folder of ``configs/``."""
    is_kept: bool = False
    """Whether existing volumes can be used only with the value with which they were created."""
    service: str = ""
    """The only service that the knob changes, whose container then has it in its label; empty: it is the nodes'."""
    is_live: bool = False
    """Whether a sweep changes it on running nodes: only its service starts again, and nodes keep nothing of it."""
    label: Callable[[str], str] = str
    """Describes a value; empty if the value is not worth mentioning. Called for each of several WORDS."""

    @property
    def key(self) -> str:
        """Its name in ``--set``: the variable."""
        return self.variable


@dataclass(frozen=True)
class Size:
    """A node size from R3's sizing guide: JVM heap and CPU cores."""

    heap: str
    cores: int


SIZES = {"small": Size("1g", 1), "medium": Size("4g", 8), "large": Size("32g", 32)}
"""The sizes in R3's sizing guide, by name."""
_SIZES_IN_WORDS = ", ".join(f"{name} ({size.heap}, {plural(size.cores, 'core')})" for name, size in SIZES.items())
SIZE = Option(name="size", is_common=True, kind=Kind.TEXT, help=f"Heap and cores of each node: {_SIZES_IN_WORDS}.")
"""Sets NODE_HEAP and NODE_CORES at once, which ``--set`` overrides."""


def _image_label(image: str) -> str:
    return "" if image.startswith(LAB_IMAGES) else f"image {image}"


def _mode_label(is_development: str) -> str:
    return "development mode" if is_development == "true" else "production mode"


def _database_label(name: str) -> str:
    return {"h2": "H2", "postgres": "PostgreSQL"}.get(name, name)


def _cores_label(cores: str) -> str:
    return f"{cores} core{'' if float(cores) == 1 else 's'} a node" if float(cores) else ""


def _postgres_cores_label(cores: str) -> str:
    return f"PostgreSQL on {cores} core{'' if float(cores) == 1 else 's'}" if float(cores) else ""


def _outstanding_label(count: str) -> str:
    return f"at most {plural(int(count), 'outstanding flow')}" if count else ""


def _attachment_label(text: str) -> str:
    return "" if text == ATTACHMENT_BYTES_DEFAULT else f"attachments up to {size(float(text))}"


def _flow_timeout_label(seconds: str) -> str:
    return "" if seconds == FLOW_TIMEOUT_DEFAULT else f"flows time out after {seconds} s"


def _bridge_heap_label(heap: str) -> str:
    return "" if heap == BRIDGE_HEAP_DEFAULT else f"bridge heap {heap}"


def _rpc_label(rpc: str) -> str:
    return "an RPC connection left open by every flow start" if rpc == LEFT_OPEN else ""


def _cordapp_label(name: str) -> str:
    return "with R3's finance CorDapp" if name == FINANCE_CORDAPP else ""


def _no_label(_: str) -> str:
    return ""


KNOBS = (
    Knob(
        variable="CORDA_VERSION",
        name="corda",
        is_common=True,
        kind=Kind.TEXT,
        choices=CORDA_VERSIONS,
        default="4.10",
        help=f"Version of Corda: {', '.join(CORDA_VERSIONS)}.",
        note="All are on Maven Central. 3.3 supports only the IOU and the empty flow. Existing volumes can be used only"
        " with the version that created them.",
        is_kept=True,
        label="Corda {}".format,
    ),
    Knob(
        variable="CORDA_IMAGE",
        kind=Kind.TEXT,
        default="",
        help="Image of every node. Empty: the image that the lab builds.",
        note="Your own image (Community or Enterprise) must have the layout that docs/operations.md describes.",
        label=_image_label,
    ),
    Knob(
        variable="DATABASE",
        name="database",
        is_common=True,
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
        is_common=True,
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
        is_common=True,
        kind=Kind.COUNT,
        at_least=PARTIES_MIN,
        at_most=PARTIES_MAX,
        default="3",
        help=f"Number of parties in addition to the notary, {PARTIES_MIN} to {PARTIES_MAX}.",
        note="They are named PartyA to PartyK. You can add parties to an existing network. Parties that you remove keep"
        " their data; with plain Compose they keep running until `docker compose --profile '*' down`. Each party takes"
        " 0.5 to 0.9 GiB of memory.",
        label="{} parties".format,
    ),
    Knob(
        variable="DEV_MODE",
        name="dev_mode",
        kind=Kind.FLAG,
        default="false",
        help="Corda's development mode, or production mode with a root certificate of the lab's own.",
        note="Development mode (true) uses the certificates that every Corda installation contains, and makes checks"
        " that cost time.",
        is_kept=True,
        label=_mode_label,
    ),
    Knob(
        variable="CORDAPP",
        name="cordapp",
        is_common=True,
        kind=Kind.TEXT,
        choices=CORDAPPS,
        default=LAB_CORDAPP,
        help=f"CorDapps of the nodes: {LAB_CORDAPP}, the lab's own, or {FINANCE_CORDAPP}, also R3's finance CorDapp.",
        note="The finance CorDapp has the version of Corda, which must be 4.0 or newer. The workloads finance-… need"
        " it. CorDapps of your own are the jars in cordapps/extra/.",
        label=_cordapp_label,
    ),
    Knob(
        variable="NODE_PRESET",
        name="preset",
        is_common=True,
        kind=Kind.FILE,
        folder="nodes",
        default="stock",
        help="Preset of the nodes: the name of a file in configs/nodes/.",
        note="The preset is merged into every node.conf.",
        label="preset {}".format,
    ),
    Knob(
        variable="NODE_HEAP",
        name="heap",
        kind=Kind.SIZE,
        default="1g",
        help="Heap of each node's JVM, such as 1g. Set with `lab up`, it also sets the memory limit.",
        note="1g is enough for some forty different attachments of 10 MB. One of 50 MB needs more: Corda shuts a"
        " node down when its heap is exhausted.",
        label="heap {}".format,
    ),
    Knob(
        variable="NODE_MEMORY",
        name="memory",
        kind=Kind.SIZE,
        default="2g",
        help="Memory limit of each node's container, such as 2g. A new heap sets it too; large messages need more.",
        note="In addition to the heap, it must have room for metaspace, code cache and direct buffers. The message"
        " broker's journal alone takes 200 MB of direct buffers, and the JVM lets them grow to the size of the heap.",
        label=_no_label,
    ),
    Knob(
        variable="NODE_CORES",
        name="cores",
        kind=Kind.CORES,
        default="0",
        help="Number of CPU cores that each node may use, such as 2 or 0.5; 0 means all.",
        label=_cores_label,
    ),
    Knob(
        variable="NODE_CPUSET",
        name="cpuset",
        kind=Kind.CPUSET,
        default="",
        help="CPU cores that the nodes may run on, such as 0-3 or 0,2.",
        note="Empty means any.",
        label="on cores {}".format,
    ),
    Knob(
        variable="LINKS",
        name="link",
        is_common=True,
        kind=Kind.WORDS,
        default="",
        help="Added latency and bandwidth limit of a link, such as partya-partyb=+8ms,10mbit or partya-postgres=+8ms.",
        note="A link connects two nodes, or a node and PostgreSQL. Separate several links by spaces. The latency is"
        " added to the round-trip time.",
        label="link {}".format,
    ),
    Knob(
        variable="POSTGRES_CORES",
        name="postgres_cores",
        kind=Kind.CORES,
        default="0",
        help="Number of CPU cores that PostgreSQL may use, such as 2 or 0.5; 0 means all.",
        service=POSTGRES,
        label=_postgres_cores_label,
    ),
    Knob(
        variable="BRIDGE_HEAP",
        name="bridge_heap",
        kind=Kind.SIZE,
        default=BRIDGE_HEAP_DEFAULT,
        help="Heap of the bridge's JVM, such as 1g. Set with `lab up`, it also sets the memory limit.",
        service=BRIDGE,
        is_live=True,
        label=_bridge_heap_label,
    ),
    Knob(
        variable="BRIDGE_MEMORY",
        kind=Kind.SIZE,
        default="768m",
        help="Memory limit of the bridge's container.",
        note="In addition to the heap, it must have room for 384 MiB of metaspace, code cache, direct buffers and"
        " threads, and for 2 GiB more with BRIDGE_RPC=left-open.",
        service=BRIDGE,
        is_live=True,
        label=_no_label,
    ),
    Knob(
        variable="BRIDGE_RPC",
        name="rpc",
        kind=Kind.TEXT,
        choices=("shared", LEFT_OPEN),
        default="shared",
        help="RPC connections: shared by all requests, or left-open, one for each flow start, never closed.",
        note="left-open measures what such connections cost a node. It is no way to run flows: after"
        " BRIDGE_RPC_LEFT_OPEN_MAX connections the bridge refuses further starts with 503. `lab up --set"
        " BRIDGE_RPC=left-open` also sets BRIDGE_HEAP and BRIDGE_MEMORY; with plain Compose, set them to 1g and 3456m.",
        service=BRIDGE,
        label=_rpc_label,
    ),
    Knob(
        variable="BRIDGE_MAX_OUTSTANDING_FLOWS",
        name="outstanding",
        kind=Kind.COUNT,
        at_least=1,
        at_most=OUTSTANDING_LIMIT,
        default="",
        help="Maximum number of outstanding flows per node; further starts are answered with 429.",
        note="Empty: 64 for each core of this machine (docs/operations.md, admission). Closed load needs at least its"
        " number of users; a sweep that does not set it sees to that itself.",
        service=BRIDGE,
        is_live=True,
        label=_outstanding_label,
    ),
    Knob(
        variable="BRIDGE_MAX_ATTACHMENT_BYTES",
        name="attachment_max",
        kind=Kind.BYTES,
        at_least=ATTACHMENT_BYTES_MIN,
        at_most=ATTACHMENT_BYTES_MAX,
        default=ATTACHMENT_BYTES_DEFAULT,
        help="Largest attachment that the bridge accepts, in bytes or such as 50m.",
        note="In this file it is a number of bytes. Corda's RPC client copies an attachment several times, so"
        " BRIDGE_HEAP must be at least 8 times as large.",
        service=BRIDGE,
        is_live=True,
        label=_attachment_label,
    ),
    Knob(
        variable="BRIDGE_FLOW_TIMEOUT_SECONDS",
        name="flow_timeout",
        kind=Kind.COUNT,
        at_least=1,
        at_most=FLOW_TIMEOUT_MAX,
        default=FLOW_TIMEOUT_DEFAULT,
        help="Time limit of a flow in seconds, after which the bridge answers 504.",
        note="The flow goes on. What became of it can be asked by its client id, with Corda 4.6 or newer.",
        service=BRIDGE,
        is_live=True,
        label=_flow_timeout_label,
    ),
)
"""All knobs, in the order of help, descriptions and printed commands."""

BY_VARIABLE = {knob.variable: knob for knob in KNOBS}
SHAPE_VARIABLES = tuple(BY_VARIABLE)
"""Names of the variables. ``compose.yaml`` writes each into a label of the nodes, or of its own service."""
LIVE_VARIABLES = tuple(knob.variable for knob in KNOBS if knob.is_live)
"""Names of the variables that a sweep changes on running nodes."""
BY_NAME = {knob.name: knob for knob in KNOBS if knob.name}
SHAPE_OPTIONS: tuple[Option, ...] = (*BY_NAME.values(), SIZE)
"""The options of ``lab up``, which are also the fields of ``shape`` in a sweep file."""


def variables_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the value of each variable whose option is in ``given`` and not None. ``size`` is ignored."""
    return {knob.variable: knob.text(given[name]) for name, knob in BY_NAME.items() if given.get(name) is not None}
