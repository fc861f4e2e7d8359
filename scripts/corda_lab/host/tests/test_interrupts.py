"""Interrupts that come at a bad moment."""

import os
import signal

import pytest

from corda_lab.host.interrupts import held_back


def send_twice() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)


def test_the_step_runs_to_its_end_before_the_interrupt_is_raised() -> None:
    done: list[str] = []

    def step() -> None:
        with held_back():
            send_twice()
            done.append("end")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == ["end"]


def test_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with held_back():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_the_step_s_own_error_is_not_hidden() -> None:
    def step() -> None:
        with held_back():
            send_twice()
            raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        step()
