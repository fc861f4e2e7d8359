"""A stub of the bridge that answers every flow start immediately, to benchmark the generator.

It implements just enough of HTTP/1.1 for one request at a time on a persistent connection. ``python stub_bridge.py``
prints the port on which it listens. It ends when its standard input is closed.
"""

import asyncio
import json
import sys

PARTIES = {
    "PartyA": "O=PartyA,L=London,C=GB",
    "PartyB": "O=PartyB,L=New York,C=US",
    "PartyC": "O=PartyC,L=Paris,C=FR",
}
ANSWERS = {
    "/parties": {"parties": [{"name": name, "x500Name": x500, "notary": False} for name, x500 in PARTIES.items()]},
    "/flows": {
        "flows": [
            {
                "flow": "org.cordalab.flows.Iou",
                "shortName": "Iou",
                "parameters": [[{"name": "iouValue", "type": "int"}, {"name": "otherParty", "type": "Party"}]],
            }
        ]
    },
}
STARTED = {
    "flowId": "7b0c2a52-5d2f-4c30-9f0a-0d6b3f3f7c11",
    "clientId": "x",
    "result": None,
    "txId": "B" * 64,
    "timings": {"receivedAt": 1.7e9, "startedAt": 1.7e9, "rpcMs": 1.5, "flowMs": 20.25, "totalMs": 22},
}


def http(content: object) -> bytes:
    """Return a complete HTTP response with status 200 and this JSON content."""
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Connection(asyncio.Protocol):
    """The connection of one client."""

    started = http(STARTED)

    def __init__(self, delay_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
        if len(rest) < int(length or 0):
            return
        self._received = b""
        if head.startswith(b"POST") and self._delay_seconds:
            asyncio.get_running_loop().call_later(self._delay_seconds, self._write, self.started)
        elif head.startswith(b"POST"):
            self._write(self.started)
        else:
            path = head.split(b" ", 2)[1].decode()
            self._write(http(next((answer for end, answer in ANSWERS.items() if path.endswith(end)), {})))

    def _write(self, data: bytes) -> None:
        assert isinstance(self._transport, asyncio.WriteTransport)
        self._transport.write(data)


async def main(delay_seconds: float) -> None:
    """Serve until the standard input is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(delay_seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0))
