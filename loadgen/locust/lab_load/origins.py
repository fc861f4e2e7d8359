"""Rejects requests to Locust's web UI that come from web pages of other origins, because the web UI has no login.

A browser lets any page send requests to this machine, but it sets three headers itself. ``Host`` is the host name that
the page used; it reveals a foreign name that resolves to this machine (DNS rebinding). ``Origin`` is the origin of the
page. ``Sec-Fetch-Site`` is the relation between that origin and the web UI. Clients other than browsers do not send the
last two. The bridge has the same rules (its ``OriginGuard``).
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|\[::1\]")
HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
"""A host name, an IPv4 address, or an IPv6 address in brackets; in lower case, without a port."""

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class OriginError(Exception):
    """A rejected request, as a problem document (RFC 9457) with the bridge's problem types."""

    def __init__(self, slug: str, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.problem = {
            "type": f"urn:corda-lab:problem:{slug}",
            "title": title,
            "status": status,
            "detail": detail,
        }


class OriginGuard:
    """A WSGI application that wraps another one, and passes on only requests that do not come from foreign pages.

    It also removes the headers with which Locust lets pages of any origin read its answers. And it forbids pages to
    show the web UI in a frame, where a user could be tricked into clicking its buttons.
    """

    def __init__(self, application: Application, allowed_hosts: Collection[str]) -> None:
        self._application = application
        self._allowed_hosts = allowed_hosts

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            check_request(environ, self._allowed_hosts)
        except OriginError as error:
            start_response(f"{error.status} {error.title}", [("Content-Type", "application/problem+json")])
            return [json.dumps(error.problem).encode()]

        def start_own_response(status: str, headers: Iterable[tuple[str, str]], *rest: Any) -> Any:
            own = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
            return start_response(status, [*own, ("Content-Security-Policy", "frame-ancestors 'self'")], *rest)

        return self._application(environ, start_own_response)


def check_request(environ: Mapping[str, Any], allowed_hosts: Collection[str]) -> None:
    """Check that a request is for this server, and not from a foreign page. Raises ``OriginError``.

    ``environ`` is the WSGI environment.
    """
    authority = str(environ.get("HTTP_HOST", "")).lower()
    _check_host(authority, allowed_hosts)
    origin = environ.get("HTTP_ORIGIN")
    # The port is also compared, because another server on this machine is another origin.
    if origin is not None and str(origin).lower() not in (f"http://{authority}", f"https://{authority}"):
        raise _foreign_origin(f"Pages of the origin {origin} may not use Locust at {authority}.")
    site = environ.get("HTTP_SEC_FETCH_SITE", "none")
    if site not in ("same-origin", "none") and not _follows_link(environ):
        raise _foreign_origin(f"Pages of other origins may not use Locust (Sec-Fetch-Site: {site}).")


def _check_host(authority: str, allowed_hosts: Collection[str]) -> None:
    host = re.sub(r":[0-9]*$", "", authority)
    if not LOOPBACK.fullmatch(host) and host not in allowed_hosts:
        detail = f"The host {host!r} is not allowed. Use localhost, or add the host to ALLOWED_HOSTS in .env."
        raise OriginError("unknown-host", 421, "The request is addressed to another host", detail)


def _foreign_origin(detail: str) -> OriginError:
    return OriginError("foreign-origin", 403, "Requests from other origins are not allowed", detail)


def _follows_link(environ: Mapping[str, Any]) -> bool:
    """Return whether a user follows a link. It is allowed: it changes nothing, and the page cannot read the answer."""
    return (
        environ.get("REQUEST_METHOD") in ("GET", "HEAD")
        and environ.get("HTTP_SEC_FETCH_MODE") == "navigate"
        and environ.get("HTTP_SEC_FETCH_DEST") == "document"
    )
