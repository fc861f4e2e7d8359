"""Faults on real containers: each is there while it lasts and gone afterwards, and a load survives one."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from corda_lab.chaos.trial import TRIAL
from corda_lab.cli.measure import CHAOS
from corda_lab.cli.options import load_options
from corda_lab.faults import inject
from corda_lab.faults.plan import HELPER
from e2e.faultkit import await_healthy, inspected, lasting
from e2e.labkit import Lab, step_of
from lab_workload.faults import Fault

pytestmark = pytest.mark.lab("standard")

TARGET = "partyc"
"""No other test of this lab starts flows on it."""
SEED = 4711


def connects(lab: Lab, service: str, host: str) -> bool:
    """Whether a connection to the P2P port of a node succeeds within two seconds."""
    script = f"timeout 2 bash -c '</dev/tcp/{host}/10002' 2> /dev/null && echo yes || echo no"
    return lab.inside(service, script).strip() == "yes"


def hears(lab: Lab, service: str, host: str) -> bool:
    """Whether datagrams from a service reach a host. No program there takes them, so its kernel counts them."""

    def counted() -> int:
        titles, values = lab.inside(host, "grep ^Udp: /proc/net/snmp").splitlines()
        return int(dict(zip(titles.split(), values.split(), strict=True))["NoPorts"])

    before = counted()
    lab.inside(service, f"for number in 1 2 3; do echo $number > /dev/udp/{host}/9; done; true")
    return counted() > before


def test_a_partition_of_two_nodes_loses_their_packets_and_no_others(lab: Lab) -> None:
    assert connects(lab, TARGET, "partyb")
    with lasting(lab.compose, "partition", f"{TARGET}-partyb"):
        assert not connects(lab, TARGET, "partyb")
        assert not connects(lab, "partyb", TARGET)
        assert connects(lab, TARGET, "notary")
    assert connects(lab, TARGET, "partyb")
    assert connects(lab, "partyb", TARGET)


def test_a_node_that_is_cut_off_reaches_nobody(lab: Lab) -> None:
    with lasting(lab.compose, "partition", TARGET):
        assert not connects(lab, TARGET, "notary")
        assert not connects(lab, "partya", TARGET)
        assert connects(lab, "partya", "notary")
    assert connects(lab, TARGET, "notary")


def test_a_node_that_is_cut_off_hears_nobody(lab: Lab) -> None:
    """Otherwise only its answers would be lost, and never a request."""
    assert hears(lab, "partya", TARGET)
    assert hears(lab, TARGET, "partya")
    with lasting(lab.compose, "partition", TARGET):
        assert not hears(lab, "partya", TARGET)
        assert not hears(lab, TARGET, "partya")
        assert hears(lab, "partya", "notary")
    assert hears(lab, "partya", TARGET)
    assert hears(lab, TARGET, "partya")


def test_a_full_disk_is_a_limit_of_all_processes(lab: Lab) -> None:
    def limit() -> str:
        limits = lab.compose.exec("bridge", "cat", "/proc/1/limits").stdout
        return limits.partition("Max file size")[2].split()[0]

    # The bridge, because it writes no file: any other part could end itself.
    assert limit() == "unlimited"
    with lasting(lab.compose, "full-disk", "bridge"):
        assert limit() == "0"
    assert limit() == "unlimited"


def test_a_frozen_part_and_one_without_memory_are_as_before_afterwards(lab: Lab) -> None:
    limits = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"
    before = inspected(lab.compose, "prometheus", limits)
    with lasting(lab.compose, "memory-limit", "prometheus"):
        assert inspected(lab.compose, "prometheus", limits) != before
    assert inspected(lab.compose, "prometheus", limits) == before
    with lasting(lab.compose, "pause", "prometheus"):
        assert inspected(lab.compose, "prometheus", "{{.State.Status}}") == "paused"
    assert inspected(lab.compose, "prometheus", "{{.State.Status}}") == "running"
    await_healthy(lab.compose, "prometheus")


@pytest.fixture(scope="module")
def killed(lab: Lab) -> Path:
    """The run of a trial with a kill of the bridge. It makes the fault of another run again, which was never made.

    A load whose faults are drawn would last a minute. Nights have these.
    """
    if not lab.results():
        lab.measure("iou", "--users", "2", "--duration", "5s", "--warm-up", "2s")
    load = load_options("iou", {**CHAOS, "seed": SEED})
    fault = Fault(kind="kill", target="bridge", at_seconds=8.0, for_seconds=0.5)
    load = load.updated(name="chaos", warm_up_seconds=2.0, duration_seconds=18.0, faults=(fault,))
    copy = lab.results()[-1].with_name(f"{lab.results()[-1].name}-again")
    shutil.copytree(lab.results()[-1], copy)
    try:
        run = read(copy, "run.json") | {"load": load.model_dump(mode="json")}
        (copy / "run.json").write_text(json.dumps(run), encoding="utf-8")
        done = lab.succeed("chaos", copy.name)
    finally:
        shutil.rmtree(copy)
    assert "all trials passed" in done.stdout
    return lab.results()[-1]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_a_load_survives_a_kill_of_the_bridge_and_the_audit_passes(lab: Lab, killed: Path) -> None:
    folder = killed
    step = step_of(folder)
    (fault,) = step["faults"]
    assert (fault["kind"], fault["target"], fault["at_seconds"]) == ("kill", "bridge", 8.0)
    assert fault["problem"] is None
    assert fault["began_at"] < fault["healed_at"]
    assert step["requests"]["ok"] > 0
    trial = read(folder, TRIAL)
    assert (trial["seed"], trial["audit"]["verdict"], trial["problems"]) == (SEED, "passed", [])
    assert trial["outcomes"]["ok"] == step["requests"]["ok"]
    # Every flow whose answer never came is accounted for.
    resolved = step["resolved"]
    assert resolved["unknown"] == 0
    assert resolved["ok"] + resolved["failed"] + resolved["not_started"] == step["requests"]["unknown"]
    assert (step["counts"]["restarted"], step["counts"]["bridge"]) == (["bridge"], None)
    # The dashboards showed it, and do not any more.
    assert lab.inside("locust", f"test -e {inject.SHOWN_FILE} && cat {inject.SHOWN_FILE}") == ""
    assert "kill bridge" in (folder / "report.html").read_text(encoding="utf-8")


def test_no_helper_is_left(lab: Lab) -> None:
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={HELPER}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""
