"""Real processes that are guarded: they end as usual, fail, or are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corda_lab.bench.overhead.guard import guarded
from corda_lab.paths import ROOT

SECONDS_MAX = 20.0
GUARDED = """
import signal, sys, time
# These tests may run under nohup, which is inherited.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from corda_lab.bench.overhead.guard import guarded
with guarded([["touch", sys.argv[1]]]):
    print("guarded", flush=True)
    time.sleep(600)
"""


def test_the_commands_run_after_the_block_and_not_before(tmp_path: Path) -> None:
    first, second = tmp_path / "first file", tmp_path / "second"
    with guarded([["touch", str(first)], ["false"], ["touch", str(second)]]):
        assert not first.exists()
    assert first.exists()
    assert second.exists(), "a command that fails must not keep the next one from running"


def test_the_commands_run_if_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="broken"), guarded([["touch", str(tmp_path / "file")]]):
        raise RuntimeError("broken")
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_commands_run_if_the_process_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "file"
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/scripts:{ROOT}/loadgen/locust"},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"guarded\n"
    # The whole group, as a terminal does it for Ctrl-C.
    os.killpg(process.pid, number)
    process.communicate(timeout=SECONDS_MAX)
    deadline = time.monotonic() + SECONDS_MAX
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert file.exists()
