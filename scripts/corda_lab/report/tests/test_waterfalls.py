"""Where one flow's time went, in the report of a run."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.report import palette, waterfall
from corda_lab.report.waterfall import ticks
from corda_lab.results import stored
from support.pages import report_html, without_scripts


def section(run: Path) -> str:
    text = without_scripts(report_html(run))
    return text.partition('id="waterfalls"')[2].partition("</article>")[0]


def pictures(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def test_the_slowest_and_the_median_request_are_drawn_with_a_table_of_the_same_numbers(
    stored_run: Callable[..., Path],
) -> None:
    run = stored_run()
    text = section(run)
    (step,) = stored.read(run).steps
    titles = re.findall(r"<h3>(.*?) <span>(.*?)</span>", text)
    assert [title.split(" of ")[0] for title, _ in titles] == ["The slowest", "The median"]
    assert step.latency_ms.max is not None
    assert step.latency_ms.p50 is not None
    for (_, words), value in zip(titles, (step.latency_ms.max, step.latency_ms.p50), strict=True):
        assert words == f"Iou on PartyA: ok after {value:,.1f} ms"
    drawn = pictures(text)
    assert len(drawn) == 2
    for picture, table in zip(drawn, text.split("<table")[1:], strict=True):
        bars = picture.findall("{*}g")
        assert len(bars) == table.count("<tr class=") > 15
        assert picture.attrib["role"] == "img"
    assert "share its clock" in text
    assert re.search(r"Most of it: collect signatures [\d,.]+ ms \(4\d %\)", text)


def test_a_failed_request_is_drawn_too(stored_run: Callable[..., Path]) -> None:
    text = section(stored_run(error_every=50))
    assert re.search(r"<h3>A failed request, of \d+ <span>Iou on PartyA: failed after", text)
    assert len(pictures(text)) == 3
    # The simulated failures have no stage rows.
    assert "This flow has no stage row" in text


def test_a_run_without_stage_rows_shows_client_bridge_and_node(stored_run: Callable[..., Path]) -> None:
    text = section(stored_run(with_stages=False))
    assert "timed by the bridge" in text
    assert "PartyB" not in text


def test_every_colour_is_in_both_themes(stored_run: Callable[..., Path]) -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", section(stored_run())))
    assert used <= palette.ROLES.keys()
    for actor in ("client", "bridge", "Notary", "Notary3", "PartyK", "another"):
        assert waterfall.role_of(actor) in palette.ROLES


def test_a_run_whose_every_request_failed_draws_one(failed_run: Path) -> None:
    assert len(pictures(section(failed_run))) == 1


def test_the_times_of_the_notary_are_stored_and_drawn(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    row = run.table("requests").filter(pl.col("client_id") == "client-200").row(0, named=True)
    assert run.notary_requests(1) == {}
    times = {"step": [1, 2], "tx_id": [row["tx_id"]] * 2, "requested_at": [row["started_at"] + 0.05, 1.0]}
    pl.DataFrame(times).write_parquet(run.folder / "notary.parquet")
    found = waterfall.by_identity(run, "client-200")
    (logged,) = (span for span in found.spans if span.actor == "Notary")
    assert logged.kind == "mark"
    assert logged.start_ms == pytest.approx(50, abs=0.01)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 0.7, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (0.0, 410.0, [0.0, 100.0, 200.0, 300.0, 400.0]),
        (-250.0, 1100.0, [-200.0, 0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]),
    ],
)
def test_the_axis_has_round_times(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


def test_the_axis_of_any_length_has_few_times() -> None:
    for exponent in range(7):
        for factor in (1.0, 1.7, 3.0, 7.9):
            assert 2 <= len(ticks(0.0, factor * 10**exponent)) <= waterfall.TICKS_MAX + 1
