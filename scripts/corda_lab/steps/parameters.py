"""The values of the parameters that a sweep varies, in words. Point labels, groups and comparisons share them."""

from collections.abc import Callable, Mapping
from typing import Any

from corda_lab.knobs import shape as knobs
from corda_lab.steps.entry import ParameterValue
from corda_lab.text.words import listed, plural
from lab_workload.names import names_in

STEP = "step"
"""The name of a named step of a sweep, as a parameter."""
AT = "at"
"""The number of a named step, as a parameter."""


TEXTS = ("arrivals", "nodes")
"""Options of the load whose values are texts."""
LOAD_LABELS: Mapping[str, Callable[[Any], str]] = {
    "users": lambda users: plural(users, "user"),
    "arrivals": lambda arrivals: {"closed": "closed load", "burst": "bursts"}.get(arrivals, f"{arrivals} arrivals"),
    "rate": "{:g}/s".format,
    "late_max": "at most {:g} s late".format,
    "pacing": "pacing of {:g} s".format,
    "within": "started within {:g} s".format,
    "pool": "pool of {}".format,
    "rest": "rest of {:g} s".format,
    "workers": lambda workers: plural(workers, "worker"),
    "nodes": lambda nodes: f"flows of {listed(list(names_in(nodes)))}",
}
"""How the value of an option of the load reads in words. One without a label is named as in a sweep file."""


def value_words(parameter: str, value: ParameterValue) -> str:
    """Describe one value of a parameter: ``8 users``, ``PostgreSQL``, ``Corda 4.10``, ``pacing=100ms``, ``n=10``.

    A load option without a label and a parameter of the workload (``set.…``) are named as in a sweep file. The value of
    a parameter without a group (``workload``, ``step``) stands alone.
    """
    group, _, name = parameter.partition(".")
    if not name:
        return str(value)
    if group == "shape":
        return knobs.option_label(name, value)
    # A sweep file may give a number as text, such as a rate of `4 x peak`, which a label cannot format.
    if group == "load" and name in LOAD_LABELS and (name in TEXTS or not isinstance(value, str)):
        return LOAD_LABELS[name](value)
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"
