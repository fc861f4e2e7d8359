"""``lab flow``: the waterfall of any request, in the terminal, as a picture, and for a program."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.cli.flow import flow
from corda_lab.errors import LabError
from corda_lab.results import stored


def test_the_spans_stand_one_below_the_other_with_their_times(
    stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run()
    capsys.readouterr()
    flow("client-200", str(run))
    text = capsys.readouterr().out
    row = stored.read(run).table("requests").filter(pl.col("client_id") == "client-200").row(0, named=True)
    assert f"Iou on PartyA: ok after {row['latency_ms']:,.1f} ms  ({run.name})" in text
    for words in ("client: request", "bridge: request", "PartyA: Iou", "collect_signatures", "PartyB: IouResponder"):
        assert words in text
    assert row["flow_id"] in text
    assert "share its clock" in text
    widths = {len(line) for line in text.splitlines() if "█" in line or "─" in line}
    assert max(widths) < 200


def test_a_program_gets_every_span(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    run = stored_run()
    capsys.readouterr()
    flow("client-200", str(run), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], found["request"]["client_id"]) == (run.name, "client-200")
    assert {span["actor"] for span in found["spans"]} == {"client", "bridge", "PartyA", "PartyB"}
    assert all(span["start_ms"] <= span["end_ms"] for span in found["spans"])


def test_the_picture_is_svg_that_brings_its_colours(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    picture = tmp_path / "flow.svg"
    flow("client-200", str(stored_run()), output=picture)
    text = picture.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in text
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", text)) <= set(re.findall(r"--([a-z0-9-]+):", text))


def test_a_trace_is_written_for_other_programs(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    trace = tmp_path / "flow.json"
    flow("client-200", str(stored_run()), output=trace)
    services = json.loads(trace.read_text(encoding="utf-8"))["resourceSpans"]
    assert len(services) == 4
    assert {span["traceId"] for one in services for span in one["scopeSpans"][0]["spans"]} == {f"{200:032x}"}


@pytest.mark.parametrize(
    ("identity", "output", "words"),
    [
        ("nowhere", None, "no request of this run has 'nowhere'"),
        ("client-20", "flow.png", "--output: flow.png is neither .svg nor .json"),
        ("client-200", "gone/flow.svg", "cannot be written"),
    ],
)
def test_bad_input_is_one_clear_error(
    stored_run: Callable[..., Path], tmp_path: Path, identity: str, output: str | None, words: str
) -> None:
    (tmp_path / "gone").touch()
    with pytest.raises(LabError, match=words):
        flow(identity, str(stored_run()), output=None if output is None else tmp_path / output)
