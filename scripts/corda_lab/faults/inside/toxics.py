"""Adds toxics to the proxies of a link, or removes them. It runs in the container of the links, beside Toxiproxy.

toxics.py add partya-partyb '[{"type": "latency", "stream": "upstream", "attributes": {"latency": 100}}]'
toxics.py remove partya-partyb '[…]'
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

API = "http://127.0.0.1:8474"


def call(method: str, path: str, body: object = None) -> Any:
    """Call Toxiproxy. Raises OSError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data=data, headers={"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def main(verb: str, link: str, toxics: str) -> None:
    """Add or remove the toxics, at each end that connects to the other. What is to be removed need not be there."""
    one, _, other = link.partition("-")
    known = call("GET", "/proxies")
    proxies = [name for name in (f"{one}-{other}", f"{other}-{one}") if name in known]
    if not proxies:
        sys.exit(f"there is no proxy of the link {link}")
    for proxy in proxies:
        for toxic in json.loads(toxics):
            name = f"fault-{toxic['type']}-{toxic['stream']}"
            try:
                call("DELETE", f"/proxies/{proxy}/toxics/{name}")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
            if verb == "add":
                call("POST", f"/proxies/{proxy}/toxics", {"name": name, "toxicity": 1.0, **toxic})


if __name__ == "__main__":
    main(*sys.argv[1:])
