"""Which requests are looked at one by one, and how one is found by an id."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.steps.chosen_requests import chosen, find, slow_and_failed
from corda_lab.steps.rows import Window
from corda_lab.steps.spans import NO_SPANS
from support import simulation

WINDOW = Window(simulation.ORIGIN + 1, simulation.ORIGIN + 9)
TRANSACTION = "CD" * 32


def table(tmp_path: Path, *content: dict[str, Any]) -> pl.DataFrame:
    return simulation.frame(tmp_path, content)


def requests() -> list[dict[str, Any]]:
    """Five requests in the window, of 100 to 500 ms, and one before it that took a second."""
    return [simulation.row(6, 0.0, 0.9)] + [simulation.row(n, n, n + n / 10) for n in range(1, 6)]


def test_the_slowest_and_the_median_of_the_window_are_chosen(tmp_path: Path) -> None:
    slowest, median = chosen(table(tmp_path, *requests()), WINDOW, "latency_ms")
    assert (slowest.choice, slowest.row["request_id"], slowest.of) == ("slowest", 5, 5)
    assert (median.choice, median.row["request_id"], median.of) == ("median", 3, 5)


def test_a_single_request_is_shown_once(tmp_path: Path) -> None:
    (only,) = chosen(table(tmp_path, simulation.row(1, 2.0, 2.1)), WINDOW, "latency_ms")
    assert only.choice == "slowest"


def test_of_failed_requests_the_first_of_the_most_frequent_kind_that_reached_a_node_is_chosen(tmp_path: Path) -> None:
    refused = [
        {**simulation.row(n, n, n + 0.1, outcome="failed"), "error": f"flow-failed: not {n}"} for n in range(1, 5)
    ]
    refused[0]["flow_id"] = None
    other = {**simulation.row(9, 0.5, 0.6, outcome="unknown"), "error": "no-answer: timed out", "status": 0}
    (failed,) = chosen(table(tmp_path, other, *refused), WINDOW, "latency_ms")
    assert (failed.choice, failed.row["request_id"], failed.of) == ("failed", 2, 5)


def test_the_failed_the_slowest_and_the_usual_are_those_of_the_window(tmp_path: Path) -> None:
    content = [simulation.row(n, n / 3, n / 3 + 0.01 * n) for n in range(4, 24)]
    content += [simulation.row(90, 0.0, 0.9), simulation.row(91, 3.0, 3.1, outcome="failed")]
    found = slow_and_failed(table(tmp_path, *content), WINDOW, "latency_ms")
    assert sorted(found["request_id"]) == [13, 14, 22, 23, 91]


def test_flows_before_those_that_are_measured_do_not_count(tmp_path: Path) -> None:
    slowest, median = chosen(table(tmp_path, *requests()), Window(0, 2e9), "latency_ms", flows_after=1)
    assert (slowest.row["request_id"], median.row["request_id"]) == (5, 3)


@pytest.mark.parametrize(
    "identity",
    ["00000000-0000-0000-0000-000000000003", "client-3", f"{3:064X}", f"{3:064x}", f"{3:032x}"],
    ids=["flow id", "client id", "transaction", "lower case", "trace"],
)
def test_a_request_is_found_by_each_of_its_ids(tmp_path: Path, identity: str) -> None:
    assert find(identity, table(tmp_path, *requests()), NO_SPANS)["request_id"] == 3


def test_a_beginning_is_enough_if_only_one_request_has_it(tmp_path: Path) -> None:
    content = [simulation.row(n, n, n + 0.1) for n in (1, 2, 10)]
    content[0]["flow_id"] = "c5084132-4f88-49e4-a4ce-c53242e731f0"
    found = table(tmp_path, *content)
    assert find("c5084132", found, NO_SPANS)["request_id"] == 1
    # An id that is whole is found although another begins with it.
    assert find("client-1", found, NO_SPANS)["request_id"] == 1
    with pytest.raises(LabError, match=r"'client-' fits 3 requests: client-1, client-2, client-10"):
        find("client-", found, NO_SPANS)


def test_the_flow_of_another_party_finds_the_request_that_it_answered(tmp_path: Path) -> None:
    content = requests()
    failed = {**simulation.row(7, 7, 7.4, outcome="failed")}
    spans = simulation.spans(tmp_path, [*simulation.spans_of(content), *simulation.refused_spans(failed)])
    found = table(tmp_path, *content, failed)
    for number in (3, 7):
        answered = f"00000000-0000-0000-0000-{number:012}".replace("0000-", "1111-", 1)
        assert find(answered, found, spans)["request_id"] == number


@pytest.mark.parametrize(
    ("identity", "words"), [("nowhere", "no request of this run has 'nowhere'"), (" ", "is empty")]
)
def test_an_id_that_no_request_has_is_one_clear_error(tmp_path: Path, identity: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        find(identity, table(tmp_path, *requests()), NO_SPANS)
