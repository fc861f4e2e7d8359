"""Reads small files of images, each in a container that can do nothing else."""

from corda_lab import atomic
from corda_lab.host.processes import COMMAND_SECONDS_MAX, checked
from corda_lab.paths import CACHE

READER = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"),
    *("--memory=64m", "--pids-limit=32"),
)
"""Options of ``docker run`` for a container that only reads files."""


def read(image: str, *paths: str, folder: str, remedy: str) -> str:
    """Return the content of files of an image, one after the other. Raises LabError if it has not all of them.

    They are read once for each image. What was read is kept in the folder of this name in ``.cache``.
    """
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", image]
    identity = checked(inspect, seconds_max=COMMAND_SECONDS_MAX, what=f"Looking for {image}", remedy=remedy).strip()
    stored = CACHE / folder / f"{identity.removeprefix('sha256:')}.txt"
    if not stored.is_file():
        command = ["docker", "run", "--rm", *READER, "--entrypoint=cat", image, *paths]
        what = f"Reading {' and '.join(paths)} of {image}"
        atomic.write_text(stored, checked(command, seconds_max=COMMAND_SECONDS_MAX, what=what, remedy=remedy))
    return stored.read_text(encoding="utf-8")
