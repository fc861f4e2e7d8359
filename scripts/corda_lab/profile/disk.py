"""A folder inside the container of a node for files that its JVM writes, such as a heap dump, and their way out.

The root of the container is read-only, and its `/tmp` is memory, which counts towards its limit. So the folder is in
the volume of the node's database, below the node's own folder for temporary files, which it empties at each start. The
bridge has no such volume. Only the user of the JVM can look into the folder.
"""

from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.engine import run_docker_to_file
from corda_lab.profile.jvm import Jvm, inside
from corda_lab.text.words import size

PARENT = "/opt/corda/persistence/base/tmp"

COPY_SECONDS_MAX = 600.0


def require_disk(is_bridge: bool, option: str) -> None:
    """Raise LabError if it is the bridge, which has no disk to write on."""
    if is_bridge:
        raise LabError(
            f"{option}: the bridge has no disk of its own, and its /tmp is memory that counts towards its limit",
            "Choose a node.",
        )


def prepare(jvm: Jvm, name: str, bytes_min: int) -> str:
    """Make a new folder with this name in the container, and return its path. What was in an old one is deleted.

    Raises LabError if it cannot be made, or if there are fewer than ``bytes_min`` free bytes.
    """
    folder = f"{PARENT}/{name}"
    script = f'rm -rf "$1" && mkdir -p {PARENT} && mkdir -m 700 "$1" && stat -f -c "%a %S" "$1"'
    done = inside(jvm.container, "sh", "-c", script, "prepare", folder)
    if done.returncode != 0:
        raise LabError(
            f"{jvm.node}: nothing can be written in its volume: {last_words(done.stderr)}",
            "`scripts/lab status` shows the state of the node.",
            exit_code=1,
        )
    blocks, block_bytes = map(int, done.stdout.split())
    free = blocks * block_bytes
    if free < bytes_min:
        remove(jvm, name)
        raise LabError(
            f"{jvm.node}: only {size(free)} are free in its volume, but {size(bytes_min)} may be needed",
            "Free some disk space of the Docker engine.",
        )
    return folder


def size_of(jvm: Jvm, path: str) -> int:
    """Return the size of a file in the container, in bytes; 0 if there is none."""
    done = inside(jvm.container, "stat", "-c", "%s", path)
    return int(done.stdout) if done.returncode == 0 else 0


def copy_out(jvm: Jvm, path: str, target: Path) -> int:
    """Copy a file of the container to ``target``, whose mode stays as it is, and return its size in bytes.

    Raises LabError if not all of it arrives.
    """
    expected = size_of(jvm, path)
    shown = jvm.container.shown("exec", "cat", path)
    try:
        command = jvm.container.engine.arguments("exec", jvm.container.name, "cat", path)
        run_docker_to_file(target, command, shown=shown, seconds_max=COPY_SECONDS_MAX)
    except OSError as error:
        raise LabError(f"{target}: cannot be written ({error.strerror})", "Make its folder writable.") from None
    arrived = target.stat().st_size
    if arrived != expected:
        raise LabError(
            f"{jvm.node}: {size(arrived)} of {size(expected)} arrived of {path}",
            "Check if there is free disk space, and run it again.",
            exit_code=1,
        )
    return arrived


def remove(jvm: Jvm, name: str) -> None:
    """Remove a folder and what is in it. What the JVM is still writing there is gone when it has finished."""
    inside(jvm.container, "rm", "-rf", f"{PARENT}/{name}")
