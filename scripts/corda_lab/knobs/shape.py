"""The knobs: the settings that define the shape of a lab. Each is declared once.

The following are derived from this table: the options of ``lab up``, the fields of ``shape`` in a sweep file, the check
of each value, the description of a shape, and the ``lab up`` command in reports. To add a knob, add an entry here, and
its variable to ``.env``, which explains it, and to ``compose.yaml``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from corda_lab.paths import CONFIGS
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
ATTACHMENT_BYTES_DEFAULT = str(32 * 1024**2)
FLOW_TIMEOUT_MAX = 86_400
ATTACHMENT_BYTES_MIN, ATTACHMENT_BYTES_MAX = 1024, 200 * 1024**2
"""The range of the bridge. The network accepts messages of up to 200 MiB (configs/network.conf)."""

_CORES = re.compile(r"\d+(\.\d+)?")
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_SIZE = re.compile(r"\d+[kmgKMG]")
_BYTES = re.compile(r"(\d+)([kmg])", re.IGNORECASE)
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}


class Kind(Enum):
    """The type of a knob's value."""

    TEXT = auto()
    FILE = auto()
    """The name of a file in a folder of ``configs/``."""
    COUNT = auto()
    """A whole number."""
    CORES = auto()
    """A number of CPU cores, at most those of the machine."""
    CPUSET = auto()
    """CPU cores by number: ``0-3`` or ``0,2``."""
    SIZE = auto()
    """A memory size: ``512m``, ``2g``."""
    BYTES = auto()
    """A number of bytes: ``52428800``, or ``50m``. The variable has the number."""
    FLAG = auto()
    WORDS = auto()
    """Several texts without spaces. On the command line, the option is repeated."""


@dataclass(frozen=True)
class Knob:
    """A variable in ``.env`` that is part of the shape."""

    variable: str
    name: str
    """The field in a sweep file; the command-line option is ``--name``. Empty: only the variable sets it."""
    kind: Kind
    default: str = ""
    """The text in ``.env``."""
    label: Callable[[str], str] = str
    """Describes a value; empty if the value is not worth mentioning. Called for each of several WORDS."""
    help: str = ""
    """What the command line says of it, if that has an option of its own for it. All others are set by ``--set``."""
    choices: tuple[str, ...] = ()
    """All values that there are."""
    at_least: int = 0
    at_most: int | None = None
    folder: str = ""
    """For the kind FILE: the folder of ``configs/``."""
    is_kept: bool = False
    """Whether existing volumes can be used only with the value with which they were created."""
    service: str = ""
    """The only service that the knob changes, whose container then has it in its label; empty: it is the nodes'."""
    is_live: bool = False
    """Whether a sweep changes it on running nodes: only its service starts again, and nodes keep nothing of it."""

    @property
    def flag(self) -> str:
        """How the command line sets it: ``--parties``, or ``--set NODE_HEAP``."""
        return f"--{self.name}" if self.help else f"--set {self.variable}"

    @property
    def noun(self) -> str:
        """The noun for its value: ``version`` for CORDA_VERSION, ``preset`` for NODE_PRESET."""
        return "bytes" if self.kind is Kind.BYTES else self.variable.rpartition("_")[2].lower()

    def text(self, value: Any) -> str:
        """Format a value as in ``.env`` and on the command line."""
        match self.kind:
            case Kind.FLAG:
                return str(value).lower()
            case Kind.WORDS:
                return value if isinstance(value, str) else " ".join(value)
            case Kind.CORES:
                return f"{value:g}"
            case Kind.BYTES if match := _BYTES.fullmatch(str(value)):
                return str(int(match[1]) * _FACTORS[match[2].lower()])
        # Any other text is reported later, together with whatever else is wrong.
        return str(value)

    def words(self, text: str) -> list[str]:
        """Return the command-line arguments that set this knob to ``text``; none if it is empty."""
        items = text.split() if self.kind is Kind.WORDS else [text] if text else []
        if self.help:
            return [word for item in items for word in (self.flag, item)]
        return ["--set", f"{self.variable}={','.join(items)}"] if items else []

    def labels(self, text: str) -> list[str]:
        items = text.split() if self.kind is Kind.WORDS else [text] if text else []
        return [label for label in map(self.label, items) if label]


@dataclass(frozen=True)
class Size:
    """A node size from R3's sizing guide: JVM heap and CPU cores."""

    heap: str
    cores: int


SIZES = {"small": Size("1g", 1), "medium": Size("4g", 8), "large": Size("32g", 32)}
"""The sizes in R3's sizing guide, by name."""
_SIZES_IN_WORDS = ", ".join(f"{name} ({size.heap}, {plural(size.cores, 'core')})" for name, size in SIZES.items())
SIZE = Knob("", "size", Kind.TEXT, help=f"Heap and cores of each node: {_SIZES_IN_WORDS}.")
"""Sets NODE_HEAP and NODE_CORES at once, which ``--set`` overrides. It has no variable of its own."""


def _named(names: Mapping[str, str]) -> Callable[[str], str]:
    """Describe some values by name, and no others."""
    return lambda text: names.get(text, "")


def _unless(default: str, words: str) -> Callable[[str], str]:
    return lambda text: "" if text == default else words.format(text)


def _cores(words: str) -> Callable[[str], str]:
    """Describe a number of cores, but not 0, which means all."""
    return lambda text: words.format(f"{text} core{'' if float(text) == 1 else 's'}") if float(text) else ""


def _image_label(image: str) -> str:
    return "" if image.startswith(LAB_IMAGES) else f"image {image}"


def _attachment_label(text: str) -> str:
    return "" if text == ATTACHMENT_BYTES_DEFAULT else f"attachments up to {size(float(text))}"


KNOBS = (
    Knob(
        *("CORDA_VERSION", "corda", Kind.TEXT, "4.10", "Corda {}".format),
        help=f"Version of Corda: {', '.join(CORDA_VERSIONS)}.",
        choices=CORDA_VERSIONS,
        is_kept=True,
    ),
    Knob("CORDA_IMAGE", "", Kind.TEXT, "", _image_label),
    Knob(
        *("DATABASE", "database", Kind.FILE, "h2"),
        label=lambda name: {"h2": "H2", "postgres": "PostgreSQL"}.get(name, name),
        help="Database: h2 inside each node, or postgres, one PostgreSQL with a role and a schema for each node.",
        folder="databases",
        is_kept=True,
    ),
    Knob(
        *("NOTARY", "notary", Kind.FILE, "simple", "{} notary".format),
        help="Notary: simple, validating, jpa (needs postgres), raft (three nodes) or bft (four).",
        folder="notaries",
        is_kept=True,
    ),
    Knob(
        *("PARTIES", "parties", Kind.COUNT, "3", "{} parties".format),
        help=f"Number of parties in addition to the notary, {PARTIES_MIN} to {PARTIES_MAX}.",
        at_least=PARTIES_MIN,
        at_most=PARTIES_MAX,
    ),
    Knob(
        *("DEV_MODE", "dev_mode", Kind.FLAG, "false"),
        label=_named({"true": "development mode", "false": "production mode"}),
        is_kept=True,
    ),
    Knob(
        *("CORDAPP", "cordapp", Kind.TEXT, LAB_CORDAPP, _named({FINANCE_CORDAPP: "with R3's finance CorDapp"})),
        help=f"CorDapps of the nodes: {LAB_CORDAPP}, the lab's own, or {FINANCE_CORDAPP}, also R3's finance CorDapp.",
        choices=CORDAPPS,
    ),
    Knob(
        *("NODE_PRESET", "preset", Kind.FILE, "stock", "preset {}".format),
        help="Preset of the nodes: the name of a file in configs/nodes/.",
        folder="nodes",
    ),
    Knob("NODE_HEAP", "heap", Kind.SIZE, "1g", "heap {}".format),
    Knob("NODE_MEMORY", "memory", Kind.SIZE, "2g", _named({})),
    Knob("NODE_CORES", "cores", Kind.CORES, "0", _cores("{} a node")),
    Knob("NODE_CPUSET", "cpuset", Kind.CPUSET, "", "on cores {}".format),
    Knob(
        *("LINKS", "link", Kind.WORDS, "", "link {}".format),
        help="Added latency and bandwidth limit of a link, such as partya-partyb=+8ms,10mbit or partya-postgres=+8ms."
        " Repeatable.",
    ),
    Knob("POSTGRES_CORES", "postgres_cores", Kind.CORES, "0", _cores("PostgreSQL on {}"), service=POSTGRES),
    Knob(
        *("BRIDGE_HEAP", "bridge_heap", Kind.SIZE, "384m", _unless("384m", "bridge heap {}")),
        service=BRIDGE,
        is_live=True,
    ),
    Knob("BRIDGE_MEMORY", "", Kind.SIZE, "768m", _named({}), service=BRIDGE, is_live=True),
    Knob(
        *("BRIDGE_RPC", "rpc", Kind.TEXT, "shared"),
        label=_named({LEFT_OPEN: "an RPC connection left open by every flow start"}),
        choices=("shared", LEFT_OPEN),
        service=BRIDGE,
    ),
    Knob(
        *("BRIDGE_MAX_OUTSTANDING_FLOWS", "outstanding", Kind.COUNT, ""),
        label=lambda count: f"at most {plural(int(count), 'outstanding flow')}",
        at_least=1,
        at_most=OUTSTANDING_LIMIT,
        service=BRIDGE,
        is_live=True,
    ),
    Knob(
        *("BRIDGE_MAX_ATTACHMENT_BYTES", "attachment_max", Kind.BYTES, ATTACHMENT_BYTES_DEFAULT, _attachment_label),
        at_least=ATTACHMENT_BYTES_MIN,
        at_most=ATTACHMENT_BYTES_MAX,
        service=BRIDGE,
        is_live=True,
    ),
    Knob(
        *("BRIDGE_FLOW_TIMEOUT_SECONDS", "flow_timeout", Kind.COUNT, "300"),
        label=_unless("300", "flows time out after {} s"),
        at_least=1,
        at_most=FLOW_TIMEOUT_MAX,
        service=BRIDGE,
        is_live=True,
    ),
)
"""All knobs, in the order of help, descriptions and printed commands."""

BY_VARIABLE = {knob.variable: knob for knob in KNOBS}
SHAPE_VARIABLES = tuple(BY_VARIABLE)
"""Names of the variables. ``compose.yaml`` writes each into a label of the nodes, or of its own service."""
LIVE_VARIABLES = tuple(knob.variable for knob in KNOBS if knob.is_live)
"""Names of the variables that a sweep changes on running nodes."""
BY_NAME = {knob.name: knob for knob in KNOBS if knob.name}
SHAPE_OPTIONS = (*BY_NAME.values(), SIZE)
"""The fields of ``shape`` in a sweep file. Those with a help text are also the options of ``lab up``."""


def variables_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the value of each variable whose option is in ``given`` and not None. ``size`` is ignored."""
    return {knob.variable: knob.text(given[name]) for name, knob in BY_NAME.items() if given.get(name) is not None}


def problem(knob: Knob, text: str, *, cores: int) -> str | None:
    """Return what is wrong with the value of a knob and the remedy, in one line, or None.

    ``cores`` is the number of CPU cores of this machine.
    """
    # Empty means the default of the service itself.
    wrong = _wrong(knob, text, cores) if text or knob.default else ""
    return f"{knob.variable}: {wrong}." if wrong else None


def _wrong(knob: Knob, text: str, cores: int) -> str:
    """What is wrong with a value; empty if nothing. ``lab.shape`` checks WORDS: it knows which nodes there are."""
    match knob.kind:
        case Kind.TEXT if knob.choices and text not in knob.choices:
            return f"unknown {knob.noun} {text!r}; choose from {', '.join(knob.choices)}"
        case Kind.FILE if text not in (known := names(knob.folder)):
            return f"unknown {knob.noun} {text!r}; choose from {', '.join(known)} (configs/{knob.folder}/)"
        case Kind.COUNT | Kind.BYTES:
            low, high = knob.at_least, knob.at_most
            if not text.isdecimal() or not low <= int(text) <= (high or int(text)):
                return f"{text!r} is not a valid number of {knob.noun}; use {low} to {high}"
        case Kind.CORES if not _CORES.fullmatch(text):
            return f"{text!r} is not a number of cores; use a value such as 2 or 0.5, or 0 for all"
        case Kind.CORES if float(text) > cores:
            return f"{text} cores are too many; this machine has {cores}"
        case Kind.CPUSET if not _CPUSET.fullmatch(text):
            return f"{text!r} is not a set of cores; use a value such as 0-3 or 0,2"
        case Kind.CPUSET if max(map(int, re.findall(r"\d+", text))) >= cores:
            return f"{text} includes a core that this machine does not have; its last core is {cores - 1}"
        case Kind.SIZE if not is_size(text):
            return f"{text!r} is not a memory size; use a value such as 1536m or 2g"
        case Kind.FLAG if text not in ("true", "false"):
            return f"{text!r} must be true or false"
    return ""


def names(folder: str) -> tuple[str, ...]:
    """Return the names of the files in ``configs/<folder>/``, sorted."""
    return tuple(sorted(path.stem for path in (CONFIGS / folder).glob("*.conf")))


def is_size(text: str) -> bool:
    """Return whether both Docker and a JVM accept the text as a memory size."""
    return bool(_SIZE.fullmatch(text))


def describe(values: Mapping[str, str]) -> str:
    """Describe a shape in one line: ``Corda 4.10, H2, simple notary, 3 parties, production mode, heap 1g``."""
    return ", ".join(_traits(values))


def describe_all(shapes: Sequence[Mapping[str, str]]) -> str:
    """Describe several shapes in one line; shared values come last: ``H2; PostgreSQL; each with Corda 4.10, …``."""
    described = list({describe(values): _traits(values) for values in shapes}.values())
    if len(described) == 1:
        return ", ".join(described[0])
    shared = [trait for trait in described[0] if all(trait in traits for traits in described)]
    own = [", ".join(trait for trait in traits if trait not in shared) or "nothing else" for traits in described]
    return "; ".join([*own, f"each with {', '.join(shared)}"] if shared else own)


def option_label(name: str, value: Any) -> str:
    """Describe the value of one shape option: ``5 parties``, ``PostgreSQL``, ``size small``, ``cpuset none``."""
    knob = BY_NAME.get(name)
    text = knob.text(value) if knob else str(value)
    return (knob and ", ".join(knob.labels(text))) or f"{name.replace('_', ' ')} {text or 'none'}"


def _traits(values: Mapping[str, str]) -> list[str]:
    return [label for knob in KNOBS if knob.variable in values for label in knob.labels(values[knob.variable])]
