"""The lock of a lab: one command at a time starts, stops, changes or loads it.

The file of the lock says who holds it. What it says counts only as long as the lock itself is held, and the operating
system releases that when the process ends. Commands that only read, such as ``lab status``, need no lock.
"""

import functools
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from corda_lab import locks, paths
from corda_lab.errors import LabError
from corda_lab.lab import project as projects
from corda_lab.lab.settings import load_settings

Verb = TypeVar("Verb", bound=Callable[..., None])


class Holder(BaseModel):
    """Who holds the lock: the command as typed, its process, and the start in Unix seconds."""

    command: str
    process: int
    since: float

    @property
    def words(self) -> str:
        """```lab run iou`, process 4711, since 21:04:05``, with the day if that is not today."""
        since = datetime.fromtimestamp(self.since).astimezone()
        is_today = since.date() == datetime.now().astimezone().date()
        form = "%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S"
        return f"`{self.command}`, process {self.process}, since {since:{form}}"


def lock_file(project: str) -> Path:
    return paths.CACHE / f"lab-{project}.lock"


def holder(project: str) -> Holder | None:
    """Return who wrote the lock file last; None if nobody did, or did not yet."""
    try:
        return Holder.model_validate_json(lock_file(project).read_bytes())
    except (OSError, ValidationError):
        return None


@contextmanager
def held(project: str) -> Iterator[None]:
    """Hold the lock of a lab. Raises LabError, which names the command that holds it."""
    file = lock_file(project)
    with ExitStack() as stack:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            stack.enter_context(locks.locked(file))
            # Written in place: a file that replaced this one would not have its lock.
            command = shlex.join(["lab", *sys.argv[1:]])
            own = Holder(command=command, process=os.getpid(), since=time.time())
            file.write_text(own.model_dump_json() + "\n", encoding="utf-8")
        except BlockingIOError:
            other = holder(project)
            raise LabError(
                f"Another command is using this lab{f': {other.words}' if other else ''}", "Wait for it or stop it."
            ) from None
        except OSError as error:
            raise LabError(f"{file}: cannot be written ({error.strerror})", "Make it writable for this user.") from None
        yield


def locks_lab(verb: Verb) -> Verb:
    """Hold the lab's lock while the verb runs, after its project has been settled. Signature and help stay the same.

    A verb that does the work of others, such as ``quickstart``, calls their packages and not the verbs, so no command
    waits for itself.
    """

    @functools.wraps(verb)
    def locked(*arguments: Any, **options: Any) -> None:
        projects.settle()
        with held(load_settings().project):
            verb(*arguments, **options)

    return cast(Verb, locked)
