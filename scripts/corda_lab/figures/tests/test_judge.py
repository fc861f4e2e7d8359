"""Claims judged from repeats and from published values: which verdict, from which points, and why there is none."""

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from corda_lab.figures import words
from corda_lab.figures.claims import Region, Verdict, slope
from corda_lab.figures.figure import read_published
from corda_lab.figures.judge import ClaimVerdict, decide, interval_of, judge, verdict_of
from corda_lab.figures.points import fits
from corda_lab.figures.repeats import Repeat
from corda_lab.steps.entry import ParameterValue
from support.claims import HEAD, POINTS, Values, figure_of, repeat_of

INF = math.inf
LINEAR = "name: linear, says: 1, exponent: p50, over: load.users, from: 10, within: [0.7, 1.3]"
GROWS = "name: grows, says: 1, ratio: p50, of: {load.users: last}, to: {load.users: first}, within: [4, null]"
BREAKS = 'name: breaks, says: 1, level: outcome, at: {load.users: 70, shape.corda: "4.9"}, broken: true'
LARGEST: Mapping[str, ParameterValue] = {"shape.corda": "4.9", "load.users": 70}


def linear(factor: float = 1.0) -> Values:
    """Latency in proportion to the users; twice that on the second version."""

    def values(point: Mapping[str, ParameterValue]) -> dict[str, float | None]:
        users = point["load.users"]
        assert isinstance(users, int)
        by_version = 1 if point["shape.corda"] == "4.9" else users
        return {"p50": factor * 100 * users * by_version, "throughput": 8.0 * factor, "p95": 2000.0 * users}

    return values


def repeats(n: int, values: Values | None = None, **fields: Any) -> list[Repeat]:
    return [repeat_of(number, values or linear(1 + number / 100), **fields) for number in range(1, n + 1)]


def verdict(tmp_path: Path, claim: str, given: list[Repeat]) -> ClaimVerdict:
    (found,) = judge(figure_of(tmp_path, claim), given).verdicts
    return found


def test_a_claim_is_judged_in_every_repeat_from_its_own_points(tmp_path: Path) -> None:
    # The machine is three times as fast in one repeat. Within a repeat, the ratio is the same.
    given = [repeat_of(1, linear(1)), repeat_of(2, linear(3)), repeat_of(3, linear(0.5))]
    found = verdict(tmp_path, GROWS, given)
    assert [one.value for one in found.values] == pytest.approx([70, 70, 70])
    assert (found.verdict, found.n, found.further) == ("held", 3, 0)
    assert words.here(found) == "70 (70 to 70, n = 3)"


def test_the_first_curve_is_judged_if_a_claim_names_none(tmp_path: Path) -> None:
    assert verdict(tmp_path, LINEAR, repeats(3)).estimate == pytest.approx(1)
    found = verdict(tmp_path, LINEAR.replace("from: 10", 'where: {shape.corda: "4.10"}'), repeats(3))
    assert found.estimate == pytest.approx(2)
    assert (found.verdict, found.why) == ("did not hold", "")


def test_without_repeats_nothing_is_measured(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"{LINEAR}, found: {{date: 2026-11-24, text: It queues.}}", [])
    assert (found.verdict, found.label, found.values, found.n) == ("cannot tell", "not measured yet", (), 0)
    assert found.found is not None


SCATTERED = [(1, 0.8), (2, 1.0), (3, 1.2)]


@pytest.mark.parametrize(("low", "further", "told"), [(6, 3, "3"), (7.5, 61, "61"), (7.9, None, "over 100")])
def test_scatter_that_is_too_large_says_how_many_repeats_would_decide(
    tmp_path: Path, low: float, further: int | None, told: str
) -> None:
    given = [repeat_of(number, linear(factor), form="quick") for number, factor in SCATTERED]
    claim = f"name: a, says: 2, level: throughput, at: {{load.users: 1}}, within: [{low}, 10]"
    found = verdict(tmp_path, claim, given)
    assert (found.verdict, found.further, words.further(found)) == ("cannot tell", further, told)


@pytest.mark.parametrize(("day", "is_shown"), [("2026-11-23", True), ("2026-11-24", True), ("2026-11-25", False)])
def test_what_a_person_found_is_not_shown_beside_newer_repeats(tmp_path: Path, day: str, is_shown: bool) -> None:
    last = repeat_of(3, linear()).model_copy(update={"at": f"{day}T23:59:59Z"})
    found = verdict(tmp_path, f"{LINEAR}, found: {{date: 2026-11-24, text: It queues.}}", [*repeats(2), last])
    assert (found.found is not None) == is_shown


def test_a_repeat_without_the_point_says_why_and_does_not_count(tmp_path: Path) -> None:
    given = [*repeats(2), repeat_of(3, linear(), invalid=[LARGEST])]
    found = verdict(tmp_path, LINEAR, given)
    assert (found.verdict, found.n, found.further) == ("cannot tell", 2, 1)
    assert found.why == "shape.corda 4.9, load.users 70: the step is invalid: the machine swapped"


def test_a_point_that_the_machine_cannot_have_is_named(tmp_path: Path) -> None:
    left_out = {"70 users": "needs 8 cores"}
    given = [one.model_copy(update={"left_out": left_out}) for one in repeats(3, points=POINTS[:3])]
    found = verdict(tmp_path, GROWS.replace("last", "70"), given)
    assert found.why.endswith(
        "no point has shape.corda 4.9, load.users 70; this machine leaves out 70 users (needs 8 cores)"
    )
    assert verdict(tmp_path, GROWS, given).estimate == pytest.approx(40)


def test_repeats_of_several_kinds_never_share_an_interval(tmp_path: Path) -> None:
    for other in ({"form": "quick"}, {"sweep_digest": "other"}, {"sweep": "other"}):
        with pytest.raises(ValueError, match="several kinds"):
            judge(figure_of(tmp_path, LINEAR), [*repeats(2), repeat_of(3, linear()).model_copy(update=other)])


def test_the_short_form_is_judged_by_its_own_points(tmp_path: Path) -> None:
    short = [point for point in POINTS if point["shape.corda"] == "4.9" and point["load.users"] != 70]
    given = repeats(3, form="quick", points=short)
    found = verdict(tmp_path, GROWS, given)
    assert found.verdict == "held"
    assert found.estimate == pytest.approx(40)
    left_out = verdict(tmp_path, GROWS.replace("last", "70"), given)
    assert (left_out.label, left_out.further) == ("not measured yet", 3)
    assert left_out.why == "the short form does not measure it: no point has shape.corda 4.9, load.users 70"


def test_a_point_that_breaks_is_an_outcome(tmp_path: Path) -> None:
    broke = repeats(3, broke=[LARGEST])
    found = verdict(tmp_path, BREAKS, broke)
    assert (found.verdict, words.here(found)) == ("held", "broke in 3 of 3 repeats")
    assert verdict(tmp_path, BREAKS, repeats(3)).verdict == "did not hold"
    assert verdict(tmp_path, BREAKS.replace("true", "false"), broke).verdict == "did not hold"
    assert verdict(tmp_path, BREAKS.replace("true", "false"), repeats(3)).verdict == "held"
    mixed = verdict(tmp_path, BREAKS, [*broke, repeat_of(4, linear())])
    assert (mixed.verdict, mixed.further, mixed.why) == ("cannot tell", None, "")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"failed": 2}, "no node ended, and 2 requests failed"),
        ({"invalid": [LARGEST]}, "the step is invalid: the machine swapped"),
    ],
)
def test_a_point_that_is_invalid_or_lived_but_failed_has_no_outcome(
    tmp_path: Path, fields: Mapping[str, Any], why: str
) -> None:
    for claim in (BREAKS, BREAKS.replace("true", "false")):
        found = verdict(tmp_path, claim, repeats(3, **fields))
        assert (found.verdict, found.n) == ("cannot tell", 0)
        assert why in found.why


def test_a_ratio_may_hold_because_its_point_broke(tmp_path: Path) -> None:
    claim = GROWS + ", broken: true"
    found = verdict(tmp_path, claim, repeats(3, broke=[LARGEST]))
    assert (found.verdict, found.n, words.here(found)) == ("held", 3, "broke in 3 of 3 repeats")
    assert words.asked(found.claim) == "4 or more, or it breaks"
    assert verdict(tmp_path, claim, [*repeats(2, broke=[LARGEST]), repeat_of(3, linear())]).verdict == "held"
    flat = repeat_of(3, lambda point: {**linear()(point), "p50": 1.0})
    assert verdict(tmp_path, claim, [*repeats(2, broke=[LARGEST]), flat]).verdict == "cannot tell"
    assert verdict(tmp_path, GROWS, repeats(3, broke=[LARGEST])).verdict == "cannot tell"


@pytest.mark.parametrize(
    ("needs", "why", "met"),
    [
        ("enterprise: true, cores: 7", "needs Corda Enterprise and 7 cores", {"enterprise": True, "cores": 8}),
        ("users: 256", "needs 256 users in configs/sweeps/own.yaml", {}),
        ("other: Braid", "needs Braid", {}),
    ],
)
def test_what_cannot_be_tested_here_says_why(tmp_path: Path, needs: str, why: str, met: Mapping[str, Any]) -> None:
    claim = f"{LINEAR}, needs: {{{needs}}}"
    for given in ([], repeats(3)):
        found = verdict(tmp_path, claim, given)
        assert (found.verdict, found.why) == ("not testable here", why)
    assert not met or verdict(tmp_path, claim, repeats(3, **met)).verdict == "held"


# The verdict on numbers.


@pytest.mark.parametrize("seed", range(5))
def test_intervals_are_those_of_scipy(seed: int) -> None:
    source = random.Random(seed)
    values = [source.lognormvariate(0, 0.3) for _ in range(source.randint(2, 8))]
    for on_logs, given in ((False, values), (True, [math.log(value) for value in values])):
        interval = interval_of(values, on_logs=on_logs)
        assert interval is not None
        ends = [math.log(end) if on_logs else end for end in (interval.low, interval.high)]
        expected = stats.t.interval(0.95, len(given) - 1, loc=sum(given) / len(given), scale=stats.sem(given))
        assert ends == pytest.approx(list(expected))


@pytest.mark.parametrize(
    ("low", "high", "region", "expected"),
    [
        (0.7, 1.3, (0.7, 1.3), "held"),
        (0.69, 1.2, (0.7, 1.3), "cannot tell"),
        (0.1, 9, (0.7, 1.3), "cannot tell"),
        (0.1, 0.69, (0.7, 1.3), "did not hold"),
        (1.31, 9, (0.7, 1.3), "did not hold"),
        (2.1, 900, (2, INF), "held"),
        (1.6, 2, (-INF, 1.5), "did not hold"),
        (0.3 - 1e-16, 0.1 + 0.2, (0.3, 0.3), "held"),
    ],
)
def test_inside_outside_or_neither(low: float, high: float, region: Region, expected: Verdict) -> None:
    assert verdict_of(low, high, region) == expected


@pytest.mark.parametrize(
    ("values", "region", "expected"),
    [
        ([3.0, 3.1, 3.2], (2, INF), ("held", 0)),
        ([3.1, 3.1], (2, INF), ("cannot tell", 1)),
        ([3.0], (2, INF), ("cannot tell", 2)),
        ([], (2, INF), ("cannot tell", 3)),
        # exp(log(3)) is 3.0000000000000004.
        ([3.0, 3.0, 3.0], (3, 3), ("held", 0)),
        ([0.0, 0.0, 0.1], (0, 1), ("held", 0)),
        ([-0.1, 0.0, 0.1], (-1, 1), ("held", 0)),
        ([0.9, 1.0, 1.1], (1.0, INF), ("cannot tell", None)),
    ],
)
def test_three_repeats_decide_if_their_interval_does(
    values: list[float], region: Region, expected: tuple[Verdict, int | None]
) -> None:
    verdict, _, further = decide(values, region, on_logs=values != [0.9, 1.0, 1.1])
    assert (verdict, further) == expected


# The published values.


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        # As it was read off, printed, or scattered over the runs and over the flows.
        ({"id": "R3-LAT", "edition": "CE 4.3", "x": 4}, 45),
        ({"id": "IIT-3.4", "x": 60}, 0.00005),
        ({"id": "COCO", "edition": "OS 4.8.6", "workload": "DoNothing.DoNothing", "x": 20}, 0.04359),
        ({"id": "R3-VAR", "x": "default", "metric": "throughput"}, 3.95),
    ],
)
def test_a_published_value_has_the_largest_of_its_errors(columns: dict[str, str | float], error: float) -> None:
    row = next(row for row in read_published() if fits(row, columns))
    assert row["error"] == pytest.approx(error, rel=1e-3)


# The worked examples of docs/methodology.md: the real functions must give every number in them.


def test_the_worked_example_that_held() -> None:
    line = [(users, 0.5 + 0.15 * users) for users in (10, 20, 40, 80)]
    assert [seconds for _, seconds in line] == [2.0, 3.5, 6.5, 12.5]
    assert round(slope(line), 2) == 0.88
    verdict, interval, _ = decide([0.91, 0.95, 1.01], (0.7, 1.3), on_logs=False)
    assert interval is not None
    ends = interval.estimate, interval.low, interval.high
    assert (verdict, *(round(end, 3) for end in ends)) == ("held", 0.957, 0.832, 1.082)


def test_the_worked_example_that_cannot_be_told() -> None:
    verdict, interval, further = decide([0.98, 1.02, 1.04], (0.95, 1.05), on_logs=True)
    assert interval is not None
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.940, 1.092)
    assert (verdict, further) == ("cannot tell", 3)
    low, high = (math.exp(0.01294 + sign * 2.571 * 0.0303 / math.sqrt(6)) for sign in (-1, 1))
    assert (round(low, 3), round(high, 3)) == (0.981, 1.046)


def test_the_worked_example_of_published_values(tmp_path: Path) -> None:
    head = HEAD.replace("{id: IIT-3.4, x: requests in 1s,", "{id: R3-F3b, x: cores,")
    points = "of: {load.users: 70}, to: {load.users: 1}"
    rows = "where: {edition: OS (latest at test; H2)}, of: {workload: Issue}, to: {workload: Issue+Pay single notary}"
    claim = f"name: a, says: 1, ratio: throughput, {points}, within: [4, 17], on_published: {{{rows}, verdict: held}}"
    (verdict,) = judge(figure_of(tmp_path, claim, head=head), []).verdicts
    assert verdict.published is not None
    assert words.published(verdict) == "8.5 (7.98 to 9.05), held"
    assert (round(verdict.published.low, 1), round(verdict.published.high, 1)) == (8.0, 9.1)
    assert round(math.hypot(0.5 / 68, 0.5 / 8), 3) == pytest.approx(0.063)
