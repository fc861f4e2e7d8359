"""Flows that several nodes start in turn, in a real Locust process against a real HTTP server."""

import time
from collections import Counter
from typing import Any

import pytest

from testkit import PAY, X500_NAMES, Locust, Reply, StubBridge, paid, success

NODES = ("PartyA", "PartyB", "PartyC")
RING = {"PartyA": "PartyB", "PartyB": "PartyC", "PartyC": "PartyA"}
ALL = "PartyA,PartyB,PartyC"
ARGUMENTS = ("--run-time", "2s", "--stop-timeout", "10")
OWN = """\
description: Every user has a coin of its own.
nodes: [PartyA, PartyB]
flow: org.cordalab.flows.Pay
args:
  coin: "{{ mine('coins') }}"
setup:
  - name: coins
    flow: org.cordalab.flows.CashPrepare
    args: {count: 1}
    count: "{{ users }}"
"""


def node_of(path: str) -> str:
    return path.split("/")[3]


def test_each_user_of_a_closed_load_has_one_of_the_nodes(locust: Locust, bridge: StubBridge) -> None:
    locust.run(*ARGUMENTS, "--users", "6", "--pacing", "0.2", nodes=ALL)
    by_user: dict[int, set[str]] = {}
    for row in locust.rows():
        by_user.setdefault(row["user_id"], set()).add(row["node"])
    assert by_user == {user: {NODES[(user - 1) % 3]} for user in range(1, 7)}
    sent = {start["clientId"]: (node_of(path), start["args"]["otherParty"]) for path, start in bridge.starts}
    for row in locust.rows():
        assert sent[row["client_id"]] == (row["node"], X500_NAMES[RING[row["node"]]]), (
            "each has the next as counterparty"
        )


def test_arrivals_of_open_load_go_to_the_nodes_in_turn(locust: Locust) -> None:
    locust.run(*ARGUMENTS, "--arrivals", "constant", "--rate", "30", "--users", "20", nodes=ALL)
    rows = sorted(locust.rows(), key=lambda row: row["request_id"])
    assert len(rows) > 20
    assert [row["node"] for row in rows[:7]] == ["PartyA", "PartyB", "PartyC", "PartyA", "PartyB", "PartyC", "PartyA"]
    counts = Counter(row["node"] for row in rows)
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("arrivals", [(), ("--arrivals", "constant", "--rate", "20")])
def test_every_node_takes_what_was_prepared_for_it(
    locust: Locust, bridge: StubBridge, arrivals: tuple[str, ...]
) -> None:
    locust.workload(PAY)
    arguments = ("--counterparty", "PartyC", "--run-time", "2s", "--stop-timeout", "10")
    locust.run(*arguments, *(arrivals or ("--pacing", "0.2")), nodes="PartyA,PartyB")
    prepared = [node_of(path) for path, start in bridge.starts if start["flow"].endswith("CashPrepare")]
    assert prepared == ["PartyA", "PartyB"]
    counts = [start["args"]["count"] for _, start in bridge.starts if start["flow"].endswith("CashPrepare")]
    # Closed: rate_max is that of a node. Open: half of 20 per second for two seconds, with a margin of a tenth.
    assert counts == ([25, 25] if arrivals else [2003, 2003])
    end = locust.whole_end()
    assert [step["name"] for step in end["setup"]] == ["coins for PartyA", "coins for PartyB"]
    assert len(paid(bridge)) == len(set(paid(bridge))) > 3
    coins: dict[str, list[int]] = {"PartyA": [], "PartyB": []}
    for path, start in bridge.starts:
        if start["flow"].endswith("Pay"):
            coins[node_of(path)].append(int(start["args"]["coin"].removeprefix("coin-")))
    assert max(coins["PartyA"]) < min(coins["PartyB"]), "the set-up of PartyA came first"


@pytest.mark.parametrize(
    ("load", "prepared"),
    [
        # PartyA is slow, so PartyB starts nearly all flows.
        (("--flows", "12", "--users", "2"), 12),
        (("--arrivals", "burst", "--users", "5", "--bursts", "1"), 3),
    ],
)
def test_every_node_has_enough_for_its_part_of_a_number_of_flows(
    locust: Locust, bridge: StubBridge, load: tuple[str, ...], prepared: int
) -> None:
    locust.workload(PAY)

    def reply(start: dict[str, Any]) -> Reply:
        if start["args"].get("coin") in coins_of_a:
            time.sleep(1)
        if start["flow"].endswith("CashPrepare") and not coins_of_a:
            answer = success(start)
            coins_of_a.update(answer[2]["result"])
            return answer
        return success(start)

    coins_of_a: set[str] = set()
    bridge.reply = reply
    arguments = ("--counterparty", "PartyC", "--run-time", "60s", "--stop-timeout", "10")
    locust.run(*load, *arguments, nodes="PartyA,PartyB")
    end = locust.whole_end()
    assert (end["exit_reason"], end["outcomes"]["ok"]) == ("completed", 12 if "--flows" in load else 5)
    counts = [start["args"]["count"] for _, start in bridge.starts if start["flow"].endswith("CashPrepare")]
    assert counts == [prepared, prepared]


def test_a_workload_may_name_its_nodes_and_every_user_has_its_own_item_there(
    locust: Locust, bridge: StubBridge
) -> None:
    locust.workload(OWN)
    locust.run("--run-time", "2s", "--pacing", "0.2", "--stop-timeout", "10")
    by_client = {start["clientId"]: start["args"].get("coin") for _, start in bridge.starts}
    coins: dict[tuple[int, str], set[Any]] = {}
    for row in locust.rows():
        coins.setdefault((row["user_id"], row["node"]), set()).add(by_client[row["client_id"]])
    assert sorted(coins) == [(1, "PartyA"), (2, "PartyB"), (3, "PartyA")]
    assert all(len(own) == 1 for own in coins.values())
    assert len(set.union(*coins.values())) == 3
