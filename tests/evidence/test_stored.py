"""The stored measurements of the lab itself give the figures of ``docs/performance.md``."""

import pytest

import overhead
import peers
from measured import Record, in_words, ratio, stored


def of(identity: str, users: int) -> list[Record]:
    return [one for one in stored("peers") if (one["id"], one["users"]) == (identity, users)]


@pytest.mark.parametrize(
    ("identity", "users", "peer", "value", "expected"),
    [
        ("20261123T131005Z-peers", 1, "direct", "flows/s", "0.913 (0.730 to 1.144)"),
        ("20261123T131005Z-peers", 20, "direct", "flows/s", "0.994 (0.892 to 1.108)"),
        ("20261123T131005Z-peers", 100, "direct", "flows/s", "0.977 (0.773 to 1.235)"),
        ("20261123T131005Z-peers", 20, "jmeter", "flows/s", "1.098 (0.895 to 1.348)"),
        ("20261123T131005Z-peers", 100, "jmeter", "CPU ms per flow", "0.650 (0.576 to 0.733)"),
        ("20261123T131005Z-peers", 100, "jmeter", "MB per 1,000 flows", "0.612 (0.470 to 0.797)"),
        ("20261123T132848Z-peers", 20, "direct", "flows/s", "0.934 (0.822 to 1.061)"),
        ("20261123T134516Z-peers", 1, "direct", "flows/s", "0.544 (0.355 to 0.834)"),
    ],
)
def test_the_lab_beside_its_peers(identity: str, users: int, peer: str, value: str, expected: str) -> None:
    found, of_value = of(identity, users), peers.VALUES[value]
    compared = ratio(peers.by_round(found, peer, of_value), peers.by_round(found, "lab", of_value))
    assert in_words(compared) == expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ("20261126T135146Z-overhead", "0.989 (0.916 to 1.068)"),
        ("20261130T160342Z-overhead", "0.982 (0.927 to 1.041)"),
        ("20261130T162655Z-overhead", "0.992 (0.884 to 1.112)"),
    ],
)
def test_the_overhead_of_the_lab(measured: str, expected: str) -> None:
    found = [record for record in stored("overhead") if record["id"] == measured]
    assert in_words(ratio(overhead.by_pair(found, "off"), overhead.by_pair(found, "on"))) == expected


def test_every_kill_was_accounted_for() -> None:
    trials = stored("kills")
    assert len(trials) == 40
    assert not [one for one in trials if one["problems"]]
    assert sum(one["acknowledged"] for one in trials) == 4380
    assert sum(one["on_ledger"] for one in trials) == 4768


def test_each_peer_has_every_place_and_blocks_are_mirrored() -> None:
    orders = [peers.order_of(turn, peers.PEERS) for turn in range(3)]
    assert all({order[place] for order in orders} == set(peers.PEERS) for place in range(3))
    assert [overhead.order_of(block) for block in (1, 2)] == [("on", "off", "off", "on"), ("off", "on", "on", "off")]


def test_the_rows_of_a_part_prove_its_state() -> None:
    found = {"rows": 0, "scrapes": 12, "spans": 40, "problem": None}
    assert overhead.problem_of(found, "recording", {"recording"}) is None
    assert overhead.problem_of(found, "recording", set()) is not None
    assert overhead.problem_of(found, "everything", set(overhead.PARTS)) is not None
