"""Faults on real containers: each is there while it lasts and gone afterwards, and a load survives one."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from corda_lab.faults import inject, shown, wounds
from corda_lab.results import folders
from corda_lab.steps.faults import Fault, FaultKind
from labkit import Lab

pytestmark = pytest.mark.lab("standard")

TARGET = "partyc"
"""No other test of this lab starts flows on it."""
SEED = "4711"


@contextmanager
def lasting(lab: Lab, kind: FaultKind, target: str) -> Iterator[None]:
    """Make a fault, and heal it after the block."""
    fault = Fault(kind=kind, target=target, at_seconds=0.0, for_seconds=60.0)
    with inject.injecting(lab.compose, (fault,), "none") as injection:
        deadline = time.monotonic() + 60
        while not injection.entries[0].was_made:
            assert injection.entries[0].problem in (None, inject.TOO_LATE), injection.entries[0].problem
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield
    assert injection.entries[0].problem is None
    assert not inject.is_left(lab.settings.project)


def container(lab: Lab, service: str) -> str:
    return next(each.container for each in lab.compose.services() if each.name == service)


def inspected(lab: Lab, service: str, form: str) -> str:
    command = ["docker", "container", "inspect", "--format", form, container(lab, service)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def connects(lab: Lab, service: str, host: str) -> bool:
    """Whether a connection to the P2P port of a node succeeds within two seconds."""
    script = f"timeout 2 bash -c '</dev/tcp/{host}/10002' 2> /dev/null && echo yes || echo no"
    return lab.inside(service, script).strip() == "yes"


def test_a_partition_of_two_nodes_loses_their_packets_and_no_others(lab: Lab) -> None:
    assert connects(lab, TARGET, "partyb")
    with lasting(lab, "partition", f"{TARGET}-partyb"):
        assert not connects(lab, TARGET, "partyb")
        assert not connects(lab, "partyb", TARGET)
        assert connects(lab, TARGET, "notary")
    assert connects(lab, TARGET, "partyb")
    assert connects(lab, "partyb", TARGET)


def test_a_node_that_is_cut_off_reaches_nobody(lab: Lab) -> None:
    with lasting(lab, "partition", TARGET):
        assert not connects(lab, TARGET, "notary")
        assert not connects(lab, "partya", TARGET)
        assert connects(lab, "partya", "notary")
    assert connects(lab, TARGET, "notary")


def test_a_full_disk_is_a_limit_of_all_processes(lab: Lab) -> None:
    def limit() -> str:
        limits = lab.compose.run("exec", "-T", "bridge", "cat", "/proc/1/limits").stdout
        return limits.partition("Max file size")[2].split()[0]

    # The bridge, because it writes no file: any other part could end itself.
    assert limit() == "unlimited"
    with lasting(lab, "full-disk", "bridge"):
        assert limit() == "0"
    assert limit() == "unlimited"


def test_a_frozen_part_and_one_without_memory_are_as_before_afterwards(lab: Lab) -> None:
    limits = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"
    before = inspected(lab, "prometheus", limits)
    with lasting(lab, "memory-limit", "prometheus"):
        assert inspected(lab, "prometheus", limits) != before
    assert inspected(lab, "prometheus", limits) == before
    with lasting(lab, "pause", "prometheus"):
        assert inspected(lab, "prometheus", "{{.State.Status}}") == "paused"
    assert inspected(lab, "prometheus", "{{.State.Status}}") == "running"
    # Its health was probed while it was frozen, and loads want it healthy.
    deadline = time.monotonic() + 90
    while inspected(lab, "prometheus", "{{.State.Health.Status}}") != "healthy":
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_load_survives_a_kill_of_the_bridge_and_the_audit_passes(lab: Lab) -> None:
    options = ("--trials", "1", "--faults", "1", "--kinds", "kill", "--targets", "bridge", "--users", "4")
    done = lab.succeed("chaos", *options, "--seed", SEED)
    assert "all trials passed" in done.stdout
    folder = lab.results()[-1]
    (step,) = json.loads((folder / "steps.json").read_text(encoding="utf-8"))["steps"]
    (fault,) = step["faults"]
    assert (fault["kind"], fault["target"], fault["problem"]) == ("kill", "bridge", None)
    assert fault["began_at"] < fault["healed_at"]
    assert step["requests"]["ok"] > 0
    assert (folder / folders.FAULTS).is_file()
    # The dashboards showed it, and do not any more.
    assert lab.inside("locust", f"test -e {shown.FILE} && cat {shown.FILE}") == ""
    assert "kill bridge" in (folder / "report.html").read_text(encoding="utf-8")


def test_no_helper_is_left(lab: Lab) -> None:
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={wounds.HELPER}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""
