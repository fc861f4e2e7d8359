"""The values of the parameters that a sweep varies, in words. Point labels, groups and comparisons share them."""

from corda_lab.knobs import shape as knobs
from corda_lab.knobs.options import Kind
from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.load import LOAD_OPTIONS

STEP = "step"
"""The name of a named step of a sweep, as a parameter."""
AT = "at"
"""The number of a named step, as a parameter."""


def value_words(parameter: str, value: ParameterValue) -> str:
    """Describe one value of a parameter: ``8 users``, ``PostgreSQL``, ``Corda 4.10``, ``pacing=100ms``, ``n=10``.

    The words are those that the knob or the load option declares. A load option without a label and a parameter of the
    workload (``set.…``) are named as in a sweep file. The value of a parameter without a group (``workload``, ``step``)
    stands alone.
    """
    group, _, name = parameter.partition(".")
    if not name:
        return str(value)
    if group == "shape":
        return knobs.option_label(name, value)
    option = LOAD_OPTIONS.get(name) if group == "load" else None
    # A sweep file may give a number as text, which a label cannot format.
    if (
        option
        and option.label
        and (option.kind is Kind.WORDS or isinstance(value, str) == (option.kind is Kind.CHOICE))
    ):
        return option.label(value)
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"
