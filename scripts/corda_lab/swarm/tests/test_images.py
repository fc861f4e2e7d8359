"""Names of images in the registry of the stack."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from corda_lab.swarm import images
from corda_lab.swarm.images import copy_image_files
from corda_lab.swarm.stack import ImageCommand, NetworkFiles, StackImage, stack_image
from support.docker import docker_client


@pytest.mark.parametrize(
    ("service", "source", "name"),
    [
        ("prometheus", "prom/prometheus:v3.5.0", "127.0.0.1:5000/prom/prometheus:v3.5.0"),
        ("locust", "corda-lab/locust", "127.0.0.1:5000/corda-lab/locust"),
        ("links", "ghcr.io/shopify/toxiproxy:2.12.0", "127.0.0.1:5000/ghcr.io/shopify/toxiproxy:2.12.0"),
        ("grafana", "registry:5001/grafana:12", "127.0.0.1:5000/registry-5001/grafana:12"),
        ("grafana", "grafana/grafana:12@sha256:0123", "127.0.0.1:5000/grafana/grafana:12"),
        ("partya", "corda-lab/node:4.10", "127.0.0.1:5000/corda-lab/node:4.10-abc"),
        ("bridge", "registry:5001/bridge", "127.0.0.1:5000/registry-5001/bridge:latest-abc"),
    ],
)
def test_an_image_keeps_its_name_below_that_of_the_registry(service: str, source: str, name: str) -> None:
    image = stack_image(service, source, "127.0.0.1:5000", "abc")
    assert (image.source, image.name) == (source, name)
    assert image.has_network_files is name.endswith("-abc")


def test_the_command_of_an_image_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, """[ "$5" = there ] && echo '{"Entrypoint": ["/run.sh"], "Cmd": null}'""")
    assert images.commands_of(["there", "gone"]) == {"there": ImageCommand(("/run.sh",), ())}


def test_an_image_that_is_built_again_stays_the_same(
    network: NetworkFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f'[ "$1" = push ] || echo "$2 $BUILDX_NO_DEFAULT_ATTESTATIONS" > {tmp_path}/said'
    docker_client(tmp_path, monkeypatch, said)
    images.push([StackImage("lab/node:1", "registry/node:1", has_network_files=True)], network)
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
