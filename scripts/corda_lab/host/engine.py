"""Finds the Docker engine, its plugins and the third-party images. ``scripts/bare`` provides those that are missing.

An existing engine is only used; it is never changed or stopped.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bare import debian, dockerd, plugins, prepare
from bare.commands import PreparationError
from corda_lab.errors import LabError
from corda_lab.host.probe import EngineState, probe, problem


@contextmanager
def _lab_errors() -> Iterator[None]:
    try:
        yield
    except PreparationError as error:
        raise LabError(error.message, error.remedy) from None


def ensure_engine(*, install: bool = True) -> str:
    """Make sure that an engine answers, and return its version. Raises LabError with the remedy for this platform.

    If none answers, on Debian or Ubuntu and as root, it is installed and started after the user has agreed. With
    ``install=False``, nothing is changed. An engine that the user chose by ``DOCKER_HOST`` or a context is not started.
    """
    found = probe()
    if found.state is EngineState.READY:
        return found.server_version
    endpoint = dockerd.chosen_endpoint()
    if endpoint and found.state is not EngineState.NO_CLIENT:
        raise LabError(
            f"The Docker engine of {endpoint} does not answer: {found.detail}",
            "Start that engine. To use this machine's engine, unset DOCKER_HOST and select the default context.",
        )
    startable = not endpoint and found.state in {EngineState.NO_CLIENT, EngineState.NO_DAEMON}
    if not install or not startable or not debian.can_install():
        raise problem(found)
    with _lab_errors():
        prepare.engine()
    found = probe()
    if found.state is not EngineState.READY:
        raise problem(found)
    return found.server_version


def ensure_compose(*, install: bool = True) -> str:
    """Make sure that the plugins Compose and buildx work, and return Compose's version. Raises LabError."""
    with _lab_errors():
        return plugins.ensure(install=install)


def ensure_images(officials: Mapping[str, str], forced: prepare.Source | None) -> None:
    """Make sure that third-party images (variable of ``.env`` → name), or stand-ins, exist. Raises LabError."""
    with _lab_errors():
        prepare.images(officials, forced)


def stop_engine_if_ours() -> bool:
    with _lab_errors():
        return dockerd.stop_engine_if_ours()
