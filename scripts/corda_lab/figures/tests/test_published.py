"""The published values and their errors, and the checks of claims on them."""

import math
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures.judge import judge
from corda_lab.figures.published import COLUMNS, read_published
from corda_lab.figures.verdict import Verdict
from corda_lab.figures.words import decimals_of, honest, published_words
from support.claims import HEAD, figure_of
from support.published import rows


def test_every_published_value_is_read() -> None:
    found = read_published()
    assert len(found) == 255
    assert sum(row.id.startswith("COCO") for row in found) == 96
    assert [row.metric for row in found if row.value is None and not row.id.startswith("COCO")] == [
        "added database latency that hurts"
    ]


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"id": "R3-LAT", "edition": "CE 4.3", "x": 4}, 45),
        ({"id": "R3-TPS", "edition": "CE 4.5", "x": 10}, 0.6),
        ({"id": "IIT-3.4", "x": 60}, 0.00005),
        ({"id": "IIT-3.8", "x": "before"}, 9.464),
        ({"id": "R3-ATT", "x": 10}, 0.5),
        ({"id": "R3-VAR", "x": "default", "metric": "throughput"}, 3.95),
        ({"id": "R3-VAR", "x": "artemis-infrequent-flush", "metric": "mean latency"}, 258.5),
        (
            {"id": "COCO", "edition": "OS 4.8.6", "workload": "DoNothing.DoNothing", "x": 20, "metric": "throughput"},
            0.04359,
        ),
    ],
)
def test_a_value_is_as_exact_as_it_was_printed_read_off_or_repeated(
    columns: dict[str, str | float], error: float
) -> None:
    (row,) = rows(**columns)
    assert row.error == pytest.approx(error, rel=1e-3)


def test_a_broken_file_names_every_line(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    good = "A,source,OS,IOU,users,1,throughput,2.0,flows/s,label,here"
    lines = [",".join(COLUMNS), good, good.replace("2.0", "two"), "A,source", good.replace("label", "")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(LabError) as caught:
        read_published(path)
    assert [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems] == [
        "3: value: must be a number, but is 'two'",
        "4: must have 11 columns",
        "5: quality: is empty",
    ]
    path.write_text("id,value\n", encoding="utf-8")
    with pytest.raises(LabError, match="the columns must be id, source"):
        read_published(path)
    with pytest.raises(LabError, match="cannot be read"):
        read_published(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (12.7937, 0.0013, "12.8"),
        (8.5, 0.54, "8.5"),
        (2.3058, 0.006, "2.31"),
        (49.0, 24.0, "49"),
        (0.9973, 0.02, "1.00"),
        (2580.0, 0.5, "2580"),
        (9.96, 0.3, "10.0"),
        (8.5, 0.0, "8.50"),
        (0.0836, 0.003, "0.084"),
        (0.0, 1.0, "0"),
        (-1.2557, 0.001, "-1.26"),
    ],
)
def test_a_value_has_no_more_digits_than_its_error_allows(value: float, error: float, text: str) -> None:
    assert honest(value, error) == text


@pytest.mark.parametrize(("end", "decimals"), [(10.0, 0), (1.05, 2), (0.985, 3), (-0.25, 2), (math.inf, 0)])
def test_a_region_has_the_decimals_of_its_ends(end: float, decimals: int) -> None:
    assert decimals_of(end) == decimals


@pytest.mark.parametrize(
    ("value", "error", "end", "text"),
    # 1.0 against 1.05 would look as if the value were well below.
    [(1.043, 0.15, 1.05, "1.04"), (0.997, 0.025, 0.985, "0.997"), (2580, 0.5, 1290, "2580"), (10.0, 0.5, 20.5, "10.0")],
)
def test_a_value_has_at_least_the_decimals_of_its_region(value: float, error: float, end: float, text: str) -> None:
    assert honest(value, error, decimals_min=decimals_of(end)) == text


VARIANTS = """\
title: Variants
source: {document: r3-results, place: variants}
words: [Frequent flushing lowers the throughput.]
conditions: Enterprise 4.5
published:
  - {id: R3-VAR, x: variant, y: throughput, by: edition}
  - {id: R3-VAR, x: variant, y: mean latency, by: edition}
  - {id: IIT-3.8, x: moment, y: resident memory of PartyA}
  - {id: R3-ATT, x: MB, y: throughput}
sweep: own
chart: {x: load.users, y: throughput, anchor: {load.users: 10, shape.corda: "4.9"}}
"""


@pytest.mark.parametrize(
    ("of", "to", "within", "verdict"),
    [
        # 255.6 ÷ 256.3, each with a standard deviation of 1.5 %: lower or not, they do not tell.
        (
            "id: R3-VAR, metric: throughput, x: artemis-frequent-flush",
            "metric: throughput, x: default",
            "[null, 1]",
            "cannot tell",
        ),
        (
            "id: R3-VAR, metric: mean latency, x: artemis-infrequent-flush",
            "metric: mean latency, x: default",
            "[1, null]",
            "held",
        ),
        # 946.56 ÷ 946.40 MB, each read off with 1 %.
        ("id: IIT-3.8, x: after", "id: IIT-3.8, x: before", "[1, null]", "cannot tell"),
        ("id: R3-ATT, x: 10", "id: R3-ATT, x: 1", "[0.8, null]", "held"),
        ("id: R3-ATT, x: 10", "id: R3-ATT, x: 1", "[0.95, null]", "did not hold"),
    ],
)
def test_what_lies_within_the_error_of_the_published_values_is_not_decided(
    tmp_path: Path, of: str, to: str, within: str, verdict: Verdict
) -> None:
    claim = (
        "name: a, says: 1, ratio: throughput, of: {load.users: 10, shape.corda: '4.9'}, "
        f"to: {{load.users: 1, shape.corda: '4.9'}}, within: {within}, "
        f"on_published: {{of: {{{of}}}, to: {{{to}}}, verdict: held}}"
    )
    figure = figure_of(tmp_path, claim.replace("'", '"'), head=VARIANTS)
    (found,) = judge(figure, [])
    assert found.published is not None
    assert found.published.verdict == verdict


def test_a_published_level_is_told_in_the_unit_of_our_metric(tmp_path: Path) -> None:
    claim = (
        "name: a, says: 1, level: p50, at: {load.users: 70}, within: [6000, 6500], "
        "on_published: {where: {id: IIT-3.5}, verdict: held}"
    )
    figure = figure_of(tmp_path, claim)
    (found,) = judge(figure, [])
    assert found.published is not None
    assert found.published.value == pytest.approx(6225.4)
    assert published_words(found) == "6230 ms, held"


def test_two_published_quantities_are_compared_in_one_unit(tmp_path: Path) -> None:
    head = HEAD.replace(
        "  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}",
        "  - {id: IIT-txt, x: requests in 1s, y: mean latency}\n  - {id: IIT-txt, x: requests in 1s, y: total time}",
    )
    claim = (
        "name: a, says: ours, ratio: [p50, p95], of: {load.users: 70}, within: [0.6, 1], on_published: "
        "{where: {id: IIT-txt, x: 100}, of: {metric: mean latency}, to: {metric: total time}, verdict: held}"
    )
    figure = figure_of(tmp_path, claim, head=head)
    (found,) = judge(figure, [])
    assert found.published is not None
    assert published_words(found) == "0.748 ×, held"


def test_a_row_without_x_is_named_by_its_other_columns(tmp_path: Path) -> None:
    head = HEAD.replace(
        "  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}", "  - {id: IIT-txt, y: plateau throughput}"
    )
    points = "of: {load.users: 70}, to: {load.users: 1}"
    claim = (
        f"name: a, says: 2, ratio: throughput, {points}, within: [1, 9], on_published: "
        "{of: {id: IIT-txt}, to: {id: IIT-3.5}, verdict: held}"
    )
    figure = figure_of(tmp_path, claim, head=head)
    (found,) = judge(figure, [])
    assert found.published is not None
    # The plateau has no x; of the row of latencies, the claim's x is 1.
    assert found.published.value == pytest.approx(8 / 0.4866)
