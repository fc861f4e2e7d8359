"""What web pages of other origins can do to a real Locust: nothing."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from testkit import Locust, StubBridge, wait_until

FORM = {"user_count": 1, "spawn_rate": 10, "workload": "iou", "node": "", "counterparty": "", "pacing": 0.1}
CHANGING = ("/swarm", "/stop", "/stats/reset", "/user")
FOREIGN = [
    ({"Origin": "http://evil.example"}, 403, "foreign-origin"),
    ({"Origin": "null"}, 403, "foreign-origin"),
    ({"Origin": "http://localhost:3000"}, 403, "foreign-origin"),
    ({"Sec-Fetch-Site": "cross-site"}, 403, "foreign-origin"),
    ({"Host": "evil.example"}, 421, "unknown-host"),
]


class Answer:
    """Status, headers and text of an answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()


def ask(locust: Locust, method: str, path: str, form: object = None, **headers: str) -> Answer:
    """Send a request as a browser or curl would, with the headers of either."""
    connection = http.client.HTTPConnection("127.0.0.1", locust.web_port, timeout=30)
    try:
        body = urlencode(form) if isinstance(form, dict) else None  # type: ignore[arg-type]
        content = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        connection.request(method, path, body, {**content, **headers})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def state(locust: Locust) -> str:
    return str(json.loads(locust.get("/stats/requests"))["state"])


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Locust, StubBridge]]:
    """A web UI of which nobody starts a run."""
    bridge = StubBridge()
    process = Locust(tmp_path_factory.mktemp("idle"), bridge.url)
    process.environment["LAB_ALLOWED_HOSTS"] = "lab.example"
    process.start_web()
    yield process, bridge
    process.close()
    bridge.close()


@pytest.mark.parametrize(("headers", "status", "slug"), FOREIGN, ids=str)
def test_a_foreign_page_starts_and_reads_nothing(
    idle: tuple[Locust, StubBridge], headers: dict[str, str], status: int, slug: str
) -> None:
    locust, bridge = idle
    for path in CHANGING:
        answer = ask(locust, "POST", path, FORM, **headers)
        assert (path, answer.status) == (path, status)
        assert json.loads(answer.text)["type"] == f"urn:corda-lab:problem:{slug}"
        assert answer.headers["content-type"] == "application/problem+json"
    for method, path in (("GET", "/"), ("GET", "/stats/requests"), ("GET", "/nothing"), ("OPTIONS", "/swarm")):
        answer = ask(locust, method, path, **headers)
        assert (path, answer.status) == (path, status)
        assert slug in answer.text
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert state(locust) == "ready"
    assert bridge.starts == []


@pytest.mark.parametrize("path", CHANGING)
def test_nothing_is_changed_by_a_get(idle: tuple[Locust, StubBridge], path: str) -> None:
    locust, _ = idle
    assert ask(locust, "GET", f"{path}?{urlencode(FORM)}").status == 405


def test_its_own_page_reads_without_being_opened_to_others(idle: tuple[Locust, StubBridge]) -> None:
    locust, _ = idle
    own = f"127.0.0.1:{locust.web_port}"
    answer = ask(locust, "GET", "/stats/requests", Origin=f"http://{own}", **{"Sec-Fetch-Site": "same-origin"})
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"


def test_a_host_that_a_setting_allows_is_answered(idle: tuple[Locust, StubBridge]) -> None:
    locust, _ = idle
    assert ask(locust, "GET", "/", Host="lab.example:8443", Origin="https://lab.example:8443").status == 200


def test_only_its_own_page_and_programs_start_and_stop_a_run(locust: Locust, bridge: StubBridge) -> None:
    locust.start_web()
    own = {"Origin": f"http://127.0.0.1:{locust.web_port}", "Sec-Fetch-Site": "same-origin"}

    assert json.loads(ask(locust, "POST", "/swarm", FORM, **own).text)["success"]
    wait_until(lambda: bridge.starts, "the run has begun")
    assert ask(locust, "POST", "/stop", {}, Origin="http://evil.example").status == 403
    assert ask(locust, "GET", "/stop").status == 405
    seen = len(bridge.starts)
    wait_until(lambda: len(bridge.starts) > seen + 2, "the run goes on")
    assert state(locust) == "running"
    locust.post("/stop")
    wait_until(lambda: state(locust) == "stopped", "a program without an origin has stopped it")


def test_the_load_goes_to_no_other_server_whatever_the_form_says(
    locust: Locust, bridge: StubBridge, tmp_path: Path
) -> None:
    other = StubBridge()
    try:
        locust.start_web("--class-picker")
        refused = locust.post("/swarm", host=other.url, **FORM)
        user = json.dumps({"user_class_name": "FlowUser", "host": other.url})
        connection = http.client.HTTPConnection("127.0.0.1", locust.web_port, timeout=30)
        connection.request("POST", "/user", user, {"Content-Type": "application/json"})
        assert connection.getresponse().status == 201, "Locust has taken the other server for its user class"
        connection.close()

        assert locust.post("/swarm", host=f"{bridge.url}/", **FORM)["success"]
        wait_until(lambda: len(bridge.starts) > 2, "requests arrive at the bridge")
        locust.post("/stop")

        remedy = "to change it, set the environment variable BRIDGE_URL"
        assert refused["message"] == f"host: must be {bridge.url}; {remedy}"
        assert other.starts == []
    finally:
        other.close()
