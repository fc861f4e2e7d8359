"""Imports Locust once, and starts each Locust of the tests as a copy of this process: the import takes a second of CPU.

Each line of its input is a request. ``{"arguments", "folder", "environment", "log"}`` starts a copy, and is answered by
its process id; ``{"ended": id}`` is answered by the exit status of a copy, or null while it runs. All is JSON. It ends
with its input.
"""

import json
import os
import sys
from typing import Any

import locust.main

# What the locustfile imports besides. None of the lab's own code, which reads the environment.
import prometheus_client  # noqa: F401
import pydantic  # noqa: F401
import yaml  # noqa: F401

# Locust works in greenlets. Only gevent's own fork gives a copy an event loop of its own; its other ones reap copies.
from gevent.os import fork_gevent


def become(start: dict[str, Any]) -> None:
    """Become the Locust that a request asks for, as if it had been started from its command line."""
    for file, flags, number in ((os.devnull, os.O_RDONLY, 0), (start["log"], os.O_WRONLY | os.O_APPEND, 1)):
        descriptor = os.open(file, flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.dup2(1, 2)
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.argv = ["locust", *start["arguments"]]


def serve() -> bool:
    """Answer requests until the input ends. Returns whether this process is a copy that has to run Locust."""
    for line in sys.stdin:
        request = json.loads(line)
        if "ended" in request:
            process, status = os.waitpid(request["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if process else None
        elif not (answer := fork_gevent()):
            become(request)
            return True
        print(json.dumps(answer), flush=True)
    return False


if __name__ == "__main__" and serve():
    locust.main.main()
