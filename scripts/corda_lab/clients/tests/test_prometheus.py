"""How the series of a run are asked for."""

from corda_lab.clients.prometheus import POINTS_MAX, SCRAPE_SECONDS, Prometheus, Series


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


def test_a_short_load_is_one_question() -> None:
    prometheus = Asked()
    assert len(list(prometheus.rows("up", "up", started_at=1000.0, ended_at=1060.0))) == 1
    assert prometheus.ranges == [(1000.0, 1060.0)]
    prometheus.close()
