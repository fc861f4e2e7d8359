"""Recordings of the JVM's own Flight Recorder, beside a flame graph.

A flame graph adds up; a recording has everything over time: collections and pauses, locks, files and sockets, threads,
exceptions and compilations. JDK Mission Control opens it.
"""

from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.profile import disk
from corda_lab.profile.jvm import STOP_AFTER_SECONDS, Jvm, jcmd, said

SETTINGS = "profile"
"""The JVM's own file of settings. `default`, its other one, samples too rarely for a recording of a minute."""

BYTES_MAX = 64 * 1024**2
"""Size of a recording. Of a longer one, the oldest parts are dropped. The part that is being written comes on top."""
ROOM_BYTES = 3 * BYTES_MAX
"""What the recording, its copy and the part that is being written may need in the volume of the node."""

FOLDER = "lab-recording"


def require_possible(jvm: Jvm, option: str) -> None:
    """Raise LabError if there is no place for a recording."""
    disk.require_disk(jvm.is_bridge, option)


def warm_up(jvm: Jvm) -> None:
    """Make a recording that nobody wants. Raises LabError if the JVM has no Flight Recorder.

    The first recording of a JVM changes classes, which takes CPU time and makes compiled code of them useless.
    """
    name = "lab-warm-up"
    start(jvm, name, 1)
    abandon(jvm, name)


def start(jvm: Jvm, name: str, seconds: int) -> None:
    """Start a recording, which ends by itself some time after so many seconds. Raises LabError if there is none."""
    folder = disk.prepare(jvm, FOLDER, ROOM_BYTES)
    limits = f"duration={seconds + STOP_AFTER_SECONDS}s maxsize={BYTES_MAX}"
    done = jcmd(jvm, f"JFR.start name={name} settings={SETTINGS} {limits} filename={folder}/{name}.jfr")
    if "Started recording" not in done.stdout:
        disk.remove(jvm, FOLDER)
        raise LabError(
            f"{jvm.node}: its JVM does not start Flight Recorder, and says: {said(done)}",
            "Java 8 has it from update 262 on. Leave out --jfr, or use an image with a newer one.",
            exit_code=1,
        )


def stop(jvm: Jvm, name: str) -> None:
    """Stop a recording. The JVM then writes its file."""
    jcmd(jvm, f"JFR.stop name={name}")


def fetch(jvm: Jvm, name: str, target: Path) -> int:
    """Move the file of a recording that has been stopped out of the container. Returns its size in bytes.

    Raises LabError if there is none.
    """
    path = f"{disk.PARENT}/{FOLDER}/{name}.jfr"
    try:
        if not disk.size_of(jvm, path):
            raise LabError(
                f"{jvm.node}: Flight Recorder has written no recording",
                f"Check `{jvm.container.shown('logs')}`; its volume may be full.",
                exit_code=1,
            )
        with atomic.whole_file(target) as partial:
            return disk.copy_out(jvm, path, partial)
    finally:
        disk.remove(jvm, FOLDER)


def abandon(jvm: Jvm, name: str) -> None:
    """Stop a recording that nobody wants, if it still runs, and remove its file."""
    stop(jvm, name)
    disk.remove(jvm, FOLDER)
