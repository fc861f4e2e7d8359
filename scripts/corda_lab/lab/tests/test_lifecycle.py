"""Background commands: followed to their end, and never left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.host import processes
from corda_lab.lab import cordapps, lifecycle
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE


def python(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_command_that_takes_too_long_is_ended() -> None:
    process = python("import time; time.sleep(600)")
    assert processes.follow(process, lambda: "", seconds_max=0, every_seconds=60) is None
    assert not is_alive(process.pid)


def test_a_command_that_waits_in_vain_is_ended() -> None:
    process = python("import time; time.sleep(600)")
    told: list[str] = []

    def tell() -> str:
        told.append("x")
        return "waiting"

    done = processes.follow(process, tell, seconds_max=60, every_seconds=60, is_in_vain=lambda: len(told) > 1)
    assert done is None
    assert not is_alive(process.pid)


def test_ctrl_c_ends_the_command_and_goes_on_to_the_caller() -> None:
    process = python("import time; time.sleep(600)")

    def interrupt() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.follow(process, interrupt, seconds_max=60, every_seconds=60)
    assert not is_alive(process.pid)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "#43 [bootstrap cordapps 8/8] RUN --mount=type=cache,target=/root/.m2     mvn --quiet",
            "[bootstrap cordapps 8/8] RUN mvn --quiet",
        ),
        ("#56 27.63 Logs can be found", "27.63 Logs can be found"),
    ],
)
def test_a_builder_s_line_is_made_short(line: str, text: str) -> None:
    assert processes.shorten_build_line(line) == text


def test_a_jar_that_is_no_cordapp_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.jar").write_bytes(b"no zip")
    monkeypatch.setattr(cordapps, "extra_jars", lambda: sorted(tmp_path.glob("*.jar")))
    with pytest.raises(LabError, match=r"broken\.jar: is not a jar"):
        lifecycle.up(load_settings(ENV_FILE, {}), None)


@pytest.mark.parametrize(
    ("node", "database", "refused"),
    [("PartyA", "h2", False), ("Notary", "h2", False), ("PartyX", "h2", True), ("PartyA", "postgres", True)],
)
def test_a_node_of_the_lab_on_h2_can_be_recovered(node: str, database: str, refused: bool) -> None:
    settings = load_settings(ENV_FILE, {"DATABASE": database})
    if not refused:
        assert lifecycle.recoverable(settings, node.lower()) == node
        return
    with pytest.raises(LabError) as raised:
        lifecycle.recoverable(settings, node)
    assert raised.value.exit_code == 2
