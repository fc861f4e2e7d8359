"""Measures the clocks of hosts against that of this machine, by exchanges with one program on each host.

The program runs for a moment in a container of the tools, and is spoken to through one connection, as in NTP: of all
exchanges, the one that took the least time has the smallest error, which is half of that time.
"""

import os
import select
import subprocess
import time
from collections.abc import Sequence
from typing import IO

from corda_lab.errors import LabError
from corda_lab.host.image_files import READER
from corda_lab.lab.engine import Engine
from corda_lab.paths import ROOT
from corda_lab.swarm.hosts import Clock

PROGRAM = "import sys, time\nfor line in sys.stdin: print(repr(time.time()), flush=True)"
EXCHANGES = 15
START_SECONDS_MAX = 30.0
"""How long the first answer may take: the container has to start, on a host that may be far."""
EXCHANGE_SECONDS_MAX = 5.0
END_SECONDS_MAX = 10.0

Exchange = tuple[float, float, float]
"""When a question was sent, the time that was answered, and when the answer came, in Unix seconds."""


def best(exchanges: Sequence[Exchange]) -> Clock:
    """Return what the shortest exchange says. ``exchanges`` is not empty."""
    sent, there, came = min(exchanges, key=lambda one: one[2] - one[0])
    return Clock(there - (sent + came) / 2, (came - sent) / 2)


def measure(engine: Engine, image: str, label: str) -> Clock:
    """Measure the clock of a host. ``image`` has Python, ``label`` is that of the container.

    Raises LabError that names the host if it does not answer in time.
    """
    options = (*READER, f"--label={label}", "--log-driver=none", "--entrypoint=python3")
    command = engine.arguments("run", "--rm", "--interactive", *options, image, "-u", "-c", PROGRAM)
    process = subprocess.Popen(
        ["docker", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        # The first exchange waits for the start of the container.
        _exchange(engine, process.stdin, process.stdout, START_SECONDS_MAX)
        return best([_exchange(engine, process.stdin, process.stdout, EXCHANGE_SECONDS_MAX) for _ in range(EXCHANGES)])
    finally:
        _end(process)


def _exchange(engine: Engine, questions: IO[bytes], answers: IO[bytes], seconds_max: float) -> Exchange:
    sent = time.time()
    try:
        os.write(questions.fileno(), b"\n")
        text = _line(answers.fileno(), time.monotonic() + seconds_max)
        return sent, float(text), time.time()
    except (OSError, ValueError):
        raise LabError(
            f"{engine.name}: its clock cannot be read",
            f"Try `docker --context {engine.name} version`.",
            exit_code=1,
        ) from None


def _line(answers: int, deadline: float) -> bytes:
    """Read one line. Raises OSError if it does not come in time, or if the other side has ended."""
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([answers], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(answers, 64) if ready else b""
        if not chunk:
            raise OSError("no answer")
        line += chunk
    return line


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the program by the end of its input; its client too, if it does not end by itself."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
