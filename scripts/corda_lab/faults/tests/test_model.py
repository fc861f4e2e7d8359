"""Faults of a load: checked against the lab, and what they cost."""

import polars as pl
import pytest

from corda_lab.faults.effects import with_effects
from corda_lab.faults.model import FaultEntry, known_targets, links_of, problems
from lab_workload.faults import Fault, FaultKind

NODES = ("Notary", "PartyA", "PartyB", "PartyC")
ON_H2 = known_targets(NODES, "h2")
ON_POSTGRES = known_targets(NODES, "postgres")
LINKS = links_of("partya-partyb=+1ms partya-postgres=+8ms,10mbit")


def fault(
    kind: FaultKind, target: str, at: float = 1.0, lasts: float = 2.0, parameters: dict[str, float] | None = None
) -> Fault:
    return Fault(kind=kind, target=target, at_seconds=at, for_seconds=lasts, parameters=parameters or {})


def found(*faults: Fault, targets: list[str] = ON_H2, links: list[str] | None = None) -> list[str]:
    return [problem.finding for problem in problems(faults, targets, links or [])]


def test_the_parts_of_a_lab_are_its_services_and_the_load() -> None:
    assert ON_H2 == ["notary", "partya", "partyb", "partyc", "bridge", "generator", "prometheus"]
    assert set(ON_POSTGRES) - set(ON_H2) == {"postgres"}
    assert LINKS == ["partya-partyb", "partya-postgres"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (fault("kill", "partyd"), "faults[0].target: the lab has no 'partyd', did you mean"),
        (fault("kill", "postgres"), "faults[0].target: the lab has no 'postgres'"),
        (fault("kill", "partya-partyb"), "faults[0].target: 'partya-partyb' is not one part of the lab"),
        (fault("partition", "partya-partya"), "faults[0].target: 'partya-partya' is not one part of the lab"),
        (
            fault("slow-link", "partya-partyb"),
            "'partya-partyb' is not a link of the lab; it has none",
        ),
        (
            fault("full-disk", "generator"),
            "generator cannot have a full disk: the rows of the generator",
        ),
        (fault("full-disk", "bridge"), "bridge cannot have a full disk: the bridge writes no file"),
        (fault("kill", "partya", parameters={"latency_ms": 1}), "faults[0].parameters: kill has no 'latency_ms'"),
        (fault("memory-limit", "partya", parameters={"megabytes": -1}), "megabytes -1 is not from 0 to 1e+06"),
    ],
)
def test_a_fault_that_the_lab_cannot_have_is_named_with_its_field(wrong: Fault, says: str) -> None:
    (finding,) = found(wrong)
    assert says in finding


def test_links_are_meant_in_either_order() -> None:
    assert found(fault("slow-link", "partyb-partya"), links=LINKS) == []
    assert found(fault("reset-link", "partya-postgres"), targets=ON_POSTGRES, links=LINKS) == []


def test_one_part_has_one_fault_at_a_time() -> None:
    first = fault("pause", "partya", at=10, lasts=5)
    assert found(first, fault("kill", "partya", at=15)) == []
    assert found(first, fault("kill", "partyb", at=12)) == []
    (finding,) = found(first, fault("partition", "notary-partya", at=14))
    assert finding == "faults[1].at: partition notary-partya begins while pause partya lasts"


def completions(*spans: tuple[float, float, float]) -> pl.DataFrame:
    """Rows of flows that succeed: (from, until, flows per second), evenly spread."""
    ends = [since + number / rate for since, until, rate in spans for number in range(int((until - since) * rate))]
    return pl.DataFrame({"ended_at": ends, "outcome": ["ok"] * len(ends)})


def made(began_at: float, healed_at: float) -> FaultEntry:
    return FaultEntry(
        kind="kill", target="bridge", at_seconds=began_at, for_seconds=1, began_at=began_at, healed_at=healed_at
    )


def test_a_fault_costs_the_flows_that_are_missing_until_throughput_is_back() -> None:
    rows = completions((0, 20, 10.0), (35, 100, 10.0))
    (effect,) = with_effects([made(20.0, 25.0)], rows, 0.0, 100.0)
    assert effect.before_per_second == pytest.approx(10.0, abs=0.1)
    # Four of five seconds are enough.
    assert effect.recovery_seconds == pytest.approx(14.0, abs=0.6)
    assert effect.lost_flows == pytest.approx(140.0, abs=6)


def test_a_fault_that_harms_nothing_is_over_at_once() -> None:
    (effect,) = with_effects([made(20.0, 30.0)], completions((0, 100, 10.0)), 0.0, 100.0)
    assert (effect.recovery_seconds, effect.lost_flows) == (0.0, 0.0)


def test_a_load_that_ends_before_its_recovery_says_so() -> None:
    (effect,) = with_effects([made(20.0, 25.0)], completions((0, 20, 10.0)), 0.0, 50.0)
    assert effect.recovery_seconds is None
    assert effect.lost_flows == pytest.approx(300.0, abs=2)


def test_throughput_before_is_that_of_an_undisturbed_load() -> None:
    rows = completions((0, 20, 10.0), (20, 60, 2.0), (60, 100, 10.0))
    first, second = with_effects([made(50.0, 52.0), made(20.0, 22.0)], rows, 0.0, 100.0)
    assert (first.began_at, second.began_at) == (20.0, 50.0), "in the order of their begin"
    assert second.before_per_second == pytest.approx(10.0, abs=0.2)
    assert second.recovery_seconds == pytest.approx(9.0, abs=0.6)


def test_a_fault_that_was_not_made_has_no_effect() -> None:
    late = FaultEntry(kind="kill", target="bridge", at_seconds=90, for_seconds=1, problem="the load had ended before")
    assert with_effects([late], completions((0, 50, 10.0)), 0.0, 50.0) == (late,)
