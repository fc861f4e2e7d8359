"""Runs Toxiproxy with the proxies in ``links.json``, which the bootstrapper generates from LINKS.

Every entry has ``name``, ``listen``, ``upstream``, ``latency_ms`` and ``kilobytes_per_second``. The latency is added to
the round-trip time, half of it in each direction. The bandwidth limit applies to each direction (0: none).
"""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

LINKS_FILE = Path("/network/links.json")
API = "http://127.0.0.1:8474"
START_SECONDS_MAX = 20.0
DIRECTIONS = ("upstream", "downstream")


def read_links(path: Path = LINKS_FILE) -> list[dict[str, Any]]:
    """Read the configured proxies."""
    links: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return links


def toxics_of(link: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the toxics of one proxy. Each direction gets half of the latency; an odd millisecond goes upstream."""
    half = link["latency_ms"] // 2
    delays = {"upstream": link["latency_ms"] - half, "downstream": half}
    found = []
    for stream in DIRECTIONS:
        if delays[stream]:
            found.append(_toxic("latency", stream, {"latency": delays[stream], "jitter": 0}))
        if link["kilobytes_per_second"]:
            found.append(_toxic("bandwidth", stream, {"rate": link["kilobytes_per_second"]}))
    return found


def _toxic(kind: str, stream: str, attributes: dict[str, int]) -> dict[str, Any]:
    return {"name": f"{kind}-{stream}", "type": kind, "stream": stream, "toxicity": 1.0, "attributes": attributes}


def call(path: str, body: object = None) -> Any:
    """Call Toxiproxy's API: GET, or POST if there is a body. Raises OSError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.loads(answer.read())


def await_api(process: subprocess.Popen[bytes]) -> None:
    """Wait until Toxiproxy answers. Exits if it does not answer in time."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            call("/version")
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("links: Toxiproxy does not answer")
            time.sleep(0.1)


def main() -> int:
    """Start Toxiproxy, configure it, and wait for it to end. Returns its exit status."""
    links = read_links()
    process = subprocess.Popen(["toxiproxy", "-host", "127.0.0.1", "-port", "8474"])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.terminate())
    await_api(process)
    for link in links:
        call(
            "/proxies", {"name": link["name"], "listen": link["listen"], "upstream": link["upstream"], "enabled": True}
        )
        for toxic in toxics_of(link):
            call(f"/proxies/{link['name']}/toxics", toxic)
        print(f"{link['name']}: +{link['latency_ms']} ms, {link['kilobytes_per_second'] or 'no limit of'} kB/s")
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
