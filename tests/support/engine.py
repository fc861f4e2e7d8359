"""A small engine: its client knows the states of some containers, and writes down how it was called.

What a real engine does with the same calls is tested on the real lab.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from corda_lab.lab.compose import Compose
from lab_workload.faults import Fault, FaultKind

SERVICES = ("notary", "partya", "partyb", "partyc", "bridge", "locust", "prometheus", "links")
LOAD = "my-lab-load-1"

CLIENT = """#!{python}
import json, os, sys
from pathlib import Path
home = Path({home!r})
said = sys.argv[1:]
with open(home / "calls", "a") as file:
    file.write(json.dumps(said) + "\\n")
if (home / "refuses").exists() and (home / "refuses").read_text() in " ".join(said):
    sys.exit("no")

def state(name, to=None):
    file = home / "state" / name
    if to is not None:
        file.write_text(to)
    if not file.exists():
        sys.exit("Error: No such container: " + name)
    return file.read_text()

name = said[-1]
if said[0] == "ps" and "--filter=label=com.docker.compose.oneoff=False" in said:
    names = [one.name for one in sorted((home / "state").iterdir()) if not "-load-" in one.name]
    wanted = [word.rpartition("=")[2] for word in said if "compose.service=" in word]
    for one in names:
        if wanted:
            print(one if one.split("-")[2] in wanted else "")
        else:
            print(one, state(one), "", one.split("-")[2], sep="\t")
elif said[:2] == ["container", "inspect"]:
    known = state(name)
    form = said[3]
    if "Status" in form:
        print(known)
    elif "IPAddress" in form:
        print("172.18.0.%d" % (2 + sorted(os.listdir(home / "state")).index(name)))
    elif "$name" in form:
        print("my-lab_default ")
    elif "Config.User" in form:
        print("1000:1000")
    elif "HostConfig" in form:
        print("1610612736 3221225472")
elif said[:2] == ["network", "inspect"]:
    print("172.18.0.1 172.18.0.2/16 172.18.0.3/16 172.18.0.4/16")
elif said[0] == "ps":
    left = home / "helpers"
    count = int(left.read_text()) if left.exists() else 0
    left.write_text(str(max(0, count - 1)))
    print("helper" if count else "")
elif said[0] == "stats":
    print((home / "memory").read_text() if (home / "memory").exists() else "512MiB / 1.5GiB")
elif said[0] in ("kill", "stop"):
    state(name, "exited")
elif said[0] in ("start", "restart"):
    state(name, "running")
elif said[0] == "pause":
    state(name, "paused")
elif said[0] == "unpause":
    state(name, "running")
elif said[0] in ("run", "exec", "update"):
    pass
else:
    sys.exit("unknown: " + " ".join(said))
"""


ComposeOf = Callable[..., Compose]


class Engine:
    """The engine of a test: its containers, and the calls of its client."""

    def __init__(self, home: Path) -> None:
        """Put the program of the client into the folder ``bin`` of ``home``."""
        self.home = home
        program = self.bin / "docker"
        program.parent.mkdir(parents=True)
        program.write_text(CLIENT.format(python=sys.executable, home=str(home)), encoding="utf-8")
        program.chmod(0o755)
        for name in (*(f"my-lab-{service}-1" for service in SERVICES), LOAD):
            self.set(name, "running")

    @property
    def bin(self) -> Path:
        """The folder of the client."""
        return self.home / "bin"

    def set(self, name: str, state: str) -> None:
        """Put a container into a state."""
        folder = self.home / "state"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(state)

    def state(self, service: str) -> str:
        """The state of the container of a service, or of one of this name."""
        folder = self.home / "state"
        found = folder / service if (folder / service).exists() else folder / f"my-lab-{service}-1"
        return found.read_text()

    def set_helpers(self, times: int) -> None:
        """Let a container of a helper be there as often as it is asked for, and then no more."""
        (self.home / "helpers").write_text(str(times))

    @property
    def helpers(self) -> int:
        """How often a helper will still be there."""
        return int((self.home / "helpers").read_text())

    def set_memory(self, text: str) -> None:
        """Let containers use so much memory, as the engine says it."""
        (self.home / "memory").write_text(text)

    def refuse(self, words: str) -> None:
        """Let every call with these words fail; none if they are empty."""
        (self.home / "refuses").unlink(missing_ok=True)
        if words:
            (self.home / "refuses").write_text(words)

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of all calls that change something."""
        file = self.home / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        reading = ("container", "network", "stats", "ps")
        return [call for call in map(json.loads, lines) if call[0] not in reading]


def await_that(condition: Callable[[], bool], seconds_max: float = 20.0) -> None:
    """Wait until a condition holds. Fails if it does not within the time."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds_max:g} s"
        time.sleep(0.02)


def fault(kind: FaultKind, target: str, *, at: float = 0.0, lasts: float = 0.0, **parameters: float) -> Fault:
    """A fault on a target, after and for so many seconds."""
    return Fault(kind=kind, target=target, at_seconds=at, for_seconds=lasts, parameters=parameters)


def helpers(calls: list[list[str]]) -> list[tuple[list[str], list[str]]]:
    """The options of every helper container, and the arguments of its script."""
    found = []
    for call in calls:
        script = call.index("-c")
        found.append((call[: script - 1], call[script + 2 :]))
    return found
