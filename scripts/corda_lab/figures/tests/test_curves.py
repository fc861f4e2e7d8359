"""The curves of a figure: published in their own units, ours with intervals, and both divided at the anchor."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.figures import curves
from corda_lab.figures.curves import by_curve, measured, normalised, published_beside, published_charts
from corda_lab.figures.file import Figure
from corda_lab.figures.judge import judged
from corda_lab.figures.repeat import Repeat
from corda_lab.steps.entry import ParameterValue
from support.claims import HEAD, figure_of, repeat_of

Points = list[Mapping[str, ParameterValue]]

CLAIM = "name: a, says: 1, level: p50, at: {load.users: 1}, within: [0, null]"


@pytest.fixture
def figure(tmp_path: Path) -> Figure:
    return figure_of(tmp_path, CLAIM)


def repeats(*factors: float) -> list[Repeat]:
    """Latency in proportion to the users and to a factor for each repeat; the peak is 8 flows/s ÷ the factor."""

    def one(number: int, factor: float) -> Repeat:
        def values(point: Mapping[str, ParameterValue]) -> dict[str, float | None]:
            users = point["load.users"]
            assert isinstance(users, int)
            return {"p50": 100.0 * users * factor, "throughput": min(users, 8) / factor}

        return repeat_of(number, values)

    return [one(number, factor) for number, factor in enumerate(factors, start=1)]


def test_published_values_keep_their_units_and_hardware(figure: Figure) -> None:
    latency, throughput = published_charts(figure)
    assert (latency.x, latency.y, latency.unit) == ("requests in 1s", "mean latency", "s")
    assert (throughput.y, throughput.unit) == ("throughput", "flows/s")
    (curve,) = latency.curves
    assert (curve.name, curve.dots[0].x, curve.dots[0].y, curve.dots[-1].x) == ("OS 3.3", 1, 0.4866, 70)
    assert all("E5-2699C" in name for name in latency.hardware)


def test_measured_curves_have_a_mean_and_an_interval_for_each_x(figure: Figure) -> None:
    first, second = measured(figure, repeats(0.5, 1, 2))
    assert [first.name, second.name] == ["Corda 4.9", "Corda 4.10"]
    assert [dot.x for dot in first.dots] == [1, 10, 40, 70]
    dot = first.dots[1]
    assert dot.low is not None
    assert dot.high is not None
    assert dot.n == 3
    assert dot.y == pytest.approx(1000)
    assert dot.low < 500
    assert dot.high > 2000


def test_one_repeat_has_no_interval_and_is_hollow(figure: Figure) -> None:
    found = judged(figure, repeats(1))
    assert all(dot.low is None for curve in measured(figure, found.repeats) for dot in curve.dots)
    assert curves.here(found).frame["is_hollow"].all()


def test_both_curves_are_one_at_the_anchor_whatever_the_speed_of_a_repeat(figure: Figure) -> None:
    found, _ = normalised(figure, repeats(0.5, 1, 2))
    assert [(curve.origin, curve.name) for curve in found] == [
        ("published", "OS 3.3"),
        ("here", "Corda 4.9"),
        ("here", "Corda 4.10"),
    ]
    theirs, ours, _ = found
    assert theirs.dots[2].y == 1
    # Ours is divided within each repeat, so that the speed of the day has no part in the interval.
    for dot, users in zip(ours.dots, (1, 10, 40, 70), strict=True):
        assert [dot.y, dot.low, dot.high] == pytest.approx([users / 10] * 3)


def test_a_load_is_divided_by_the_peak_of_its_own_curve(figure: Figure) -> None:
    found, is_by_peak = normalised(figure, repeats(1, 1, 1))
    assert is_by_peak
    theirs, ours, _ = found
    # The highest published throughput is 8.6199 flows/s.
    assert theirs.dots[-1].x == pytest.approx(70 / 8.6199)
    assert ours.dots[-1].x == pytest.approx(70 / 8)


def test_x_stays_as_it_is_where_a_peak_is_not_known(figure: Figure) -> None:
    alike = [repeat_of(number, lambda point: {"p50": 5.0}) for number in (1, 2, 3)]
    found, is_by_peak = normalised(figure, alike)
    assert not is_by_peak
    assert found[0].dots[-1].x == 70


def test_a_curve_without_the_anchor_is_divided_by_its_first_value(tmp_path: Path) -> None:
    head = HEAD.replace("anchor: {load.users: 10}", "anchor: {load.users: 40}")
    figure = figure_of(tmp_path, CLAIM, head=head)
    points: Points = [{"shape.corda": "4.9", "load.users": users} for users in (1, 10)]
    (ours,) = [
        curve
        for curve in normalised(
            figure, [repeat_of(1, lambda point: {"p50": float(str(point["load.users"]))}, points=points)]
        )[0]
        if curve.origin == "here"
    ]
    assert [dot.y for dot in ours.dots] == [1, 10]


STEPS: Points = [
    {"step": "issue 1", "at": 1},
    {"step": "issue 16", "at": 16},
    {"step": "pay 16", "at": 16},
    {"step": "told apart by words", "at": 16},
    {"step": "without a number"},
]


def named_steps(tmp_path: Path, by: str) -> Figure:
    """A figure over the numbers of named steps. Their sweep has one point, because only repeats are looked at."""
    figure = figure_of(tmp_path, CLAIM)
    chart = figure.fields.chart.model_copy(update={"x": "at", "by": by, "anchor": {"step": "issue 16"}})
    return replace(figure, fields=figure.fields.model_copy(update={"chart": chart}))


def steps(point: Mapping[str, ParameterValue]) -> dict[str, float | None]:
    return {"p50": 10.0 * len(str(point["step"]))}


def test_named_steps_that_differ_in_their_number_are_on_one_curve(tmp_path: Path) -> None:
    found = by_curve(named_steps(tmp_path, "step"), repeat_of(1, steps, points=STEPS))
    assert {name: [point.values["at"] for point in points] for name, points in found.items()} == {
        "issue": [1, 16],
        "pay": [16],
        "told apart by words": [16],
    }


def test_of_two_points_at_one_place_the_second_has_a_curve_of_its_own(tmp_path: Path) -> None:
    found = by_curve(named_steps(tmp_path, "load.users"), repeat_of(1, steps, points=STEPS))
    assert {name: [point.values["step"] for point in points] for name, points in found.items()} == {
        "": ["issue 1", "issue 16"],
        "pay 16": ["pay 16"],
        "told apart by words": ["told apart by words"],
    }


def test_a_curve_that_lacks_the_anchor_is_divided_by_that_of_another(tmp_path: Path) -> None:
    points: Points = [*STEPS[:2], {"step": "pay 64", "at": 64}]
    found, _ = normalised(named_steps(tmp_path, "step"), [repeat_of(1, steps, points=points)])
    ours = {curve.name: [dot.y for dot in curve.dots] for curve in found if curve.origin == "here"}
    assert ours == {"issue": [pytest.approx(70 / 80), 1], "pay": [pytest.approx(60 / 80)]}


@pytest.mark.parametrize(
    "published",
    [
        "{id: IIT-3.4, x: requests in 1s, y: throughput, beside: x}",
        "{id: IIT-3.5, x: requests in 1s, y: mean latency}",
    ],
)
def test_published_values_of_another_kind_are_in_no_common_chart(tmp_path: Path, published: str) -> None:
    head = re.sub(r"(?m)^  - \{id: .*\n", "", HEAD).replace("published:\n", f"published:\n  - {published}\n")
    figure = figure_of(tmp_path, CLAIM, head=head)
    found = judged(figure, repeats(1))
    assert {curve.origin for curve in normalised(figure, found.repeats)[0]} == {"here"}
    assert "The published values are of another kind" in curves.both(found).caption
    assert len(curves.published(found)[0].looks) == 1


def curves_beside(tmp_path: Path, published: str, y: str = "throughput") -> dict[str, list[tuple[object, float]]]:
    """Return the published curves that stand beside ours, for a figure with these published rows."""
    head = re.sub(r"(?m)^  - \{id: .*\n", "", HEAD).replace("published:\n", f"published:\n  - {published}\n")
    figure = figure_of(tmp_path, CLAIM, head=head.replace("y: p50", f"y: {y}"))
    return {curve.name: [(dot.x, round(dot.y, 2)) for dot in curve.dots] for curve in published_beside(figure)}


def test_curves_of_several_editions_are_told_apart(tmp_path: Path) -> None:
    found = curves_beside(tmp_path, "{id: R3-F3b, x: cores, y: throughput, by: workload, beside: x}")
    assert found["Issue"] == [(32, 68)]
    both = "{id: R3-F3, x: cores, y: throughput, by: workload, beside: x}\n  - "
    found = curves_beside(tmp_path, f"{both}{{id: R3-F3b, x: cores, y: throughput, by: workload, beside: x}}")
    assert found["Issue, OS (latest at test; H2)"] == [(32, 68)]
    assert found["Issue, CE 3.0"][-1] == (32, 1001)


def test_published_values_stand_at_the_places_that_the_figure_names(tmp_path: Path) -> None:
    places = "beside: {edition: {CE 4.0: 40, CE 3.3: 10}}"
    found = curves_beside(tmp_path, f"{{id: R3-F1, y: throughput, by: workload, {places}}}")
    assert found == {"Issue": [(10, 1952), (40, 2580)], "Issue+RepeatedPay": [(10, 301), (40, 617)]}


def test_published_loads_are_divided_by_the_peak_of_their_curve(tmp_path: Path) -> None:
    where = "where: {workload: DoNothing.DoNothing, edition: OS 4.8.6}"
    found = curves_beside(tmp_path, f"{{id: COCO, x: offered tx/s, y: throughput, beside: x / peak, {where}}}")
    (dots,) = found.values()
    assert dots[0] == (pytest.approx(20 / 7.18), 7.18)


def test_a_published_curve_of_one_value_is_not_beside(tmp_path: Path) -> None:
    published = "{id: IIT-txt, x: requests in 1s, y: mean latency, beside: x}"
    head = re.sub(r"(?m)^  - \{id: .*\n", "", HEAD).replace("published:\n", f"published:\n  - {published}\n")
    found, _ = normalised(figure_of(tmp_path, CLAIM, head=head), repeats(1))
    assert {curve.origin for curve in found} == {"here"}


def test_published_values_without_x_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    head = re.sub(r"(?m)^  - \{id: .*\n", "", HEAD).replace(
        "published:\n", "published:\n  - {id: R3-F1, y: throughput, by: workload}\n"
    )
    (chart,) = published_charts(figure_of(tmp_path, CLAIM, head=head))
    assert {curve.name: [dot.x for dot in curve.dots] for curve in chart.curves} == {
        "Issue": ["CE 4.0", "CE 3.3"],
        "Issue+RepeatedPay": ["CE 4.0", "CE 3.3"],
    }


def test_a_point_that_broke_is_not_on_the_curve(figure: Figure) -> None:
    largest: Mapping[str, ParameterValue] = {"shape.corda": "4.9", "load.users": 70}
    broke = repeat_of(1, lambda point: {"p50": 1.0}, broke=[largest])
    first, _ = measured(figure, [broke])
    assert [dot.x for dot in first.dots] == [1, 10, 40]


def test_without_repeats_there_is_only_the_published_curve(figure: Figure) -> None:
    found = judged(figure, [])
    assert curves.here(found).is_empty
    assert list(curves.both(found).looks) == ["published: OS 3.3"]


def test_an_axis_with_a_wide_range_is_logarithmic(figure: Figure) -> None:
    assert curves.here(judged(figure, repeats(1))).axis == "zero"
    points: Points = [{"shape.corda": "4.9", "load.users": users} for users in (1, 200)]
    wide = [repeat_of(1, lambda point: {"p50": 1.0}, points=points)]
    assert curves.here(judged(figure, wide)).axis == "log"
