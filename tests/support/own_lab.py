"""A lab of this checkout that is apart from the user's: a project of its own on free ports."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from corda_lab.lab import doctor, lifecycle, lock, project
from corda_lab.lab.settings import Settings, load_settings

Made = TypeVar("Made")


@contextmanager
def one_at_a_time(make: Callable[[str], AbstractContextManager[Made]]) -> Iterator[Callable[[str], Made]]:
    """Yield a function that enters ``make(name)``, and keeps it until it is asked for another name.

    Where a fixture has parameters beside those of its test, pytest makes it again for every set of them.
    """
    kept: dict[str, Made] = {}
    with ExitStack() as stack:

        def use(name: str) -> Made:
            if name not in kept:
                kept.clear()
                stack.close()
                kept[name] = stack.enter_context(make(name))
            return kept[name]

        yield use


@contextmanager
def lab_of(suffix: str, results: Path, knobs: Mapping[str, str] | None = None) -> Iterator[Settings]:
    """Yield settings for a separate lab of this checkout on free ports, with some knobs set.

    Commands that are started meanwhile use this lab, and store what they measure in ``results``. The environment is
    restored afterwards. Raises LabError if another command uses the same separate lab.
    """
    project.settle()
    name = f"{load_settings().project}-{suffix}"
    own = {"COMPOSE_PROJECT_NAME": name, "LAB_RESULTS_DIR": str(results), **(knobs or {})}
    ports = doctor.free_ports(len(doctor.PORTS))
    own.update({variable: str(port) for variable, port in zip(doctor.PORTS, ports, strict=True)})
    # Not the lock of that lab: the commands under test take it.
    with lock.held(f"{name}-tests"), environment(own):
        yield load_settings()


@contextmanager
def fresh_lab(
    suffix: str, results: Path, knobs: Mapping[str, str], images: lifecycle.ImageChoice | None
) -> Iterator[Settings]:
    """Start a separate lab with its own volumes and without earlier results, and delete it afterwards.

    A lab of the user keeps running. Checks before the start make sure that there is enough memory for both.
    """
    with lab_of(suffix, results, knobs) as settings:
        # Not before: they may be those of a command that still runs.
        shutil.rmtree(results, ignore_errors=True)
        try:
            # An interrupted test may have left a lab, which would not be fresh.
            lifecycle.down(settings, volumes=True)
            lifecycle.up(settings, images)
            yield settings
        finally:
            lifecycle.down(settings, volumes=True)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set some environment variables of this process, and restore them afterwards."""
    kept = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
