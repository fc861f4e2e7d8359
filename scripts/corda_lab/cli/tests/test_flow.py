"""``lab flow``: the waterfall of any request, in the terminal, as a picture, and for a program."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.cli.deeper import flow
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
    for words in ("client: request", "bridge: request", "PartyA: Iou", "PartyB: IouResponder", row["flow_id"]):
        assert words in text
    assert max(len(line) for line in text.splitlines() if "█" in line or "─" in line) < 200


def test_a_program_gets_every_span(stored_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    run = stored_run()
    capsys.readouterr()
    flow("client-200", str(run), as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["run"], printed["request"]["client_id"]) == (run.name, "client-200")
    assert {span["actor"] for span in printed["spans"]} == {"client", "bridge", "PartyA", "PartyB"}


def test_it_is_written_as_a_picture_and_a_trace(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    run = str(stored_run())
    written = {}
    for suffix in ("svg", "json"):
        flow("client-200", run, output=tmp_path / f"flow.{suffix}")
        written[suffix] = (tmp_path / f"flow.{suffix}").read_text(encoding="utf-8")
    assert ElementTree.fromstring(written["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
    spans = [span for one in json.loads(written["json"])["resourceSpans"] for span in one["scopeSpans"][0]["spans"]]
    assert {span["traceId"] for span in spans} == {f"{200:032x}"}


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
