"""Interrupts that come at a bad moment."""

import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from corda_lab.host import interrupts
from corda_lab.host.interrupts import held_back
from support.commands import PYTHONPATH


def send_twice() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture(autouse=True)
def _no_output_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own output stays: what a closed terminal does to it is seen in processes of their own."""
    monkeypatch.setattr(interrupts, "forget_terminal", lambda: None)


def test_the_step_runs_to_its_end_before_the_interrupt_is_raised() -> None:
    done: list[str] = []

    def step() -> None:
        with held_back():
            send_twice()
            done.append("end")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == ["end"]


def test_the_step_s_own_error_is_not_hidden() -> None:
    def step() -> None:
        with held_back():
            send_twice()
            raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        step()


def test_a_hang_up_waits_for_the_end_of_the_step() -> None:
    done: list[str] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def step() -> None:
        with held_back():
            os.kill(os.getpid(), signal.SIGHUP)
            done.append("end")

    try:
        with pytest.raises(KeyboardInterrupt):
            step()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert done == ["end"]


def test_a_hang_up_that_the_parent_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert set(interrupts.handled()) == {signal.SIGINT, signal.SIGTERM}
        with held_back():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


IN_A_TERMINAL = """
import sys, time
from pathlib import Path
from corda_lab.host import interrupts

interrupts.raise_interrupts()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    # To print this to the closed terminal would raise an error, and the file would not be written.
    print("cleaning up", flush=True)
    print("cleaning up", file=sys.stderr, flush=True)
    Path(sys.argv[1]).write_text("clean")
"""


def test_a_command_whose_terminal_is_closed_cleans_up(tmp_path: Path) -> None:
    file = tmp_path / "file"
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = PYTHONPATH
        # These tests may run under nohup, which is inherited.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", IN_A_TERMINAL, str(file)])
    try:
        assert os.read(terminal, 100).startswith(b"ready")
    finally:
        os.close(terminal)
    os.waitpid(pid, 0)
    assert file.read_text(encoding="utf-8") == "clean"
