"""What the number of a claim is, in words, and the values that it is made of."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from corda_lab.figures.file import Figure
from corda_lab.figures.judge import judge
from corda_lab.figures.store import names_of
from corda_lab.figures.words import number_words, points_words
from corda_lab.steps.entry import ParameterValue
from support.claims import HEAD, figure_of, repeat_of


def number_of(figure: Figure) -> str:
    """What the number of the only claim of a figure is, in words."""
    (verdict,) = judge(figure, [])
    return number_words(verdict.claim, figure.fields.chart)


USERS_70 = "of: {load.users: 70}"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            f"ratio: node_latency_mean, {USERS_70}, to: {{load.users: 1}}",
            "mean latency in the node, Corda 4.9: 70 users ÷ 1 user",
        ),
        (
            f'ratio: p50, {USERS_70[:-1]}, shape.corda: "4.10"}}, to: {{load.users: 70}}',
            "latency p50, 70 users: Corda 4.10 ÷ Corda 4.9",
        ),
        (
            f"ratio: [node_latency_mean, burst_total], {USERS_70}",
            "mean latency in the node ÷ total time of a burst: Corda 4.9, 70 users",
        ),
        (
            "ratio: [cpu_seconds_per_flow.notary, cpu_seconds_per_flow.PartyA], of: {load.users: last}",
            "CPU per flow, notary ÷ CPU per flow, PartyA: Corda 4.9, highest users",
        ),
        (
            "exponent: p50, over: users * depth, from: 10",
            "exponent of latency p50 over users*depth, Corda 4.9, from 10",
        ),
        (
            'exponent: p50, over: users, from: 3 x peak, where: {shape.corda: "4.10"}',
            "exponent of latency p50 over users, Corda 4.10, from 3 × the peak",
        ),
        (
            "exponent: p50, over: users, where: {load.users: [10, 70]}, above: {load.users: 1}",
            (
                "exponent of latency p50 over users, Corda 4.9, 10 users and 70 users, "
                "each less the value at Corda 4.9, 1 user"
            ),
        ),
        ("level: throughput, at: {load.users: best}", "throughput, Corda 4.9, best of all users"),
    ],
)
def test_the_number_of_a_claim_is_told_with_its_points(tmp_path: Path, claim: str, words: str) -> None:
    figure = figure_of(tmp_path, f"name: a, says: 1, {claim}, within: [1, 2]")
    assert number_of(figure) == words


STEPS = """\
description: The same load, nearer and further.
workload: iou
load: {users: 2}
steps:
  - {name: here, at: 0}
  - {name: near, at: 10}
  - {name: far, at: 40}
x: at
warm_up: {min: 5s, max: 15s}
measure: 15s
"""


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            "exponent: p50, over: at, where: {at: [10, 40]}, above: {at: 0}",
            "exponent of latency p50 over ms to the database, at 10 and 40, each less the value at 0",
        ),
        ("ratio: p50, of: {step: far}, to: {step: best}", "latency p50: far ÷ best of all steps"),
    ],
)
def test_the_numbers_of_named_steps_have_the_title_of_the_axis(tmp_path: Path, claim: str, words: str) -> None:
    chart = "chart: {x: at, x_title: ms to the database, y: p50, anchor: {at: 10}}"
    head = HEAD.replace("chart: {x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}}", chart)
    figure = figure_of(tmp_path, f"name: a, says: 1, {claim}, within: [1, 2]", head=head, sweep=STEPS)
    assert number_of(figure) == words


def test_an_outcome_is_whether_a_node_ends(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, "name: a, says: 1, level: outcome, at: {load.users: 70}, broken: true")
    assert number_of(figure) == "whether a node ends, Corda 4.9, 70 users"


def test_a_claim_without_a_statistic_has_no_number(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, "name: a, says: 1, needs: {software: Braid}")
    assert number_of(figure) == ""


def latency(point: Mapping[str, ParameterValue]) -> Mapping[str, float | None]:
    """100 ms for each user."""
    return {"p50": 100.0 * int(str(point["load.users"]))}


def without_70_users(point: Mapping[str, ParameterValue]) -> Mapping[str, float | None]:
    return {"p50": None} if point["load.users"] == 70 else latency(point)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("ratio: p50, of: {load.users: 70}, to: {load.users: 1}", "7.00 s ÷ 100 ms"),
        (
            "ratio: p50, of: {load.users: last}, to: {load.users: first}",
            "7.00 s ÷ 100 ms; highest: 70 users; lowest: 1 user",
        ),
        ("exponent: p50, over: users, from: 10", "10: 1.00 s, 40: 4.00 s, 70: 7.00 s"),
        ("level: p50, at: {load.users: 1}", ""),
        ("ratio: p95, of: {load.users: 70}, to: {load.users: 1}", ""),
    ],
)
def test_the_values_of_its_points_are_told(tmp_path: Path, claim: str, words: str) -> None:
    figure = figure_of(tmp_path, f"name: a, says: 1, {claim}, within: [1, 2]")
    (found,) = judge(figure, [repeat_of(1, latency), repeat_of(2, latency), repeat_of(3, without_70_users)])
    assert points_words(found, names_of(figure.sweep)) == words
