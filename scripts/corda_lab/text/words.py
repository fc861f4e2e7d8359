"""Numbers and names as users read them. The terminal, the reports and the charts share these functions."""

import math
from collections.abc import Mapping, Sequence

STAGE_MEANINGS = {
    "start": "from the request until the node has created the flow: HTTP, bridge, RPC",
    "wait": "waiting for a flow thread of the node",
    "select": "selecting coins or assets, resolving inputs",
    "build": "building the transaction",
    "verify": "running the contracts",
    "sign": "signing with the node's own key",
    "collect_signatures": "waiting for the signatures of the other parties",
    "notarise": "waiting for the signature of the notary",
    "commit": "the notary checks and stores what is consumed",
    "resolve": "resolving the back chain of a transaction",
    "finalise": "recording the transaction and sending it to the other parties",
    "record": "waiting until the transaction is recorded on this node",
    "peer": "waiting for a message of another party",
    "other": "time between these stages",
    "end": "from the end of the flow until the generator has the answer: RPC, bridge, HTTP",
}
"""What happens in each stage of a request, in order. ``configs/stages.yaml`` says which spans are stages."""
STAGES_OUTSIDE = ("start", "end")
"""Stages outside the node. A flow cannot time them itself."""
NOT_ANSWERED = "not answered"
"""The latency of a request without an answer. As a number it is infinite."""
BLOCKS = "▁▂▃▄▅▆▇█"

FOR_TEMPLATES = ("amount", "length", "milliseconds", "per_second", "percent", "plural", "short", "size")
"""Functions of this module that the templates of the reports call."""


def plural(count: int, word: str) -> str:
    """``1 flow``, ``2 flows``."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def milliseconds(value: float | None) -> str:
    """A latency to three digits: ``12.3 ms``, ``1.23 s``. None is a dash, an infinite one ``not answered``."""
    if value is None:
        return "–"
    if math.isinf(value):
        return NOT_ANSWERED
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def count_words(count: int | None) -> str:
    """``1,234``, or ``not known`` for a counter that was restarted."""
    return "not known" if count is None else f"{count:,}"


def short(class_name: str) -> str:
    """The name of a class without its package: ``net.corda.Flow`` becomes ``Flow``."""
    return class_name.rpartition(".")[2]


def listed(names: list[str]) -> str:
    """``A, B and C``. The text is empty if there are no names."""
    if not names:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def parameter_name(parameter: str) -> str:
    """``load.users`` as ``users``, ``shape.NODE_HEAP`` as ``node heap``; as it is spelt if it is of the workload."""
    group, _, name = parameter.rpartition(".")
    return name if group == "set" else name.replace("_", " ").lower()


def per_second(value: float | None) -> str:
    """A rate to at least three digits, without its unit: ``1,234``, ``123.4``, ``12.34``. None becomes a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}" if value >= 100 else f"{value:,.2f}"


def amount(value: float | None) -> str:
    """A value to three significant digits: ``1,234``, ``12.3``, ``0.0123``. None becomes a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def size(value: float | None) -> str:
    """Bytes with a binary unit, to three significant digits: ``1.5 MiB``. None becomes a dash."""
    return _in_unit(value, {"GiB": 1024**3, "MiB": 1024**2, "KiB": 1024})


def decimal_size(value: float | None) -> str:
    """Bytes with a decimal unit, as publications give them, to three significant digits: ``1.5 MB``. None: a dash."""
    return _in_unit(value, {"GB": 1000**3, "MB": 1000**2, "KB": 1000})


def _in_unit(value: float | None, units: Mapping[str, int]) -> str:
    """Bytes in the first unit, largest first, of which there is at least one."""
    if value is None:
        return "–"
    for unit, bytes_each in units.items():
        if abs(value) >= bytes_each:
            return f"{amount(value / bytes_each)} {unit}"
    return f"{value:.0f} B"


def percent(value: float | None) -> str:
    """A percentage to at least two digits: ``45 %``, ``4.5 %``. None becomes a dash."""
    return "–" if value is None else f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"


def length(seconds: float) -> str:
    """A duration in its two largest units: ``45 s``, ``1 min 30 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def sparkline(values: Sequence[float | None]) -> str:
    """A block for each value, from the lowest for 0 or less to the highest for the maximum. None becomes a space."""
    top = max((value for value in values if value is not None), default=0.0)
    shares = [None if value is None else max(0.0, value) / top if top > 0 else 0.0 for value in values]
    return "".join(" " if share is None else BLOCKS[round(share * (len(BLOCKS) - 1))] for share in shares)
