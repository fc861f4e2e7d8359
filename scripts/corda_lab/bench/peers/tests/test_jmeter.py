"""JMeter's results file."""

from pathlib import Path

import pytest

from corda_lab.bench.peers import jmeter
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)
CONNECTED = "1700000000500,480,connect,200,OK,connect 1-1,,true,,0,0,2,2,null,0,0,0"
REFUSED = '1700000000600,20,connect,500,"java.lang.Exception: no, thanks",connect 1-2,,false,,0,0,2,2,null,0,0,0'
DONE = "1700000001000,250,flow,200,OK,load 1-1,,true,,0,0,2,2,null,0,0,0"
FAILED = "1700000001000,300,flow,500,net.corda.core.flows.FlowException: Value too high,load 1-2,,false,,0,0,2,2,,0,0,0"


def results(folder: Path, *lines: str) -> Path:
    path = folder / "flows.jtl"
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path


def test_reads_the_flows_and_leaves_the_connections_out(tmp_path: Path) -> None:
    samples = jmeter.read_results(results(tmp_path, CONNECTED, DONE, FAILED))
    assert jmeter.flows(samples).rows() == [
        (1700000001.25, 250.0, None),
        (1700000001.3, 300.0, "net.corda.core.flows.FlowException: Value too high"),
    ]
    assert jmeter.connect_error(samples) is None


def test_says_why_a_connection_could_not_be_opened(tmp_path: Path) -> None:
    samples = jmeter.read_results(results(tmp_path, CONNECTED, REFUSED))
    assert jmeter.connect_error(samples) == "java.lang.Exception: no, thanks"
    assert jmeter.flows(samples).is_empty()


def test_a_file_of_another_form_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "flows.jtl"
    path.write_text("no results\n", encoding="utf-8")
    with pytest.raises(LabError, match="results file cannot be read"):
        jmeter.read_results(path)


def test_refuses_nodes_that_the_sampler_cannot_connect_to() -> None:
    settings = load_settings(ENV_FILE, {})
    jmeter.require_possible(settings.with_values({"CORDA_VERSION": "4.10"}))
    with pytest.raises(LabError, match=r"Corda 3\.3"):
        jmeter.require_possible(settings.with_values({"CORDA_VERSION": "3.3"}))
