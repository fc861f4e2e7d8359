"""Numbers and names as people read them: shared by everything that prints, draws or writes sentences."""

STAGE_MEANINGS = {
    "start": "from sending the request until the node had created the flow: HTTP, bridge, RPC",
    "wait": "until the node's flow thread took it up",
    "select": "choosing coins or assets, resolving inputs",
    "build": "making the transaction",
    "verify": "running contracts",
    "sign": "the node's own signature",
    "collect_signatures": "until the other parties' signatures were there",
    "notarise": "until the notary's signature was there",
    "finalise": "recording here and sending to the others",
    "record": "until the transaction was recorded here",
    "other": "what lies between these",
    "end": "from the flow's end until the generator had the answer: RPC, bridge, HTTP",
}
"""What happens in each stage of a request, in the order of the stages; ``Stage.java`` in the CorDapp names those in the node."""
STAGES_OUTSIDE = ("start", "end")
"""Stages outside the node, which the flow cannot time itself."""

FOR_TEMPLATES = ("amount", "length", "milliseconds", "per_second", "percent", "plural", "short", "size")
"""Functions of this module that the templates use."""


def plural(count: int, word: str) -> str:
    """``1 flow``, ``2 flows``."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def milliseconds(value: float | None) -> str:
    """A latency for people: three digits are enough."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def short(class_name: str) -> str:
    """A class without its package."""
    return class_name.rpartition(".")[2]


def listed(names: list[str]) -> str:
    """``A, B and C``; empty without names."""
    if not names:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def parameter_name(parameter: str) -> str:
    """``load.users`` as ``users``, ``shape.NODE_HEAP`` as ``node heap``; a workload's own parameter keeps its spelling."""
    group, _, name = parameter.rpartition(".")
    return name if group == "set" else name.replace("_", " ").lower()


def per_second(value: float | None) -> str:
    """A rate for people."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}" if value >= 100 else f"{value:,.2f}"


def amount(value: float | None) -> str:
    """Any other figure with three digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def size(value: float | None) -> str:
    """Bytes for people."""
    if value is None:
        return "–"
    for unit, bytes_each in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if abs(value) >= bytes_each:
            return f"{amount(value / bytes_each)} {unit}"
    return f"{value:.0f} B"


def percent(value: float | None) -> str:
    """A share for people."""
    return "–" if value is None else f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"


def length(seconds: float) -> str:
    """A length of time in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
