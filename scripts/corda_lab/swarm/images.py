"""Images on their way to the hosts: the push from this machine to the registry, and the pull by hosts."""

import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from corda_lab.lab.docker import ask, docker, on_each, output_of
from corda_lab.paths import ROOT
from corda_lab.swarm.stack import PUBLIC_VOLUME, ImageCommand, NetworkFiles, StackImage
from corda_lab.text import ui, words

DOCKERFILE = ROOT / "deploy" / "swarm" / "Dockerfile"
BUILD_SECONDS_MAX = 300.0
PUSH_SECONDS_MAX = 900.0
PULL_SECONDS_MAX = 1200.0
NO_ATTESTATIONS = {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
"""They have times in them: the same image would have another id after every build."""


def commands_of(sources: Iterable[str]) -> dict[str, ImageCommand]:
    """Return what images run by themselves. An image that is not here is left out."""
    commands = {}
    for source in dict.fromkeys(sources):
        done = docker("image", "inspect", "--format", "{{json .Config}}", source)
        if done.returncode == 0:
            config = json.loads(done.stdout)
            commands[source] = ImageCommand(tuple(config.get("Entrypoint") or ()), tuple(config.get("Cmd") or ()))
    return commands


def push(images: Sequence[StackImage], network: NetworkFiles) -> None:
    """Give every image its name in the registry, with the network's files if it needs them, and push it there."""
    for image in images:
        started = time.monotonic()
        if image.has_network_files:
            _build(image, network)
        else:
            _run(["tag", image.source, image.name], f"Naming {image.name}", seconds_max=30)
        _run(["push", "--quiet", image.name], f"Pushing {image.name}", seconds_max=PUSH_SECONDS_MAX)
        ui.note(f"{image.name} ({time.monotonic() - started:.0f} s)")


def _build(image: StackImage, network: NetworkFiles) -> None:
    """Build an image with the public files of the network, which Swarm cannot take as configs."""
    with TemporaryDirectory(prefix="image-files-") as folder:
        copy_image_files(network, Path(folder) / "network")
        options = ["--load", "--quiet", "--file", str(DOCKERFILE), "--build-arg", f"IMAGE={image.source}"]
        command = ["buildx", "build", *options, "--tag", image.name, folder]
        _run(command, f"Building {image.name}", seconds_max=BUILD_SECONDS_MAX, environment=NO_ATTESTATIONS)


def copy_image_files(network: NetworkFiles, target: Path) -> None:
    root = network.of(f"/{PUBLIC_VOLUME}")
    for path in network.image_files:
        copy = target / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o755 if path.stat().st_mode & 0o111 else 0o644)
    for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _run(
    command: Sequence[str], what: str, *, seconds_max: float, environment: Mapping[str, str] | None = None
) -> None:
    done = docker(*command, seconds_max=seconds_max, environment=environment)
    output_of(
        done, f"{what} failed", "The registry is that of the placement; `docker login` to it, if it asks for that."
    )


def pull(by_host: Mapping[str, Sequence[str]]) -> None:
    """Let every host pull its images, all hosts at once. So what lasts is not part of the start. Raises LabError."""

    def pull_here(host: str) -> None:
        started = time.monotonic()
        for image in by_host[host]:
            ask("pull", "--quiet", image, on=host, seconds_max=PULL_SECONDS_MAX)
        count = words.plural(len(by_host[host]), "image")
        ui.note(f"{host}: has {count} ({time.monotonic() - started:.0f} s)")

    on_each(by_host, pull_here)
