"""The lock of the lab around a verb that starts, stops, changes or loads it."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from corda_lab.lab import lock, project
from corda_lab.lab.settings import load_settings

Verb = TypeVar("Verb", bound=Callable[..., None])


def locks_lab(verb: Verb) -> Verb:
    """Hold the lab's lock while the verb runs, after its project has been settled. Signature and help stay the same.

    A verb that does the work of others, such as ``quickstart``, calls their packages and not the verbs, so no command
    waits for itself.
    """

    @functools.wraps(verb)
    def locked(*arguments: Any, **options: Any) -> None:
        project.settle()
        with lock.held(load_settings().project):
            verb(*arguments, **options)

    return cast(Verb, locked)
