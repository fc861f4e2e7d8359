"""The commands that measure a figure, as they are printed."""

from corda_lab.figures.file import Figure
from corda_lab.figures.repeat import Form
from corda_lab.figures.schema import ClaimFields
from corda_lab.figures.sweep import corda_versions

FURTHER_MAX = 20
"""More further repeats than this are not practical, and no command is printed for them."""


def measure(name: str, form: Form | None = None, add: int | None = None) -> str:
    """Return the command that measures a figure in a form, the whole sweep by default, with further repeats."""
    quick = " --quick" if form == "quick" else ""
    further = "" if add is None else f" --add {add}"
    return f"./scripts/lab reproduce {name}{quick}{further}"


def elsewhere(claim: ClaimFields, figure: Figure) -> str:
    """Return the command that tests a claim on one's own image or machine; empty if no command does."""
    needs = claim.needs
    if claim.statistic is None or needs is None or needs.software:
        return ""
    image = ""
    if needs.enterprise or needs.platform is not None:
        # Every version is another image, whose name has to say which.
        several = len(corda_versions(figure.sweep.fields)) > 1
        image = "CORDA_IMAGE='<your image>:${CORDA_VERSION}' " if several else "CORDA_IMAGE=<your image> "
    return f"{image}{measure(figure.name)}"
