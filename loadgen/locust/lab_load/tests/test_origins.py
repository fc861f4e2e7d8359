"""Which requests the web UI takes, by the headers that a browser sets."""

import pytest

from lab_load.origins import OriginError, check_request

ALLOWED = frozenset({"locust", "[2001:db8::1]"})
LINK = {"HTTP_SEC_FETCH_MODE": "navigate", "HTTP_SEC_FETCH_DEST": "document"}


def request(host: str = "localhost:8089", method: str = "POST", **headers: str) -> dict[str, str]:
    return {"REQUEST_METHOD": method, "HTTP_HOST": host, **headers}


def refused(environ: dict[str, str]) -> int:
    with pytest.raises(OriginError) as refusal:
        check_request(environ, ALLOWED)
    return refusal.value.status


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost:18089", "127.0.0.1", "127.0.0.1:8089", "127.9.8.7:1", "[::1]", "[::1]:8089"),
        *("locust", "Locust:8089", "[2001:db8::1]:8089"),
    ],
)
def test_its_own_hosts_pass_at_any_port(host: str) -> None:
    check_request(request(host), ALLOWED)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8089", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1:8089"),
        *(
            "[2001:db8::2]",
            "locust.evil.example",
            "localhost,evil.example",
            "evil.example,localhost",
            "localhost\n",
            "",
        ),
    ],
)
def test_other_hosts_are_refused(host: str) -> None:
    assert refused(request(host)) == 421


def test_a_request_without_a_host_is_refused() -> None:
    assert refused({"REQUEST_METHOD": "GET"}) == 421


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8089", "http://localhost:8089"),
        ("127.0.0.1:18089", "http://127.0.0.1:18089"),
        ("Locust", "https://locust"),
    ],
)
def test_its_own_pages_pass(host: str, origin: str) -> None:
    check_request(request(host, HTTP_ORIGIN=origin, HTTP_SEC_FETCH_SITE="same-origin"), ALLOWED)


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "http://localhost", "http://localhost:3000", "http://127.0.0.1:8089"),
        *("http://localhost:8089.evil.example", "file://localhost:8089"),
    ],
)
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    assert refused(request(HTTP_ORIGIN=origin)) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_origin_may_only_be_left_by_a_link(site: str) -> None:
    assert refused(request(method="GET", HTTP_SEC_FETCH_SITE=site, HTTP_SEC_FETCH_MODE="no-cors")) == 403
    assert refused(request(method="GET", HTTP_SEC_FETCH_SITE=site, **{**LINK, "HTTP_SEC_FETCH_DEST": "iframe"})) == 403
    assert refused(request(method="POST", HTTP_SEC_FETCH_SITE=site, **LINK)) == 403
    check_request(request(method="GET", HTTP_SEC_FETCH_SITE=site, **LINK), ALLOWED)


def test_an_address_typed_by_the_user_passes() -> None:
    check_request(request(method="GET", HTTP_SEC_FETCH_SITE="none", **LINK), ALLOWED)
