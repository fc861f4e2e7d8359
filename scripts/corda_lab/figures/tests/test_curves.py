"""The curves of a figure: published in their own units, ours with intervals, and both divided at the anchor."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from corda_lab.figures import curves
from corda_lab.figures.curves import measured, normalised
from corda_lab.figures.figure import Figure
from corda_lab.figures.judge import Judged, judge
from corda_lab.figures.repeats import Repeat
from corda_lab.steps.entry import ParameterValue
from support.claims import HEAD, figure_of, repeat_of

CLAIM = "name: a, says: 1, level: p50, at: {load.users: 1}, within: [0, null]"
CHART = "{x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}}"


@pytest.fixture
def figure(tmp_path: Path) -> Figure:
    return figure_of(tmp_path, CLAIM)


def repeats(*factors: float) -> list[Repeat]:
    """Latency in proportion to the users and to a factor for each repeat; the peak is 8 flows/s ÷ the factor."""

    def one(number: int, factor: float) -> Repeat:
        def values(point: Mapping[str, ParameterValue]) -> dict[str, float | None]:
            users = float(str(point["load.users"]))
            return {"p50": 100.0 * users * factor, "throughput": min(users, 8) / factor}

        return repeat_of(number, values)

    return [one(number, factor) for number, factor in enumerate(factors, start=1)]


def lines(curves: pl.DataFrame, column: str = "y") -> dict[str, list[float]]:
    """The values of each curve, rounded."""
    return {name: own[column].round(2).to_list() for (name,), own in curves.group_by("curve", maintain_order=True)}


def test_measured_values_have_an_interval_over_the_repeats(figure: Figure) -> None:
    found = measured(judge(figure, repeats(0.9, 1, 1.1)))
    assert found["curve"].unique(maintain_order=True).to_list() == ["Corda 4.9", "Corda 4.10"]
    first = found.row(0, named=True)
    assert (first["x"], first["number"], first["n"]) == ("1", 1, 3)
    assert first["low"] < first["y"] < first["high"]
    assert first["y"] == pytest.approx(99.67, abs=0.01)


def test_one_repeat_has_no_interval_and_is_hollow(figure: Figure) -> None:
    found = judge(figure, repeats(1))
    assert measured(found)["low"].is_null().all()
    assert curves.chart_of(found).frame.filter(~pl.col("series").str.starts_with("published"))["is_hollow"].all()


def test_both_curves_are_one_at_the_anchor_whatever_the_speed_of_a_repeat(figure: Figure) -> None:
    found, is_by_peak = normalised(judge(figure, repeats(0.5, 1, 2)))
    assert found.select("origin", "curve").unique(maintain_order=True).rows() == [
        ("published", "OS 3.3"),
        ("here", "Corda 4.9"),
        ("here", "Corda 4.10"),
    ]
    # Ours is divided within each repeat, so that the speed of the day has no part in the interval.
    ours = found.filter(pl.col("curve") == "Corda 4.9")
    for column in ("y", "low", "high"):
        assert ours[column].to_list() == pytest.approx([0.1, 1, 4, 7])
    assert lines(found)["OS 3.3"][2] == 1
    # A load is divided by the peak of its own curve: the highest published throughput is 8.6199 flows/s.
    assert is_by_peak
    assert lines(found, "number")["OS 3.3"][-1] == pytest.approx(70 / 8.6199, abs=0.01)
    assert ours["number"][-1] == pytest.approx(70 / (8 * (2 + 1 + 0.5) / 3))


def test_a_curve_without_the_anchor_is_divided_by_its_first_value(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, CLAIM, head=HEAD.replace("anchor: {load.users: 10}", "anchor: {load.users: 40}"))
    points: Sequence[Mapping[str, ParameterValue]] = [{"shape.corda": "4.9", "load.users": users} for users in (10, 1)]
    repeat = repeat_of(1, lambda point: {"p50": float(str(point["load.users"]))}, points=points)
    assert lines(normalised(judge(figure, [repeat]))[0])["Corda 4.9"] == [1, 10]


STEPS = """\
description: Named steps, most of them with a number.
workload: iou
load: {users: 2}
steps:
  - {name: issue 1, at: 1}
  - {name: issue 16, at: 16}
  - {name: pay 64, at: 64}
  - {name: told apart by words, at: 16}
  - {name: without a number}
warm_up: {min: 5s, max: 15s}
measure: 15s
"""


def named_steps(tmp_path: Path) -> Judged:
    """A figure over the numbers of named steps; p50 is 10 for each letter of the name."""
    chart = "{x: at, x_title: users, y: p50, by: step, anchor: {step: issue 16}}"
    claim = CLAIM.replace("load.users: 1", "step: issue 1")
    figure = figure_of(tmp_path, claim, head=HEAD.replace(CHART, chart), sweep=STEPS)
    points = [
        {"step": step.name} | ({} if step.at is None else {"at": step.at}) for step in figure.sweep.fields.steps or ()
    ]
    return judge(figure, [repeat_of(1, lambda point: {"p50": 10.0 * len(str(point["step"]))}, points=points)])


def test_named_steps_that_differ_in_their_number_are_on_one_curve(tmp_path: Path) -> None:
    found = measured(named_steps(tmp_path))
    assert lines(found, "number") == {"issue": [1, 16], "pay": [64], "told apart by words": [16]}


def test_a_curve_that_lacks_the_anchor_is_divided_by_that_of_another(tmp_path: Path) -> None:
    found, _ = normalised(named_steps(tmp_path))
    ours = lines(found.filter(pl.col("origin") == "here"))
    assert (ours["issue"], ours["pay"]) == ([0.88, 1], [0.75])


@pytest.mark.parametrize(
    "published",
    [
        "{id: IIT-3.5, x: requests in 1s, y: mean latency}",
        # A single value would only be 1.
        "{id: IIT-txt, x: requests in 1s, y: mean latency, beside: x}",
    ],
)
def test_published_values_without_a_place_are_in_no_common_chart(tmp_path: Path, published: str) -> None:
    head = re.sub(r"(?m)^  - \{id: .*\n", "", HEAD).replace("published:\n", f"published:\n  - {published}\n")
    found = judge(figure_of(tmp_path, CLAIM, head=head), repeats(1))
    assert normalised(found)[0]["origin"].unique().to_list() == ["here"]
    assert curves.chart_of(found).title == "Here: latency p50"
