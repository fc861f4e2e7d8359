"""What ``lab status`` prints of a lab."""

import json
import re
from dataclasses import asdict

import pytest

from corda_lab.cli import status
from corda_lab.cli.status import LabState, NodeState
from corda_lab.clients.prometheus import Alert

ENDED = "partyb ended with exit status 1 (its disk is full). Mend the cause."
DOWN = Alert("NodeDown", "PartyB", "critical", "PartyB has not answered for three minutes. Start it again.", 1.5)


def state(*alerts: Alert) -> LabState:
    return LabState(
        ready=True,
        project="corda-lab",
        services={"partya": "healthy", "partyb": "unhealthy"},
        nodes={"PartyA": NodeState(ready=True, outstanding_flows=3)},
        load_containers=[],
        urls={"Bridge": "http://127.0.0.1:8080/v1/nodes"},
        ended=[ENDED],
        alerts=list(alerts),
    )


def test_each_alert_is_a_line_that_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    status.show(state(DOWN))
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"alert NodeDown, for \d[^:]*: PartyB has not answered for three minutes\. Start it again\.", printed
    )


def test_what_has_ended_is_told_with_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    status.show(state())
    assert ENDED in " ".join(capsys.readouterr().out.split())


def test_without_alerts_there_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    status.show(state())
    assert "alert" not in capsys.readouterr().out


def test_a_program_reads_the_fields_of_an_alert() -> None:
    (alert,) = json.loads(json.dumps(asdict(state(DOWN))))["alerts"]
    assert (alert["name"], alert["node"], alert["severity"]) == ("NodeDown", "PartyB", "critical")
