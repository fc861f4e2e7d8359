"""The logs of the nodes are kept with a load that failed. Docker is a small program here."""

import time
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import node_logs as lab_logs
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import node_logs as results_logs
from corda_lab.runs import node_logs
from support.docker import docker_client, listed

BEGAN, ENDED = 1795534380.0, 1795534440.0
"""15:33:00 and 15:34:00 on 2026-11-24."""


def entry(clock: str, text: str, level: str = "INFO ") -> str:
    return f"[{level}] 2026-11-24T{clock},000Z [main] a.B - {text}\n"


LOG = (
    entry("15:32:00", "before the load")
    + entry("15:33:10", "within rpc-password=pw-1234567 own-password-1")
    + entry("15:33:20", "failed with 17", "ERROR")
    + "java.lang.IllegalStateException: no 17\n\tat a.B.c(B.java:1)\n"
    + entry("15:33:30", "failed with 18", "ERROR")
    + "java.lang.IllegalStateException: no 18\n\tat a.B.c(B.java:1)\n"
    + entry("15:40:00", "after the load", "ERROR")
)


@pytest.fixture
def compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compose:
    """A lab with a notary that has logged nothing in the time of the load, PartyA with ``LOG``, and PartyB without."""
    services = "\n".join(listed(name, "running", container=name) for name in ("notary", "partya", "partyb"))
    script = f"""\
PATH=/usr/bin:/bin
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{services}' ;;
"exec "*) node=$2; shift 4; script=$1; shift 3; exec sh -c "$script" logs "{tmp_path}/$node" "$@" ;;
esac
"""
    (tmp_path / "bin").mkdir()
    docker_client(tmp_path / "bin", monkeypatch, script)
    for node, text in (("notary", entry("15:32:00", "before")), ("partya", LOG)):
        (tmp_path / node / "logs").mkdir(parents=True)
        (tmp_path / node / "logs" / f"node-{node}.log").write_text(text, encoding="utf-8")
    (tmp_path / "partyb").mkdir()
    for node in ("notary", "partya", "partyb"):
        (tmp_path / node / "node.conf").write_text('password="pw-1234567"\n', encoding="utf-8")
    return Compose(load_settings(ENV_FILE, {"PARTIES": "2", "RPC_PASSWORD": "own-password-1"}))


def test_only_the_time_of_the_load_is_kept_and_its_errors_are_counted(tmp_path: Path, compose: Compose) -> None:
    node_logs.keep(compose, tmp_path / "run", "2 of 9 requests failed", since=BEGAN, until=ENDED)
    kept = tmp_path / "run/logs"
    assert {path.name for path in kept.iterdir()} == {"PartyA.log", results_logs.INDEX}
    text = (kept / "PartyA.log").read_text(encoding="utf-8")
    assert "failed with 17" in text
    assert "before the load" not in text
    assert "after the load" not in text
    assert "pw-1234567" not in text
    assert "own-password-1" not in text, "the user has set it"
    index = results_logs.read_index(kept)
    assert index is not None
    (log,) = index.logs
    assert (index.why, log.node, log.entries) == ("2 of 9 requests failed", "PartyA", 3)
    (kind,) = log.errors
    assert (kind.count, kind.level, kind.message) == (2, "ERROR", "failed with …")
    assert kind.exception == "java.lang.IllegalStateException: no …"
    assert (kind.first_at, kind.last_at) == (BEGAN + 20, BEGAN + 30)
    assert set(index.missing) == {"PartyB"}


def test_without_an_entry_of_that_time_there_is_nothing_to_keep(tmp_path: Path, compose: Compose) -> None:
    node_logs.keep(compose, tmp_path / "run", "why", since=0.0, until=1.0)
    index = results_logs.read_index(tmp_path / "run/logs")
    assert index is None or index.logs == []


def test_no_read_goes_on_behind_the_end_of_the_time_for_all_nodes(
    tmp_path: Path, compose: Compose, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[float] = []

    def fetched(path: Path, *_: object, seconds_max: float, **__: object) -> None:
        allowed.append(seconds_max)
        path.write_text(LOG, encoding="utf-8")
        # The first file takes nearly all of the time.
        monkeypatch.setattr("corda_lab.lab.node_logs.time.monotonic", lambda: began_at + node_logs.KEEP_SECONDS_MAX - 7)

    began_at = time.monotonic()
    monkeypatch.setattr("corda_lab.lab.node_logs.time.monotonic", lambda: began_at)
    monkeypatch.setattr(lab_logs, "docker_to_file", fetched)
    node_logs.keep(compose, tmp_path / "run", "why", since=BEGAN, until=ENDED)
    assert allowed == [lab_logs.READ_SECONDS_MAX, 7, 7]
    log = lab_logs.find(compose, "PartyA")
    with pytest.raises(LabError, match="PartyA: no time is left"):
        lab_logs.about(log, deadline=time.monotonic())


def test_nothing_hides_why_the_load_failed(
    tmp_path: Path, compose: Compose, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(lab_logs, "about", broken)
    node_logs.keep(compose, tmp_path / "run", "why", since=BEGAN)
    assert "the nodes' logs were not kept: ZeroDivisionError: a defect" in capsys.readouterr().out


def test_the_most_frequent_error_of_each_node_is_told_without_secrets(compose: Compose) -> None:
    ((node, kind),) = node_logs.errors_since(compose, BEGAN, seconds_max=30)
    assert (node, kind.count) == ("PartyA", 2)
    assert kind.example == "failed with 17 – java.lang.IllegalStateException: no 17"


def test_an_error_with_an_exception_comes_before_more_frequent_ones(compose: Compose, tmp_path: Path) -> None:
    log = tmp_path / "notary" / "logs" / "node-notary.log"
    warnings = "".join(entry(f"15:33:4{second}", "slow", "WARN ") for second in range(3))
    log.write_text(warnings + LOG, encoding="utf-8")
    assert [kind.message for _, kind in node_logs.errors_since(compose, BEGAN, seconds_max=30)] == ["failed with …"] * 2
