"""Asks for consent before the operating system is changed: packages are installed, or an engine is started.

One answer holds for the whole command and for the commands that it starts. It is ``--install``, the variable
``LAB_INSTALL`` (yes or no), or the answer at the terminal. Without an answer and without a terminal, nothing is
changed. ``scripts/lab`` asks in the same way, before this package can be imported.
"""

import os
import sys

from corda_lab.errors import LabError
from corda_lab.text import ui

VARIABLE = "LAB_INSTALL"
YES, NO = "yes", "no"

SCOPE = (
    "One answer covers this command: if they are missing, the lab also installs Docker, its plugins Compose and "
    "buildx, and debootstrap, and it starts Docker."
)
HOW_TO_AGREE = f"To agree, pass --install or set {VARIABLE}={YES}."


def given() -> bool | None:
    """Return the answer that this command has already; None if it has none. Raises LabError for an invalid value."""
    text = os.environ.get(VARIABLE, "").strip().lower()
    if text not in {"", YES, NO}:
        raise LabError(f"{VARIABLE}: {text!r} is neither {YES} nor {NO}", f"Set it to {YES} or {NO}, or unset it.")
    return {YES: True, NO: False}.get(text)


def give() -> None:
    """Agree on behalf of the user, who passed ``--install``."""
    os.environ[VARIABLE] = YES


def refusal(action: str) -> str:
    """Return why this command may not carry out ``action``, such as ``install docker.io``; empty if it may.

    Asks at the terminal if the command has no answer yet, and keeps the answer in the environment.
    """
    answer = given()
    if answer is None:
        # Python has no sys.stdin where it was closed.
        if sys.stdin is None or not sys.stdin.isatty():
            return "nobody has agreed to it, and there is no terminal to ask at"
        answer = _ask(action)
        os.environ[VARIABLE] = YES if answer else NO
        return "" if answer else "the answer was no"
    return "" if answer else f"{VARIABLE} says {NO}"


def require(action: str, *, by_hand: str) -> None:
    """Raise LabError unless the user agrees to ``action``. ``by_hand`` is the remedy for a user who does not."""
    reason = refusal(action)
    if reason:
        raise LabError(f"The lab would have to {action}, but {reason}. Nothing was changed.", remedy(by_hand))


def remedy(by_hand: str) -> str:
    """Return the remedy that names both ways: agree, or do it by hand."""
    return f"{HOW_TO_AGREE} Or do it yourself: {by_hand}"


def _ask(action: str) -> bool:
    # On standard error, so that the question is seen when the output goes to a file.
    ui.error_console.print(f"    The lab has to {action}.", markup=False)
    ui.error_console.print(f"    {SCOPE}", markup=False)
    ui.error_console.print("    Agree? [y/N] ", end="", markup=False)
    return sys.stdin.readline().strip().lower() in {"y", YES}
