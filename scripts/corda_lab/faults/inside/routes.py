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

import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

OWN_ADDRESS, OWN_MASK = 0x8915, 0x891B
"""What an interface is asked for (SIOCGIFADDR, SIOCGIFNETMASK)."""
NEW_ROUTE, DELETE_ROUTE, NEW_RULE, DELETE_RULE = 24, 25, 32, 33
REQUEST, ACKNOWLEDGE, REPLACE, EXCLUSIVE, CREATE = 0x1, 0x4, 0x100, 0x200, 0x400
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
this script, and where the former is from the first of the latter on. It changes nothing there, so it stays."""
PROTOCOLS = (socket.IPPROTO_ICMP, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
"""What is dropped. A rule for everything would also let ARP go unanswered, and others would be told that there is no
such host. Kernels before 4.17 know no protocols in rules, and refuse."""
AS_ASKED = (errno.ENOENT, errno.ESRCH, errno.EEXIST)
"""What is to be deleted does not exist, or what is to be added does."""
TIMES_MAX = 8
"""The most equal rules that are deleted."""


def networks() -> Iterator[tuple[int, int]]:
    """Yield (own address, mask) of every interface with an IPv4 network, except that of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for _, name in socket.if_nameindex():
            # An interface without an address says so.
            with suppress(OSError):
                own, mask = (
                    int.from_bytes(fcntl.ioctl(client, what, struct.pack("256s", name.encode()))[20:24], "big")
                    for what in (OWN_ADDRESS, OWN_MASK)
                )
                if own >> 24 != 127:
                    yield own, mask


def change(kernel: socket.socket, kind: int, flags: int, header: bytes, attributes: dict[int, bytes]) -> bool:
    """Ask for a change. Returns False if it is as asked already, and exits if it is refused for another reason."""
    body = header
    for name, value in attributes.items():
        # Padded to four bytes.
        body += struct.pack("=HH", 4 + len(value), name) + value + bytes(-len(value) % 4)
    kernel.send(struct.pack("=IHHII", 16 + len(body), kind, flags | REQUEST | ACKNOWLEDGE, 1, 0) + body)
    refusal = -int(struct.unpack_from("=i", kernel.recv(65536), 16)[0])
    if refusal and refusal not in AS_ASKED:
        sys.exit(f"a change of kind {kind}: {os.strerror(refusal)}")
    return not refusal


def number(value: int) -> bytes:
    return struct.pack("=I", value)


def local_rule(kernel: socket.socket, kind: int, priority: int) -> None:
    """Add or delete the rule that finds what is addressed to this namespace, as the kernel itself makes it."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, LOCAL, 0, 0, LOOK_UP, 0)
    flags = CREATE | EXCLUSIVE if kind == NEW_RULE else 0
    change(kernel, kind, flags, header, {ORIGIN: bytes([KERNEL]), PRIORITY: number(priority)})


def lead_astray(kernel: socket.socket, verb: str, address: bytes, own: int) -> None:
    """Lead what is sent from ``own`` to an address to the loopback, or let it have its way again."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, MAIN, STATIC, LINK_SCOPE, UNICAST, 0)
    attributes = {DESTINATION: address, INTERFACE: number(LOOPBACK), PREFERRED_SOURCE: own.to_bytes(4, "big")}
    if verb == "lose":
        change(kernel, NEW_ROUTE, REPLACE | CREATE, header, attributes)
    else:
        change(kernel, DELETE_ROUTE, 0, header, attributes)


def drop(kernel: socket.socket, verb: str, address: bytes) -> None:
    """Drop what comes from an address, or let it in again."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 32, 0, 0, 0, 0, DROP, 0)
    for protocol in PROTOCOLS:
        attributes = {SOURCE: address, CARRIED: bytes([protocol]), PRIORITY: number(OURS)}
        if verb == "lose":
            change(kernel, NEW_RULE, CREATE | EXCLUSIVE, header, attributes)
        else:
            for _ in range(TIMES_MAX):
                if not change(kernel, DELETE_RULE, 0, header, attributes):
                    break


def main(verb: str, *addresses: str) -> None:
    """Lose or find the addresses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.settimeout(5)
        kernel.bind((0, 0))
        if verb == "lose":
            # Never without one of the two: then nothing at all would be for this namespace.
            local_rule(kernel, NEW_RULE, LATER)
            local_rule(kernel, DELETE_RULE, FIRST)
        near = list(networks())
        for address in map(socket.inet_aton, addresses):
            for own, mask in near:
                if int.from_bytes(address, "big") & mask == own & mask:
                    lead_astray(kernel, verb, address, own)
                    drop(kernel, verb, address)
                    break


if __name__ == "__main__":
    main(*sys.argv[1:])
