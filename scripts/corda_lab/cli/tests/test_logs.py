"""``lab logs``: which entries of a node's log are printed."""

import time
from pathlib import Path

import pytest

from corda_lab.cli import logs
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle, project, shape
from corda_lab.lab.settings import load_settings
from corda_lab.node_logs import read
from corda_lab.node_logs.model import entries
from corda_lab.paths import ENV_FILE
from corda_lab.text.redaction import REDACTED
from support.docker import docker_client, listed

FLOW = "c5084132-4f88-49e4-a4ce-c53242e731f0"
LOG = (
    "[INFO ] 2026-11-24T15:33:00,000Z [main] a.B - started\n"
    f"[INFO ] 2026-11-24T15:33:01,000Z [Node thread-1] a.B - refused {{flow-id={FLOW}}}\n"
    "java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n"
    "[WARN ] 2026-11-24T15:33:02,000Z [main] a.B - ä password=hunter22\n"
)


def test_options_choose_entries() -> None:
    first, refused, warning = entries(LOG.splitlines())

    def wanted(**options: object) -> list[bool]:
        given = {"identity": None, "since": None, "errors": False, **options}
        return [logs._is_shown(entry, **given) for entry in (first, refused, warning)]  # type: ignore[arg-type]

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
    (tmp_path / "logs" / "node-partya.log").write_text(f"{LOG}the database says own-password-1\n", encoding="utf-8")
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
    monkeypatch.setattr(read, "BASE", str(tmp_path))
    monkeypatch.setattr(project, "settle", lambda: None)
    monkeypatch.setattr(lifecycle, "require_engine", lambda: None)
    monkeypatch.setattr(shape, "of_running", lambda _: settings)

    logs.logs("PartyA")

    assert f"the database says {REDACTED}" in capsys.readouterr().out
