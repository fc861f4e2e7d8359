"""The knobs: the settings that define the shape of a lab. Each is declared once.

The following are derived from this table: the options of ``lab up``, the fields of ``shape`` in a sweep file, the check
of each value, the description of a shape, and the ``lab up`` command in reports. To add a knob, add an entry here, and
its variable to ``.env``, which explains it, and to ``compose.yaml``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corda_lab.knobs.options import Kind, Option
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
    """The text in ``.env``."""
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
        variable="CORDA_VERSION",
        name="corda",
        is_common=True,
        kind=Kind.TEXT,
        choices=CORDA_VERSIONS,
        default="4.10",
        help=f"Version of Corda: {', '.join(CORDA_VERSIONS)}.",
        is_kept=True,
        label="Corda {}".format,
    ),
    Knob(variable="CORDA_IMAGE", kind=Kind.TEXT, default="", label=_image_label),
    Knob(
        variable="DATABASE",
        name="database",
        is_common=True,
        kind=Kind.FILE,
        folder="databases",
        default="h2",
        help="Database: h2 inside each node, or postgres, one PostgreSQL with a role and a schema for each node.",
        is_kept=True,
        label=lambda name: {"h2": "H2", "postgres": "PostgreSQL"}.get(name, name),
    ),
    Knob(
        variable="NOTARY",
        name="notary",
        is_common=True,
        kind=Kind.FILE,
        folder="notaries",
        default="simple",
        help="Notary: simple, validating, jpa (needs postgres), raft (three nodes) or bft (four).",
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
        label="{} parties".format,
    ),
    Knob(
        variable="DEV_MODE",
        name="dev_mode",
        kind=Kind.FLAG,
        default="false",
        is_kept=True,
        label=_named({"true": "development mode", "false": "production mode"}),
    ),
    Knob(
        variable="CORDAPP",
        name="cordapp",
        is_common=True,
        kind=Kind.TEXT,
        choices=CORDAPPS,
        default=LAB_CORDAPP,
        help=f"CorDapps of the nodes: {LAB_CORDAPP}, the lab's own, or {FINANCE_CORDAPP}, also R3's finance CorDapp.",
        label=_named({FINANCE_CORDAPP: "with R3's finance CorDapp"}),
    ),
    Knob(
        variable="NODE_PRESET",
        name="preset",
        is_common=True,
        kind=Kind.FILE,
        folder="nodes",
        default="stock",
        help="Preset of the nodes: the name of a file in configs/nodes/.",
        label="preset {}".format,
    ),
    Knob(variable="NODE_HEAP", name="heap", kind=Kind.SIZE, default="1g", label="heap {}".format),
    Knob(variable="NODE_MEMORY", name="memory", kind=Kind.SIZE, default="2g", label=_named({})),
    Knob(variable="NODE_CORES", name="cores", kind=Kind.CORES, default="0", label=_cores("{} a node")),
    Knob(variable="NODE_CPUSET", name="cpuset", kind=Kind.CPUSET, default="", label="on cores {}".format),
    Knob(
        variable="LINKS",
        name="link",
        is_common=True,
        kind=Kind.WORDS,
        default="",
        help="Added latency and bandwidth limit of a link, such as partya-partyb=+8ms,10mbit or partya-postgres=+8ms.",
        label="link {}".format,
    ),
    Knob(
        variable="POSTGRES_CORES",
        name="postgres_cores",
        kind=Kind.CORES,
        default="0",
        service=POSTGRES,
        label=_cores("PostgreSQL on {}"),
    ),
    Knob(
        variable="BRIDGE_HEAP",
        name="bridge_heap",
        kind=Kind.SIZE,
        default=BRIDGE_HEAP_DEFAULT,
        service=BRIDGE,
        is_live=True,
        label=_unless(BRIDGE_HEAP_DEFAULT, "bridge heap {}"),
    ),
    Knob(variable="BRIDGE_MEMORY", kind=Kind.SIZE, default="768m", service=BRIDGE, is_live=True, label=_named({})),
    Knob(
        variable="BRIDGE_RPC",
        name="rpc",
        kind=Kind.TEXT,
        choices=("shared", LEFT_OPEN),
        default="shared",
        service=BRIDGE,
        label=_named({LEFT_OPEN: "an RPC connection left open by every flow start"}),
    ),
    Knob(
        variable="BRIDGE_MAX_OUTSTANDING_FLOWS",
        name="outstanding",
        kind=Kind.COUNT,
        at_least=1,
        at_most=OUTSTANDING_LIMIT,
        default="",
        service=BRIDGE,
        is_live=True,
        label=lambda count: f"at most {plural(int(count), 'outstanding flow')}",
    ),
    Knob(
        variable="BRIDGE_MAX_ATTACHMENT_BYTES",
        name="attachment_max",
        kind=Kind.BYTES,
        at_least=ATTACHMENT_BYTES_MIN,
        at_most=ATTACHMENT_BYTES_MAX,
        default=ATTACHMENT_BYTES_DEFAULT,
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
        service=BRIDGE,
        is_live=True,
        label=_unless(FLOW_TIMEOUT_DEFAULT, "flows time out after {} s"),
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


_CORES_TEXT = re.compile(r"\d+(\.\d+)?")
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_SIZE_TEXT = re.compile(r"\d+[kmgKMG]")


def problem(knob: Knob, text: str, *, cores: int) -> str | None:
    """Return what is wrong with the value of a knob and the remedy, in one line, or None.

    ``cores`` is the number of CPU cores of this machine.
    """
    if not text and not knob.default:
        # Empty means the default of the service itself.
        return None
    wrong = _CHECKS[knob.kind](knob, text, cores)
    return f"{knob.variable}: {wrong}." if wrong else None


def names(folder: str) -> tuple[str, ...]:
    """Return the names of the files in ``configs/<folder>/``, sorted."""
    return tuple(sorted(path.stem for path in (CONFIGS / folder).glob("*.conf")))


def is_size(text: str) -> bool:
    """Return whether both Docker and a JVM accept the text as a memory size."""
    return bool(_SIZE_TEXT.fullmatch(text))


def _check_text(knob: Knob, text: str, _cores: int) -> str | None:
    if not knob.choices or text in knob.choices:
        return None
    return f"unknown {_noun(knob)} {text!r}; choose from {', '.join(knob.choices)}"


def _check_file(knob: Knob, text: str, _cores: int) -> str | None:
    known = names(knob.folder)
    if text in known:
        return None
    return f"unknown {_noun(knob)} {text!r}; choose from {', '.join(known)} (configs/{knob.folder}/)"


def _check_count(knob: Knob, text: str, _cores: int) -> str | None:
    low, high = knob.at_least or 0, knob.at_most or float("inf")
    if text.isdecimal() and low <= int(text) <= high:
        return None
    noun = "bytes" if knob.kind is Kind.BYTES else _noun(knob)
    return f"{text!r} is not a valid number of {noun}; use {low:.0f} to {high:.0f}"


def _check_cores(_knob: Knob, text: str, cores: int) -> str | None:
    if not _CORES_TEXT.fullmatch(text):
        return f"{text!r} is not a number of cores; use a value such as 2 or 0.5, or 0 for all"
    return f"{text} cores are too many; this machine has {cores}" if float(text) > cores else None


def _check_cpuset(_knob: Knob, text: str, cores: int) -> str | None:
    if not _CPUSET.fullmatch(text):
        return f"{text!r} is not a set of cores; use a value such as 0-3 or 0,2"
    if max(int(number) for number in re.findall(r"\d+", text)) >= cores:
        return f"{text} includes a core that this machine does not have; its last core is {cores - 1}"
    return None


def _check_size(_knob: Knob, text: str, _cores: int) -> str | None:
    return None if is_size(text) else f"{text!r} is not a memory size; use a value such as 1536m or 2g"


def _noun(knob: Knob) -> str:
    """Return the noun for a knob's value: ``version`` for CORDA_VERSION, ``preset`` for NODE_PRESET."""
    return knob.variable.rpartition("_")[2].lower()


_CHECKS: Mapping[Kind, Callable[[Knob, str, int], str | None]] = {
    Kind.TEXT: _check_text,
    Kind.FILE: _check_file,
    Kind.COUNT: _check_count,
    Kind.CORES: _check_cores,
    Kind.CPUSET: _check_cpuset,
    Kind.SIZE: _check_size,
    Kind.BYTES: _check_count,
    Kind.FLAG: lambda _knob, text, _cores: None if text in ("true", "false") else f"{text!r} must be true or false",
    # ``lab.shape`` checks links, because it knows which nodes there are.
    Kind.WORDS: lambda _knob, _text, _cores: None,
}
"""The kinds that a knob can have. The other kinds are those of load options."""


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
    return (knob and ", ".join(_labels(knob, text))) or f"{name.replace('_', ' ')} {text or 'none'}"


def _traits(values: Mapping[str, str]) -> list[str]:
    """Return a label for each knob. A run that was stored before a knob existed has no value for it."""
    return [label for knob in KNOBS if knob.variable in values for label in _labels(knob, values[knob.variable])]


def _labels(knob: Knob, text: str) -> list[str]:
    words = text.split() if knob.kind is Kind.WORDS else [text] if text else []
    return [label for label in map(knob.label, words) if label]
