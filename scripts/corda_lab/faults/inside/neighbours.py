"""Loses every packet to some addresses, by telling the kernel that they have a hardware address that nobody has.

It runs in the network namespace of a container, with the capability NET_ADMIN and no other. A network that loses
packets says nothing: connections hang until they time out, as in a real partition. A firewall would need its modules, a
route would answer at once.

    neighbours.py lose 172.18.0.3 172.18.0.4
    neighbours.py find 172.18.0.3 172.18.0.4

Addresses that this namespace has no network for are left out: nothing is sent there directly.
"""

import os
import socket
import struct
import sys

NEW, DELETE, ADDRESSES = 28, 29, 22
REQUEST, ACKNOWLEDGE, REPLACE, CREATE, DUMP = 0x1, 0x4, 0x100, 0x400, 0x300
ERROR, DONE = 2, 3
PERMANENT = 0x80
DESTINATION, HARDWARE = 1, 2
NOBODY = bytes.fromhex("020000000001")
"""A locally administered hardware address, which Docker gives to no container: its own begin with 02:42."""
NOT_THERE = (2, 3, 6)
"""ENOENT, ESRCH and ENXIO: what is to be deleted does not exist."""


def message(kind: int, flags: int, body: bytes) -> bytes:
    """Return a netlink message."""
    return struct.pack("=IHHII", 16 + len(body), kind, flags | REQUEST, 1, 0) + body


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


def networks(kernel: socket.socket) -> list[tuple[int, int, int]]:
    """Return (interface, network, mask) of every IPv4 network of this namespace, except that of the loopback."""
    kernel.send(message(ADDRESSES, DUMP, struct.pack("=BBBBi", socket.AF_INET, 0, 0, 0, 0)))
    found: list[tuple[int, int, int]] = []
    while True:
        data = kernel.recv(65536)
        while len(data) >= 16:
            length, kind = struct.unpack_from("=IH", data)
            if kind in (DONE, ERROR):
                return found
            _family, bits, _flags, _scope, interface = struct.unpack_from("=BBBBi", data, 16)
            own = int.from_bytes(attributes(data[24:length]).get(1, b""), "big")
            mask = (0xFFFFFFFF << (32 - bits)) & 0xFFFFFFFF
            if own >> 24 != 127:
                found.append((interface, own & mask, mask))
            data = data[(length + 3) & ~3 :]


def change(kernel: socket.socket, verb: str, interface: int, address: str) -> None:
    """Lose the packets to an address, or find its real hardware address again. Exits if the kernel refuses."""
    state = PERMANENT if verb == "lose" else 0
    body = struct.pack("=BBHiHBB", socket.AF_INET, 0, 0, interface, state, 0, 0)
    body += attribute(DESTINATION, socket.inet_aton(address))
    if verb == "lose":
        request = message(NEW, ACKNOWLEDGE | REPLACE | CREATE, body + attribute(HARDWARE, NOBODY))
    else:
        request = message(DELETE, ACKNOWLEDGE, body)
    kernel.send(request)
    answer = kernel.recv(65536)
    code = -struct.unpack_from("=i", answer, 16)[0]
    if code and not (verb == "find" and code in NOT_THERE):
        sys.exit(f"{verb} {address}: {os.strerror(code)}")


def main(verb: str, *wanted: str) -> None:
    """Lose or find the addresses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.settimeout(5)
        kernel.bind((0, 0))
        own = networks(kernel)
        for address in wanted:
            number = int.from_bytes(socket.inet_aton(address), "big")
            for interface, network, mask in own:
                if number & mask == network:
                    change(kernel, verb, interface, address)


if __name__ == "__main__":
    main(*sys.argv[1:])
