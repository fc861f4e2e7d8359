"""The report: complete, offline, and made from the stored files alone."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab import report, results
from corda_lab.errors import LabError


def without_scripts(text: str) -> str:
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def chart_data(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_says_in_words_what_was_achieved(stored_run: Callable[..., Path]) -> None:
    text = without_scripts((stored_run() / "report.html").read_text(encoding="utf-8"))
    assert re.search(r"20 users achieved [\d.]+ Iou flows per second on PartyA with PartyB", text)
    assert "No request failed. All counts agree" in text
    assert "2 cores of A processor of some kind, 24 GiB" in text
    assert "97 % busy: the processor was the limit" in text


def test_loads_nothing_from_anywhere(stored_run: Callable[..., Path]) -> None:
    text = (stored_run() / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", text)
    assert not re.search(r"(?:@import|url\()", without_scripts(text))
    assert text.count("plotly.js v") == 1, "the drawing library is inlined once"


def test_every_chart_has_data(stored_run: Callable[..., Path]) -> None:
    text = (stored_run() / "report.html").read_text(encoding="utf-8")
    charts = chart_data(text)["charts"]
    assert [chart["id"] for chart in charts if not any(trace["x"] for trace in chart["traces"])] == []
    assert {f'id="{chart["id"]}"' for chart in charts} <= set(re.findall(r'id="[a-z-]+"', text))


def test_the_chart_of_throughput_adds_up_to_the_rows(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    data = chart_data((run / "report.html").read_text(encoding="utf-8"))
    completed = next(trace for trace in data["charts"][0]["traces"] if trace["name"].startswith("completed"))
    width = completed["x"][1] - completed["x"][0]
    drawn = sum(rate * width for rate in completed["y"])
    assert drawn == pytest.approx(pl.read_parquet(run / "requests.parquet").height, rel=0.03)


def test_says_what_failed(stored_run: Callable[..., Path]) -> None:
    text = without_scripts((stored_run(error_every=50) / "report.html").read_text(encoding="utf-8"))
    assert re.search(r"<b>Failed:</b> \d+ requests ended in an error", text)
    assert "flow-failed: the responder refused to sign" in text
    assert "No request failed" not in text


def test_is_made_again_from_the_stored_files(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    first = (run / "report.html").read_text(encoding="utf-8")
    (run / "report.html").unlink()
    assert report.render(run) == run / "report.html"
    assert (run / "report.html").read_text(encoding="utf-8") == first
    assert sorted(path.name for path in run.iterdir()) == sorted(results.RUN_FILES)


def test_shows_an_error_s_text_as_text(stored_run: Callable[..., Path]) -> None:
    run = stored_run(error_every=50)
    steps = results.read_json(run / "steps.json")
    steps["steps"][0]["errors"][0]["error"] = "</script><b>bold"
    results.write_json(run / "steps.json", steps)
    text = without_scripts(report.render(run).read_text(encoding="utf-8"))
    assert "&lt;/script&gt;&lt;b&gt;bold" in text


def test_a_run_without_an_answer_still_has_a_report(stored_run: Callable[..., Path]) -> None:
    run = stored_run(error_every=1)
    text = without_scripts((run / "report.html").read_text(encoding="utf-8"))
    assert "no flow was completed in the measuring window" in text
    assert "Doubtful" in text or "Failed" in text


def test_a_damaged_table_is_named(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    (run / "metrics.parquet").write_bytes(b"not parquet")
    with pytest.raises(LabError, match="its tables cannot be read"):
        report.render(run)


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (3.04, "3.0 ms"), (250.6, "251 ms"), (1534.0, "1.53 s")])
def test_latencies_are_written_for_people(value: float | None, text: str) -> None:
    assert report.milliseconds(value) == text
