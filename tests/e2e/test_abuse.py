"""The bridge under abuse: hostile clients get an error, start no flow, and do not keep the bridge from good ones."""

import json
import select
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import httpx
import pytest

from e2e import hostile
from e2e.faultkit import lasting
from e2e.harm import READY_SECONDS_MAX, counted, require_unchanged
from e2e.hostile import ATTACHMENTS, FLOWS, everything, get, is_ready, post, received, statuses
from e2e.labkit import Lab

pytestmark = pytest.mark.lab("standard")

ATTACKERS = 630
"""With so many bodies of 1 MiB whose last byte was held back, the bridge once ended."""
SPARE = 64
"""Connections beyond the limit that the bridge also accepts, to ask for its health."""
OTHERS = 200
"""Files that the tests have open besides."""
MIB = 1024 * 1024
GIB = 1024 * MIB
UPLOAD_SECONDS_MAX = 20.0
"""Within this time, an upload that does not come gives way to the next. Its whole time is half a minute."""
ROUNDS = 2
REQUESTS_SHORT = 300
REQUESTS_LONG = 10_000
UNAVAILABLE = 503
"""The only status from 500 on that is an answer to a bad request: the bridge has no room for it now."""
CHECK = {"flow": "Empty", "args": {}}
ENDED_SECONDS_MAX = 60.0
"""A bridge that is not ready so long after an attack will not be."""
SILENT = "partyc"
ANSWER_SECONDS_MIN = 20.0
"""Less than the time that a node has for an answer."""
CALLS_MAX = 16
"""Calls that the bridge makes to a node at the same time (docs/bridge.md)."""
ZIP = {"content-type": "application/zip"}


@pytest.fixture(scope="module", autouse=True)
def kept(lab: Lab) -> Iterator[str]:
    """A client id of which the node keeps the outcome."""
    client_id = f"kept-by-abuse-{uuid.uuid4()}"
    with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as bridge:
        assert bridge.post(FLOWS, json={**CHECK, "clientId": client_id}).status_code == 200
        yield client_id
        assert bridge.delete(FLOWS, params={"clientIdPrefix": client_id}).json()["removed"] == 1


@pytest.fixture(autouse=True)
def survival(bridge: httpx.Client, kept: str) -> Iterator[None]:
    """After each attack, the same process is ready in time, and has released what it held.

    It has started no flow, and forgotten none.
    """
    before = hostile.started(bridge)
    yield
    hostile.seconds_until(lambda: is_ready(bridge), READY_SECONDS_MAX)
    assert hostile.started(bridge) == before
    assert bridge.post(FLOWS, params={"check": "true"}, json=CHECK).status_code == 200
    assert bridge.get(f"{FLOWS}/{kept}").json()["status"] == "completed"
    hostile.seconds_until(lambda: hostile.held(bridge)["bridge_request_memory_bytes"] < MIB, READY_SECONDS_MAX)


FRAMINGS = ("Content-Length", "chunks")


@pytest.mark.nightly
@pytest.mark.parametrize("framing", FRAMINGS)
def test_bodies_whose_last_byte_is_held_back(lab: Lab, bridge: httpx.Client, framing: str) -> None:
    head = post(MIB)
    if framing == "chunks":
        chunked = f"Transfer-Encoding: chunked\r\n\r\n{MIB:x}\r\n".encode()
        head = head.replace(f"Content-Length: {MIB}\r\n\r\n".encode(), chunked)
    with hostile.attack(lab.bridge_url) as attacker:
        connections = [attacker.open(head + b" " * (MIB - 1)) for _ in range(ATTACKERS)]
        hostile.seconds_until(lambda: is_ready(bridge), READY_SECONDS_MAX)
        # The last were refused while the first were still held. If the end of a chunk is missing, the connection is
        # closed too, and the answer may be lost.
        refusals = ([503],) if framing == "Content-Length" else ([503], [])
        assert statuses(received(connections[-1])) in refusals


@pytest.mark.nightly
def test_connections_that_send_nothing(lab: Lab, bridge: httpx.Client) -> None:
    with hostile.attack(lab.bridge_url) as attacker:
        for _ in range(ATTACKERS):
            attacker.open()
        hostile.seconds_until(lambda: is_ready(bridge), READY_SECONDS_MAX)


@pytest.mark.nightly
def test_more_connections_than_the_bridge_accepts(lab: Lab, bridge: httpx.Client) -> None:
    limit = int(hostile.held(bridge)["bridge_connections_limit"])
    files = limit + SPARE + OTHERS
    assert hostile.may_open(files), f"allow a process {files} open files, for example with `ulimit -Hn {files}`"
    with hostile.attack(lab.bridge_url) as attacker:
        for _ in range(limit):
            # One that has asked for something may stay for minutes.
            attacker.open(get("/health/live"))
        full = [attacker.open(get("/v1/nodes"))]
        while (found := statuses(received(full[-1]))) != [503]:
            assert found == [200]
            assert len(full) < OTHERS // 2, "the limit does not hold"
            full.append(attacker.open(get("/v1/nodes")))
        for _ in range(SPARE):
            attacker.open()
        hostile.seconds_until(lambda: hostile.is_ready_for_others(lab.bridge_url), READY_SECONDS_MAX)
    hostile.seconds_until(lambda: hostile.held(bridge)["bridge_connections"] < limit, READY_SECONDS_MAX)


@pytest.mark.nightly
def test_slow_clients_are_cut_off(lab: Lab) -> None:
    with hostile.attack(lab.bridge_url) as attacker:
        silent, head = attacker.open(), attacker.open(b"GET /v1/nod")
        assert everything(silent) == b""
        assert statuses(everything(head)) == [408]


# It takes the half a minute that a body may take.
@pytest.mark.nightly
def test_a_body_that_does_not_come_is_not_awaited_for_long(lab: Lab) -> None:
    with hostile.attack(lab.bridge_url) as attacker:
        assert statuses(attacker.ask(post(100) + b'{"flow"')) == [408]


@pytest.mark.nightly
def test_an_upload_that_does_not_come_gives_way_to_the_next(lab: Lab, bridge: httpx.Client) -> None:
    with hostile.attack(lab.bridge_url) as attacker:
        slow = attacker.open(hostile.upload(MIB) + b"PK\3\4")
        hostile.seconds_until(lambda: hostile.held(bridge)["bridge_request_memory_bytes"] >= MIB, READY_SECONDS_MAX)
        answer = bridge.post(
            ATTACHMENTS, params={"name": "a.zip"}, content=b"no zip", headers=ZIP, timeout=UPLOAD_SECONDS_MAX
        )
        assert answer.status_code == 400
        assert statuses(everything(slow)) == [408]


HALF_CLOSED = {
    "the whole request": (get("/v1/nodes"), ([200],)),
    "part of a body": (post(100) + b'{"flow"', ([400],)),
    "part of the headers": (b"GET /v1/nodes HTTP/1.1\r\nHost: loc", ([400], [])),
    "nothing": (b"", ([],)),
}


@pytest.mark.parametrize(("data", "allowed"), HALF_CLOSED.values(), ids=HALF_CLOSED.keys())
def test_sockets_that_are_closed_by_half(lab: Lab, data: bytes, allowed: tuple[list[int], ...]) -> None:
    with hostile.attack(lab.bridge_url) as attacker:
        assert statuses(attacker.ask(data, half_close=True)) in allowed


DEEP = 100_000
BAD_BODIES = {
    "deep lists": b'{"flow": "Empty", "args": ' + b"[" * DEEP,
    "deep objects": b'{"a":' * DEEP,
    "many values": b'{"flow": "Empty", "args": [' + b"0," * 200_000 + b"0]}",
    "long number": b'{"flow": ' + b"9" * 500_000 + b"}",
    "large exponent": b'{"flow": "Iou", "args": {"iouValue": 1e1000000000, "otherParty": "PartyB"}}',
    "half a surrogate pair": rb'{"flow": "\ud800"}',
    "half a pair as a name": rb'{"\udfff": 1}',
    "not UTF-8": b'{"flow": "\xff\xfe"}',
    "zeros": b"\x00" * 1000,
    "line breaks": rb'{"flow": "a\r\nSet-Cookie: b=c"}',
    "a class of Java": b'{"flow": "java.lang.Runtime", "args": {}}',
    "a class of Corda that is no flow": b'{"flow": "net.corda.core.contracts.Amount", "args": {}}',
    "a flow that no one may start": b'{"flow": "net.corda.core.flows.FinalityFlow", "args": {}}',
    "an array class": b'{"flow": "[Ljava.lang.String;", "args": {}}',
    "a look-up": b'{"flow": "${jndi:ldap://127.0.0.1/a}", "args": {}}',
    "a key that is too long": b'{"flow": "Iou", "args": {"iouValue": 1, "otherParty": "' + b"2" * 900_000 + b'"}}',
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_hostile_bodies_are_refused_quickly(bridge: httpx.Client, body: bytes) -> None:
    answer = bridge.post(FLOWS, content=body, headers={"content-type": "application/json"}, timeout=5.0)
    assert 400 <= answer.status_code < 500, answer.text
    assert json.loads(answer.content)["status"] == answer.status_code


NO_STATES = ("java.lang.String", "[[[I", "../../etc/passwd", "a\x00b", "\U0001f600", "x" * 3000)


@pytest.mark.parametrize("name", NO_STATES)
def test_classes_that_are_no_states(bridge: httpx.Client, name: str) -> None:
    answer = bridge.get("/v1/nodes/PartyA/vault/count", params={"stateType": name})
    assert 400 <= answer.status_code < 500


def test_uploads_that_are_no_attachments(lab: Lab, bridge: httpx.Client) -> None:
    for content in (b"", b"no zip", b"PK\3\4 and no entries"):
        answer = bridge.post(ATTACHMENTS, params={"name": "a.zip"}, content=content, headers=ZIP)
        assert answer.status_code == 400, answer.text
    with hostile.attack(lab.bridge_url) as attacker:
        assert statuses(received(attacker.open(hostile.upload(GIB)))) == [413]


def test_client_ids_are_forgotten_only_by_their_prefix(bridge: httpx.Client, kept: str) -> None:
    assert bridge.delete(FLOWS).status_code == 400
    for prefix in (
        "",
        " ",
        "%",
        "kept-by-%",
        "kept_by_abuse_",
        "kept.by.abuse.",
        f"{kept}x",
        "a\x00b",
        "' or 1 = 1 --",
        "k" * 3000,
    ):
        answer = bridge.delete(FLOWS, params={"clientIdPrefix": prefix})
        assert answer.status_code == 400 or answer.json()["removed"] == 0, answer.text


# It takes the time that a node has for an answer.
@pytest.mark.nightly
def test_a_node_that_never_answers(lab: Lab, bridge: httpx.Client) -> None:
    asked = get("/v1/nodes/PartyC/vault/count?stateType=org.cordalab.states.IouState")
    with hostile.attack(lab.bridge_url) as attacker, lasting(lab.compose, "pause", SILENT):
        began = time.monotonic()
        # Which of them is one too many is not known: they overtake each other.
        asking = [attacker.open(asked) for _ in range(CALLS_MAX + 1)]
        refused = select.select(asking, (), (), READY_SECONDS_MAX)[0]
        assert [statuses(received(one)) for one in refused] == [[503]]
        # Who asks another node does not wait for this one.
        answer = bridge.post(FLOWS, params={"check": "true"}, json=CHECK, timeout=READY_SECONDS_MAX)
        assert answer.status_code == 200
        assert time.monotonic() - began < ANSWER_SECONDS_MIN
        waiting = [one for one in asking if one not in refused]
        assert Counter(status for one in waiting for status in statuses(received(one))) == {503: CALLS_MAX}
        assert time.monotonic() - began > ANSWER_SECONDS_MIN, "the node was not asked"


# Three rounds of everything take some minutes.
@pytest.mark.nightly
def test_all_abuses_leave_memory_and_ledgers_as_they_were(lab: Lab, bridge: httpx.Client, kept: str) -> None:
    # The first round makes the bridge load what it answers with.
    abuse(lab, bridge, kept)
    before = counted(lab, bridge)
    rounds = [abuse(lab, bridge, kept) for _ in range(ROUNDS)]
    hostile.seconds_until(lambda: hostile.held(bridge)["bridge_request_memory_bytes"] < MIB, READY_SECONDS_MAX)
    late = {name: seconds for one in rounds for name, seconds in one.items() if seconds > READY_SECONDS_MAX}
    assert late == {}, "seconds until the bridge was ready again"
    require_unchanged(before, lab, bridge)


def abuse(lab: Lab, bridge: httpx.Client, kept: str) -> dict[str, float]:
    """Make each of the attacks of this module once, but the generated requests.

    Returns the seconds until the bridge was ready after each.
    """
    attacks: dict[str, Callable[[], None]] = {
        f"bodies whose last byte is held back ({framing})": partial(
            test_bodies_whose_last_byte_is_held_back, lab, bridge, framing
        )
        for framing in FRAMINGS
    }
    attacks |= {
        "connections that send nothing": partial(test_connections_that_send_nothing, lab, bridge),
        "more connections than it accepts": partial(test_more_connections_than_the_bridge_accepts, lab, bridge),
        "slow clients": partial(test_slow_clients_are_cut_off, lab),
        "a body that does not come": partial(test_a_body_that_does_not_come_is_not_awaited_for_long, lab),
        "an upload that does not come": partial(test_an_upload_that_does_not_come_gives_way_to_the_next, lab, bridge),
    }
    attacks |= {
        f"a socket that is closed by half, after {name}": partial(
            test_sockets_that_are_closed_by_half, lab, data, allowed
        )
        for name, (data, allowed) in HALF_CLOSED.items()
    }
    attacks |= {
        f"a body: {name}": partial(test_hostile_bodies_are_refused_quickly, bridge, body)
        for name, body in BAD_BODIES.items()
    }
    attacks |= {
        f"no state: {name[:20]!r}": partial(test_classes_that_are_no_states, bridge, name) for name in NO_STATES
    }
    attacks |= {
        "uploads that are no attachments": partial(test_uploads_that_are_no_attachments, lab, bridge),
        "client ids with wildcards": partial(test_client_ids_are_forgotten_only_by_their_prefix, bridge, kept),
        "a node that never answers": partial(test_a_node_that_never_answers, lab, bridge),
    }
    ready = {}
    for name, attack in attacks.items():
        attack()
        ready[name] = hostile.seconds_until(lambda: is_ready(bridge), ENDED_SECONDS_MAX)
    return ready


def fuzz(lab: Lab, requests: int) -> Counter[int]:
    """Send bad requests until so many were answered with an error. Returns the answers by status."""
    _, seen = hostile.fuzz(lab.bridge_url, lab.settings.bridge_token, requests * 5 // 4)
    assert sum(count for status, count in seen.items() if status >= 400) >= requests, f"only {seen}"
    return seen


def test_generated_bad_requests(lab: Lab) -> None:
    fuzz(lab, REQUESTS_SHORT)


@pytest.mark.nightly
def test_ten_thousand_generated_bad_requests(lab: Lab, bridge: httpx.Client) -> None:
    # The first bad requests make the bridge load what it answers them with.
    fuzz(lab, REQUESTS_SHORT)
    before = counted(lab, bridge)
    seen = fuzz(lab, REQUESTS_LONG)
    hostile.seconds_until(lambda: is_ready(bridge), READY_SECONDS_MAX)
    wrong = {status: count for status, count in seen.items() if status >= 500 and status != UNAVAILABLE}
    assert wrong == {}, "answers by status"
    require_unchanged(before, lab, bridge)
