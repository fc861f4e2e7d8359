"""`scripts/lab profile`, `run --profile` and `heap` on real JVMs. Nothing is left in their containers."""

import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corda_lab.paths import RESULTS
from corda_lab.profile import jvm
from e2e.labkit import LAB_SECONDS_MAX, Lab

pytestmark = pytest.mark.lab("standard")

IOU = {"flow": "org.cordalab.flows.Iou", "args": {"iouValue": 50, "otherParty": "O=PartyB,L=New York,C=US"}}
STATUS = "/network/bin/asprof status --libpath /network/bin/libasyncProfiler.so 1"
MIB = 1024**2
ATTACHED = ".java_pid1"
"""The JVM's own socket for attaching, which it creates at the first request and keeps until it ends."""


@pytest.fixture
def load(lab: Lab) -> Iterator[None]:
    """IOU flows from PartyA to PartyB, one after the other."""
    enough = threading.Event()

    def start_flows() -> None:
        with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as client:
            while not enough.is_set():
                client.post("/v1/nodes/PartyA/flows", json=IOU).raise_for_status()

    thread = threading.Thread(target=start_flows)
    thread.start()
    yield
    enough.set()
    thread.join()


def left_in(lab: Lab, service: str) -> tuple[set[str], str]:
    """The temporary files in the container of a service, and when its JVM was started."""
    seen = lab.inside(service, "ls -A /tmp; stat --format=%Y /proc/1")
    *files, started = seen.splitlines()
    return set(files) - {ATTACHED}, started


def profile(lab: Lab, *arguments: str) -> tuple[dict[str, Any], Path, str]:
    """Take a profile. Returns its JSON, the path of its flame graph, and what was printed."""
    output = lab.succeed("profile", *arguments).stdout
    match = re.search(r"^flame graph: (.*)$", output, re.MULTILINE)
    assert match, output
    path = Path(match[1])
    return json.loads(path.with_suffix(".json").read_text()), path, output


@pytest.mark.usefixtures("load")
def test_a_node_under_load_is_profiled_without_a_restart_and_keeps_nothing(lab: Lab) -> None:
    before = left_in(lab, "partya")
    waits, _, _ = profile(lab, "partya", "--seconds", "1", "--event", "lock")
    assert waits["total"] > 0
    found, path, output = profile(lab, "partya", "--seconds", "4")
    assert left_in(lab, "partya") == before
    assert "not active" in lab.inside("partya", STATUS)

    assert (found["node"], found["event"], found["engine"]) == ("PartyA", "cpu", "ctimer")
    assert found["flows"]["ended"] > 0
    assert sum(one["share_percent"] for one in found["components"]) == pytest.approx(100, abs=0.5)
    assert {"AMQP serialisation", "checkpoint serialisation", "H2"} <= {one["name"] for one in found["components"]}
    assert "flows/s" in output
    assert "idle" not in output
    page = path.read_text()
    assert path.parent == RESULTS / "profiles"
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    stacks = path.with_suffix(".collapsed").read_text()
    assert "net/corda/node/services/statemachine/" in stacks
    # The waits for locks of the first profile, which Java 8 still reports.
    assert "java.util.concurrent.Semaphore" not in stacks + page


def test_the_bridge_is_profiled_and_said_to_be_idle(lab: Lab) -> None:
    before = left_in(lab, "bridge")
    found, _, output = profile(lab, "bridge", "--seconds", "2", "--event", "wall")
    assert left_in(lab, "bridge") == before
    assert found["idle_percent"] > 50
    assert "warning: bridge was idle" in output


@pytest.mark.parametrize("name", ["PartyB", jvm.BRIDGE])
def test_the_live_objects_of_a_jvm_are_counted_again_and_again(lab: Lab, name: str) -> None:
    found = jvm.find(name, lab.compose)
    first, second = found.histogram().bytes, found.histogram().bytes
    assert 10 * MIB < first < 1024 * MIB
    assert second == pytest.approx(first, rel=0.1)


def test_ctrl_c_stops_the_profile_and_a_second_one_at_once_is_refused(lab: Lab) -> None:
    before, stored = left_in(lab, "notary"), set((RESULTS / "profiles").iterdir())
    with subprocess.Popen(
        lab.command("profile", "Notary", "--seconds", "600"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as first:
        deadline = time.monotonic() + LAB_SECONDS_MAX
        while "is running" not in lab.inside("notary", STATUS):
            assert time.monotonic() < deadline, "the profile did not start"
            assert first.poll() is None, first.communicate()[0]
        second = lab.run("profile", "Notary", "--seconds", "1")
        assert second.returncode == 2
        assert second.stderr.startswith("error: Notary: another profile of it is running\n")
        assert "is running" in lab.inside("notary", STATUS)
        first.send_signal(signal.SIGINT)
        output, _ = first.communicate(timeout=60)
    assert first.returncode == 130, output
    assert "Traceback" not in output
    assert "not active" in lab.inside("notary", STATUS)
    assert left_in(lab, "notary") == before
    assert set((RESULTS / "profiles").iterdir()) == stored


def test_the_heap_of_a_node_is_counted_by_class(lab: Lab) -> None:
    live = json.loads(lab.succeed("profile", "heap", "partyb", "--json").stdout)
    assert (live["node"], live["is_live"]) == ("PartyB", True)
    assert live["bytes"] == sum(one["bytes"] for one in live["classes"])
    assert {"char[]", "java.lang.String"} <= {one["name"] for one in live["classes"]}
    printed = lab.succeed("profile", "heap", "PartyB", "--all", "--top", "3").stdout
    assert "objects, garbage included" in printed
    assert "further classes" in printed


@pytest.mark.nightly
def test_the_documented_commands_make_a_recording_and_a_heap_dump(lab: Lab) -> None:
    """As docs/operations.md has them. The launcher of the profiler sends requests to the JVM, which has no JDK."""
    jcmd = "/network/bin/asprof jcmd 1"
    recording, dump = "/opt/corda/persistence/lab.jfr", "/opt/corda/persistence/lab.hprof"
    limits = "settings=profile duration=2s maxsize=64m"
    try:
        assert "Started recording" in lab.inside("partyb", f"{jcmd} 'JFR.start {limits} filename={recording}'")
        assert "Heap dump file created" in lab.inside("partyb", f"{jcmd} 'GC.heap_dump {dump}'")
        # The JVM writes the recording when it has ended.
        lab.inside("partyb", f"timeout 60 sh -c 'until [ -s {recording} ]; do sleep 0.2; done'")
        seen = lab.inside("partyb", f"head --bytes=4 {recording}; head --bytes=12 {dump}; stat --format=%a {dump}")
        assert seen.strip() == "FLR\0JAVA PROFILE600"
    finally:
        lab.inside("partyb", f"rm -f {recording} {dump}")
