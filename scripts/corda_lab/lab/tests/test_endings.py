"""What has ended in a lab, and that nothing waits for it. Docker is a small program here."""

import math
import time
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import endings
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client, listed

DATABASE = "Could not connect to the database. Please check your JDBC connection URL."
CORDA = f"""\
\x1b[31mCorda\x1b[0m
Logs can be found in : /opt
[ERROR] 10:11:12+0000 [main] internal.NodeStartupLogging - {DATABASE} [Error Code: a See https://x] [errorCode=1]
"""
RUNNING = ("notary", "partya", "partyb", "bridge", "locust", "prometheus")


WITH_CAUSES = """\
Caused by: a.B: wrapped
\tat a.B(C.java:1)
Caused by: org.h2.JdbcException: File corrupted
\t... 12 more
run-corda: the tables could not be created; see the lines above
"""
JAVA = """\
Invalid maximum heap size: -Xmx9z
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
"""
ROOT = "a.B: no"
SHELL = "/network/bridge.env: line 1: Générale=partyc:10003: command not found"


@pytest.mark.parametrize(
    ("log", "code", "told"),
    [
        (CORDA, 1, DATABASE),
        (WITH_CAUSES, 2, "org.h2.JdbcException: File corrupted"),
        (SHELL, 127, SHELL),
        (JAVA, 1, "Invalid maximum heap size: -Xmx9z"),
        (
            "Error occurred during initialization of VM\nToo small maximum heap\n",
            1,
            "Error occurred during initialization of VM: Too small maximum heap",
        ),
        ("java.lang.OutOfMemoryError: Java heap space\nerror: no\n", 3, "java.lang.OutOfMemoryError: Java heap space"),
        ("started\nBRIDGE_PORT must be a whole number\n\n", 2, "BRIDGE_PORT must be a whole number"),
        ("error: of an earlier moment\n", 137, "ended by SIGKILL"),
        ("", 1, ""),
    ],
)
def test_the_line_that_tells_the_cause_is_taken(log: str, code: int, told: str) -> None:
    assert endings.cause(log.splitlines(), code) == told


def test_a_container_that_reached_its_memory_limit_is_told_whatever_its_log_says() -> None:
    found = endings.cause(["error: no"], 137, was_killed_for_memory=True)
    assert found == "its container reached its memory limit"


def lab_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch, root: str = ROOT, **states: tuple[str, int, int]
) -> Compose:
    """A lab of two parties: state, exit status and restarts of each service. All others run.

    ``root`` is the last cause in the log that a node keeps.
    """
    services = dict.fromkeys(RUNNING, ("running", 0, 0)) | {"bootstrap": ("exited", 0, 0)} | states
    listing = "\n".join(
        listed(name, state, exit_code=code, health="health: starting" if state == "running" and restarts else "")
        for name, (state, code, restarts) in services.items()
    )
    inspected = "\n".join(
        f'*RestartCount*" lab-{name}-1") echo {restarts} false 2026-01-02T03:04:05Z 2026-01-02T03:04:09Z ;;'
        for name, (_, _, restarts) in services.items()
    )
    script = f"""\
echo "$@" >> "${{0%/*}}/calls"
case "$*" in
"ps "*{{{{.Status}}}}*) echo '{listing}' ;;
"logs "*) echo 'it cannot be: password=verysecret' ;;
*"Caused by"*) echo 'Caused by: {root}' ;;
{inspected}
esac
exit 0"""
    docker_client(folder, monkeypatch, script)
    return Compose(load_settings(ENV_FILE, {"PARTIES": "2"}))


def test_what_has_ended_is_named_with_its_status_and_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"partya": ("exited", 1, 0), "bridge": ("exited", 127, 5), "grafana": ("exited", 1, 0)}
    found = endings.endings(lab_with(tmp_path, monkeypatch, ROOT, **states))
    assert [(one.service, one.node, one.exit_code, one.is_repeated) for one in found] == [
        ("partya", "PartyA", 1, False),
        ("bridge", "", 127, False),
    ]
    said = "it cannot be: password=<redacted>"
    assert [one.cause for one in found] == [f"{said}: {ROOT}", said]
    assert found[0].words == f"PartyA ended with exit status 1 ({said}: {ROOT})"
    assert "scripts/lab logs PartyA --errors" in found[0].problem.remedy
    # Its log also has its earlier starts.
    assert "--since 2026-01-02T03:04:05Z lab-partya-1" in (tmp_path / "calls").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("error", "is_damaged"),
    [
        ("File corrupted in chunk 4712, expected page length 4..3072, got 0 [1.4.199/6]", True),
        ("Reading from nio:/a.mv.db failed; file length 11 read length 5 at 12 [1.4.199/1]", True),
        # A full disk, and a locked file.
        ("Writing to nio:/a.mv.db failed [1.4.199/2]", False),
        ("Writing to nio:/a.mv.db failed [1.4.199/7]", False),
    ],
)
def test_a_damaged_ledger_can_be_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, *, is_damaged: bool
) -> None:
    root = f"IllegalStateException: {error}"
    (ending,) = endings.endings(lab_with(tmp_path, monkeypatch, root=root, partyb=("exited", 1, 0)))
    assert ("lab up --recover PartyB" in ending.problem.remedy) is is_damaged


@pytest.mark.parametrize("code", [0, 143])
def test_what_was_stopped_has_nothing_to_be_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    (found,) = endings.endings(lab_with(tmp_path, monkeypatch, partyb=("exited", code, 0)))
    assert found.cause == ("" if code == 0 else "ended by SIGTERM")
    assert "scripts/lab up" in found.problem.remedy
    assert "logs" not in found.problem.remedy


@pytest.mark.parametrize(("state", "code", "restarts"), [("restarting", 127, 2), ("running", 0, 3)])
def test_what_ends_again_and_again_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, code: int, restarts: int
) -> None:
    # Its last start is of another day.
    monkeypatch.setattr(endings, "STAYED_SECONDS", math.inf)
    lab = lab_with(tmp_path, monkeypatch, bridge=(state, code, restarts))
    (found,) = endings.endings(lab, lab.services())
    assert (found.service, found.exit_code, found.is_repeated) == ("bridge", code, True)


def test_what_has_run_for_long_does_not_end_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_with(tmp_path, monkeypatch, bridge=("running", 0, 3))
    assert endings.endings(lab, lab.services()) == []


@pytest.mark.parametrize("restarts", [0, 1])
def test_what_the_engine_has_started_again_may_still_become_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: int
) -> None:
    lab = lab_with(tmp_path, monkeypatch, bridge=("restarting", 3, restarts))
    assert endings.endings(lab, lab.services()) == []
    (found,) = endings.endings(lab, lab.services(), {"bridge": 3})
    assert (found.exit_code, found.is_repeated) == (3, True)


def test_nothing_is_awaited_when_a_service_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_with(tmp_path, monkeypatch, partyb=("exited", 134, 0))
    began = time.monotonic()
    with pytest.raises(LabError, match="PartyB ended with exit status 134") as raised:
        endings.come_true(lab, lambda: False, seconds_max=60)
    assert raised.value.exit_code == 1
    assert time.monotonic() - began < 10


def test_what_is_true_or_not_in_time_is_told_while_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "POLL_SECONDS", 0.01)
    lab = lab_with(tmp_path, monkeypatch)
    answers = iter([False, False, True])
    assert endings.come_true(lab, lambda: next(answers), seconds_max=60)
    assert not endings.come_true(lab, lambda: False, seconds_max=0.1)
