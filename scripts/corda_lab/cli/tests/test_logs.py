"""``lab logs``: which entries of a node's log are printed, as its bytes come."""

import time
from pathlib import Path

import pytest

from corda_lab.cli import logs
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, node_logs, project, shape
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results.node_logs import LogEntry
from corda_lab.results.node_logs import entries as node_entries
from corda_lab.text.redaction import REDACTED
from support.docker import docker_client, listed

FLOW = "c5084132-4f88-49e4-a4ce-c53242e731f0"
LOG = (
    "[INFO ] 2026-11-24T15:33:00,000Z [main] a.B - started\n"
    f"[INFO ] 2026-11-24T15:33:01,000Z [Node thread-1] a.B - refused {{flow-id={FLOW}}}\n"
    "java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n"
    "[WARN ] 2026-11-24T15:33:02,000Z [main] a.B - ä password=hunter22\n"
).encode()


def entries(*chunks: bytes, secrets: frozenset[str] = frozenset()) -> list[LogEntry]:
    return list(node_entries(logs._lines(chunks, secrets)))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_entries_are_whole_however_their_bytes_come(size: int) -> None:
    found = entries(*(LOG[at : at + size] for at in range(0, len(LOG), size)))
    assert [(entry.level, len(entry.lines)) for entry in found] == [("INFO", 1), ("INFO", 3), ("WARN", 1)]
    assert found[2].message == f"ä password={REDACTED}"


def test_the_last_entry_is_shown_when_nothing_comes_for_a_moment() -> None:
    chunks = iter([LOG, b"", b"[INFO ] 2026-11-24T15:33:03,000Z [main] a.B - next", b"", b"\n"])
    found = node_entries(logs._lines(chunks, frozenset()))
    assert [next(found).level for _ in range(3)] == ["INFO", "INFO", "WARN"]
    assert next(chunks, None) is not None, "it was shown before the next entry came"
    assert entries(b"[INFO ] 2026-11-24T15:33:03,000Z [main] a.B - torn")[0].message == "torn"


def test_options_choose_entries() -> None:
    first, refused, warning = entries(LOG)

    def wanted(**options: object) -> list[bool]:
        given = {"identity": None, "since": None, "errors": False, **options}
        return [logs._is_wanted(entry, **given) for entry in (first, refused, warning)]  # type: ignore[arg-type]

    assert wanted() == [True, True, True]
    assert wanted(errors=True) == [False, True, True]
    assert wanted(identity=FLOW[:8]) == [False, True, False]
    assert wanted(since=warning.at) == [False, False, True]


def test_a_time_is_a_duration_before_now_or_a_moment() -> None:
    assert logs._since(None) is None
    assert logs._since("10m") == pytest.approx(time.time() - 600, abs=30)
    assert logs._since("2026-11-24T15:33:00Z") == logs._since("2026-11-24T15:33:00") == 1795534380.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: logs._since("soon"), "--since: 'soon' is not a duration"),
        (lambda: logs._since("2026-13-01"), "--since: '2026-13-01' is not a time"),
        (lambda: logs._checked_id("abc"), "--flow: 'abc' is not an id"),
        (lambda: logs._checked_id("a b c d e f"), "--flow: 'a b c d e f' is not an id"),
    ],
)
def test_bad_input_is_one_clear_error(given: object, words: str) -> None:
    assert callable(given)
    with pytest.raises(LabError, match=words):
        given()


def test_a_secret_that_the_user_has_set_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "node.conf").touch()
    (tmp_path / "logs" / "node-partya.log").write_bytes(LOG + b"the database says own-password-1\n")
    service = listed("partya", "running", container="partya")
    script = f"""\
PATH=/usr/bin:/bin
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{service}' ;;
"exec "*) shift 2; exec "$@" ;;
esac
"""
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, script)
    settings = load_settings(ENV_FILE, {"POSTGRES_PASSWORD": "own-password-1"})
    monkeypatch.setattr(node_logs, "BASE", str(tmp_path))
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr(lifecycle, "require_engine", lambda: None)
    monkeypatch.setattr(shape, "of_running", lambda _: settings)

    logs.logs("PartyA")

    assert f"the database says {REDACTED}" in capsys.readouterr().out
