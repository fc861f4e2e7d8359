"""The shape of a load: what is refused, and what the generator is told."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from corda_lab.errors import LabError
from corda_lab.paths import WORKLOADS
from corda_lab.steps.load import (
    LOAD_OPTIONS,
    LoadOptions,
    burst_words,
    check_options,
    flows_words,
    until_steady,
    with_limit,
)
from support.commands import PYTHONPATH
from support.runs import plan_of

OPTIONS = LoadOptions("iou", users=20, duration_seconds=60, warm_up_seconds=15)
OPEN = replace(OPTIONS, arrivals="poisson", rate=5.0)
BURST = with_limit(replace(OPTIONS, users=70, arrivals="burst", bursts=10, pool=8), ())
COUNTED = with_limit(replace(OPTIONS, users=1, flows=400, flows_after=2), ())


PARSE = """
import json, sys
from locust.argument_parser import LocustArgumentParser
from lab_load.generator_settings import GeneratorSettings
from lab_load.locust_arguments import add_arguments
parser = LocustArgumentParser()
add_arguments(parser, GeneratorSettings.from_environment())
print(json.dumps(vars(parser.parse_known_args(sys.argv[1:])[0])))
"""
"""Apart from the tests' own process, whose standard library Locust would patch."""


def test_users_start_within_five_seconds_or_a_shorter_warm_up() -> None:
    assert OPTIONS.spawn_per_second == 4
    assert replace(OPTIONS, warm_up_seconds=0).spawn_per_second == 20
    assert replace(OPTIONS, users=1).spawn_per_second == 1
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
        ({"late_max_seconds": 1.0}, "--set late_max"),
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
    with pytest.raises(LabError, match=f"^{option}: "):
        check_options(replace(OPTIONS, **change))


def test_sound_options_pass() -> None:
    for options in (OPTIONS, OPEN, replace(OPEN, workers=2, late_max_seconds=0.0), BURST, COUNTED):
        check_options(options)


def test_a_closed_load_is_told_its_pacing_and_an_open_one_its_rate() -> None:
    closed = plan_of(replace(OPTIONS, pacing_seconds=0.5)).driver_arguments()
    assert closed[closed.index("--pacing") + 1] == "0.5"
    assert "--rate" not in closed
    opened = plan_of(OPEN).driver_arguments()
    assert opened[opened.index("--arrivals") + 1] == "poisson"
    assert (opened[opened.index("--rate") + 1], opened[opened.index("--late-max") + 1]) == ("5", "1")
    assert "--pacing" not in opened


@pytest.mark.parametrize(
    "options",
    [
        replace(OPTIONS, pacing_seconds=0.5, seed=7),
        replace(OPEN, late_max_seconds=2.5, counterparty="PartyB"),
        replace(BURST, within_seconds=0.25, rest_seconds=7.5),
        COUNTED,
    ],
)
def test_the_generator_reads_every_option_as_it_was_given(options: LoadOptions) -> None:
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "LAB_WORKLOADS_DIR": str(WORKLOADS)}
    command = [sys.executable, "-c", PARSE, *plan_of(options).driver_arguments()]
    read = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60).stdout)
    given = {option.name: option.value(options) for option in LOAD_OPTIONS.values() if option.is_generators}
    known = {name: value for name, value in given.items() if value is not None}
    assert {name: read[name] for name in known} == known


def test_the_places_of_a_burst_are_its_pool_or_all_its_requests() -> None:
    assert (BURST.places, replace(BURST, pool=None).places, replace(BURST, pool=100).places) == (8, 70, 70)
    arguments = plan_of(BURST).driver_arguments()
    given = {word: arguments[place + 1] for place, word in enumerate(arguments[:-1]) if word.startswith("--")}
    assert (given["--users"], given["--requests"], given["--bursts"]) == ("8", "70", "10")
    assert "--flows" not in given
    assert "--requests" not in plan_of(OPEN).driver_arguments()


def test_a_load_of_a_number_of_flows_has_no_warm_up_and_a_longest_time() -> None:
    for options, flows in ((BURST, 700), (COUNTED, 402)):
        assert (options.is_counted, options.flows_max) == (True, flows)
        assert (options.warm_up_seconds, options.duration_seconds) == (0, 3600)
    given = with_limit(replace(OPTIONS, users=1, flows=4, duration_seconds=90, warm_up_seconds=0), ("duration",))
    assert (given.duration_seconds, given.warm_up_seconds) == (90, 0)
    assert with_limit(OPEN, ()) is OPEN
    assert (OPEN.flows_max, OPTIONS.flows_max) == (None, None)


def test_what_goes_on_in_place_of_a_number_of_flows_is_closed_load() -> None:
    for options, users in ((BURST, 8), (replace(BURST, pool=None), 20), (replace(BURST, users=5), 5), (COUNTED, 1)):
        endless = options.endless
        assert (endless.model, endless.users, endless.is_counted) == ("closed", users, False)
        check_options(replace(endless, warm_up_seconds=15.0))
    assert OPEN.endless is OPEN


def test_loads_of_a_number_of_flows_are_said_in_words() -> None:
    assert burst_words(BURST) == "10 bursts of 70 requests within 1 s, at most 8 in flight, rest 5 s"
    assert burst_words(replace(BURST, bursts=1, users=1, pool=None)) == "1 burst of 1 request within 1 s"
    assert flows_words(COUNTED) == "400 flows after 2"
    assert flows_words(replace(COUNTED, flows_after=None)) == "400 flows"


def test_a_load_is_read_as_it_was_stored() -> None:
    for load in (OPTIONS, OPEN, BURST, COUNTED):
        kind = TypeAdapter(LoadOptions)
        assert kind.validate_json(kind.dump_json(load)) == load


def test_a_single_process_has_no_master_and_workers_know_theirs() -> None:
    assert "--master" not in plan_of(OPTIONS).driver_arguments()
    plan = plan_of(replace(OPTIONS, workers=2))
    driver = plan.driver_arguments()
    assert driver[driver.index("--expect-workers") + 1] == "2"
    worker = plan.worker_arguments(2, "lab-load-x")
    assert worker[worker.index("--master-host") + 1] == "lab-load-x"
    assert worker[worker.index("--worker-index") + 1] == "2"
    assert "--hold" in driver
    assert "--hold" not in worker
    assert worker[worker.index("--run-id") + 1] == driver[driver.index("--run-id") + 1]


def test_overrides_reach_the_generator_and_the_manifest() -> None:
    plan = plan_of(replace(OPTIONS, overrides={"iouValue": "7", "note": "a=b"}))
    arguments = plan.driver_arguments()
    given = [arguments[place + 1] for place, word in enumerate(arguments) if word == "--set"]
    assert given == ["iouValue=7", "note=a=b"]
    assert plan.options.overrides == {"iouValue": "7", "note": "a=b"}


def test_a_warm_up_until_throughput_is_steady_lies_between_its_limits() -> None:
    options = until_steady(LoadOptions("iou", 8, duration_seconds=60, warm_up_seconds=30), 180)
    assert (options.warm_up_seconds_min, options.warm_up_seconds, options.total_seconds) == (30, 180, 240)
    assert options.stopping is not None
    assert options.stopping.change_percent_max == 10.0
    check_options(options)
    with pytest.raises(LabError, match="--set warm_up_max: 10s is less than --warm-up, which is 30s"):
        until_steady(LoadOptions("iou", 8, duration_seconds=60, warm_up_seconds=30), 10)
