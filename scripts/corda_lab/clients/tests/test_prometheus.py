"""The alerts of Prometheus, read from a real HTTP server, and how the series of a run are asked for.

monitoring/ has the tests with a real Prometheus.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from corda_lab.clients.prometheus import POINTS_MAX, SCRAPE_SECONDS, Alert, Prometheus, Series
from corda_lab.errors import LabError
from support.served import served


@contextmanager
def answering(content: object) -> Iterator[Prometheus]:
    """A Prometheus that answers the question about its alerting rules."""

    def answer(path: str) -> object:
        return content if path == "/api/v1/rules?type=alert" else None

    with served(answer) as port, closing(Prometheus(f"http://127.0.0.1:{port}", seconds_max=10)) as client:
        yield client


def rules(*alerts: object) -> dict[str, object]:
    groups = [{"name": "alerts", "rules": [{"type": "alerting", "alerts": list(alerts)}]}]
    return {"status": "success", "data": {"groups": groups}}


def alert(name: str, state: str, at: str, node: str = "PartyA", **notes: str) -> dict[str, object]:
    labels = {"alertname": name, "severity": "warning", **({"node": node} if node else {})}
    return {"labels": labels, "annotations": notes, "state": state, "activeAt": at, "value": "1e+00"}


def test_only_firing_alerts_are_told_and_the_oldest_first() -> None:
    alerts = [
        alert("QueueGrows", "firing", "2026-11-20T12:00:02.5Z", description="It grows\nwithout bound."),
        alert("HeapFull", "pending", "2026-11-20T11:00:00Z"),
        alert("CpuStolen", "firing", "2026-11-20T12:00:00.123456789Z", "", summary="Measure elsewhere."),
    ]
    with answering(rules(*alerts)) as prometheus:
        stolen, grows = prometheus.alerts()
    assert (stolen.name, stolen.node, stolen.summary) == ("CpuStolen", "", "Measure elsewhere.")
    assert grows == Alert("QueueGrows", "PartyA", "warning", "It grows without bound.", 1795176002.5)


def test_a_prometheus_without_rules_does_not_look_healthy() -> None:
    content = {"status": "success", "data": {"groups": []}}
    with answering(content) as prometheus, pytest.raises(LabError, match="has no alerts"):
        prometheus.alerts()


@pytest.mark.parametrize("content", [{"status": "success"}, rules({"state": "firing"})])
def test_alerts_that_are_malformed_are_an_error(content: object) -> None:
    with (
        answering(content) as prometheus,
        pytest.raises(LabError, match=r"alerts of Prometheus at .* cannot be parsed"),
    ):
        prometheus.alerts()


class Asked(Prometheus):
    """A Prometheus that has a sample at the begin and at the end of every time range for which it is asked."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.ranges: list[tuple[float, float]] = []

    def range(self, query: str, *, started_at: float, ended_at: float, step_seconds: float) -> list[Series]:
        assert (ended_at - started_at) / step_seconds < POINTS_MAX
        self.ranges.append((started_at, ended_at))
        return [Series({"node": "PartyA"}, [(started_at, 1.0), (ended_at, float("nan"))])]


def test_a_load_of_a_day_is_asked_for_in_parts_without_a_gap() -> None:
    prometheus = Asked()

    found = list(prometheus.rows("up", "up", started_at=1000.0, ended_at=1000.0 + 24 * 3600))
    prometheus.close()

    first, second = prometheus.ranges
    assert first[0] == 1000.0
    assert second == (first[1] + SCRAPE_SECONDS, 1000.0 + 24 * 3600)
    assert [(row["node"], row["time"]) for row in found] == [("PartyA", 1000.0), ("PartyA", second[0])]
