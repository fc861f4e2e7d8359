"""A real HTTP server with given answers, for tests of what asks other servers."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """With its query."""
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def serving(answer: Callable[[Request], tuple[int, object]]) -> Iterator[int]:
    """Serve on this machine, and yield the port. ``answer`` returns the status and the content, text or JSON."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(Request(self.command, self.path, dict(self.headers), body))
            reply = (content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(content, str) else "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(reply)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def served(answer: Callable[[str], object]) -> Iterator[int]:
    """Serve JSON to GET requests on this machine, and yield the port.

    ``answer`` is given the path of a request with its query, and returns the content. None: the answer is 404.
    """

    def content_of(request: Request) -> tuple[int, object]:
        content = answer(request.path)
        return 404 if content is None else 200, content

    with serving(content_of) as port:
        yield port
