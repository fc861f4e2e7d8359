"""The running lab that a load is put on."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.swarm import deployment
from corda_lab.text import ui
from corda_lab.text.words import listed

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def begin_asking(ask: Callable[[Part], Answer], parts: Iterable[Part]) -> dict[Part, Future[Answer]]:
    """Begin to ask several parts of a lab at the same time. A pool would let an interrupted command wait for all."""

    def run(part: Part, answer: Future[Answer]) -> None:
        try:
            answer.set_result(ask(part))
        except Exception as error:
            answer.set_exception(error)

    answers: dict[Part, Future[Answer]] = {part: Future() for part in parts}
    for part, answer in answers.items():
        threading.Thread(target=run, args=(part, answer), name=f"ask-{part}", daemon=True).start()
    return answers


def ask_all(ask: Callable[[Part], Answer], parts: Iterable[Part]) -> dict[Part, Answer]:
    """Ask several parts of a lab at the same time, and return the answers by part. Raises the first error."""
    return {part: answer.result() for part, answer in begin_asking(ask, parts).items()}


def deployed(settings: Settings) -> Lab:
    """The lab that is up, in its shape: a deployed stack, or that of this machine. Raises LabError if both are."""
    stack = deployment.find(settings)
    if stack is None:
        return Compose(shape.of_running(settings))
    if Compose(settings).running_containers():
        raise LabError(
            f"Two labs are up: {settings.project} on this machine, and the stack {stack.project} on"
            f" {listed(list(stack.contexts))}",
            f"Stop one: `scripts/lab down`, or `scripts/lab down --on {stack.known.placement}`. Ledgers are kept.",
        )
    return stack


def machine_only(settings: Settings) -> None:
    """Raise LabError if a stack is up: the command would use that lab for one part, and this machine for another."""
    if stack := deployment.find(settings):
        raise LabError(
            f"The stack {stack.project} is up, but this command uses this machine",
            f"Stop the stack: `scripts/lab down --on {stack.known.placement}`. Its ledgers are kept.",
        )


def tell(lab: Lab) -> None:
    if not lab.is_here:
        ui.note(f"on the stack {lab.project}: {listed(list(lab.contexts))}")
