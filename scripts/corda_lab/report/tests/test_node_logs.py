"""The errors in the logs that were kept with a failed load are in the report, most frequent first."""

from collections.abc import Callable
from pathlib import Path

from corda_lab.report import page, unfinished
from corda_lab.results import node_logs, store
from corda_lab.results.node_logs import ErrorKind, KeptLog, KeptLogs
from corda_lab.results.stored import StepFile
from support.pages import report_html, without_scripts
from support.runs import step_file

REFUSED = ErrorKind(
    level="INFO",
    logger="statemachine.StaffedFlowHospital.consultStaff",
    message="Error … of …:",
    exception="net.corda.core.flows.FlowException: below …",
    count=1200,
    first_at=1795534380.5,
    last_at=1795534390.25,
    example="Error 1 of 1: – net.corda.core.flows.FlowException: below 100",
)
CLOSED = ErrorKind(
    level="WARN",
    logger="a.B",
    message="<closed>",
    exception=None,
    count=3,
    first_at=1795534381,
    last_at=1795534381,
    example="<closed>",
)


def kept(*kinds: ErrorKind, lines_left_out: int = 0) -> KeptLogs:
    log = KeptLog(
        node="PartyB", file="PartyB.log.gz", entries=9000, lines_left_out=lines_left_out, errors=list(kinds), others=2
    )
    return KeptLogs(why="7 of 9 requests failed", since=0, until=1, logs=[log], missing={"PartyC": "it is gone"})


def shown(run: Path) -> str:
    page.render(run)
    return " ".join(without_scripts(report_html(run)).split())


def test_errors_are_listed_with_their_times_and_a_link_to_the_file(stored_run: Callable[..., Path]) -> None:
    run = stored_run()
    node_logs.write_index(step_file(run).with_name("logs"), kept(CLOSED, REFUSED, lines_left_out=12))
    text = shown(run).partition('id="logs"')[2].partition("</article>")[0]
    assert "Kept because 7 of 9 requests failed." in text
    assert text.index("1,200") < text.index("&lt;closed&gt;")
    assert "<code>net.corda.core.flows.FlowException: below …</code>" in text
    assert "first: Error 1 of 1: – net.corda.core.flows.FlowException: below 100" in text
    assert '<td class="number">15:33:00.500</td><td class="number">15:33:10.250</td>' in text
    assert '<a href="steps/0001-run/logs/PartyB.log.gz">steps/0001-run/logs/PartyB.log.gz</a>' in text
    assert "9,000 entries, 1,205 errors; 12 lines between its beginning and its end are left out" in text
    assert "No log of PartyC: it is gone." in text
    # A message without values is not repeated as its example.
    assert text.count("&lt;closed&gt;") == 1


def test_a_run_without_kept_logs_says_nothing_of_them(stored_run: Callable[..., Path]) -> None:
    assert "Errors in the logs of the nodes" not in shown(stored_run())


def test_the_logs_of_a_sweep_name_their_step(sweep: Path, tmp_path: Path) -> None:
    node_logs.write_index(tmp_path / "steps/0003-users-2/logs", kept(REFUSED))
    found = node_logs.section(tmp_path)
    assert found is not None
    assert [(file.step, file.path) for file, _ in found.errors] == [(3, "steps/0003-users-2/logs/PartyB.log.gz")]
    assert "Errors in the logs of the nodes" not in report_html(sweep)


def test_a_run_without_results_names_its_logs_and_its_most_frequent_errors(tmp_path: Path) -> None:
    folder = store.begin(store.manifest("20260102T030405Z-iou"), results=tmp_path)
    step = store.new_step(folder, 1, "run")
    store.end_step(step, StepFile(index=1, key="run", state="failed", why="the bridge is gone", rows=0))
    node_logs.write_index(step / "logs", kept(REFUSED, CLOSED))
    words = [text for name, text in unfinished.lines(unfinished.report(folder)) if name in ("logs", "")]
    assert words[0] == "1 file: steps/0001-run/logs/PartyB.log.gz"
    assert words[1].startswith("1,200 × PartyB INFO Error … of …: – net.corda.core.flows.FlowException: below …")
