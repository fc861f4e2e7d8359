"""The options of a load: how they are read, and what is refused."""

from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.steps.load import burst_words, check_load, flows_words, read_load, text_of, until_steady, with_limit
from lab_workload.load import Load

OPTIONS = Load(workload="iou", users=20, duration_seconds=60, warm_up_seconds=15)
OPEN = OPTIONS.updated(arrivals="poisson", rate=5.0)
BURST = with_limit(OPTIONS.updated(users=70, arrivals="burst", bursts=10, pool=8), ())
COUNTED = with_limit(OPTIONS.updated(users=1, flows=400, flows_after=2), ())


def test_users_start_within_five_seconds_or_a_shorter_warm_up() -> None:
    assert OPTIONS.spawn_per_second == 4
    assert OPTIONS.updated(warm_up_seconds=0).spawn_per_second == 20
    assert OPTIONS.updated(users=1).spawn_per_second == 1
    assert OPTIONS.total_seconds == 75


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"users": 0}, "--users"),
        ({"users": 10_001}, "--users"),
        ({"duration_seconds": 1.5}, "--duration"),
        ({"warm_up_seconds": 0.5}, "--warm-up"),
        ({"seed": 2**63}, "--set seed"),
        ({"workers": 0}, "--set workers"),
        ({"workers": 17}, "--set workers"),
        ({"workers": 3, "users": 2}, "--set workers"),
        ({"rate": 5.0}, "--rate"),
        ({"late_max_seconds": 2.0}, "--set late_max"),
        ({"arrivals": "constant"}, "--rate"),
        ({"arrivals": "constant", "rate": 0.0}, "--rate"),
        ({"arrivals": "constant", "rate": float("nan")}, "--rate"),
        ({"arrivals": "poisson", "rate": 1.0, "late_max_seconds": 61.0}, "--set late_max"),
        ({"arrivals": "poisson", "rate": 1.0, "pacing_seconds": 1.0}, "--set pacing"),
        ({"pacing_seconds": 3601.0}, "--set pacing"),
        ({"bursts": 2}, "--set bursts"),
        ({"within_seconds": 2.0}, "--set within"),
        ({"pool": 2}, "--set pool"),
        ({"rest_seconds": 2.0}, "--set rest"),
        ({"arrivals": "burst", "rate": 2.0}, "--rate"),
        ({"arrivals": "burst", "pacing_seconds": 2.0}, "--set pacing"),
        ({"arrivals": "burst", "late_max_seconds": 2.0}, "--set late_max"),
        ({"arrivals": "burst", "flows": 2}, "--flows"),
        ({"arrivals": "burst", "workers": 2}, "--set workers"),
        ({"arrivals": "burst"}, "--warm-up"),
        ({"arrivals": "burst", "warm_up_seconds": 0.0, "users": 301}, "--users"),
        ({"arrivals": "burst", "within_seconds": 0.0}, "--set within"),
        ({"arrivals": "burst", "within_seconds": 601.0}, "--set within"),
        ({"arrivals": "burst", "pool": 0}, "--set pool"),
        ({"arrivals": "burst", "bursts": 0}, "--set bursts"),
        ({"arrivals": "burst", "bursts": 1001}, "--set bursts"),
        ({"arrivals": "burst", "rest_seconds": -1.0}, "--set rest"),
        ({"arrivals": "poisson", "rate": 1.0, "flows": 2}, "--flows"),
        ({"flows": 0}, "--flows"),
        ({"flows": 100_001}, "--flows"),
        ({"flows": 5, "flows_after": -1}, "--set flows_after"),
        ({"flows_after": 2}, "--set flows_after"),
        ({"flows": 5, "workers": 2}, "--set workers"),
        ({"flows": 5, "warm_up_seconds": 15.0}, "--warm-up"),
    ],
)
def test_names_the_option_that_is_wrong(change: dict[str, Any], option: str) -> None:
    with pytest.raises(LabError) as caught:
        check_load(read_load({**dict(OPTIONS), **change}))
    assert f"{option}: " in caught.value.message


def test_sound_options_pass() -> None:
    for options in (OPTIONS, OPEN, OPEN.updated(workers=2, late_max_seconds=0.0), BURST, COUNTED):
        check_load(options)


def test_the_places_of_a_burst_are_its_pool_or_all_its_requests() -> None:
    assert (BURST.places, BURST.updated(pool=None).places, BURST.updated(pool=100).places) == (8, 70, 70)


def test_a_load_of_a_number_of_flows_has_no_warm_up_and_a_longest_time() -> None:
    for options, flows in ((BURST, 700), (COUNTED, 402)):
        assert (options.is_counted, options.flows_max) == (True, flows)
        assert (options.warm_up_seconds, options.duration_seconds) == (0, 3600)
    given = with_limit(OPTIONS.updated(users=1, flows=4, duration_seconds=90, warm_up_seconds=0), ("duration",))
    assert (given.duration_seconds, given.warm_up_seconds) == (90, 0)
    assert with_limit(OPEN, ()) is OPEN
    assert (OPEN.flows_max, OPTIONS.flows_max) == (None, None)


def test_what_goes_on_in_place_of_a_number_of_flows_is_closed_load() -> None:
    for options, users in ((BURST, 8), (BURST.updated(pool=None), 20), (BURST.updated(users=5), 5), (COUNTED, 1)):
        endless = options.endless
        assert (endless.model, endless.users, endless.is_counted) == ("closed", users, False)
        check_load(endless.updated(warm_up_seconds=15.0))
    assert OPEN.endless is OPEN


def test_loads_of_a_number_of_flows_are_said_in_words() -> None:
    assert burst_words(BURST) == "10 bursts of 70 requests within 1 s, at most 8 in flight, rest 5 s"
    assert burst_words(BURST.updated(bursts=1, users=1, pool=None)) == "1 burst of 1 request within 1 s"
    assert flows_words(COUNTED) == "400 flows after 2"
    assert flows_words(COUNTED.updated(flows_after=None)) == "400 flows"


def test_values_are_also_read_as_a_user_writes_them_by_key() -> None:
    given = {"workload": "iou", "users": "8", "duration": "1m30s", "pacing": "100ms", "nodes": "PartyA, PartyB"}
    load = read_load(given)
    assert (load.users, load.duration_seconds, load.pacing_seconds, load.nodes) == (8, 90, 0.1, ("PartyA", "PartyB"))
    for key, value in {"duration": 90.0, "pacing": 0.1, "nodes": ("PartyA", "PartyB"), "users": 8}.items():
        assert read_load({"workload": "iou", key: text_of(key, value)}) == read_load({"workload": "iou", key: value})


def test_all_values_that_are_invalid_are_told_at_once_with_their_options() -> None:
    with pytest.raises(LabError) as caught:
        read_load({"workload": "iou", "users": "many", "duration": "soon", "late_max": 61, "color": "red"})
    assert [str(problem).partition(":")[0] for problem in caught.value.problems] == [
        "--users",
        "--duration",
        "--set late_max",
        "color",
    ]


def test_a_warm_up_until_throughput_is_steady_lies_between_its_limits() -> None:
    options = until_steady(Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=30), 180)
    assert (options.warm_up_seconds_min, options.warm_up_seconds, options.total_seconds) == (30, 180, 240)
    assert options.stopping is not None
    assert options.stopping.change_percent_max == 10.0
    check_load(options)
    with pytest.raises(LabError, match="--set warm_up_max: 10s is less than --warm-up, which is 30s"):
        until_steady(Load(workload="iou", users=8, duration_seconds=60, warm_up_seconds=30), 10)
