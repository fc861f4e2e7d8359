"""Locust processes with the lab's locustfile."""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

GENERATOR = Path(__file__).resolve().parents[1]
"""The folder of the locustfile."""


class LocustCopies:
    """The process of ``locust_copies.py``, which starts Locusts in a tenth of the time."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("locust_copies.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self._process.communicate)

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


copies = cache(LocustCopies)


class LocustProcess:
    """A Locust that runs. Its output is in ``log``."""

    def __init__(self, pid: int, poll: Callable[[], int | None], log: Path) -> None:
        self._pid = pid
        self._poll = poll
        self.log = log
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        if self.returncode is None:
            self.returncode = self._poll()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit status. Raises TimeoutExpired after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("locust", timeout, self.log.read_text())
            time.sleep(0.02)
        return status

    def send_signal(self, kind: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self._pid, kind)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_locust(
    folder: Path, environment: Mapping[str, str], log: Path, *arguments: str, limit: Callable[[], None] | None = None
) -> LocustProcess:
    """Start a Locust with the lab's locustfile in a folder. ``limit`` is called in the new process before all else."""
    log.touch()
    arguments = ("-f", str(GENERATOR / "locustfile.py"), *arguments)
    if limit is None and "PYTHONPATH" not in environment:
        about = {"folder": str(folder), "environment": dict(environment), "log": str(log)}
        pid = copies().ask(arguments=arguments, **about)
        return LocustProcess(pid, lambda: copies().ask(ended=pid), log)
    # What Python itself reads when it starts needs a start of its own.
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("locust"), *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=limit,
        )
    return LocustProcess(process.pid, process.poll, log)
