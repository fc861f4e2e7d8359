"""The commands that measure a figure, as they are printed."""

from corda_lab.figures.repeat import Form
from corda_lab.figures.schema import NeedsFields

FURTHER_MAX = 20
"""More further repeats than this are not practical, and no command is printed for them."""


def measure(name: str, form: Form | None = None, add: int | None = None) -> str:
    """Return the command that measures a figure in a form, the whole sweep by default, with further repeats."""
    quick = " --quick" if form == "quick" else ""
    further = "" if add is None else f" --add {add}"
    return f"./scripts/lab reproduce {name}{quick}{further}"


def elsewhere(needs: NeedsFields, name: str) -> str:
    """Return the command that tests a claim on one's own image or machine; empty if no command does."""
    if needs.software:
        return ""
    image = "CORDA_IMAGE=<your image> " if needs.enterprise or needs.platform is not None else ""
    return f"{image}{measure(name)}"
