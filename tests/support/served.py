"""A real HTTP server with given answers, for tests of what asks other servers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def served(answer: Callable[[str], object]) -> Iterator[int]:
    """Serve JSON to GET requests on this machine, and yield the port.

    ``answer`` is given the path of a request with its query, and returns the content. None: the answer is 404.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = answer(self.path)
            body = json.dumps(content).encode()
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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
