"""What goes into the images of a stack."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from corda_lab.swarm.images import ImageCommand
from corda_lab.swarm.publish import copy_image_files, parse_command
from corda_lab.swarm.shared_files import NetworkFiles


def test_the_command_of_an_image_is_read() -> None:
    assert parse_command('{"Entrypoint": ["/run.sh"], "Cmd": null}') == ImageCommand(("/run.sh",), ())
    assert parse_command('{"Cmd": ["a", "b"]}') == ImageCommand((), ("a", "b"))


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_strict_umask")
def test_everybody_can_read_what_is_added_to_an_image(network: NetworkFiles, tmp_path: Path) -> None:
    (network.of("/network") / "bin" / "run-corda").chmod(0o700)
    target = tmp_path / "context" / "network"
    copy_image_files(network, target)
    modes = {path.relative_to(target).as_posix(): path.stat().st_mode & 0o777 for path in target.rglob("*")}
    assert modes["bin/run-corda"] == 0o755
    assert modes["cordapps/flows.jar"] == 0o644
    assert modes["bin/drivers"] == 0o755
    assert target.stat().st_mode & 0o777 == 0o755
    # What is a config is not in the image.
    assert "network-parameters" not in modes
