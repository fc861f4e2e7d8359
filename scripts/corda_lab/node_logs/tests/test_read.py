"""The log of a node is read from its running container, or from its volume. Docker is a small program here.

It runs the script on folders of this machine; tests/e2e runs it in real containers.
"""

import contextlib
import gzip
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import model, read
from corda_lab.paths import ENV_FILE
from corda_lab.text.redaction import REDACTED
from support.docker import docker_client, listed

BEGAN, ENDED = 1795534380.0, 1795534440.0
"""15:33:00 and 15:34:00 on 2026-11-24."""
NODES = ("notary", "partya", "partyb")


def entry(clock: str, text: str, level: str = "INFO ") -> str:
    return f"[{level}] 2026-11-24T{clock},000Z [main] a.B - {text}\n"


FIRST, SECOND = entry("15:33:00", "first"), entry("15:33:01", "the password is pw-1234567")
LOAD = (
    entry("15:32:00", "before the load")
    + entry("15:33:10", "within rpc-password=pw-1234567 own-password-1")
    + entry("15:33:20", "failed with 17", "ERROR")
    + "java.lang.IllegalStateException: no 17\n\tat a.B.c(B.java:1)\n"
    + entry("15:33:30", "failed with 18", "ERROR")
    + "java.lang.IllegalStateException: no 18\n\tat a.B.c(B.java:1)\n"
    + entry("15:40:00", "after the load", "ERROR")
)

Lab = Callable[..., Compose]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Makes a lab whose PartyA has a log of two entries in a container of a state; others with logs run."""

    def make(state: str = "running", **logs: str) -> Compose:
        states = {"notary": "running", "partya": state, "partyb": "running"}
        services = "\n".join(listed(node, states[node], container=node) for node in ("partya", *logs))
        monkeypatch.setattr(read, "VOLUME_BASE", f"{tmp_path}/partya")
        script = f"""\
PATH=/usr/bin:/bin
echo "$@" >> "${{0%/*}}/calls"
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{services}' ;;
*"-keys:/node:ro --entrypoint=cat "*) cat "{tmp_path}/keys/node.conf" ;;
"exec "*)
  while [ "$1" = exec ] || [ "$1" = --interactive ]; do shift; done
  node=$1; script=$4; shift 6; exec sh -c "$script" logs "{tmp_path}/$node" "$@" ;;
"run "*) while [ "$1" != sh ]; do shift; done; exec "$@" ;;
esac
"""
        (tmp_path / "bin").mkdir()
        docker_client(tmp_path / "bin", monkeypatch, script)
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys/node.conf").write_text('rpcUsers=[{ password="pw-1234567" }]\n', encoding="utf-8")
        for node in NODES:
            (tmp_path / node / "logs/archive").mkdir(parents=True)
            # Only a node that runs sees where the link points to.
            seen = "keys" if states[node] == "running" else "not mounted"
            (tmp_path / node / "node.conf").symlink_to(tmp_path / seen / "node.conf")
            if text := {"partya": FIRST + SECOND, **logs}.get(node):
                (tmp_path / node / "logs" / f"node-{node}.log").write_text(text, encoding="utf-8")
        return Compose(load_settings(ENV_FILE, {"PARTIES": "2", "RPC_PASSWORD": "own-password-1"}))

    return make


def archive(folder: Path, name: str, text: str) -> None:
    (folder / "partya/logs/archive" / name).write_bytes(gzip.compress(text.encode()))


def text_of(compose: Compose, since: float | None = None) -> str:
    return "".join(f"{line}\n" for line in read.lines(read.find(compose, "partya"), since) if line is not None)


@pytest.mark.parametrize("state", ["running", "paused", "exited"])
def test_a_log_is_read_in_the_nodes_container_or_from_its_volume_without_secrets(
    tmp_path: Path, lab: Lab, state: str
) -> None:
    compose = lab(state)
    archive(tmp_path, "node-partya.2026-11-23-1.log.gz", "own-password-1 pw-1234567\n")
    assert text_of(compose) == f"{REDACTED} {REDACTED}\n{FIRST}{SECOND.replace('pw-1234567', REDACTED)}"
    calls = (tmp_path / "bin/calls").read_text(encoding="utf-8")
    if state == "running":
        assert "exec partya sh -c" in calls
        return
    assert f"--volume={compose.project}_partya-persistence:/volume:ro" in calls
    assert {"--network=none", "--read-only", "--memory=64m", "--log-driver=none"} <= {*calls.split()}
    (with_keys,) = [line for line in calls.splitlines() if f"{compose.project}_partya-keys:/node:ro" in line]
    assert "persistence" not in with_keys


@pytest.mark.parametrize(("state", "words"), [("exited", "The settings of partya"), ("running", "PartyA: its log")])
def test_nothing_is_shown_of_a_node_whose_passwords_are_not_known(
    tmp_path: Path, lab: Lab, state: str, words: str
) -> None:
    compose = lab(state)
    (tmp_path / "keys/node.conf").unlink()
    with pytest.raises(LabError, match=rf"{words} cannot be read.*node\.conf"):
        text_of(compose)


def test_older_logs_come_first_in_their_order_and_only_as_far_as_they_are_wanted(tmp_path: Path, lab: Lab) -> None:
    compose = lab(partya=FIRST)
    archive(tmp_path, "node-partya.2026-11-23-10.log.gz", "ten\n")
    archive(tmp_path, "node-partya.2026-11-23-2.log.gz", "two\n")
    archive(tmp_path, "diagnostic-partya.2026-11-23-1.log.gz", "another\n")
    assert text_of(compose) == f"two\nten\n{FIRST}"
    assert text_of(compose, BEGAN) == FIRST


@pytest.mark.parametrize("damage", [lambda whole: whole[:-9], lambda whole: whole[:12] + b"\xff" * 20, lambda _: b"no"])
def test_an_older_log_that_is_damaged_is_one_clear_error(
    tmp_path: Path, lab: Lab, damage: Callable[[bytes], bytes]
) -> None:
    compose = lab()
    name = "node-partya.2026-11-23-1.log.gz"
    (tmp_path / "partya/logs/archive" / name).write_bytes(damage(gzip.compress(FIRST.encode())))
    with pytest.raises(LabError, match=f"PartyA: its log cannot be read .*{name}"):
        text_of(compose)


def test_an_older_log_that_cannot_be_opened_is_not_left_out(tmp_path: Path, lab: Lab) -> None:
    compose = lab()
    (tmp_path / "partya/logs/archive/node-partya.2026-11-23-1.log.gz").mkdir()
    with pytest.raises(LabError, match="PartyA: its log cannot be read"):
        text_of(compose)


def test_a_log_is_followed_and_nothing_goes_on_in_the_container_afterwards(tmp_path: Path, lab: Lab) -> None:
    log, deadline = read.find(lab(partya=FIRST), "PartyA"), time.monotonic() + 30
    seen: list[str] = []
    with closing(read.lines(log, follow=True)) as lines:
        for line in lines:
            assert time.monotonic() < deadline
            if line is not None:
                seen.append(f"{line}\n")
            elif seen == [FIRST]:
                with (tmp_path / "partya/logs/node-partya.log").open("a", encoding="utf-8") as file:
                    file.write(LOAD.splitlines(keepends=True)[0])
            if len(seen) == 2:
                assert is_worked_in(tmp_path / "partya")
                break
    assert not is_worked_in(tmp_path / "partya")


def is_worked_in(folder: Path) -> bool:
    """Whether the working directory of any process is a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        # A process may end meanwhile, or be that of another user.
        with contextlib.suppress(OSError):
            found.append(path.readlink())
    return folder in found


def test_lines_are_whole_however_their_bytes_come(tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    log = read.find(lab(), "PartyA")
    monkeypatch.setattr(read, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(read, "CHUNK_BYTES", 1)
    script = r"PATH=/usr/bin:/bin; printf 'ä\r\nt'; sleep 0.5; printf 'wo\n'; sleep 0.5; printf torn"
    docker_client(tmp_path / "bin", monkeypatch, script)
    lines = list(read.lines(log))
    # Before the first line, the command may need a moment to start.
    while lines[0] is None:
        lines.pop(0)
    assert (lines[:2], lines[-1]) == (["ä", "two"], "torn"), "nothing is said while a line is torn"
    assert set(lines[2:-1]) == {None}, "nothing has come for a moment"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("exit 137", None),
        ("exit 0", None),
        ("echo 'Cannot connect to the Docker daemon' >&2; exit 1", r"cannot be read \(Cannot connect to the Docker"),
        ("exit 126", "cannot be read"),
    ],
)
def test_a_log_whose_command_failed_has_not_ended(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch, end: str, words: str | None
) -> None:
    log = read.find(lab(), "PartyA")
    docker_client(tmp_path / "bin", monkeypatch, f"echo a line; {end}")
    with contextlib.nullcontext() if words is None else pytest.raises(LabError, match=words):
        assert [line for line in read.lines(log, follow=True) if line] == ["a line"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("PartyX", "unknown node 'PartyX', did you mean"), ("PartyB", "PartyB has no container")],
)
def test_a_node_without_log_is_one_clear_error(lab: Lab, name: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        read.find(lab(), name)


def test_only_the_time_of_the_load_is_kept_and_its_errors_are_counted(tmp_path: Path, lab: Lab) -> None:
    compose = lab(notary=entry("15:32:00", "before"), partya=LOAD, partyb="")
    read.keep(compose, tmp_path / "run", "2 of 9 requests failed", since=BEGAN, until=ENDED)
    kept = tmp_path / "run/logs"
    assert {path.name for path in kept.iterdir()} == {"PartyA.log", model.INDEX}
    text = (kept / "PartyA.log").read_text(encoding="utf-8")
    assert "failed with 17" in text
    for absent in ("before the load", "after the load", "pw-1234567", "own-password-1"):
        assert absent not in text
    index = model.read_index(kept)
    assert index is not None
    (log,) = index.logs
    assert (index.why, log.node, log.entries) == ("2 of 9 requests failed", "PartyA", 3)
    (kind,) = log.errors
    assert (kind.count, kind.level, kind.message) == (2, "ERROR", "failed with …")
    assert kind.exception == "java.lang.IllegalStateException: no …"
    assert (kind.first_at, kind.last_at) == (BEGAN + 20, BEGAN + 30)
    assert set(index.missing) == {"PartyB"}, "it has not logged yet"


def test_without_an_entry_of_that_time_there_is_nothing_to_keep(tmp_path: Path, lab: Lab) -> None:
    read.keep(lab(), tmp_path / "run", "why", since=0.0, until=1.0)
    index = model.read_index(tmp_path / "run/logs")
    assert index is None or index.logs == []


def test_no_read_goes_on_behind_the_end_of_the_time_for_all_nodes(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = lab(partyb=FIRST)
    log, services = read.find(compose, "PartyA"), compose.services()
    docker_client(tmp_path / "bin", monkeypatch, "PATH=/usr/bin:/bin; sleep 60")
    monkeypatch.setattr(compose, "services", lambda: services)
    began = time.monotonic()
    with pytest.raises(LabError, match="PartyA: no time is left"):
        list(read.lines(log, deadline=began + 0.5))
    assert read.errors_since(compose, BEGAN, seconds_max=0.5) == []
    assert time.monotonic() - began < 20, "reading was not ended"


def test_nothing_hides_why_the_load_failed(
    tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(read, "find", broken)
    read.keep(lab(), tmp_path / "run", "why", since=BEGAN)
    assert "the nodes' logs were not kept: ZeroDivisionError: a defect" in capsys.readouterr().out


def test_the_most_frequent_error_of_each_node_is_told_and_exceptions_come_first(lab: Lab) -> None:
    slow = "".join(entry(f"15:33:4{second}", "slow", "WARN ") for second in range(3))
    kinds = read.errors_since(lab(notary=slow, partya=slow + LOAD), BEGAN, seconds_max=30)
    assert [(node, kind.count, kind.example) for node, kind in kinds] == [
        ("Notary", 3, "slow"),
        ("PartyA", 2, "failed with 17 – java.lang.IllegalStateException: no 17"),
    ]
