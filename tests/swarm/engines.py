"""Several Docker engines on this machine, each in a network of its own: a swarm for tests.

Every engine has its own processes, mounts, network, images and containers. The engine of the machine is not touched.
The first process of an engine takes all others with it when it ends, so that nothing of it can be left running. What a
killed command has left of engines, networks and files is removed by the next one. Needs root on Linux.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bare.commands import come_true, last_words, run
from bare.dockerd import process_start
from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.lab.docker import output_of
from corda_lab.paths import CACHE
from corda_lab.text import ui

FOLDER = CACHE / "engines"
BRIDGE = "clab-swarm"
"""The bridge that connects the engines, and the beginning of the names of their ends of it."""
ADDRESSES = "10.99.0."
PREFIX = 24
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
STEP_SECONDS_MAX = 60.0
IMAGE_SECONDS_MAX = 600.0
LABEL = "corda-lab.host"
CGROUPS = Path("/sys/fs/cgroup")
ALONE = ("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc")
"""The beginning of a command that has its own mounts, host name and processes, which end with it."""
FIRST_PROCESS = """
hostname "$1" && shift || exit
for folder in /run/docker /run/containerd; do
  mkdir --parents $folder && mount --types tmpfs tmpfs $folder || exit
done
"$@"
exit
"""
"""Runs dockerd in its place. dockerd has sockets and networks of its containers in these folders, wherever its other
files are. The shell also waits for processes whose parent has ended, which dockerd as the first process would not."""
_FORWARD = ("FORWARD", "--in-interface", BRIDGE, "--out-interface", BRIDGE, "--jump", "ACCEPT")


@dataclass(frozen=True)
class Engine:
    """One engine."""

    name: str
    number: int
    """From 1 on; the last part of its address."""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def namespace(self) -> str:
        """The name of its network namespace."""
        return f"{BRIDGE}-{self.number}"

    @property
    def address(self) -> str:
        return f"{ADDRESSES}{self.number}"

    @property
    def socket(self) -> str:
        """Where its clients connect to. A path of a socket must be short."""
        return f"unix:///run/{self.namespace}.sock"

    @property
    def enter(self) -> list[str]:
        """The beginning of a command that runs in its network."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}"]

    def docker(self, *arguments: str, seconds_max: float = STEP_SECONDS_MAX) -> str:
        """Run a docker command on it, and return its output. Raises LabError."""
        command = ["docker", "--host", self.socket, *arguments]
        done = run(command, seconds_max=seconds_max)
        return output_of(done, f"`docker {arguments[0]}` on {self.name} failed", REMEDY)

    def load(self, images: Sequence[str]) -> None:
        """Copy images of the machine's engine to this one. Raises LabError."""
        file = self.folder / "images.tar"
        what = f"Copying {', '.join(images)}"
        save = ["docker", "save", "--output", str(file), *images]
        output_of(run(save, seconds_max=IMAGE_SECONDS_MAX), f"{what} failed")
        try:
            self.docker("load", "--quiet", "--input", str(file), seconds_max=IMAGE_SECONDS_MAX)
        finally:
            file.unlink()


REMEDY = f"The logs of the engines are in {FOLDER}."


@contextmanager
def swarm(names: Sequence[str]) -> Iterator[tuple[list[Engine], dict[str, str]]]:
    """Start an engine for each host of a placement, join them to a swarm and label them; remove all afterwards.

    Yields the engines, of which the first is the manager, and the environment of a client on the manager: every host
    has a docker context of its name. Raises LabError.
    """
    if os.name != "posix" or os.geteuid() != 0:
        raise LabError("Engines in networks of their own need root", "Run this command as root.")
    engines = [Engine(name, number) for number, name in enumerate(names, start=1)]
    collect()
    try:
        with ui.phase(f"Starting {len(engines)} engines"):
            _connect(engines)
            for engine in engines:
                _start(engine)
            _await_all(engines)
            _join(engines)
            environment = _contexts(engines)
        yield engines, environment
    finally:
        with ui.phase("Removing the engines"):
            collect()


def _connect(engines: Sequence[Engine]) -> None:
    """Make a network for each engine, and a bridge between them."""
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("link", "set", BRIDGE, "up")
    # The machine's own engine lets nothing pass that crosses other bridges.
    _step(["iptables", "--wait", "--insert", *_FORWARD])
    for engine in engines:
        inside = ["-netns", engine.namespace]
        _ip("netns", "add", engine.namespace)
        _ip("link", "add", engine.namespace, "type", "veth", "peer", "name", "eth0", "netns", engine.namespace)
        _ip("link", "set", engine.namespace, "master", BRIDGE, "up")
        _ip(*inside, "address", "add", f"{engine.address}/{PREFIX}", "dev", "eth0")
        _ip(*inside, "link", "set", "eth0", "up")
        _ip(*inside, "link", "set", "lo", "up")


def _start(engine: Engine) -> None:
    """Start an engine, and record its first process before anything else."""
    engine.folder.mkdir(parents=True)
    dockerd = [
        "dockerd",
        f"--data-root={engine.folder / 'data'}",
        f"--exec-root=/run/docker/{engine.namespace}",
        f"--pidfile=/run/docker/{engine.namespace}.pid",
        f"--host={engine.socket}",
        f"--cgroup-parent=/{engine.namespace}",
        f"--insecure-registry={ADDRESSES}0/{PREFIX}",
        "--log-level=warn",
    ]
    command = [*engine.enter, *ALONE, "sh", "-c", FIRST_PROCESS, "sh", engine.name, *dockerd]
    with (engine.folder / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )
    record = {"pid": process.pid, "start_seconds": process_start(process.pid)}
    atomic.write_text(engine.folder / "engine.json", json.dumps(record))


def _await_all(engines: Sequence[Engine]) -> None:
    """Wait until all engines answer. Raises LabError with the last words of one that does not."""
    for engine in engines:
        if not come_true(partial(_answers, engine), seconds_max=START_SECONDS_MAX):
            words = last_words((engine.folder / "dockerd.log").read_text(errors="replace"), 3)
            raise LabError(f"The engine {engine.name} did not answer in {START_SECONDS_MAX:.0f} s: {words}", REMEDY)


def _answers(engine: Engine) -> bool:
    return run(["docker", "--host", engine.socket, "version"]).returncode == 0


def _join(engines: Sequence[Engine]) -> None:
    """Make a swarm of the engines, with the label of each host. The first is the manager."""
    manager, *workers = engines
    manager.docker("swarm", "init", f"--advertise-addr={manager.address}")
    token = manager.docker("swarm", "join-token", "--quiet", "worker").strip()
    for worker in workers:
        joined = ["swarm", "join", f"--token={token}", f"--advertise-addr={worker.address}", f"{manager.address}:2377"]
        worker.docker(*joined)
    for engine in engines:
        node = engine.docker("info", "--format", "{{.Swarm.NodeID}}").strip()
        manager.docker("node", "update", f"--label-add={LABEL}={engine.name}", node)


def _contexts(engines: Sequence[Engine]) -> dict[str, str]:
    """Make a docker context for every host in a folder of our own, and return the environment that uses them."""
    folder = FOLDER / "client"
    folder.mkdir()
    plugins = Path.home() / ".docker" / "cli-plugins"
    if plugins.is_dir():
        (folder / "cli-plugins").symlink_to(plugins)
    environment = {"DOCKER_CONFIG": str(folder), "DOCKER_HOST": engines[0].socket}
    for engine in engines:
        create = ["docker", "context", "create", engine.name, f"--docker=host={engine.socket}"]
        done = subprocess.run(
            create, env={**os.environ, **environment}, capture_output=True, text=True, timeout=30, check=False
        )
        if done.returncode != 0:
            raise LabError(f"The context {engine.name} could not be created: {last_words(done.stderr)}", REMEDY)
    return environment


def collect() -> None:
    """Remove everything of engines that this module has started, now or in a command that was killed."""
    for record in sorted(FOLDER.glob("*/engine.json")):
        end(json.loads(record.read_text(encoding="utf-8")))
    for namespace in _namespaces():
        # The end of a cable goes with its network, but only when the kernel gets to it.
        run(["ip", "link", "delete", namespace])
        with suppress(LabError):
            _ip("netns", "delete", namespace)
        Path(f"/run/{namespace}.sock").unlink(missing_ok=True)
        _remove_cgroups(namespace)
    run(["ip", "link", "delete", BRIDGE])
    while run(["iptables", "--wait", "--delete", *_FORWARD]).returncode == 0:
        pass
    # The kernel may still end the last processes, with what they have mounted.
    if not come_true(_is_deleted, seconds_max=STOP_SECONDS_MAX):
        raise LabError(f"{FOLDER}: could not be deleted", "Delete it by hand.")


def _is_deleted() -> bool:
    shutil.rmtree(FOLDER, ignore_errors=True)
    return not FOLDER.exists()


def end(record: Mapping[str, float]) -> None:
    """Kill the first process of an engine, and with it all others. Raises LabError if it does not end."""
    pid, started = int(record["pid"]), record["start_seconds"]

    def is_gone() -> bool:
        with suppress(ChildProcessError):
            # Our own child is there until somebody asks for its status.
            os.waitpid(pid, os.WNOHANG)
        return process_start(pid) != started

    if not is_gone():
        os.kill(pid, signal.SIGKILL)
    if not come_true(is_gone, seconds_max=STOP_SECONDS_MAX):
        raise LabError(f"The engine with the process {pid} did not end within {STOP_SECONDS_MAX:.0f} s", REMEDY)


def _namespaces() -> list[str]:
    listed = run(["ip", "netns", "list"]).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"{BRIDGE}-")]


def _remove_cgroups(namespace: str) -> None:
    """Remove the control groups of an engine's containers. They are empty folders once the processes have ended."""
    for top in (*CGROUPS.glob(namespace), *CGROUPS.glob(f"*/{namespace}")):
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


def _ip(*arguments: str) -> None:
    _step(["ip", *arguments])


def _step(command: Sequence[str]) -> None:
    done = run(command, seconds_max=STEP_SECONDS_MAX)
    output_of(done, f"`{' '.join(command)}` failed", "It needs root on Linux.")
