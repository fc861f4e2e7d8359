"""Asks for consent before the operating system is changed: packages are installed, or an engine is started.

One answer holds for the whole command and for the commands that it starts. It is ``--install``, the variable
``LAB_INSTALL`` (yes or no), or the answer at the terminal. Without an answer and without a terminal, nothing is
changed.
"""

import os
import sys

from bare.commands import PreparationError, has_terminal

OPTION = "--install"
VARIABLE = "LAB_INSTALL"
YES, NO = "yes", "no"

QUESTION = """\
    The lab has to {action}.
    One answer covers this command: if they are missing, the lab also installs Docker, its plugins Compose and
    buildx, and debootstrap, and it starts Docker.
    Agree? [y/N] """


def given() -> bool | None:
    """Return the answer that this command has already; None if it has none. Raises PreparationError."""
    text = os.environ.get(VARIABLE, "").strip().lower()
    if text not in {"", YES, NO}:
        raise PreparationError(
            f"{VARIABLE}: {text!r} is neither {YES} nor {NO}", f"Set it to {YES} or {NO}, or unset it."
        )
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
        if not has_terminal():
            return "nobody has agreed to it, and there is no terminal to ask at"
        # On standard error, so that the question is seen when the output goes to a file.
        sys.stderr.write(QUESTION.format(action=action))
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower() in {"y", YES}
        os.environ[VARIABLE] = YES if answer else NO
        return "" if answer else "the answer was no"
    return "" if answer else f"{VARIABLE} says {NO}"


def require(action: str, *, by_hand: str) -> None:
    """Raise PreparationError unless the user agrees to ``action``. ``by_hand`` is the remedy for one who does not."""
    reason = refusal(action)
    if reason:
        raise PreparationError(
            f"The lab would have to {action}, but {reason}. Nothing was changed.",
            f"To agree, pass {OPTION} or set {VARIABLE}={YES}. Or do it yourself: {by_hand}",
        )
