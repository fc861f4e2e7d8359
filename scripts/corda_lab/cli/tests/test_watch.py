"""``lab status --watch`` for a person: one table, one JSON object, or a live view that gives the terminal back."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from corda_lab.lab.doctor import free_ports
from corda_lab.paths import ROOT
from support.commands import PYTHONPATH
from support.served import served
from support.watched import Lab

COMMAND = (sys.executable, "-m", "corda_lab", "status", "--watch")
ALERT: dict[str, object] = {
    "labels": {"alertname": "HeapFull", "node": "PartyA"},
    "annotations": {"summary": "PartyA fills its heap."},
    "state": "firing",
    "activeAt": "2026-11-20T12:00:00Z",
}
SHOW, HIDE = "\x1b[?25h", "\x1b[?25l"
"""What shows and hides the cursor."""
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""What a full-screen program writes to take the terminal, and to give it back."""


def environment(port: int) -> dict[str, str]:
    """The environment of a lab whose bridge and Prometheus listen on a port."""
    ports = {"BRIDGE_PORT": str(port), "PROMETHEUS_PORT": str(port)}
    return {**os.environ, "PYTHONPATH": PYTHONPATH, "COLUMNS": "200", **ports}


def run(port: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env=environment(port),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_terminal_it_prints_one_table() -> None:
    with served(Lab(alerts=[ALERT]).answer) as port:
        done = run(port)

    assert (done.returncode, done.stderr) == (0, "")
    header, notary, party, *rest = done.stdout.splitlines()
    assert re.split(" {2,}", header.strip()) == [
        *("node", "health", "flows/s", "last 2 min", "in flight", "CPU cores", "heap", "queue", "last error")
    ]
    assert re.split(" {2,}", notary.strip()) == ["Notary", "ready", "4.00", "2", "0.25", "40 % of 1,000 MiB", "5"]
    cells = re.split(" {2,}", party.strip())
    assert cells[:3] == ["PartyA", "not ready", "3.50"]
    assert cells[-5:-1] == ["12", "1.50", "90 % of 1,000 MiB", "11"]
    assert re.fullmatch(r"\d.* ago, Iou: FlowException: below 100", cells[-1])
    assert "▅█" in party
    assert rest[1] == "bridge  12 outstanding (limit 800 per node), 3.50/s completed, 0.50/s failed, 0.25/s rejected"
    assert rest[2] == (
        "load    iou on PartyA (poisson, 5/s): offered 5.00/s, achieved 3.50/s, errors 0.50/s, lag p99 2.0 ms"
    )
    assert re.fullmatch(r"alert   HeapFull, for \d.*: PartyA fills its heap\.", rest[3])
    assert len(rest) == 4
    assert "\x1b" not in done.stdout


def test_json_is_one_object() -> None:
    with served(Lab(has_load=False).answer) as port:
        done = run(port, "--json")

    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    notary, party = shown["nodes"]
    assert (notary["name"], notary["is_ready"], notary["flows_in_flight"]) == ("Notary", True, 2)
    assert (party["queue_messages"], party["last_failure"]["flow"]) == (11, "Iou")
    assert shown["history"]["PartyA"][-2:] == [2, 4]
    assert (shown["bridge"]["outstanding_flows"], shown["bridge_problem"]) == (12, "")
    assert (shown["load"], shown["alerts"], shown["prometheus_problem"]) == (None, [], "")


def test_a_prometheus_that_is_away_is_named_below_what_the_bridge_knows() -> None:
    lab = Lab()
    with served(lambda path: lab.answer(path) if path.startswith("/v1/") else None) as port:
        done = run(port)

    assert done.returncode == 0
    assert "not ready" in done.stdout
    assert "load    not known" in done.stdout
    assert "Prometheus" in done.stdout.splitlines()[-1]


def test_a_lab_that_is_not_up_is_one_clear_line() -> None:
    done = run(free_ports(1)[0])

    assert (done.returncode, done.stdout) == (2, "")
    line, remedy = done.stderr.splitlines()
    assert line.startswith("error: The lab is not up: neither the bridge at http://127.0.0.1:")
    assert "scripts/lab up" in remedy


class Terminal:
    """A terminal in which ``lab status --watch`` runs."""

    def __init__(self, port: int) -> None:
        self.screen = ""
        """Everything that was written to it."""
        self._end, inside = pty.openpty()
        size = {"COLUMNS": "160", "LINES": "40", "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            COMMAND,
            cwd=ROOT,
            env={**environment(port), **size},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    def read_until(self, text: str, *, times: int = 1) -> None:
        """Read what is written until it has a text so many times. Fails after half a minute."""
        deadline = time.monotonic() + 30
        while self.screen.count(text) < times:
            assert time.monotonic() < deadline, self.screen
            self._read()

    def read_to_end(self) -> None:
        """Read until the program has closed the terminal, which is an error on Linux."""
        with suppress(OSError):
            while True:
                self._read()

    def _read(self) -> None:
        self.screen += os.read(self._end, 65536).decode(errors="replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._end)


@contextmanager
def terminal(lab: Lab) -> Iterator[Terminal]:
    with served(lab.answer) as port:
        opened = Terminal(port)
        try:
            yield opened
        finally:
            opened.close()


def test_in_a_terminal_it_looks_again_until_it_is_interrupted() -> None:
    lab = Lab()
    with terminal(lab) as shown:
        shown.read_until("PartyA", times=3)
        assert shown.screen.index(ENTER) < shown.screen.index("PartyA")
        assert LEAVE not in shown.screen
        shown.process.send_signal(signal.SIGINT)
        shown.read_to_end()

        assert shown.process.wait(timeout=30) == 0
        end = shown.screen[shown.screen.rindex("PartyA") :]
        assert LEAVE in end
        assert shown.screen.rindex(SHOW) > shown.screen.rindex(HIDE)
        assert "Interrupted" not in end
        assert "Traceback" not in end
    assert lab.asked.count("/v1/nodes") >= 2


def test_a_lab_that_goes_down_meanwhile_is_shown_and_does_not_end_it() -> None:
    lab = Lab()
    is_up = [True]
    with served(lambda path: lab.answer(path) if is_up[0] else None) as port:
        shown = Terminal(port)
        try:
            shown.read_until("PartyA")
            is_up[0] = False
            shown.read_until("The bridge rejected GET /v1/nodes")
            is_up[0] = True
            before = shown.screen.count("PartyA")
            shown.read_until("PartyA", times=before + 1)
            assert shown.process.poll() is None
        finally:
            shown.close()
