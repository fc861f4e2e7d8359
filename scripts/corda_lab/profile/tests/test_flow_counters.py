"""How many flows ended during a profile."""

from corda_lab.profile.session import Reading, flows_between, parse_flows

PAGE = """HTTP/1.0 200 OK

# HELP corda_flows_finished_total Flows ended, including failed ones.
# TYPE corda_flows_finished_total counter
corda_flows_finished_total 126.0
# TYPE corda_flows_started_total counter
corda_flows_started_total 1.42E2
"""


def test_both_counters_are_read_from_a_node_s_page() -> None:
    reading = parse_flows(PAGE)
    assert reading is not None
    assert (reading.started, reading.ended) == (142, 126)
    assert parse_flows(PAGE.replace("corda_flows_started_total", "other")) is None
    assert parse_flows("") is None


def test_the_load_is_what_ended_between_two_readings() -> None:
    flows = flows_between(Reading(100.0, 10, 8), Reading(110.0, 35, 33))
    assert flows is not None
    assert (flows.ended, flows.started, flows.per_second, flows.is_idle) == (25, 25, 2.5, False)


def test_a_node_is_idle_only_if_no_flow_started_or_ended() -> None:
    idle = flows_between(Reading(100.0, 10, 8), Reading(110.0, 10, 8))
    waiting = flows_between(Reading(100.0, 10, 8), Reading(110.0, 11, 8))
    assert idle is not None
    assert waiting is not None
    assert (idle.is_idle, waiting.is_idle) == (True, False)


def test_the_load_is_unknown_without_counters_and_after_a_restart() -> None:
    reading = Reading(100.0, 10, 8)
    assert flows_between(None, reading) is None
    assert flows_between(reading, None) is None
    assert flows_between(reading, Reading(110.0, 3, 2)) is None
