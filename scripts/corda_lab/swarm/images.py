"""Names of the images in the registry from which all hosts of a stack pull."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.swarm.placement import NODE_NAMES

RUN_CORDAPPS = frozenset((*NODE_NAMES, "bridge"))
"""Services that load CorDapps and agents from the public volume, and so need images that contain them."""


@dataclass(frozen=True)
class ImageCommand:
    """What an image runs by itself: ``docker image inspect`` shows it."""

    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()


@dataclass(frozen=True)
class StackImage:
    """An image of the stack, and what it is made from."""

    source: str
    """The image that a lab on one machine uses."""
    name: str
    """Its name in the registry of the stack."""
    has_network_files: bool
    """Whether the public files of the network are added to it."""


def stack_image(service: str, source: str, registry: str, network_hash: str) -> StackImage:
    """Return the image of a service of the stack.

    An image with files of the network has their hash in its tag, so that new CorDapps are a new image.
    """
    # A copy has another digest in another registry.
    name = source.partition("@")[0]
    host, slash, path = name.partition("/")
    if slash and (":" in host or "." in host or host == "localhost"):
        # A path may contain dots, but no colon.
        name = f"{host.replace(':', '-')}/{path}"
    if service not in RUN_CORDAPPS:
        return StackImage(source, f"{registry}/{name}", has_network_files=False)
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, "latest"
    return StackImage(source, f"{registry}/{repository}:{tag}-{network_hash}", has_network_files=True)
