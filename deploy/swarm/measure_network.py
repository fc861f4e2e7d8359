#!/usr/bin/env python3
"""Measures the network between containers: without arguments it answers, with names of others it measures to them.

Prints one JSON object for each: round trip and clock by exchanges of one byte, and the throughput to the first.
"""

import json
import socket
import statistics
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

PORT = 9000
EXCHANGES = 50
SECONDS_MAX = 5.0
"""Limit of a connection, and of each of its reads and writes."""
REACHED_SECONDS_MAX = 15.0
"""Limit until the other side is known by its name and answers."""
THROUGHPUT_SECONDS = 2.0
BLOCK = bytes(1 << 20)
TIME = struct.Struct("!d")
EXCHANGE, THROUGHPUT = b"e", b"t"


def answer(connection):
    """Give the time for every byte, or count what comes until the other side has sent all, and say how much it was."""
    with connection:
        connection.settimeout(SECONDS_MAX)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if connection.recv(1) == EXCHANGE:
            while connection.recv(1):
                connection.sendall(TIME.pack(time.time()))
            return
        count = 0
        while block := connection.recv(1 << 16):
            count += len(block)
        connection.sendall(TIME.pack(count))


def serve():
    """Answer until the container is removed."""
    with socket.create_server(("", PORT)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


def connected(target):
    """Return a connection. Raises OSError."""
    connection = socket.create_connection((target, PORT), timeout=SECONDS_MAX)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def why_not_reached(target):
    """Wait until there is a connection. Return why there is none; empty if there is one.

    A new name takes a moment to reach all hosts.
    """
    deadline = time.monotonic() + REACHED_SECONDS_MAX
    while True:
        try:
            connected(target).close()
        except OSError as error:
            if time.monotonic() > deadline:
                return str(error) or "no answer"
            time.sleep(0.2)
        else:
            return ""


def exchange(target):
    """Return the round trip and the other side's clock, in ms."""
    trips, offsets = [], []
    with connected(target) as connection:
        connection.sendall(EXCHANGE)
        for _ in range(EXCHANGES):
            sent = time.time()
            started = time.perf_counter()
            connection.sendall(b".")
            there = TIME.unpack(connection.recv(TIME.size, socket.MSG_WAITALL))[0]
            trips.append(time.perf_counter() - started)
            offsets.append(there - sent - trips[-1] / 2)
    best = trips.index(min(trips))
    return {
        "round_trip_ms": statistics.median(trips) * 1000,
        "clock_ms": offsets[best] * 1000,
        "clock_error_ms": trips[best] / 2 * 1000,
    }


def throughput(target):
    """Return what one connection carries, in Mbit/s."""
    with connected(target) as connection:
        connection.sendall(THROUGHPUT)
        started = time.perf_counter()
        while time.perf_counter() - started < THROUGHPUT_SECONDS:
            connection.sendall(BLOCK)
        connection.shutdown(socket.SHUT_WR)
        count = TIME.unpack(connection.recv(TIME.size, socket.MSG_WAITALL))[0]
        return count * 8 / (time.perf_counter() - started) / 1e6


def measure(target, with_throughput):
    """Return what was seen on the way to a target, or why nothing was."""
    try:
        found = exchange(target)
        if with_throughput:
            found["megabits_per_second"] = throughput(target)
    except (OSError, struct.error) as error:
        return {"target": target, "trouble": str(error) or "the connection broke off"}
    return {"target": target, **found}


def main(targets):
    """Print what was seen on the ways to all targets. All are waited for at once, and measured one after the other."""
    with ThreadPoolExecutor(max_workers=len(targets)) as pool:
        troubles = list(pool.map(why_not_reached, targets))
    found = []
    for place, (target, trouble) in enumerate(zip(targets, troubles, strict=True)):
        found.append({"target": target, "trouble": trouble} if trouble else measure(target, place == 0))
    print(json.dumps(found))


if len(sys.argv) == 1:
    serve()
else:
    main(sys.argv[1:])
