"""Prints once a second what a host and containers on it have used, as the kernel counts it. It ends with its input.

    meters.py ADDRESS ID…

ADDRESS is that of the host in the swarm; the counters of its interface are printed, for which the program needs the
network of the host. IDs are the full ones of containers, whose control groups are below ``GROUPS``, of version 1 or 2.

One line is a JSON object. ``time`` is in unix seconds, and ``cpu`` the first line of /proc/stat. ``memory`` has the
bytes that are there and those that can be had, ``swapped`` pages, and ``network`` the bytes received and sent, or null.
``containers`` has the texts of the counters of CPU, memory and disk of each container, by id.
"""

import fcntl
import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

GROUPS = Path("/groups")
PROC = Path("/proc")
SECONDS = 1.0
LINES_MAX = 20_000
"""More than five hours."""
ADDRESS_OF_INTERFACE = 0x8915
FILES = (
    ("cpuacct.usage", "cpu.stat"),
    ("memory.stat",),
    ("blkio.throttle.io_service_bytes", "io.stat"),
)
"""The counters of CPU, memory and disk: those of version 1 first."""
MEMORY_LINES = ("total_rss ", "anon ")


def counters(identities: list[str]) -> dict[str, list[Path | None]]:
    """Return the files with the counters of each container, in the order of FILES."""
    folders: dict[str, list[Path]] = {one: [] for one in identities}
    for folder, below, _ in os.walk(GROUPS):
        for one in identities:
            folders[one] += [Path(folder, name) for name in below if one in name]
    return {one: [_first(found, names) for names in FILES] for one, found in folders.items()}


def _first(folders: list[Path], names: tuple[str, ...]) -> Path | None:
    return next((path for name in names for folder in folders if (path := folder / name).exists()), None)


def read(path: Path | None) -> str | None:
    """Return the text of a counter; None if it is not there, or no longer."""
    try:
        text = path.read_text(encoding="ascii") if path else None
    except OSError:
        return None
    if text is not None and path is not None and path.name == "memory.stat":
        return "".join(line + "\n" for line in text.splitlines() if line.startswith(MEMORY_LINES))
    return text


def interface_of(address: str) -> str | None:
    """Return the name of the interface with an IPv4 address; None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, ADDRESS_OF_INTERFACE, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None


def traffic(interface: str | None) -> list[int] | None:
    """Return the bytes that an interface has received and sent."""
    for line in (PROC / "net" / "dev").read_text(encoding="ascii").splitlines():
        name, _, values = line.partition(":")
        if interface is not None and name.strip() == interface:
            fields = values.split()
            return [int(fields[0]), int(fields[8])]
    return None


def numbers(file: str, *names: str) -> list[int]:
    """Return the numbers of lines such as ``MemTotal: 16 kB`` of a file in /proc, in the order of the names."""
    found = {}
    for line in (PROC / file).read_text(encoding="ascii").splitlines():
        name, number = line.split()[:2]
        found[name.rstrip(":")] = int(number)
    return [found[name] for name in names]


def line(interface: str | None, files: dict[str, list[Path | None]]) -> str:
    """Return what is printed at a moment."""
    return json.dumps(
        {
            "time": time.time(),
            "cpu": (PROC / "stat").read_text(encoding="ascii").partition("\n")[0],
            "memory": [1024 * one for one in numbers("meminfo", "MemTotal", "MemAvailable")],
            "swapped": sum(numbers("vmstat", "pswpin", "pswpout")),
            "network": traffic(interface),
            "containers": {one: [read(path) for path in paths] for one, paths in files.items()},
        }
    )


def main(address: str, *identities: str) -> None:
    """Print lines until the input ends."""
    files, interface = counters(list(identities)), interface_of(address)
    due = time.monotonic()
    for _ in range(LINES_MAX):
        print(line(interface, files), flush=True)
        due = max(due + SECONDS, time.monotonic())
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))
        if ready:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
