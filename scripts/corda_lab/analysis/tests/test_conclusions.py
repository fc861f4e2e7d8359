"""The conclusions of a sweep: what its sentences say, and what they do not claim."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
from corda_lab.report.sweep import difference_rows

from corda_lab.analysis import conclusions, notes, points, saturation, significance, wording
from corda_lab.results import stored
from support.sweeps import INVALID, SimulatedSweep, store_sweep


def concluded(folder: Path) -> str:
    """Headline, sentences and notes of a stored sweep."""
    run = stored.read(folder)
    samples = run.table("metrics").filter(pl.col("name").is_in(saturation.SERIES))
    found = conclusions.conclude(run, points.points(run), samples)
    return "\n".join([found.headline, *(text for _, text in found.sentences), *(note.text for note in found.notes)])


def differences(folder: Path) -> list[tuple[str, str, str]]:
    """The compared points of a stored sweep: label, label of the point that it is compared with, and verdict."""
    run = stored.read(folder)
    rows = difference_rows(significance.judge(run, points.points(run)))
    return [(row["second"], row["first"], row["verdict"]) for row in rows]


def test_concludes_in_words_where_throughput_was_best(sweep: Path) -> None:
    text = concluded(sweep)
    assert re.search(
        r"Throughput was best with 16 users, H2: [\d.]+ flows per second \(95 % interval [\d.]+ to [\d.]+, 3 repeats\)",
        text,
    )
    users = ("1 user", "4 users", "16 users")
    assert {(f"{one}, PostgreSQL", f"{one}, H2", "slower") for one in users} <= {*differences(sweep)}
    assert "17 of 18 steps are valid. The four counts agree in 18. No request failed." in text


def test_no_difference_is_said_when_none_is_there(tmp_path: Path) -> None:
    same = SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}, x="shape.database", factors={}, noise=0.03)
    folder = store_sweep(tmp_path, same)
    assert "No difference in throughput was seen between 2 points" in concluded(folder)
    assert differences(folder) == [("PostgreSQL", "H2", "no difference seen")]


def test_names_the_resource_that_was_used_up_with_its_evidence(tmp_path: Path) -> None:
    text = concluded(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [8, 64]}, busy_percent=99)))
    assert re.search(r"At 64 users: the machine was 9\d % busy \(PartyA [\d.]+, PartyB [\d.]+ and Notary", text)
    robbed = SimulatedSweep(
        identity="20260102T030405Z-robbed", vary={"load.users": [64]}, busy_percent=99, stolen_percent=12
    )
    assert "with 12 % CPU steal" in concluded(store_sweep(tmp_path, robbed))
    idle = concluded(store_sweep(tmp_path, SimulatedSweep(identity="20260102T030406Z-idle", busy_percent=50)))
    assert "At 16 users, H2: no monitored resource was saturated." in idle
    assert "The best point has the largest value of users, so the limit may not be reached yet." in idle
    assert "Flows may have waited for one another" in idle


def test_a_search_without_a_confirmed_rate_names_no_best_point(tmp_path: Path) -> None:
    folder = store_sweep(tmp_path, SimulatedSweep(vary={}, x=None, speed=0.1), find_max=True)
    text = concluded(folder)
    assert "No rate was confirmed." in text
    assert "4 arrivals per second were not sustained: p99" in text
    assert "highest throughput" not in text
    assert "confirmed throughput" not in text
    assert "★ 4/s" not in text


def test_best_is_only_what_is_shown_to_be_better_than_all_others(tmp_path: Path) -> None:
    near = SimulatedSweep(vary={"shape.corda": ["4.3", "4.5", "4.10"]}, x=None, factors={"4.10": 0.7}, repeats=5)
    folder = store_sweep(tmp_path, near)
    text = concluded(folder)
    assert re.search(
        r"The highest throughput was measured with Corda 4\.\d: .*\. It is not shown to be better than Corda 4\.\d\.",
        text,
    )
    assert "Throughput was best" not in text
    assert "No difference in throughput" not in text
    assert ("Corda 4.10", "Corda 4.3", "slower") in differences(folder)


def test_repeats_that_are_not_valid_are_not_taken_for_one_repeat_each(tmp_path: Path) -> None:
    spoilt = SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2, invalid=[2])
    folder = store_sweep(tmp_path, spoilt)
    text = concluded(folder)
    assert "There are fewer than two valid repeats to compare, too few to tell which point is best." in text
    assert {verdict for _, _, verdict in differences(folder)} == {"too few repeats to tell"}


def test_one_repeat_names_nothing_as_the_best(tmp_path: Path) -> None:
    text = concluded(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=1)))
    assert "Each point has one repeat, too few to tell which point is best." in text


def test_a_sweep_that_completed_nothing_has_no_best_point(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 8]}, x=None, repeats=1, collapsed=(1, 2))
    assert "No flow was completed in the measuring window." in concluded(store_sweep(tmp_path, broken))


def test_each_workload_is_judged_by_itself(tmp_path: Path) -> None:
    presets = SimulatedSweep(
        vary={"workload": ["iou", "cash-issue"], "shape.preset": ["stock", "tuned"]},
        x=None,
        factors={"tuned": 1.3, "cash-issue": 2.0},
    )
    folder = store_sweep(tmp_path, presets)
    text = concluded(folder)
    assert "Throughput of iou was best with preset tuned" in text
    assert "Throughput of cash-issue was best with preset tuned" in text
    run = stored.read(folder)
    judged = significance.judge(run, points.points(run))
    assert {one.compared.first.workload == one.compared.second.workload for one in judged.planned} == {True}
    assert [one.compared.verdict for one in judged.planned] == ["faster", "faster"]


def test_a_point_is_named_without_its_workload_where_the_sentence_names_it(tmp_path: Path) -> None:
    links = [["partya-partyb=+8ms", "partya-notary=+4ms"], ["partya-partyb=+9ms"]]
    several = SimulatedSweep(vary={"workload": ["iou", "cash-issue"], "shape.link": links}, x=None)
    run = stored.read(store_sweep(tmp_path, several))
    judged = significance.judge(run, points.points(run))
    names = {wording.name_of(judged, point) for point in points.points(run)}
    assert names == {"link partya-partyb=+8ms, link partya-notary=+4ms", "link partya-partyb=+9ms"}
    assert {wording.name_of(replace(judged, strata=judged.strata[:1]), top) for top in judged.tops} == {
        top.label for top in judged.tops
    }


def test_without_intervals_ratios_stand_alone(tmp_path: Path) -> None:
    once = SimulatedSweep(vary={"shape.corda": ["4.8", "4.9", "4.10"]}, x=None, factors={}, noise=0.01, repeats=1)
    run = stored.read(store_sweep(tmp_path, once))
    rows = difference_rows(significance.judge(run, points.points(run)))
    assert all(re.fullmatch(r"[\d.]+ ×, no interval", row["ratio"]) for row in rows)


def test_workloads_that_are_all_that_varies_are_compared(tmp_path: Path) -> None:
    factors = {"cash-issue": 2.0, "cash-issue-and-pay": 0.5}
    swaps = SimulatedSweep(vary={"workload": ["iou", *factors]}, x=None, factors=factors)
    assert differences(store_sweep(tmp_path, swaps))[:2] == [
        ("cash-issue", "iou", "faster"),
        ("cash-issue-and-pay", "iou", "slower"),
    ]


def test_a_sweep_of_one_rate_is_judged_by_its_latency(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "rate": 5, "users": 20}
    sizes = SimulatedSweep(vary={"set.megabytes": [1, 10]}, x=None, load=load, factors={10: 0.3})
    text = concluded(store_sweep(tmp_path, sizes))
    assert re.search(r"Latency p95 from the intended start was best with megabytes=1: \d+ ms", text)
    assert "The system kept up with the offered rate at every point, so no limit was reached." in text


def test_a_rate_that_was_not_kept_is_where_the_limit_is_looked_for(tmp_path: Path) -> None:
    load = {"arrivals": "constant", "users": 60}
    text = concluded(store_sweep(tmp_path, SimulatedSweep(vary={"load.rate": [8, 40]}, x=None, load=load)))
    assert "At 40/s, the system did not keep up with the offered rate: the machine was" in text


def test_tells_which_steps_were_measured_again(tmp_path: Path) -> None:
    text = concluded(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2]}, x=None, measured_again=(2, 3))))
    assert "Steps 2 and 3 were rerun because of the host." in text


def test_a_point_that_does_a_part_of_a_constant_rate_did_not_keep_it(tmp_path: Path) -> None:
    run = stored.read(
        store_sweep(tmp_path, SimulatedSweep(vary={}, x=None, load={"arrivals": "constant", "rate": 0.5, "users": 20}))
    )
    (point,) = points.points(run)
    assert conclusions.keeps_rate(point)
    slower = point.steps[0].updated(throughput_per_second=0.4)
    assert not conclusions.keeps_rate(replace(point, steps=(slower, *point.steps[1:])))


def test_many_steps_of_one_reason_are_told_once() -> None:
    assert wording.steps_words([str(number) for number in range(1, 21)]) == (
        "steps 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 9 more"
    )


def test_a_note_has_a_kind_and_its_text_does_not_repeat_it(tmp_path: Path) -> None:
    broken = SimulatedSweep(vary={"load.users": [2, 8]}, collapsed=(2,), invalid=[3])
    found = notes.notes(stored.read(store_sweep(tmp_path, broken)))
    assert list(dict.fromkeys(note.kind for note in found)) == ["failed", "error", "invalid"]
    assert f"step 3: {INVALID}." in [note.text for note in found if note.kind == "invalid"]
    assert all(note.text.endswith(".") for note in found)
