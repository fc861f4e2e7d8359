"""Loses every packet to and from some addresses.

It runs in the network namespace of a container, with the capability NET_ADMIN and no other. What is sent to such an
address is routed to the loopback, where it is for nobody. What comes from there is dropped by a rule, which the kernel
asks before it looks whether a packet is for this namespace. A network that loses packets says nothing: connections hang
until they time out, as in a real partition. A firewall would need its modules; a route that leads nowhere would answer
at once.

    routes.py lose 172.18.0.3 172.18.0.4
    routes.py find 172.18.0.3 172.18.0.4

Addresses that this namespace has no network for are left out: nothing is sent there directly.
"""

import os
import socket
import struct
import sys
import time
from collections.abc import Iterator

ADDRESSES, NEW_ROUTE, DELETE_ROUTE, NEW_RULE, DELETE_RULE, RULES = 22, 24, 25, 32, 33, 34
REQUEST, ACKNOWLEDGE, REPLACE, EXCLUSIVE, CREATE, DUMP = 0x1, 0x4, 0x100, 0x200, 0x400, 0x300
ERROR, DONE = 2, 3
HEADER = 16
DESTINATION, INTERFACE, PREFERRED_SOURCE = 1, 4, 7
"""Attributes of a route."""
SOURCE, PRIORITY, ORIGIN, CARRIED = 2, 6, 21, 22
"""Attributes of a rule. ``CARRIED`` is the protocol in the packet."""
LOOPBACK = 1
MAIN, LOCAL = 254, 255
KERNEL, STATIC, LINK_SCOPE, UNICAST = 2, 4, 253, 1
LOOK_UP, DROP = 1, 6
FIRST, OURS, LATER = 0, 50, 100
"""Priorities of rules: that of the kernel's rule that finds what is addressed to this namespace, that of the rules of
this script, and where the former is while there are any of the latter."""
PROTOCOLS = (socket.IPPROTO_ICMP, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
"""What is dropped. A rule for everything would also let ARP go unanswered, and others would be told that there is no
such host. Kernels before 4.17 know no protocols in rules, and refuse."""
NOT_THERE, ALREADY = (2, 3), (17,)
"""ENOENT and ESRCH: what is to be deleted does not exist. EEXIST: what is to be added does."""
TIMES_MAX = 8
"""The most equal rules that are deleted."""
LOCK = "\0corda-lab-routes"
"""A socket of this name is bound by the one process that changes this namespace. Each namespace has its own names."""
LOCK_SECONDS_MAX = 10.0


def message(kind: int, flags: int, body: bytes) -> bytes:
    """Return a netlink message."""
    return struct.pack("=IHHII", HEADER + len(body), kind, flags | REQUEST, 1, 0) + body


def attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute of a netlink message, padded to four bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(body: bytes) -> dict[int, bytes]:
    """Parse the attributes of a netlink message: kind → value."""
    found = {}
    while len(body) >= 4:
        length, kind = struct.unpack_from("=HH", body)
        if length < 4:
            break
        found[kind] = body[4:length]
        body = body[(length + 3) & ~3 :]
    return found


def refusal(answer: bytes) -> int:
    """Return the number of the error in an answer of the kernel; 0 if there is none."""
    return -int(struct.unpack_from("=i", answer, HEADER)[0])


def dump(kernel: socket.socket, kind: int, body: bytes) -> Iterator[bytes]:
    """Ask for all entries of a kind, and yield the content of each. Exits if the kernel refuses."""
    kernel.send(message(kind, DUMP, body))
    while True:
        data = kernel.recv(65536)
        while len(data) >= HEADER:
            length, answered = struct.unpack_from("=IH", data)
            if answered == DONE:
                return
            if answered == ERROR:
                sys.exit(f"the kernel does not list what there is: {os.strerror(refusal(data))}")
            yield data[HEADER:length]
            data = data[(length + 3) & ~3 :]


def networks(kernel: socket.socket) -> list[tuple[int, int, int]]:
    """Return (own address, network, mask) of every IPv4 network of this namespace, except that of the loopback."""
    found: list[tuple[int, int, int]] = []
    for entry in dump(kernel, ADDRESSES, struct.pack("=BBBBi", socket.AF_INET, 0, 0, 0, 0)):
        own = int.from_bytes(attributes(entry[8:]).get(1, b""), "big")
        mask = (0xFFFFFFFF << (32 - entry[1])) & 0xFFFFFFFF
        if own >> 24 != 127:
            found.append((own, own & mask, mask))
    return found


def change(kernel: socket.socket, request: bytes, what: str, but: tuple[int, ...]) -> bool:
    """Send a request for a change. Returns False if it is refused for a reason in ``but``, and exits for another."""
    kernel.send(request)
    code = refusal(kernel.recv(65536))
    if code and code not in but:
        sys.exit(f"{what}: {os.strerror(code)}")
    return not code


def route(kernel: socket.socket, verb: str, address: str, own: int) -> None:
    """Lead what is sent from ``own`` to an address to the loopback, or let it have its way again."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, MAIN, STATIC, LINK_SCOPE, UNICAST, 0)
    body += attribute(DESTINATION, socket.inet_aton(address)) + attribute(INTERFACE, struct.pack("=I", LOOPBACK))
    body += attribute(PREFERRED_SOURCE, own.to_bytes(4, "big"))
    add = message(NEW_ROUTE, ACKNOWLEDGE | REPLACE | CREATE, body)
    change(kernel, add if verb == "lose" else message(DELETE_ROUTE, ACKNOWLEDGE, body), f"{verb} {address}", NOT_THERE)


def ask_for_rule(kernel: socket.socket, verb: str, priority: int, body: bytes) -> None:
    """Add a rule, or delete all that are like it."""
    body += attribute(PRIORITY, struct.pack("=I", priority))
    if verb == "add":
        change(kernel, message(NEW_RULE, ACKNOWLEDGE | CREATE | EXCLUSIVE, body), f"rule {priority}", ALREADY)
        return
    for _ in range(TIMES_MAX):
        if not change(kernel, message(DELETE_RULE, ACKNOWLEDGE, body), f"rule {priority}", NOT_THERE):
            return


def own_rule(kernel: socket.socket, verb: str, priority: int) -> None:
    """Add or delete the rule that finds what is addressed to this namespace, as the kernel itself makes it."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, LOCAL, 0, 0, LOOK_UP, 0)
    ask_for_rule(kernel, verb, priority, body + attribute(ORIGIN, bytes([KERNEL])))


def drop_rules(kernel: socket.socket, verb: str, source: str) -> None:
    """Add or delete the rules that drop what comes from an address."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 32, 0, 0, 0, 0, DROP, 0)
    body += attribute(SOURCE, socket.inet_aton(source))
    for protocol in PROTOCOLS:
        ask_for_rule(kernel, verb, OURS, body + attribute(CARRIED, bytes([protocol])))


def is_any_lost(kernel: socket.socket) -> bool:
    """Whether a rule of this script is there."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
    found = [attributes(entry[12:]).get(PRIORITY, b"") for entry in dump(kernel, RULES, header)]
    return struct.pack("=I", OURS) in found


def alone(lock: socket.socket) -> None:
    """Wait until no other process changes this namespace. Exits if that takes too long."""
    deadline = time.monotonic() + LOCK_SECONDS_MAX
    while True:
        try:
            return lock.bind(LOCK)
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"another process changes this namespace: {error}")
        time.sleep(0.02)


def main(verb: str, *wanted: str) -> None:
    """Lose or find the addresses."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock,
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel,
    ):
        alone(lock)
        kernel.settimeout(5)
        kernel.bind((0, 0))
        near = networks(kernel)
        if verb == "lose":
            # Never without one of the two: then nothing at all would be for this namespace.
            own_rule(kernel, "add", LATER)
            own_rule(kernel, "delete", FIRST)
        for address in wanted:
            number = int.from_bytes(socket.inet_aton(address), "big")
            for own in [own for own, network, mask in near if number & mask == network][:1]:
                route(kernel, verb, address, own)
                drop_rules(kernel, "add" if verb == "lose" else "delete", address)
        if not is_any_lost(kernel):
            own_rule(kernel, "add", FIRST)
            own_rule(kernel, "delete", LATER)


if __name__ == "__main__":
    main(*sys.argv[1:])
