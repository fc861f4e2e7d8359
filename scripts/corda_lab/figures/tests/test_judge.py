"""Claims judged from repeats: which verdict, from which points, and why there is none."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corda_lab.figures import words
from corda_lab.figures.judge import FURTHER_MAX, ClaimVerdict, judge
from corda_lab.figures.repeat import Repeat
from corda_lab.results.sweep import LeftOut
from corda_lab.steps.entry import ParameterValue
from support.claims import HEAD, POINTS, SWEEP, Values, figure_of, repeat_of

LINEAR = "name: linear, says: 1, exponent: p50, over: users, from: 10, within: [0.7, 1.3]"
GROWS = "name: grows, says: 1, ratio: p50, of: {load.users: last}, to: {load.users: first}, within: [4, null]"
BREAKS = 'name: breaks, says: 1, level: outcome, at: {load.users: 70, shape.corda: "4.9"}, broken: true'
ONE_LOAD = '{x: shape.corda, y: p50, anchor: {shape.corda: "4.9"}}'
ON_OWN_IMAGES = "CORDA_IMAGE='<your image>:${CORDA_VERSION}' ./scripts/lab reproduce fig"
"""Its sweep has two versions of Corda."""
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
    (found,) = judge(figure_of(tmp_path, claim), given)
    return found


def test_a_claim_is_judged_in_every_repeat_from_its_own_points(tmp_path: Path) -> None:
    # The machine is three times as fast in one repeat. Within a repeat, the ratio is the same.
    given = [repeat_of(1, linear(1)), repeat_of(2, linear(3)), repeat_of(3, linear(0.5))]
    found = verdict(tmp_path, GROWS, given)
    assert [one.value for one in found.values] == pytest.approx([70, 70, 70])
    assert (found.verdict, found.n, found.further) == ("held", 3, 0)
    assert words.here_words(found) == "70.0 × (70.0 to 70.0, n = 3)"


def test_the_first_curve_is_judged_if_a_claim_names_none(tmp_path: Path) -> None:
    assert verdict(tmp_path, LINEAR, repeats(3)).estimate == pytest.approx(1)
    other = LINEAR.replace("from: 10", 'where: {shape.corda: "4.10"}')
    found = verdict(tmp_path, other, repeats(3))
    assert found.estimate == pytest.approx(2)
    assert found.verdict == "did not hold"
    assert words.why_words(found) == ""


def test_a_ratio_across_curves(tmp_path: Path) -> None:
    points = 'of: {shape.corda: "4.10", load.users: 40}, to: {load.users: 40}'
    claim = f"name: a, says: ours, ratio: p50, {points}, within: [2, null]"
    assert verdict(tmp_path, claim, repeats(3)).estimate == pytest.approx(40)


def test_a_level_has_the_unit_of_its_metric(tmp_path: Path) -> None:
    found = verdict(
        tmp_path, "name: a, says: 2, level: throughput, at: {load.users: best}, within: [null, 10]", repeats(3)
    )
    assert words.here_words(found) == "8.16 flows/s (7.96 to 8.36, n = 3)"
    assert (words.asked_words(found.claim), found.verdict) == ("at most 10 flows/s", "held")
    other = found.claim.model_copy(update={"within": [5.0, None]})
    assert words.asked_words(other) == "5 flows/s or more"


def test_two_repeats_decide_nothing(tmp_path: Path) -> None:
    found = verdict(tmp_path, LINEAR, repeats(2))
    assert (found.verdict, found.why) == ("cannot tell", "")
    assert words.next_words(found) == "at least 1 more repeat: ./scripts/lab reproduce fig --add 1"


def test_without_repeats_nothing_is_measured(tmp_path: Path) -> None:
    found = verdict(tmp_path, LINEAR, [])
    assert (found.verdict, found.why, found.is_measured, found.n) == ("cannot tell", "not measured yet", False, 0)


def test_scatter_that_is_too_large_says_how_many_repeats_would_decide(tmp_path: Path) -> None:
    given = [repeat_of(number, linear(factor)) for number, factor in ((1, 0.8), (2, 1.0), (3, 1.2))]
    found = verdict(tmp_path, "name: a, says: 2, level: throughput, at: {load.users: 1}, within: [6, 10]", given)
    assert (found.verdict, found.further) == ("cannot tell", 3)
    by_repeat = "one repeat after the other: 6.40, 8.00, 9.60"
    assert words.why_words(found) == f"{by_repeat}; {words.next_words(found)}"
    next_words = "3 more repeats would decide if they scatter like these: ./scripts/lab reproduce fig --add 3"
    assert words.next_words(found) == next_words
    quick = verdict(
        tmp_path,
        "name: a, says: 2, level: throughput, at: {load.users: 1}, within: [6, 10]",
        [one.model_copy(update={"form": "quick"}) for one in given],
    )
    assert quick.command == "./scripts/lab reproduce fig --quick --add 3"


def test_more_repeats_than_are_practical_have_no_command(tmp_path: Path) -> None:
    given = [repeat_of(number, linear(factor)) for number, factor in ((1, 0.8), (2, 1.0), (3, 1.2))]
    claim = "name: a, says: 2, level: throughput, at: {load.users: 1}, within: [%s, 10]"
    far = verdict(tmp_path, claim % 7.5, given)
    assert far.further is not None
    assert far.further > FURTHER_MAX
    assert words.next_words(far) == (
        f"{far.further} more repeats would decide if they scatter like these, which are too many to be practical"
    )
    never = verdict(tmp_path, claim % 7.9, given)
    assert (never.further, never.command) == (None, "")
    assert words.next_words(never) == "not even 100 repeats would decide at this scatter"


def test_what_a_person_found_stands_beside_the_verdict(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"{LINEAR}, found: {{date: 2026-11-24, text: It queues.}}", repeats(3))
    assert words.summary(found).endswith("; found on 24 Nov 2026: It queues.")


@pytest.mark.parametrize(("day", "is_shown"), [("2026-11-23", True), ("2026-11-24", True), ("2026-11-25", False)])
def test_what_a_person_found_is_not_shown_beside_newer_repeats(tmp_path: Path, day: str, is_shown: bool) -> None:
    last = repeat_of(3, linear()).model_copy(update={"at": f"{day}T23:59:59Z"})
    found = verdict(tmp_path, f"{LINEAR}, found: {{date: 2026-11-24, text: It queues.}}", [*repeats(2), last])
    assert (found.found is not None) == is_shown
    assert ("It queues." in words.summary(found)) == is_shown


def test_without_repeats_what_a_person_found_is_shown(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"{LINEAR}, found: {{date: 2026-11-24, text: It queues.}}", [])
    assert words.found_words(found) == "found on 24 Nov 2026: It queues."


def test_a_claim_that_came_after_the_first_run_says_so(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"{LINEAR}, added: 2026-11-28", repeats(3))
    assert words.added_words(found.claim) == "added on 28 Nov 2026, after the first run"
    assert words.added_words(verdict(tmp_path, LINEAR, []).claim) == ""


def test_a_repeat_without_the_point_says_why_and_does_not_count(tmp_path: Path) -> None:
    given = [*repeats(2), repeat_of(3, linear(), invalid=[LARGEST])]
    found = verdict(tmp_path, LINEAR, given)
    assert (found.verdict, found.n, found.further) == ("cannot tell", 2, 1)
    assert found.why == (
        "2 of 3 repeats have a value for it; shape.corda 4.9, load.users 70: the step is invalid: the machine swapped"
    )
    held = verdict(tmp_path, LINEAR, [*repeats(3), repeat_of(4, linear(), invalid=[LARGEST])])
    assert (held.verdict, held.n, held.why.partition(";")[0]) == ("held", 3, "3 of 4 repeats have a value for it")


def test_a_point_that_this_machine_cannot_have_is_named(tmp_path: Path) -> None:
    left_out = LeftOut(label="70 users", reason="needs 8 cores")
    given = [
        repeat_of(number, linear(), points=[point for point in POINTS if point["load.users"] != 70]).model_copy(
            update={"left_out": [left_out]}
        )
        for number in (1, 2, 3)
    ]
    found = verdict(tmp_path, GROWS.replace("last", "70"), given)
    assert found.why.endswith(
        "no point has shape.corda 4.9, load.users 70; this machine leaves out 70 users (needs 8 cores)"
    )
    assert verdict(tmp_path, GROWS, given).estimate == pytest.approx(40)


def test_a_value_that_a_step_does_not_have_is_named(tmp_path: Path) -> None:
    found = verdict(tmp_path, LINEAR, repeats(3, lambda point: {"p50": None}))
    assert found.why.endswith("shape.corda 4.9, load.users 10: has no p50")


def test_a_repeat_of_which_every_point_broke_lacks_nothing() -> None:
    assert repeat_of(1, linear(), broke=POINTS).lacking(["p50"]) == []


def test_quick_and_full_repeats_never_share_an_interval(tmp_path: Path) -> None:
    short = [point for point in POINTS if point["shape.corda"] == "4.9" and point["load.users"] != 70]
    given = [*repeats(2), repeat_of(3, linear(), form="quick", points=short), repeat_of(4, linear(), digest="other")]
    with pytest.raises(ValueError, match="repeats of several kinds"):
        judge(figure_of(tmp_path, LINEAR), given)


def test_repeats_of_another_sweep_are_refused(tmp_path: Path) -> None:
    other = repeat_of(1, linear()).model_copy(update={"sweep": "other"})
    with pytest.raises(ValueError, match="several kinds"):
        judge(figure_of(tmp_path, LINEAR), [other])


def test_the_short_form_is_judged_by_its_own_points(tmp_path: Path) -> None:
    short = [point for point in POINTS if point["shape.corda"] == "4.9" and point["load.users"] != 70]
    given = repeats(3, form="quick", points=short)
    found = verdict(tmp_path, GROWS, given)
    assert found.verdict == "held"
    assert found.estimate == pytest.approx(40)
    left_out = verdict(tmp_path, GROWS.replace("last", "70"), given)
    assert (left_out.verdict, left_out.is_measured, left_out.further) == ("cannot tell", False, 3)
    assert left_out.command == "./scripts/lab reproduce fig"
    assert words.why_words(left_out) == f"{left_out.why}; ./scripts/lab reproduce fig does"
    assert left_out.why == "the short form does not measure it: no point has shape.corda 4.9, load.users 70"


def test_a_point_that_breaks_is_an_outcome(tmp_path: Path) -> None:
    broke = repeats(3, broke=[LARGEST])
    found = verdict(tmp_path, BREAKS, broke)
    assert (found.verdict, words.here_words(found)) == ("held", "broke in 3 of 3 repeats")
    assert words.asked_words(found.claim) == "that it breaks"
    lives = verdict(tmp_path, BREAKS, repeats(3))
    assert (lives.verdict, lives.why) == ("did not hold", "")
    assert verdict(tmp_path, BREAKS.replace("true", "false"), broke).verdict == "did not hold"
    mixed = verdict(tmp_path, BREAKS, [*broke, repeat_of(4, linear())])
    assert (mixed.verdict, mixed.further, mixed.why) == ("cannot tell", None, "")


def test_a_point_that_lived_but_failed_has_no_outcome(tmp_path: Path) -> None:
    failing = repeats(3, failed=2)
    for claim in (BREAKS, BREAKS.replace("true", "false")):
        found = verdict(tmp_path, claim, failing)
        assert (found.verdict, found.n) == ("cannot tell", 0)
        assert "no node ended, and 2 requests failed" in found.why
    assert verdict(tmp_path, BREAKS.replace("true", "false"), repeats(3, failed=0)).verdict == "held"


def test_a_size_is_told_in_kilobytes_with_its_region(tmp_path: Path) -> None:
    level = "level: sent_bytes_per_flow.PartyA, at: {load.users: 70}"
    sent = repeats(3, lambda point: {"sent_bytes_per_flow.PartyA": 216_000.0})
    found = verdict(tmp_path, f"name: size, says: 1, {level}, within: [50000, 250000]", sent)
    assert found.verdict == "held"
    assert words.here_words(found) == "216 KB (216 to 216, n = 3)"
    assert words.asked_words(found.claim) == "50 to 250 KB"


def test_a_short_time_is_told_in_milliseconds(tmp_path: Path) -> None:
    spent = repeats(3, lambda point: {"gc_seconds_per_flow.PartyA": 0.00502 if point["load.users"] == 70 else 1.5})
    point = "level: gc_seconds_per_flow.PartyA, at: {load.users: 70}"
    found = verdict(tmp_path, f"name: a, says: 1, {point}, within: [null, 0.01]", spent)
    assert words.here_words(found) == "5.02 ms (5.02 to 5.02, n = 3)"
    assert words.asked_words(found.claim) == "at most 10 ms"
    long = verdict(tmp_path, f"name: a, says: 1, {point}, within: [null, 2]", spent)
    assert words.asked_words(long.claim) == "at most 2 s"
    assert words.in_unit(0.00502, "s") == "5.02 ms"
    assert words.in_unit(1.5, "s") == "1.5 s"


def test_an_invalid_step_has_no_outcome(tmp_path: Path) -> None:
    found = verdict(tmp_path, BREAKS, repeats(3, invalid=[LARGEST]))
    assert (found.verdict, found.n) == ("cannot tell", 0)
    assert "the step is invalid: the machine swapped" in found.why


def test_a_ratio_may_hold_because_its_point_broke(tmp_path: Path) -> None:
    claim = GROWS + ", broken: true"
    found = verdict(tmp_path, claim, repeats(3, broke=[LARGEST]))
    assert (found.verdict, found.n, words.here_words(found)) == ("held", 3, "broke in 3 of 3 repeats")
    assert words.asked_words(found.claim) == "4 or more, or it breaks"
    assert verdict(tmp_path, claim, [*repeats(2, broke=[LARGEST]), repeat_of(3, linear())]).verdict == "held"
    small = linear()
    flat = repeat_of(3, lambda point: {**small(point), "p50": 1.0})
    assert verdict(tmp_path, claim, [*repeats(2, broke=[LARGEST]), flat]).verdict == "cannot tell"
    assert verdict(tmp_path, GROWS, repeats(3, broke=[LARGEST])).verdict == "cannot tell"


@pytest.mark.parametrize(
    ("needs", "fields", "why", "command"),
    [
        ("enterprise: true", {}, "needs Corda Enterprise", ON_OWN_IMAGES),
        ("cores: 7", {}, "needs 7 cores (this machine has 2)", "./scripts/lab reproduce fig"),
        (
            "platform: 7",
            {"platform": 6},
            "needs nodes of platform version 7 (these nodes have 6)",
            ON_OWN_IMAGES,
        ),
        (
            "platform: 7",
            {},
            "needs nodes of platform version 7",
            ON_OWN_IMAGES,
        ),
        ("software: Braid", {}, "needs Braid, which is not part of the lab", ""),
        ("users: 256", {}, "needs 256 users in configs/sweeps/own.yaml (it has 0)", "./scripts/lab reproduce fig"),
        (
            "enterprise: true, cores: 32",
            {},
            "needs Corda Enterprise and 32 cores (this machine has 2)",
            ON_OWN_IMAGES,
        ),
    ],
)
def test_what_cannot_be_tested_here_says_why_and_where(
    tmp_path: Path, needs: str, fields: Mapping[str, Any], why: str, command: str
) -> None:
    found = verdict(tmp_path, f"{LINEAR}, needs: {{{needs}}}", repeats(3, **fields))
    assert (found.verdict, found.why, found.command) == ("not testable here", why, command)


def test_what_no_number_can_test_has_no_command(tmp_path: Path) -> None:
    found = verdict(tmp_path, "name: a, says: 1, because: It is too large., needs: {enterprise: true}", repeats(3))
    assert (found.verdict, found.why, found.command) == ("not testable here", "needs Corda Enterprise", "")
    there = repeats(3, enterprise=True)
    found = verdict(tmp_path, "name: a, says: 1, because: It is too large., needs: {enterprise: true}", there)
    assert (found.verdict, found.why) == ("not testable here", "no value that the lab measures decides it")
    assert (found.values, found.command) == ((), "")


def test_users_of_the_sweep_are_a_need(tmp_path: Path) -> None:
    sweep = re.sub(r" *load.users: .*\n", "", SWEEP).partition("quick:")[0].replace("x: load.users\n", "")
    head = HEAD.replace("{x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}}", ONE_LOAD)
    claim = 'name: a, says: 1, level: p50, at: {shape.corda: "4.9"}, within: [1, 2], needs: {users: 40}'
    for users, label in ((39, "not testable here"), (40, "cannot tell")):
        figure = figure_of(tmp_path, claim, head=head, sweep=f"load: {{users: {users}}}\n{sweep}")
        (found,) = judge(figure, [repeat_of(1, lambda _: {"p50": 1.5})])
        assert found.verdict == label
        assert (found.why == "needs 40 users in configs/sweeps/own.yaml (it has 39)") == (users == 39)


def test_one_version_needs_one_image(tmp_path: Path) -> None:
    one = SWEEP.replace('["4.9", "4.10"]', '["4.9"]')
    (found,) = judge(figure_of(tmp_path, f"{LINEAR}, needs: {{enterprise: true}}", sweep=one), [])
    assert found.command == "CORDA_IMAGE=<your image> ./scripts/lab reproduce fig"


def test_a_region_that_is_too_narrow_is_for_the_published_values_only(tmp_path: Path) -> None:
    claim = f"{LINEAR}, only_published: true, on_published: {{where: {{id: IIT-3.5}}, verdict: held}}"
    for given in ([], repeats(3)):
        found = verdict(tmp_path, claim, given)
        assert (found.verdict, found.why) == ("not testable here", "only the published values can decide it")
        assert (found.values, found.command) == ((), "")
        assert found.published is not None


@pytest.mark.parametrize(
    ("needs", "fields"),
    [("enterprise: true", {"enterprise": True}), ("cores: 7", {"cores": 8}), ("platform: 7", {"platform": 7})],
)
def test_where_a_need_is_met_the_claim_is_judged(tmp_path: Path, needs: str, fields: Mapping[str, Any]) -> None:
    assert verdict(tmp_path, f"{LINEAR}, needs: {{{needs}}}", repeats(3, **fields)).verdict == "held"


def test_the_published_verdict_stands_beside_ours(tmp_path: Path) -> None:
    claim = f"{LINEAR}, on_published: {{where: {{id: IIT-3.5}}, verdict: held}}"
    found = verdict(tmp_path, claim, repeats(3))
    assert words.published_words(found) == "exponent 0.87, held"
    assert words.asked_words(found.claim) == "0.7 to 1.3"
