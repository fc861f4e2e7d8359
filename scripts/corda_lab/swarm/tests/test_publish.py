"""What goes into the images of a stack."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from corda_lab.swarm import publish
from corda_lab.swarm.images import ImageCommand, StackImage
from corda_lab.swarm.publish import copy_image_files, parse_command
from corda_lab.swarm.shared_files import NetworkFiles
from support.docker import docker_client


def test_the_command_of_an_image_is_read() -> None:
    assert parse_command('{"Entrypoint": ["/run.sh"], "Cmd": null}') == ImageCommand(("/run.sh",), ())
    assert parse_command('{"Cmd": ["a", "b"]}') == ImageCommand((), ("a", "b"))


def test_an_image_that_is_built_again_stays_the_same(
    network: NetworkFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f'[ "$1" = push ] || echo "$2 $BUILDX_NO_DEFAULT_ATTESTATIONS" > {tmp_path}/said'
    docker_client(tmp_path, monkeypatch, said)
    publish.publish([StackImage("lab/node:1", "registry/node:1", has_network_files=True)], network)
    assert (tmp_path / "said").read_text() == "build 1\n"


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
