"""The set-up of a workload, in a real Locust process against a real HTTP server."""

import io
import json
import threading
import zipfile
from collections import Counter
from hashlib import sha256

import pytest

from testkit import PAY, Locust, StubBridge, paid, problem, success, wait_until

OWN = """\
description: Every user has a coin of its own.
node: PartyA
flow: org.cordalab.flows.Pay
args:
  coin: "{{ mine('coins') }}"
setup:
  - name: coins
    flow: org.cordalab.flows.CashPrepare
    args: {count: 1}
    count: "{{ users }}"
    concurrency: 2
"""
FILES = """\
description: Send prepared attachments.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.AttachmentSend
args:
  attachmentId: "{{ pick(setup.files) }}"
setup:
  - name: files
    node: counterparty
    attachments: {megabytes: 1, count: 3}
    concurrency: 2
"""
ARGUMENTS = ("--run-time", "2s", "--pacing", "0.2", "--stop-timeout", "10")


def test_what_is_prepared_is_taken_once(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY)

    status, output = locust.run_headless(*ARGUMENTS)

    assert status == 0, output
    (path, prepared) = bridge.starts[0]
    assert path == "/v1/nodes/PartyA/flows"
    assert prepared["args"] == {"count": 1000 * 2 + 3}, "rate_max times the run time, and one for every user"
    assert len(paid(bridge)) == len(set(paid(bridge))) == len(locust.rows()) > 3
    end = locust.whole_end()
    (step,) = end["setup"]
    assert (step["name"], step["items"]) == ("coins", 2003)
    assert step["seconds"] >= 0
    assert "Set-up: coins: 2003 items in" in output
    assert {row["part"] for row in locust.rows()} == {"Pay"}, "the set-up is no request"


def test_every_user_has_its_own_item(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(OWN)

    locust.run(*ARGUMENTS)
    by_client = {start["clientId"]: start["args"].get("coin") for _, start in bridge.starts}
    coins: dict[int, set[str]] = {}
    for row in locust.rows():
        coins.setdefault(row["user_id"], set()).add(str(by_client[row["client_id"]]))
    assert sorted(coins) == [1, 2, 3]
    assert all(len(own) == 1 for own in coins.values())
    assert len(set.union(*coins.values())) == 3


def test_attachments_are_generated_and_uploaded(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(FILES)

    locust.run(*ARGUMENTS)
    assert {path.partition("?")[0] for path, _ in bridge.uploads} == {"/v1/nodes/PartyB/attachments"}
    assert sorted(path.partition("?name=")[2] for path, _ in bridge.uploads) == [
        f"test-files-{n}.zip" for n in (1, 2, 3)
    ]
    for _, content in bridge.uploads:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert [entry.file_size for entry in archive.infolist()] == [1_000_000]
            assert archive.testzip() is None
    ids = {sha256(content).hexdigest().upper() for _, content in bridge.uploads}
    assert len(ids) == 3
    assert {start["args"]["attachmentId"] for _, start in bridge.starts} <= ids


def test_a_run_that_runs_dry_fails_and_names_rate_max(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY.replace("rate_max: 1000", "rate_max: 2"))

    status, output = locust.run_headless("--run-time", "3s", "--stop-timeout", "10")

    assert status == 1
    reason = "iou.yaml:5: args: template: take('coins'): all 9 prepared items are taken: rate_max=2 requests/s"
    assert output.count(reason) == 1, output
    end = locust.whole_end()
    assert (end["exit_reason"], end["requests"]) == ("failed", 9)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (PAY.replace("rate_max: 1000\n", ""), 2, "iou.yaml:1: rate_max: is missing"),
        (PAY.replace('"{{ needed }}"', "5"), 1, "5 items of coins are prepared, but the load may take 2003"),
        (OWN.replace('"{{ users }}"', "2"), 1, "2 items of coins are prepared, but each of 3 users needs one"),
        (PAY.replace("take('coins')", "take('coin')"), 2, "iou.yaml:6: args.coin: template: unknown step 'coin'"),
    ],
)
def test_what_cannot_last_or_start_is_refused_before_load(
    locust: Locust, bridge: StubBridge, text: str, status: int, message: str
) -> None:
    locust.workload(text)

    ended_with, output = locust.run_headless(*ARGUMENTS)

    assert (ended_with, message in output) == (status, True), output
    assert "Traceback" not in output
    assert paid(bridge) == []
    assert locust.files() == []


def test_a_set_up_that_fails_ends_the_run_with_one_message(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY)
    bridge.reply = lambda start: problem(502, "flow-failed", "count must be at most 10000")

    status, output = locust.run_headless(*ARGUMENTS)

    assert status == 1
    failed = "step 'coins' failed: org.cordalab.flows.CashPrepare: flow-failed: count must be at most 10000"
    assert f"iou.yaml:8: setup[0]: {failed}" in output
    assert output.count("locust: error: ") == 1
    assert "Traceback" not in output
    assert len(bridge.starts) == 1
    assert locust.files() == []


def test_a_set_up_that_takes_too_long_is_given_up(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY.replace("rate_max", "    timeout_seconds: 1\nrate_max"))
    released = threading.Event()

    def reply(start: dict[str, object]) -> object:
        released.wait(30)
        return success(start)

    bridge.reply = reply  # type: ignore[assignment]

    status, output = locust.run_headless(*ARGUMENTS)
    released.set()

    assert status == 1
    assert "setup[0]: step 'coins' failed: " in output
    assert "within 1 s" in output or "no answer from the bridge: timed out" in output
    assert "Traceback" not in output


def test_a_run_that_holds_waits_after_its_set_up(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY)
    locust.start_headless(*ARGUMENTS, "--hold")
    ready = locust.rows_folder / "test.ready.json"
    wait_until(ready.exists, "the set-up is done")

    (step,) = json.loads(ready.read_text())["setup"]
    assert (step["name"], step["items"]) == ("coins", 2003)
    assert paid(bridge) == []
    (locust.rows_folder / "test.go").touch()
    status, output = locust.finish()

    assert status == 0, output
    assert len(paid(bridge)) == len(locust.rows()) > 3


def test_a_run_ends_early_when_whoever_watches_it_has_seen_enough(locust: Locust, bridge: StubBridge) -> None:
    locust.start_headless("--users", "2", "--spawn-rate", "2", "--run-time", "600s", "--stop-timeout", "5")
    wait_until(lambda: len(bridge.starts) > 3, "load runs")
    assert 'locust_run_info{load="closed, 2 users",node="PartyA",run="test",workload="iou"} 1.0' in locust.get(
        "/metrics", locust.metrics_port
    )
    (locust.rows_folder / "test.stop").touch()
    status, output = locust.finish()

    assert status == 0, output
    end = locust.whole_end()
    assert (end["exit_reason"], end["requests"]) == ("enough", len(locust.rows()))
    assert {row["outcome"] for row in locust.rows()} == {"ok"}


def test_an_expected_failure_is_no_error(locust: Locust, bridge: StubBridge) -> None:
    expect = "expect:\n  error: below 100\n  status: 502\n"
    locust.workload((locust.workloads / "iou.yaml").read_text() + expect)

    def reply(start: dict[str, object]) -> object:
        number = int(str(start["clientId"]).rpartition("-")[2])
        if number % 3 == 0:
            return success(start)
        return problem(502, "flow-failed", "it must be below 100" if number % 3 == 1 else "something else")

    bridge.reply = reply  # type: ignore[assignment]
    status, output = locust.run_headless(*ARGUMENTS)

    assert status == 0, output
    rows, end = locust.rows(), locust.whole_end()
    outcomes = {row["request_id"] % 3: row["outcome"] for row in rows}
    assert outcomes == {0: "ok", 1: "expected", 2: "failed"}
    assert end["outcomes"] == {"unknown": 0, **Counter(row["outcome"] for row in rows)}
    assert "something else" in output
    assert "must be below 100" not in output, "Locust's table has no expected failures"


def test_several_flows_are_started_by_weight(locust: Locust, bridge: StubBridge) -> None:
    locust.workload("""\
description: A mix.
node: PartyA
counterparty: PartyB
flows:
  - name: often
    weight: 9
    flow: Empty
  - flow: org.cordalab.flows.Iou
    counterparty: PartyC
    args: {iouValue: 1, otherParty: "{{ counterparty }}"}
""")
    arguments = ("--users", "5", "--run-time", "4s", "--pacing", "0.05", "--stop-timeout", "10")
    locust.run(*arguments)
    rows = locust.rows()
    parts = [row["part"] for row in rows]
    assert set(parts) == {"often", "Iou"}
    assert {(row["part"], row["flow"]) for row in rows} == {("often", "Empty"), ("Iou", "org.cordalab.flows.Iou")}
    assert 0.75 < parts.count("often") / len(parts) < 0.99
    assert {start["args"]["otherParty"] for _, start in bridge.starts if start["args"]} == {"O=PartyC,L=Paris,C=FR"}


def test_the_web_ui_does_the_set_up_when_the_form_is_sent(locust: Locust, bridge: StubBridge) -> None:
    locust.workload(PAY)
    locust.start_web()
    form = {"workload": "iou", "node": "", "counterparty": "", "arrivals": "closed", "rate": "0", "pacing": "0.2"}

    refused = locust.post("/swarm", user_count=1, spawn_rate=1, **form)
    started = locust.post("/swarm", user_count=2, spawn_rate=10, run_time="2s", **form)

    assert "run time: is missing; it is needed because requests of iou consume" in refused["message"]
    assert started["success"], started
    assert bridge.starts[0][1]["args"] == {"count": 2002}
    (run_id,) = wait_until(locust.ended, "the run ends by itself")
    assert [name for name in locust.files() if name.endswith(".ndjson")] == [f"{run_id}.ndjson"]
    assert len(paid(bridge)) == len(set(paid(bridge))) > 1
