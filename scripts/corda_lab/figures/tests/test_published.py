"""The published values and their errors, and the statistics that the figures quote from them."""

import math
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures.on_published import honest, judge_published
from corda_lab.figures.published import COLUMNS, PublishedRow, read_published
from corda_lab.figures.statistics import slope
from corda_lab.figures.sweep import names_of
from corda_lab.figures.verdict import Verdict
from corda_lab.testing.claims import HEAD, figure_of


def rows(**columns: str | float) -> list[PublishedRow]:
    """The published rows with these values."""
    return [row for row in read_published() if all(row.columns[name] == value for name, value in columns.items())]


def one(**columns: str | float) -> float:
    """The only published value with these columns."""
    (row,) = rows(**columns)
    assert row.value is not None
    return row.value


def line(**columns: str | float) -> list[tuple[float, float]]:
    return [(float(row.x), row.value) for row in rows(**columns) if row.value is not None]


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
    ("statistic", "quoted"),
    [
        # IIT Bombay: latency from 10 requests on, throughput beyond three times the peak, and the ends of both.
        (slope([point for point in line(id="IIT-3.5") if point[0] >= 10]), 0.87),
        (slope([point for point in line(id="IIT-3.4") if point[0] >= 3 * 8.62]), 0.02),
        (one(id="IIT-3.4", x=70) / one(id="IIT-3.4", x=1), 4.15),
        (max(value for _, value in line(id="IIT-3.4")), 8.62),
        (one(id="IIT-3.5", x=70) / one(id="IIT-3.5", x=1), 12.8),
        (one(id="IIT-txt", x=100, metric="mean latency") / one(id="IIT-txt", x=100, metric="total time"), 0.75),
        # R3: issue and pay.
        (
            one(id="R3-F3b", edition="OS (latest at test; H2)", workload="Issue")
            / one(id="R3-F3b", workload="Issue+Pay single notary"),
            8.5,
        ),
        (
            one(id="R3-F1", edition="CE 4.0", workload="Issue")
            / one(id="R3-F1", edition="CE 4.0", workload="Issue+RepeatedPay"),
            4.2,
        ),
        (
            one(id="R3-F1", edition="CE 3.3", workload="Issue")
            / one(id="R3-F1", edition="CE 3.3", workload="Issue+RepeatedPay"),
            6.5,
        ),
        (
            one(id="R3-F1", edition="CE 4.0", workload="Issue") / one(id="R3-F1", edition="CE 3.3", workload="Issue"),
            1.32,
        ),
        (
            one(id="R3-F1", edition="CE 4.0", workload="Issue+RepeatedPay")
            / one(id="R3-F1", edition="CE 3.3", workload="Issue+RepeatedPay"),
            2.05,
        ),
        # States of a transaction.
        (one(id="R3-F2", x=160) / one(id="R3-F2", x=1), 16.6),
        (one(id="R3-F2", x=1) / (one(id="R3-F2", x=160) / 160), 9.6),
        (slope(line(id="R3-F2")[:2]) - slope(line(id="R3-F2")[3:]), 0.77),
        # Storage: 10 KB for a transaction and for each state.
        (slope([(states, 10 * (states + 1)) for states in (20, 40, 160)]), 0.98),
        (10 * 2 / (10 * 161 / 160), 1.99),
        (one(id="R3-F3b", workload="Issue+Pay HA notary") / 205, 0.93),
        (one(id="R3-F3b", workload="Issue+Pay external bridge") / 205, 0.70),
        # Participants.
        (slope(line(id="R3-LAT", edition="CE 4.3")), 2.31),
        (slope(line(id="R3-LAT", edition="CE 4.4")), 1.69),
        (slope(line(id="R3-LAT", edition="CE 4.5")), 1.03),
        (slope([(n * (n - 2) * 10, value) for n, value in line(id="R3-LAT", edition="CE 4.3")]), 0.91),
        (one(id="R3-LAT", edition="CE 4.3", x=10) / one(id="R3-LAT", edition="CE 4.5", x=10), 12.8),
        (one(id="R3-LAT", edition="CE 4.3", x=8) / one(id="R3-LAT", edition="CE 4.5", x=8), 9.3),
        (slope(line(id="R3-TPS", edition="CE 4.3")), -1.26),
        (slope(line(id="R3-TPS", edition="CE 4.5")), -1.11),
        (one(id="R3-TPS", edition="CE 4.5", x=4) / one(id="R3-TPS", edition="CE 4.3", x=4), 1.40),
        # Variants, attachments, COCONUT.
        (
            one(id="R3-VAR", x="artemis-frequent-flush", metric="mean latency")
            / one(id="R3-VAR", x="default", metric="mean latency"),
            0.97,
        ),
        (
            one(id="R3-VAR", x="artemis-medium-flush", metric="mean latency")
            / one(id="R3-VAR", x="default", metric="mean latency"),
            1.04,
        ),
        (
            one(id="R3-VAR", x="artemis-infrequent-flush", metric="mean latency")
            / one(id="R3-VAR", x="default", metric="mean latency"),
            1.20,
        ),
        (
            one(id="R3-VAR", x="no-compression", metric="mean latency")
            / one(id="R3-VAR", x="default", metric="mean latency"),
            1.05,
        ),
        (
            one(id="R3-VAR", x="artemis-frequent-flush", metric="throughput")
            / one(id="R3-VAR", x="default", metric="throughput"),
            0.997,
        ),
        (one(id="R3-ATT", x=10) / one(id="R3-ATT", x=1), 0.92),
        (
            one(id="COCO", edition="OS 4.8.6", workload="DoNothing.DoNothing", x=160, metric="throughput")
            / one(id="COCO", edition="OS 4.8.6", workload="DoNothing.DoNothing", x=20, metric="throughput"),
            0.08,
        ),
    ],
)
def test_the_statistics_that_figures_quote_are_those_of_the_published_values(statistic: float, quoted: float) -> None:
    decimals = len(str(quoted).partition(".")[2])
    assert statistic == pytest.approx(quoted, abs=0.51 * 10**-decimals)


def test_exponential_is_not_what_the_4_3_curve_shows() -> None:
    # R3's word. A power law fits better than an exponential, and both better than needed: r² tells nothing.
    points = line(id="R3-LAT", edition="CE 4.3")
    logs = [math.log(value) for _, value in points]

    def fit(xs: list[float]) -> float:
        mean_x, mean_y = sum(xs) / len(xs), sum(logs) / len(logs)
        across = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, logs, strict=True))
        return across**2 / (sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in logs))

    assert fit([math.log(x) for x, _ in points]) > 0.9998
    assert 0.983 < fit([x for x, _ in points]) < 0.985


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
    found = judge_published(figure.fields.claims[0], figure.fields, figure.rows, names_of(figure.sweep.fields))
    assert found is not None
    assert found.verdict == verdict


def test_a_published_level_is_told_in_the_unit_of_our_metric(tmp_path: Path) -> None:
    claim = (
        "name: a, says: 1, level: p50, at: {load.users: 70}, within: [6000, 6500], "
        "on_published: {where: {id: IIT-3.5}, verdict: held}"
    )
    figure = figure_of(tmp_path, claim)
    found = judge_published(figure.fields.claims[0], figure.fields, figure.rows, names_of(figure.sweep.fields))
    assert found is not None
    assert found.value == pytest.approx(6225.4)
    assert (found.text(), found.verdict) == ("6230", "held")


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
    found = judge_published(figure.fields.claims[0], figure.fields, figure.rows, names_of(figure.sweep.fields))
    assert found is not None
    assert found.text() == "0.748"


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
    found = judge_published(figure.fields.claims[0], figure.fields, figure.rows, names_of(figure.sweep.fields))
    assert found is not None
    # The plateau has no x; of the row of latencies, the claim's x is 1.
    assert found.value == pytest.approx(8 / 0.4866)
