"""Where one flow's time went, in the report of a run."""

import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.report import palette, waterfall
from corda_lab.report.waterfall import ticks
from corda_lab.results import stored
from support import simulation
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
        assert len(bars) == table.count("<tr class=") > 10
        assert picture.attrib["role"] == "img"
    assert "share its clock" in text
    assert re.search(r"Most of it: PartyA: collect signatures [\d,.]+ ms \(4\d %\)", text)


def test_a_failed_request_is_drawn_too(stored_run: Callable[..., Path]) -> None:
    text = section(stored_run(error_every=50))
    assert re.search(r"<h3>A failed request, of \d+ <span>Iou on PartyA: failed after", text)
    assert len(pictures(text)) == 3
    # The simulated failures have no spans.
    assert "No span of the flow of this request is stored" in text


def test_every_colour_is_in_both_themes(stored_run: Callable[..., Path]) -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", section(stored_run())))
    assert used <= palette.ROLES.keys()
    for actor in ("client", "bridge", "Notary", "Notary3", "PartyK", "another"):
        assert waterfall.role_of(actor) in palette.ROLES


def test_a_run_whose_every_request_failed_draws_one(failed_run: Path) -> None:
    assert len(pictures(section(failed_run))) == 1


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


def test_on_several_hosts_nothing_is_said_of_what_the_client_waited_for(tmp_path: Path) -> None:
    row = {**simulation.row(1, 10.0, 10.4), "step": 1}
    spans = simulation.spans(tmp_path, simulation.spans_of([row])).with_columns(step=pl.lit(1))
    run = MagicMock(steps=[MagicMock(index=1)])
    (found,) = waterfall.of_requests(run, spans, [row], 1)
    assert (found.path, waterfall.largest_words(found)) == ((), "")
    assert waterfall.SEVERAL_CLOCKS in found.notes
    run.environment.return_value.placement = None
    assert waterfall.of_requests(run, spans, [row], 1)[0].path
