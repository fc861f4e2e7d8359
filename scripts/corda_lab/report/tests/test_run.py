"""The report of a run: complete, offline, and made from the stored files alone."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.report import page, tables
from corda_lab.results import folders, stored
from support.pages import places, report_charts, report_file, report_html, report_text, without_scripts
from support.runs import change_steps, part, step_file


def article(folder: Path, heading: str) -> str:
    """The HTML of the report from a heading to the end of its article, in one line."""
    text = " ".join(without_scripts(report_html(folder)).split())
    return text.partition(f"<h2>{heading}</h2>")[2].partition("</article>")[0]


def change_step(folder: Path, **fields: object) -> None:
    """Change fields of the only step of a stored run."""
    change_steps(folder, lambda step: step.update(fields))


def test_says_what_was_achieved_and_measured(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    text = report_text(run)
    assert re.search(r"20 users: [\d.]+ Iou flows/s on PartyA with PartyB", text)
    assert "2 cores of A processor of some kind, 24 GiB" in text
    assert "Commit 0123456789ab with uncommitted changes" in text
    assert "Commit 0123456789ab with uncommitted changes." in report_file(run, "summary.md")
    assert "scripts/lab up --corda 4.10 --database h2 --notary simple --parties 3 --set DEV_MODE=false" in text


@pytest.mark.parametrize("kind", ["stored_run", "stored_open_run", "stored_burst_run", "stored_counted_run"])
def test_every_chart_has_data_and_a_place_and_nothing_is_loaded(request: pytest.FixtureRequest, kind: str) -> None:
    run = request.getfixturevalue(kind)()
    charts, html = report_charts(run), report_html(run)
    assert [name for name, chart in charts.items() if chart.is_empty] == []
    assert places(html) == list(charts)
    assert ("lag" in charts) == (kind in ("stored_open_run", "stored_burst_run"))
    assert ("<h2>Bursts</h2>" in html) == (kind == "stored_burst_run")
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"(?!data:)", html)
    assert not re.search(r"@import|url\((?!#)", without_scripts(html))


def test_the_values_of_every_node_are_listed_and_those_of_each_second_drawn(stored_run: Callable[..., Path]) -> None:
    run = stored.read(stored_run())
    titles, cells = tables.values_by_node(run.steps[0])
    assert {"whole run", "Notary", "PartyA", "PartyB", "PartyC", "bridge"} <= set(titles)
    rows = {row[1]: dict(zip(titles, row, strict=True)) for row in cells}
    assert rows["cpu_percent_max"]["PartyA"].endswith(" %")
    assert (rows["heap_floor_bytes"]["bridge"], rows["p95"]["PartyA"]) == ("–", "–")
    charts = report_charts(run.folder)
    for name in ("cpu", "memory"):
        assert set(charts[name].frame["series"]) == {"Notary", "PartyA", "PartyB", "PartyC"}, "not the lab's own parts"
        assert charts[name].of("PartyA").height > 70, "more than scrapes every five seconds"
    assert set(charts["queues"].frame["series"]) >= {"PartyA in", "PartyA out"}
    assert {"bridge", "locust"} <= set(charts["lab-cost"].frame["series"])


def test_the_chart_of_throughput_adds_up_to_the_rows(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    completed = report_charts(run)["throughput"].of("completed (achieved)")
    width = completed["x"][1] - completed["x"][0]
    assert completed["y"].sum() * width == pytest.approx(stored.read(run).table("requests").height, rel=0.03)


def test_names_the_most_frequent_errors_at_the_top_and_each_kind_once(stored_run: Callable[..., Path]) -> None:
    errors = ('invalid-argument: args.iouValue is "x{n}"', "flow-failed: PartyB did not sign")
    run = stored_run(error_every=10, errors=errors)
    top, errors_table = report_html(run).partition('aria-label="Main values"')[0], article(run, "Errors")
    assert re.search(r"<b>Failed:</b> \d+ of [\d,]+ requests failed", top)
    for text in (top, errors_table.partition("<h2>")[0]):
        assert text.count("flow-failed: PartyB did not sign") == 1
    assert errors_table.count("args.iouValue is &#34;…&#34;") == 1
    assert len(re.findall(r"example: invalid-argument: args.iouValue is &#34;x\d+&#34;", errors_table)) == 1


def test_bursts_have_a_table_with_three_clocks(stored_burst_run: Callable[..., Path]) -> None:
    table = article(stored_burst_run(), "Bursts").partition("</table>")[0]
    for clock in ("generator", "RPC client", "node"):
        assert f">{clock}</th>" in table
    assert re.findall(r"<tr[^>]*><td>(\w+)</td>", table) == ["1", "2", "3", "4", "mean"]
    assert "–" not in table


def test_a_run_that_was_ended_because_all_failed_has_a_whole_report(failed_run: Path) -> None:
    text = report_text(failed_run)
    assert "220 × 400 invalid-argument: args.iouValue is" in text
    assert "no flow was completed in the measuring window" in text


def test_is_made_again_from_the_stored_files(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    first = report_html(run)
    (run / "report.html").unlink()
    assert page.render(run) == run / "report.html"
    assert report_html(run) == first
    tables = {f"{name}.parquet" for name in ("metrics", "requests", "samples", "spans", "stages")}
    summaries = {f"summary.{kind}" for kind in ("csv", "json", "md")}
    assert {path.name for path in run.iterdir()} == {"run.json", "steps", "workloads", "report.html", *summaries}
    files = {path.name for path in step_file(run).parent.iterdir()}
    assert files == {"step.json", "environment.json", *tables}
    for name in (name.rstrip("/") for name in page.MORE_FILES):
        assert (f", {name}" in first) == (name in files), name


def test_a_run_without_an_answer_still_has_a_report(stored_run: Callable[..., Path]) -> None:
    html = report_html(stored_run(error_every=1))
    assert "no flow was completed in the measuring window" in html
    assert len(re.findall(r"<h2>p\d\d</h2><p class=\"value\">– <small></small></p>", html)) == 3


@pytest.mark.parametrize("table", ["requests", "metrics", "stages", "samples"])
def test_a_table_without_the_columns_of_a_run_is_one_error(stored_run: Callable[..., Path], table: str) -> None:
    run = stored_run()
    before = page.render(run).read_bytes()
    pl.DataFrame({"other": [1]}).write_parquet(step_file(run).with_name(f"{table}.parquet"))
    with pytest.raises(LabError, match=re.escape(str(run))):
        page.render(run)
    assert (run / "report.html").read_bytes() == before


def test_a_run_of_another_version_is_refused_in_words(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    folders.write_json(run / "run.json", {**folders.read_json(run / "run.json"), "schema": 1})
    with pytest.raises(LabError, match="measured by another version of the lab"):
        page.render(run)


def test_the_stage_table_adds_up_to_the_requests_time(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    stages = article(run, "Stages of a flow")
    assert "collect signatures" in stages
    assert re.search(r"mean of the same requests at the generator: [\d.]+ (m?s) \(the sum differs by", stages)
    assert '<td class="number">30.0 ms</td>' in stages.partition("<h2>Consensus latency</h2>")[2]
    assert "consensus-latency" in report_charts(run)


def test_a_mix_shows_every_part_and_counts_each_flow(stored_run: Callable[..., Path]) -> None:
    run = stored_run(parts=(part("Iou", states_per_flow=1, weight=2), part("IouUpdate")))
    assert "Iou and IouUpdate flows/s on PartyA with PartyB" in report_text(run)
    assert "IouUpdate: completions on PartyA" in article(run, "The four counts")
    assert "states/s" in article(run, "Parts of the mix")


def test_the_counts_of_several_nodes_name_each(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    counts = folders.read_object(step_file(run))["counts"]
    flow = {"flow": "x.Iou", "generator": 3, "bridge": None, "node": 2}
    change_step(run, counts={**counts, "flows": [{**flow, "started_by": node} for node in ("PartyA", "PartyB")]})
    table = article(run, "The four counts")
    for node in ("PartyA", "PartyB"):
        assert f"Iou: successful requests to {node}" in table
        assert f"Iou: JMX counter of {node}" in table
    assert (table.count("not known"), table.count("✗ differs")) == (2, 2)


def test_expected_failures_are_shown_apart_from_errors(stored_run: Callable[..., Path]) -> None:
    html = report_html(stored_run(error_every=50, failure="expected"))
    assert "<h2>Expected failures</h2>" in html
    assert "<p>None.</p>" in html
    assert re.search(r'class="badge (good|warning)">passed', html)


def test_open_load_tells_arrivals_lag_and_both_latencies(stored_open_run: Callable[..., Path]) -> None:
    run = stored_open_run(rate=20, service_seconds=0.1, pool=5)
    text = report_text(run)
    assert re.search(r"20 constant arrivals/s: 10\.\d+ Iou flows/s on PartyA", text)
    assert re.search(r"Latency from the intended start: p50 [\w. ]+, p99 not answered\.", text)
    # Dropped arrivals rank last, so they never make the latency look better.
    lost = r"(\d+) of 1,200 requests of the measuring window were not answered, \1 of them dropped"
    assert re.search(rf"{lost}\. In every percentile, they rank last\.", text)
    assert "latency from the real start" in text
    assert "dropped: no free place in the pool within 1 s" in text
    assert len(report_charts(run)["latency-ecdf"].shown_looks) == 2


def test_a_run_tells_its_limit_and_its_costs(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    table = stored.read(run).steps[0].values
    change_step(run, values={**table, "cpu_seconds_per_flow": {"PartyA": 0.05, "locust": 0.01}})
    text = report_text(run)
    assert "Limit: host CPU (97 % of 2 cores, PartyA " in text
    assert "iou all nodes 50.0 ms –" in text
