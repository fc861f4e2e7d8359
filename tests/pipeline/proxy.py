"""A proxy between the generator and the bridge that breaks chosen connections. It runs in a container of its own.

``python proxy.py FILE`` reads ``{"to": [host, port], "dropped": […], "lost": […]}``. A request is known by the number
at the end of its client id. ``dropped``: the connection breaks before the bridge gets the request. ``lost``: the bridge
answers, and the connection breaks instead of delivering the answer. Everything else passes unchanged.
"""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

PORT = 8080
CLIENT_ID = re.compile(rb'"clientId":\s*"[^"]*-(\d+)"')
LENGTH = re.compile(rb"(?i)\r\ncontent-length:\s*(\d+)")
HEAD_BYTES_MAX = 64 * 1024

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def message(reader: asyncio.StreamReader) -> bytes:
    """Return one HTTP message with its body; empty at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    found = LENGTH.search(head)
    return head + (await reader.readexactly(int(found[1])) if found else b"")


def handler(to: tuple[str, int], dropped: frozenset[int], lost: frozenset[int]) -> Handler:
    """Return the function that serves one connection of the generator."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(*to, limit=HEAD_BYTES_MAX)
        try:
            while request := await message(reader):
                found = CLIENT_ID.search(request)
                number = int(found[1]) if found and request.startswith(b"POST") else None
                if number in dropped:
                    return
                upstream_writer.write(request)
                await upstream_writer.drain()
                answer = await message(upstream_reader)
                if number in lost or not answer:
                    return
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.transport.abort()
            upstream_writer.close()

    return serve


async def main(file: str) -> None:
    """Serve until the process is stopped."""
    wanted = json.loads(Path(file).read_text(encoding="utf-8"))
    serve = handler(tuple(wanted["to"]), frozenset(wanted["dropped"]), frozenset(wanted["lost"]))
    server = await asyncio.start_server(serve, "0.0.0.0", PORT, limit=HEAD_BYTES_MAX)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
