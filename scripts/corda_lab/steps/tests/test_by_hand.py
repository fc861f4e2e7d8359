"""What is measured of a load by hand, and which of its counts are known."""

import json
from dataclasses import replace

import pytest

from corda_lab.errors import LabError
from corda_lab.steps import by_hand
from corda_lab.steps.by_hand import WantedWindow
from corda_lab.steps.load import check_load, with_limit
from corda_lab.steps.reasons import reason
from lab_workload.by_hand import LoadByHand, UsersChange
from lab_workload.run_end import RunEnd
from lab_workload.subject import Subject
from support import simulation
from support.by_hand import CLOSED, IOU, STARTED_AT, counters, noted, steady
from support.simulation import ORIGIN

SECONDS = 60.0
ANY = WantedWindow()
SUCCEEDED = {"PartyA": {"Iou": 100}}


def load_of(users: int = 4, seconds: float = SECONDS, *, seed: int = 3) -> tuple[RunEnd, list[float]]:
    """The end of a simulated load that warms up, and its completions."""
    rows = simulation.closed_rows(users, seconds, simulation.warming(0.05, seed))
    return simulation.end_words(rows, users, seconds), sorted(row["ended_at"] for row in rows)


def test_all_of_a_load_after_its_warm_up_is_measured() -> None:
    end, completions = load_of()

    found = by_hand.measured(noted([steady(4)]), end, completions, ANY)

    assert found.warm_up is not None
    assert 0.19 <= found.warm_up.cut_seconds <= SECONDS / 2, "not before all users were running"
    assert found.until == pytest.approx(end.stop_at, rel=0, abs=0.001)
    assert (found.options.users, found.options.workload) == (4, "iou")
    assert found.options.duration_seconds == pytest.approx(SECONDS - found.warm_up.cut_seconds)
    assert found.warnings == ()
    check_load(found.repeat)
    assert found.repeat.warm_up_seconds == round(found.warm_up.cut_seconds)


def test_a_wanted_window_is_taken_as_it_is() -> None:
    end, completions = load_of()

    found = by_hand.measured(noted([steady(4)]), end, completions, WantedWindow(10.0, 20.0))

    assert found.options.stopping is None
    assert (found.options.warm_up_seconds, found.options.duration_seconds) == (10.0, 20.0)
    assert found.until == ORIGIN + 30


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (WantedWindow(60.0), "--warm-up: 60s is not shorter than the 60.0 s of the load"),
        (WantedWindow(20.0, 50.0), "--duration: 50s is longer than the 40.0 s after the warm-up"),
    ],
)
def test_a_load_that_is_too_short_for_a_wanted_window_is_refused(wanted: WantedWindow, message: str) -> None:
    end, completions = load_of()
    with pytest.raises(LabError, match=message):
        by_hand.measured(noted([steady(4)]), end, completions, wanted)


def test_the_longest_time_with_the_same_users_is_measured_and_a_warning_says_so() -> None:
    end, completions = load_of()
    changes = [steady(2), UsersChange(4, ORIGIN + 10, ORIGIN + 12), UsersChange(8, ORIGIN + 50, ORIGIN + 51)]

    found = by_hand.measured(noted(changes), end, completions, ANY)

    assert found.options.users == found.repeat.users == 4
    assert found.warm_up is not None
    assert 12 <= found.warm_up.cut_seconds <= 30, "counted from the begin of the load"
    assert found.until == ORIGIN + 50
    assert found.repeat.warm_up_seconds <= 20, "counted from the begin of the stretch"
    assert found.warnings == (reason("users_changed", users="2, 4 and 8", measured=4),)


def test_of_equal_times_the_last_is_measured() -> None:
    end, _ = load_of()
    changes = [UsersChange(2, ORIGIN, ORIGIN), UsersChange(4, ORIGIN + 30, ORIGIN + 30)]
    first, second = by_hand.stretches(changes, end)
    assert by_hand.longest([first, second]) == second


def test_users_that_never_all_ran_are_measured_only_if_there_is_nothing_else() -> None:
    end, completions = load_of()
    slow = UsersChange(500, ORIGIN + 5, None)

    assert by_hand.measured(noted([steady(2), slow]), end, completions, ANY).options.users == 2
    assert by_hand.measured(noted([replace(slow, asked_at=ORIGIN)]), end, completions, ANY).options.users == 500


def test_a_change_after_the_end_is_none() -> None:
    end, _ = load_of()
    assert len(by_hand.stretches([steady(2), UsersChange(4, end.stop_at + 1)], end)) == 1
    with pytest.raises(LabError, match="stopped when it began"):
        by_hand.longest([])


def test_a_load_of_a_number_of_flows_has_no_window_of_its_own() -> None:
    end, completions = load_of()
    flows = noted([steady(4)], CLOSED.updated(flows=40, flows_after=5))

    found = by_hand.measured(flows, end, completions, ANY)

    assert (found.options.flows, found.options.flows_after, found.options.warm_up_seconds) == (40, 5, 0.0)
    assert (found.warm_up, found.until) == (None, None)
    check_load(found.repeat)
    with pytest.raises(LabError, match="are not for a load that ends after a number of flows"):
        by_hand.measured(flows, end, completions, WantedWindow(1.0))


def test_bursts_and_open_load_have_their_own_options() -> None:
    burst = CLOSED.updated(arrivals="burst", users=20, bursts=3, rest_seconds=2.0)
    options = by_hand.options_of(noted([steady(8)], burst), 8)
    assert (options.users, options.pool, options.bursts, options.rest_seconds) == (20, 8, 3, 2.0)
    assert by_hand.options_of(noted([steady(20)], burst), 20).pool is None
    opened = by_hand.options_of(noted([steady(50)], CLOSED.updated(arrivals="poisson", rate=5.0)), 50, workers=2)
    assert (opened.model, opened.rate, opened.users, opened.workers) == ("open", 5.0, 50, 2)
    for found in (options, opened):
        check_load(with_limit(found, ()))


def test_the_subject_is_what_was_bound_when_the_load_began() -> None:
    load = noted([steady(4)])
    (part,) = load.plan.subject.parts
    second = Subject("PartyB", (replace(part, counterparty="PartyC"),))
    subject = replace(load.plan.subject, others=(second,))
    load = replace(load, plan=load.plan.model_copy(update={"subject": subject}))
    assert by_hand.options_of(load, 4).nodes == ("PartyA", "PartyB")
    read = LoadByHand.read(json.dumps(load.as_dict()))
    assert read.plan.subject == subject


def test_counters_of_both_moments_are_compared() -> None:
    load = noted([steady(4)])

    found, not_known = by_hand.counted(load, counters(ORIGIN + 61, 1100), load.plan.subject, SUCCEEDED)

    entry = found
    assert (entry.generator, entry.bridge, entry.node, entry.vaults) == (100, 100, 100, {"PartyA": 100, "PartyB": 100})
    assert entry.verdict == "agree"
    assert not_known == ()
    assert entry.node_flows["PartyB"] == {f"{IOU}Responder": 100}


def test_the_bridge_may_name_a_flow_in_short() -> None:
    load = noted([steady(4)])
    after = counters(ORIGIN + 61, 1100, bridge_completed={"PartyA": {IOU: 1000, "Iou": 100}})
    found, _ = by_hand.counted(load, after, load.plan.subject, SUCCEEDED)
    assert found.flows[0].bridge == 100


def test_a_count_that_was_not_read_is_not_known_and_not_guessed() -> None:
    load = noted([steady(4)])
    why = "PartyA did not tell its counters"
    after = counters(
        ORIGIN + 61, 1100, nodes={}, vaults=counters(0, 1100).vaults[:1], bridge_completed=None, missing=[why]
    )

    found, not_known = by_hand.counted(load, after, load.plan.subject, SUCCEEDED)

    assert (found.flows[0].bridge, found.flows[0].node) == (None, None)
    assert [vault.counted for vault in found.vault_states] == [100, None]
    assert found.vaults == {"PartyA": 100, "PartyB": None}
    assert not found.disagreements
    assert not_known == (reason("counts_not_known", why=why),)
    assert found.node_flows == {}


def test_without_counters_after_the_load_no_count_is_known() -> None:
    load = noted([steady(4)])
    found, (why,) = by_hand.counted(load, None, load.plan.subject, SUCCEEDED)
    assert found.verdict == "not known"
    assert "the generator ended before it had read" in str(why)


def test_flows_of_others_at_the_begin_leave_the_counts_unknown() -> None:
    load = noted([steady(4)], before=counters(ORIGIN - 1, 1000, at_rest=False))
    found, (why,) = by_hand.counted(load, counters(ORIGIN + 61, 1107), load.plan.subject, SUCCEEDED)
    assert (found.verdict, found.disagreements) == ("not known", [])
    assert "were still in flight when the load began" in str(why)


def test_a_lab_that_was_not_at_rest_after_the_load_says_so() -> None:
    load = noted([steady(4)])
    after = counters(ORIGIN + 200, 1100, at_rest=False, rest_seconds=120.0)
    found, _ = by_hand.counted(load, after, load.plan.subject, SUCCEEDED)
    assert found.disagreements == [reason("not_at_rest", seconds=120.0)]


def test_a_node_that_started_again_is_not_compared() -> None:
    load = noted([steady(4)])
    before = counters(ORIGIN - 1, 1000)
    again = replace(before.nodes["PartyA"], started_at=STARTED_AT["PartyA"] + 100, succeeded={IOU: 20})
    after = counters(ORIGIN + 61, 1100, nodes={**before.nodes, "PartyA": again})
    found, _ = by_hand.counted(load, after, load.plan.subject, SUCCEEDED)
    assert found.restarted == ["PartyA"]
    assert found.flows[0].node is None
