"""What ``lab status`` prints of a lab."""

import re
from dataclasses import replace

import pytest

from corda_lab.cli import start
from corda_lab.cli.start import LabState
from corda_lab.clients.prometheus import Alert
from corda_lab.clients.watch import NodeState

ENDED = "partyb ended with exit status 1 (its disk is full). Mend the cause."
DOWN = Alert("NodeDown", "PartyB", "critical", "PartyB has not answered for three minutes. Start it again.", 1.5)
STATE = LabState(
    ready=True,
    project="corda-lab",
    services={"partya": "healthy", "partyb": "unhealthy"},
    nodes=(NodeState("PartyA", is_ready=True, outstanding_flows=3),),
    load_containers=[],
    urls={"Bridge": "http://127.0.0.1:8080/v1/nodes"},
    ended=[ENDED],
    alerts=(),
)


def test_each_alert_and_what_has_ended_are_lines_that_say_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    start.show(replace(STATE, alerts=(DOWN,)))
    printed = " ".join(capsys.readouterr().out.split())
    assert "partya healthy 3 partyb unhealthy" in printed
    assert ENDED in printed
    words = r"alert NodeDown, for \d[^:]*: PartyB has not answered for three minutes\. Start it again\."
    assert re.search(words, printed)


def test_without_alerts_there_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    start.show(STATE)
    assert "alert" not in capsys.readouterr().out
