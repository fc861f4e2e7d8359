"""What the engine reports of a start, and what is told of it."""

import io
import json
import time

import pytest

from corda_lab.lab.progress import StartProgress


def event(service: str, action: str, *, container: str = "", after: float = 0.0, exit_code: int | None = None) -> str:
    """A line of ``docker events``."""
    attributes = {"com.docker.compose.service": service, "name": f"corda-lab-{service}-1"}
    if exit_code is not None:
        attributes["exitCode"] = str(exit_code)
    actor = {"ID": container or f"id-of-{service}", "Attributes": attributes}
    return json.dumps({"Action": action, "Actor": actor, "timeNano": int((time.time() + after) * 1e9)}) + "\n"


def progress(*lines: str, **ready: str) -> StartProgress:
    return StartProgress(("bootstrap", "partya", "bridge"), io.StringIO("".join(lines)), dict(ready), time.time() - 60)


def test_says_what_is_awaited() -> None:
    assert progress().tell() == "waiting: bootstrap, partya, bridge"
    lines = event("bootstrap", "start"), event("bootstrap", "die", exit_code=0), event("partya", "start")
    assert progress(*lines).tell() == "starting: partya; waiting: bridge"
    ended = event("partya", "health_status: healthy"), event("bridge", "health_status: healthy")
    assert progress(*ended, bootstrap="done").tell() == "all services are ready"


def test_notes_when_each_became_ready(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (
        *(event("bootstrap", "start", after=-58), event("bootstrap", "die", after=-57, exit_code=0)),
        *(event("partya", "start", after=-56), event("partya", "health_status: healthy", after=-10)),
    )
    progress(*lines).tell()
    assert capsys.readouterr().out == "       3.0 s  bootstrap   done\n      50.0 s  partya      healthy\n"


@pytest.mark.parametrize(
    ("service", "code", "codes"),
    [
        ("partya", 1, {"partya": 1}),
        ("partya", 0, {"partya": 0}),
        # The engine starts a bridge again.
        ("bridge", 127, {"bridge": 127}),
        ("bootstrap", 2, {"bootstrap": 2}),
        ("bootstrap", 0, {}),
    ],
)
def test_what_ends_is_not_awaited(service: str, code: int, codes: dict[str, int]) -> None:
    again = event(service, "start") if service == "bridge" else ""
    found = progress(event(service, "start"), event(service, "die", exit_code=code), again)
    assert not found.has_failed
    found.tell()
    assert found.codes == codes
    assert found.has_failed == bool(codes)


@pytest.mark.parametrize("has_started", [True, False])
def test_what_has_started_and_is_unhealthy_is_not_awaited(has_started: bool) -> None:
    found = progress(event("bridge", "start") if has_started else "", event("bridge", "health_status: unhealthy"))
    found.tell()
    assert found.has_failed == has_started


def test_a_container_that_is_replaced_has_not_failed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = event("partya", "die", exit_code=143, container="old"), event("partya", "start", container="new")
    found = progress(*lines, bootstrap="done", partya="healthy", bridge="healthy")
    assert found.tell() == "starting: partya"
    assert capsys.readouterr().out == ""
    assert found.containers == {"partya": "new"}


def test_a_line_that_is_half_written_is_read_when_it_is_whole() -> None:
    line = event("partya", "health_status: healthy")
    stream = io.StringIO()
    found = StartProgress(("partya",), stream)
    for part, told in ((line[:50], "waiting: partya"), (line[50:], "all services are ready")):
        position = stream.tell()
        stream.write(part)
        stream.seek(position)
        assert found.tell() == told
