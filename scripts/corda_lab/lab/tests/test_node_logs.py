"""The log of a node is read from its running container, or from its volume. Docker is a small program here.

It runs the scripts on a folder of this machine; tests/e2e runs them in real containers.
"""

import contextlib
import gzip
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import node_logs
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.text.redaction import REDACTED
from support.docker import docker_client, listed

FIRST, SECOND, OLDER = (
    f"[INFO ] 2026-11-{day}T15:33:00,000Z [main] a.B - {text}\n"
    for day, text in (("24", "first"), ("24", "the password is pw-1234567"), ("23", "older"))
)


def lab_with(folder: Path, monkeypatch: pytest.MonkeyPatch, **states: str) -> Compose:
    """A lab whose PartyA has a log in ``folder``/base, and whose containers have these states."""
    services = "\n".join(listed(name, state) for name, state in states.items())
    script = f"""\
PATH=/usr/bin:/bin
echo "$@" >> "${{0%/*}}/calls"
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{services}' ;;
*"-keys:/node:ro --entrypoint=cat "*) cat "${{0%/*}}/../keys/node.conf" ;;
"exec "*|"run "*) while [ "$1" != sh ]; do shift; done; exec "$@" ;;
esac
"""
    (folder / "bin").mkdir()
    docker_client(folder / "bin", monkeypatch, script)
    base = folder / "base"
    (base / "logs/archive").mkdir(parents=True)
    keys = folder / "keys"
    keys.mkdir()
    (keys / "node.conf").write_text('rpcUsers=[{ username=corda, password="pw-1234567" }]\n', encoding="utf-8")
    # Only the node sees where the link points to.
    seen = keys if states.get("partya") == "running" else folder / "not mounted"
    (base / "node.conf").symlink_to(seen / "node.conf")
    (base / "logs/node-partya.log").write_text(FIRST + SECOND, encoding="utf-8")
    monkeypatch.setattr(node_logs, "BASE", str(base))
    monkeypatch.setattr(node_logs, "VOLUME_BASE", str(base))
    return Compose(load_settings(ENV_FILE, {"PARTIES": "2"}))


def archive(folder: Path, name: str, text: str) -> None:
    (folder / "base/logs/archive" / name).write_bytes(gzip.compress(text.encode()))


def read(compose: Compose, since: float | None = None) -> str:
    log = node_logs.find(compose, "partya")
    with closing(node_logs.chunks(log, node_logs.about(log), since, follow=False)) as chunks:
        return b"".join(chunks).decode()


def test_a_running_node_is_asked_in_its_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(lab_with(tmp_path, monkeypatch, partya="running")) == FIRST + SECOND
    assert "exec lab-partya-1 sh -c" in (tmp_path / "bin/calls").read_text(encoding="utf-8")


def test_the_log_of_a_node_that_has_stopped_comes_from_its_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="exited")
    assert read(compose) == FIRST + SECOND
    calls = (tmp_path / "bin/calls").read_text(encoding="utf-8")
    assert f"--volume={compose.project}_partya-persistence:/volume:ro" in calls
    assert {"--network=none", "--read-only", "--memory=64m", "--log-driver=none"} <= {*calls.split()}
    with_keys = [line for line in calls.splitlines() if f"{compose.project}_partya-keys:/node:ro" in line]
    assert len(with_keys) == 1
    assert "persistence" not in with_keys[0]


@pytest.mark.parametrize(("state", "words"), [("exited", "The settings of partya"), ("running", "PartyA: its log")])
def test_nothing_is_shown_of_a_node_whose_passwords_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, words: str
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya=state)
    (tmp_path / "keys/node.conf").unlink()
    with pytest.raises(LabError, match=rf"{words} cannot be read.*node\.conf"):
        read(compose)


def test_older_logs_come_first_in_their_order_and_only_as_far_as_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    archive(tmp_path, "node-partya.2026-11-23-10.log.gz", "ten\n")
    archive(tmp_path, "node-partya.2026-11-23-2.log.gz", OLDER)
    archive(tmp_path, "diagnostic-partya.2026-11-23-1.log.gz", "another\n")
    assert read(compose) == f"{OLDER}ten\n{FIRST}{SECOND}"
    on_the_24th = 1795478400.0
    assert read(compose, on_the_24th) == FIRST + SECOND


@pytest.mark.parametrize("damage", [lambda whole: whole[:-9], lambda whole: whole[:12] + b"\xff" * 20, lambda _: b"no"])
def test_an_older_log_that_is_damaged_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    name = "node-partya.2026-11-23-1.log.gz"
    (tmp_path / "base/logs/archive" / name).write_bytes(damage(gzip.compress(OLDER.encode())))
    log = node_logs.find(compose, "PartyA")
    with pytest.raises(LabError, match="PartyA: an older log cannot be read"):
        read(compose)
    with pytest.raises(LabError, match="PartyA: an older log cannot be read"):
        list(node_logs.copied(log, node_logs.about(log), 0.0, tmp_path))


def test_an_older_log_that_cannot_be_opened_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    (tmp_path / "base/logs/archive/node-partya.2026-11-23-1.log.gz").mkdir()
    with pytest.raises(LabError, match="PartyA: its log cannot be read"):
        read(compose)


@pytest.mark.parametrize("state", ["running", "paused", "exited"])
def test_a_copy_has_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya=state)
    archive(tmp_path, "node-partya.2026-11-23-1.log.gz", "own-secret-1 pw-1234567\n")
    log = node_logs.find(compose, "PartyA")
    about = node_logs.about(log, frozenset({"own-secret-1"}))
    assert about.secrets == {"pw-1234567", "own-secret-1"}
    lines = [line.rstrip("\n") for line in node_logs.copied(log, about, 0.0, tmp_path)]
    assert lines[0] == f"{REDACTED} {REDACTED}"
    assert "pw-1234567" not in "".join(lines)
    assert lines[2].endswith(f"the password is {REDACTED}")


def test_a_log_is_followed_and_nothing_goes_on_in_the_container_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    log = node_logs.find(compose, "PartyA")
    seen = b""
    deadline = time.monotonic() + 30
    with closing(node_logs.chunks(log, node_logs.about(log), None, follow=True)) as chunks:
        for chunk in chunks:
            assert time.monotonic() < deadline
            seen += chunk
            if seen.decode() == FIRST + SECOND and not chunk:
                with (tmp_path / "base/logs/node-partya.log").open("a", encoding="utf-8") as file:
                    file.write(OLDER)
            if seen.decode() == FIRST + SECOND + OLDER:
                assert is_worked_in(tmp_path / "base/logs")
                break
    assert time.monotonic() < deadline
    assert not is_worked_in(tmp_path / "base/logs")


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, words: str | None
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    log = node_logs.find(compose, "PartyA")
    about = node_logs.about(log)
    docker_client(tmp_path / "bin", monkeypatch, f"echo a line; {end}")
    chunks = node_logs.chunks(log, about, None, follow=True)
    with closing(chunks), contextlib.nullcontext() if words is None else pytest.raises(LabError, match=words):
        assert b"".join(chunks) == b"a line\n"


def is_worked_in(folder: Path) -> bool:
    """Whether the working directory of any process is a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        # A process may end meanwhile, or be that of another user.
        with contextlib.suppress(OSError):
            found.append(path.readlink())
    return folder in found


@pytest.mark.parametrize(
    ("name", "words"),
    [("PartyX", "unknown node 'PartyX', did you mean"), ("PartyB", "PartyB has no container")],
)
def test_a_node_without_log_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    with pytest.raises(LabError, match=words):
        node_logs.find(compose, name)


def test_a_node_that_has_not_logged_yet_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compose = lab_with(tmp_path, monkeypatch, partya="running")
    (tmp_path / "base/logs/node-partya.log").unlink()
    with pytest.raises(LabError, match="PartyA: its log cannot be read"):
        read(compose)
