"""The report: complete, offline, and made from the stored files alone."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.report import page, tables
from corda_lab.report.facts import MORE_FILES
from corda_lab.results import folders, stored
from corda_lab.text import words
from support.pages import places, report_charts, report_file, report_html, without_scripts
from support.runs import part


def test_says_in_words_what_was_achieved(stored_run: Callable[..., Path]) -> None:
    text = without_scripts(report_html(stored_run()))
    assert re.search(r"20 users achieved [\d.]+ Iou flows per second on PartyA with PartyB", text)
    assert "2 cores of A processor of some kind, 24 GiB" in text


def test_names_the_commit_and_the_software_that_was_measured(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    commit = "0123456789ab with uncommitted changes"
    assert f"<td>{commit}</td>" in report_html(run)
    assert f"Commit {commit}." in report_file(run, "summary.md")


def test_loads_nothing_from_anywhere(stored_run: Callable[..., Path]) -> None:
    text = report_html(stored_run())
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", text)
    assert not re.search(r"@import|url\((?!#)", without_scripts(text))


def test_every_chart_has_data_and_a_place(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    charts = report_charts(run)
    assert [name for name, chart in charts.items() if chart.is_empty] == []
    assert places(report_html(run)) == list(charts)


def test_the_values_of_every_node_are_listed_and_those_of_each_second_drawn(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    table = tables.values_by_node(run.steps[0])
    assert {"whole run", "Notary", "PartyA", "PartyB", "PartyC", "bridge"} <= set(table.columns)
    rows = {name: dict(zip(table.columns, cells, strict=True)) for name, _, cells in table.rows}
    assert rows["cpu_percent_max"]["PartyA"].endswith(" %")
    assert rows["heap_floor_bytes"]["bridge"] == "–"
    assert rows["p95"]["PartyA"] == "–"
    charts = report_charts(run.folder)
    for name in ("cpu", "memory"):
        assert set(charts[name].frame["series"]) == {"Notary", "PartyA", "PartyB", "PartyC"}, "not the lab's own parts"
        assert charts[name].of("PartyA").height > 70, "more than scrapes every five seconds"


def test_the_chart_of_throughput_adds_up_to_the_rows(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    completed = report_charts(run)["throughput"].of("completed (achieved)")
    width = completed["x"][1] - completed["x"][0]
    assert completed["y"].sum() * width == pytest.approx(pl.read_parquet(run / "requests.parquet").height, rel=0.03)


def test_says_what_failed(stored_run: Callable[..., Path]) -> None:
    text = without_scripts(report_html(stored_run(error_every=50)))
    assert re.search(r"<b>Failed:</b> \d+ of [\d,]+ requests failed", text)
    assert "flow-failed: the responder refused to sign" in text


def test_names_the_most_frequent_errors_at_the_top_and_each_kind_once(stored_run: Callable[..., Path]) -> None:
    errors = ('invalid-argument: args.iouValue is "x{n}"', "flow-failed: PartyB did not sign")
    run = stored_run(error_every=10, errors=errors)
    text = without_scripts(report_html(run))
    top, _, rest = text.partition('aria-label="Main values"')
    before, _, after = rest.partition('id="waterfalls"')
    for part_of_page in (top, before + after.partition("</article>")[2]):
        assert part_of_page.count("args.iouValue is &#34;…&#34;") == 1
        assert len(re.findall(r"example: invalid-argument: args.iouValue is &#34;x\d+&#34;", part_of_page)) == 1
        assert part_of_page.count("flow-failed: PartyB did not sign") == 1
    assert "Failed requests: " in report_file(run, "summary.md")


def test_bursts_have_a_table_with_three_clocks(stored_burst_run: Callable[..., Path]) -> None:
    run = stored_burst_run()
    page_text = without_scripts(report_html(run))
    assert re.search(
        r"4 bursts of 20 requests within 1 s, rest 5 s on PartyA with PartyB took \d\.\d\d s each and achieved [\d.]+",
        page_text,
    )
    table = page_text.partition("<h2>Bursts</h2>")[2].partition("</table>")[0]
    for clock in ("generator", "RPC client", "node"):
        assert f">{clock}</th>" in table
    assert re.findall(r"<tr[^>]*><td>(\w+)</td>", table) == ["1", "2", "3", "4", "mean"]
    assert "–" not in table
    charts = report_charts(run)
    assert "lag" in charts
    assert [name for name, chart in charts.items() if chart.is_empty] == []


def test_bursts_without_stage_rows_have_a_report_too(stored_burst_run: Callable[..., Path]) -> None:
    text = without_scripts(report_html(stored_burst_run(with_stages=False)))
    table = text.partition("<h2>Bursts</h2>")[2].partition("</table>")[0]
    assert table.count("–") == 5 * 3


def test_a_single_burst_of_a_second_has_a_report(stored_burst_run: Callable[..., Path]) -> None:
    text = without_scripts(report_html(stored_burst_run(bursts=1)))
    assert "1 burst of 20 requests within 1 s on PartyA with PartyB took 1.00 s and achieved" in text


def test_a_load_that_ends_after_a_number_of_flows_says_so(stored_counted_run: Callable[..., Path]) -> None:
    text = without_scripts(report_html(stored_counted_run()))
    assert "5 flows first; measuring window 4 s, from the first start to the last end" in text
    assert "closed, 1 user, pacing 0 s, 40 flows after 5, seed 1" in text
    assert "flow, timed in the node" in text
    assert "<h2>Bursts</h2>" not in text


def test_a_load_without_bursts_has_no_table_of_them(stored_run: Callable[..., Path]) -> None:
    assert "<h2>Bursts</h2>" not in report_html(stored_run())


def test_a_run_that_was_ended_because_all_failed_has_a_whole_report(failed_run: Path) -> None:
    text = without_scripts(report_html(failed_run))
    assert "<b>Failed:</b> every request failed in the same way, so the load was ended after 11 s" in text
    assert "<b>220 × 400</b> invalid-argument: args.iouValue is &#39;…&#39;" in text
    assert "no flow was completed in the measuring window" in text


def test_is_made_again_from_the_stored_files(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    first = report_html(run)
    (run / "report.html").unlink()
    assert page.render(run) == run / "report.html"
    assert report_html(run) == first
    tables = {f"{name}.parquet" for name in ("metrics", "requests", "samples", "spans", "stages")}
    summaries = {f"summary.{kind}" for kind in ("csv", "json", "md")}
    files = {path.name for path in run.iterdir()}
    assert files == {"run.json", "steps.json", "report.html", *tables, *summaries}


def test_shows_an_error_s_text_as_text(stored_run: Callable[..., Path]) -> None:
    run = stored_run(error_every=50)
    steps = folders.read_json(run / "steps.json")
    steps["steps"][0]["failures"][0]["error"] = "</script><b>bold"
    folders.write_json(run / "steps.json", steps)
    text = without_scripts(page.render(run).read_text(encoding="utf-8"))
    assert "&lt;/script&gt;&lt;b&gt;bold" in text


def test_a_run_without_an_answer_still_has_a_report(stored_run: Callable[..., Path]) -> None:
    run = stored_run(error_every=1)
    text = without_scripts(report_html(run))
    assert "no flow was completed in the measuring window" in text
    assert len(re.findall(r"<h2>p\d\d</h2><p class=\"value\">– <small></small></p>", text)) == 3
    assert re.search(r'<li class="bad"><b>Failed:</b> [^<]*no flow was completed', text)


def test_a_damaged_table_is_named(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    (run / "metrics.parquet").write_bytes(b"not parquet")
    with pytest.raises(LabError, match="its tables cannot be read"):
        page.render(run)


@pytest.mark.parametrize("table", ["requests", "metrics", "stages", "samples"])
def test_a_table_without_the_columns_of_a_run_is_one_error(stored_run: Callable[..., Path], table: str) -> None:
    run = stored_run()
    before = page.render(run).read_bytes()
    pl.DataFrame({"other": [1]}).write_parquet(run / f"{table}.parquet")
    with pytest.raises(LabError, match=re.escape(str(run))):
        page.render(run)
    assert (run / "report.html").read_bytes() == before


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (3.04, "3.0 ms"), (250.6, "251 ms"), (1534.0, "1.53 s")])
def test_latencies_are_written_for_people(value: float | None, text: str) -> None:
    assert words.milliseconds(value) == text


def text_of(run: Path) -> str:
    return " ".join(without_scripts(report_html(run)).split())


def test_the_stage_table_adds_up_to_the_requests_time(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    text = text_of(run)
    assert "Stages of a flow" in text
    assert "collect signatures" in text
    assert re.search(r"mean of the same requests at the generator: [\d.]+ (m?s) \(the sum differs by", text)
    assert "Consensus latency" in text
    assert '<td class="number">30.0 ms</td>' in text.partition("<h2>Consensus latency</h2>")[2]
    assert "consensus-latency" in report_charts(run)


def test_a_run_without_spans_says_why_and_has_no_table(stored_run: Callable[..., Path]) -> None:
    run = stored_run(with_stages=False)
    text = text_of(run)
    assert "No stage table. No span of a request" in text
    assert "collect signatures" not in text
    assert not (run / "stages.parquet").exists()
    assert "stages.parquet" not in text


def test_a_mix_shows_every_part_and_counts_each_flow(stored_run: Callable[..., Path]) -> None:
    parts = (part("Iou", states_per_flow=1, weight=2), part("IouUpdate"))
    text = text_of(stored_run(parts=parts))
    assert "flows per second (a mix of Iou and IouUpdate) on PartyA with PartyB" in text
    assert "Parts of the mix" in text
    assert "IouUpdate: completions on PartyA" in text
    assert "states/s" in text


def test_the_parts_of_a_mix_have_the_latency_that_counts(stored_open_run: Callable[..., Path]) -> None:
    run = stored_open_run(rate=20, service_seconds=0.1, pool=5)
    content = folders.read_json(run / "steps.json")
    (step,) = content["steps"]
    step["parts"] = [step["parts"][0], {**step["parts"][0], "name": "other"}]
    folders.write_json(run / "steps.json", content)
    page.render(run)
    (entry,) = stored.read(run).steps
    assert entry.judged_latency == entry.latency_intended_ms
    first = entry.parts[0]
    judged, sent = (words.milliseconds(latency.mean) for latency in (first.latency_intended_ms, first.latency_ms))
    mix = text_of(run).partition("Parts of the mix")[2].partition("</article>")[0]
    assert f">{judged}<" in mix
    assert f">{sent}<" not in mix


def test_expected_failures_are_shown_apart_from_errors(stored_run: Callable[..., Path]) -> None:
    text = text_of(stored_run(error_every=50, failure="expected"))
    assert "<h2>Expected failures</h2>" in text
    assert "<p>None.</p>" in text
    assert re.search(r'class="badge (good|warning)">passed', text)


def test_open_load_tells_arrivals_lag_and_both_latencies(stored_open_run: Callable[..., Path]) -> None:
    run = stored_open_run(rate=20, service_seconds=0.1, pool=5)
    text = text_of(run)
    assert re.search(r"At 20 constant arrivals per second, the lab achieved 10\.\d+ Iou flows per second", text)
    assert re.search(r"Latency from the intended start: p50 [\w. ]+, p99 not answered\.", text)
    assert re.search(r"(\d+) of 1,200 requests of the measuring window were not answered, \1 of them dropped\.", text)
    assert "latency from the intended start" in text
    assert "latency from the real start" in text
    assert "dropped: no free place in the pool within 1 s" in text
    assert "the system did not keep up" in text
    assert "a waiting user" not in text, "applies to closed load only"
    charts = report_charts(run)
    assert not charts["lag"].is_empty
    assert len(charts["latency-ecdf"].shown_looks) == 2


def test_a_single_run_tells_its_limit_its_costs_and_how_to_start_its_lab(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    steps = folders.read_json(run / "steps.json")
    steps["steps"][0]["costs"]["cpu_seconds_per_flow"] = {"PartyA": 0.05, "locust": 0.01}
    folders.write_json(run / "steps.json", steps)
    page.render(run)
    text = text_of(run)
    assert re.search(r"<h2>Resource saturation</h2> <p>The machine was 97 % busy", text)
    assert "<h2>Cost of a flow</h2>" in text
    assert '<th scope="row">iou</th><td class="number">50 ms</td>' in text
    assert "scripts/lab up --corda 4.10 --database h2 --notary simple --parties 3 --set DEV_MODE=false" in text


def test_open_load_that_kept_its_rate_had_no_limit(stored_open_run: Callable[..., Path]) -> None:
    kept = text_of(stored_open_run(rate=8, service_seconds=0.1, pool=5))
    assert "The system kept up with the offered rate, so no limit was reached." in kept


def test_a_run_of_another_version_is_refused_in_words(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    steps = folders.read_json(run / "steps.json")
    folders.write_json(run / "steps.json", {**steps, "schema": 1})
    with pytest.raises(LabError, match="measured by another version of the lab"):
        page.render(run)


def test_the_end_of_a_report_names_the_files_that_the_run_has(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    there = {path.name for path in run.iterdir()}
    for name in (name.rstrip("/") for name in MORE_FILES):
        named = f", {name}" in report_html(run)
        assert named == (name in there), name
