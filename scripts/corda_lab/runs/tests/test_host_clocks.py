"""The clocks of hosts around a load: nothing on one machine, and times of one host on several."""

from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.deployed import Deployed, Service
from corda_lab.lab.engine import Container, Engine
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results.audits import Audit
from corda_lab.runs.containers import LoadContainers
from corda_lab.runs.host_clocks import HostClocks, with_notary_times
from corda_lab.steps import clocks
from corda_lab.steps.entry import ClockEntry, ClockReading
from support.runs import ON_HOSTS

SETTINGS = load_settings(ENV_FILE, {})
ONE, TWO = Engine("one"), Engine("two")
DRIVER = LoadContainers(Container("driver", ONE), (Container("worker-1", TWO),))
REQUESTS = pl.DataFrame({"worker": [1], "started_at": [10.0], "ended_at": [11.0]})
STAGES = pl.DataFrame({"node": ["PartyA"], "created_at": [10.0]})


def lab_on_hosts(readings: list[dict[str, ClockReading]]) -> Deployed:
    """A lab with PartyA on another host than the load generator, whose clocks are read one time after the other."""
    services = [Service("partya", Container("a", TWO), "running", "", 0)]
    return cast(
        Deployed,
        SimpleNamespace(
            is_here=False,
            engines=(ONE, TWO),
            settings=SETTINGS,
            services=lambda: services,
            read_clocks=lambda: readings.pop(0),
        ),
    )


def reading(offset_ms: float) -> ClockReading:
    return ClockReading(offset_ms=offset_ms, error_ms=0.5)


def test_on_one_machine_nothing_is_read_and_nothing_changes() -> None:
    found = HostClocks.read(Compose(SETTINGS), DRIVER)
    found.end()
    assert found.entries == {}
    assert found.requests(REQUESTS) is REQUESTS
    assert found.stage_rows(STAGES) is STAGES


def test_times_become_those_of_the_host_of_the_driver() -> None:
    now = {"one": reading(20.0), "two": reading(520.0)}
    found = HostClocks.read(lab_on_hosts([now, now]), DRIVER)
    found.end()
    assert found.requests(REQUESTS)["started_at"].to_list() == [9.5]
    stages = found.stage_rows(STAGES)
    assert stages is not None
    assert stages["created_at"].to_list() == [9.5]
    assert found.stage_rows(None) is None


def test_a_clock_that_was_not_read_again_corrects_nothing() -> None:
    found = HostClocks.read(lab_on_hosts([{"one": reading(0.0), "two": reading(500.0)}, {}]), DRIVER)
    found.end()
    assert found.requests(REQUESTS)["started_at"].to_list() == [10.0]
    assert found.entries["two"].after is None


def test_no_load_begins_with_a_clock_that_is_far_off() -> None:
    lab = lab_on_hosts([{"one": reading(-20.0), "two": reading(-1200.0)}])
    with pytest.raises(LabError, match=r"^two: its clock differs from that of this machine by -1\.2 s") as caught:
        HostClocks.read(lab, DRIVER)
    assert "NTP" in caught.value.remedy


def test_the_clock_of_a_host_without_times_in_figures_leaves_none_out() -> None:
    lab = lab_on_hosts([{"one": reading(0.0), "two": reading(5.0)}] * 2)
    lab.engines = (ONE, TWO, Engine("monitoring"))  # type: ignore[misc]
    found = HostClocks.read(lab, DRIVER)
    found.end()
    assert {*found.entries} == {"one", "two", "monitoring"}
    assert {*found.of_values} == {"one", "two"}
    assert clocks.error_ms(found.of_values) is not None


@pytest.mark.parametrize(("known", "times"), [(True, {"AB": 99.5}), (False, {})])
def test_the_log_of_the_notary_has_the_times_of_the_generator_or_none(known: bool, times: dict[str, float]) -> None:
    audit = Audit(verdict="passed", notary_requests={"AB": 100.0})
    clock = ClockEntry(before=reading(500.0), after=reading(500.0) if known else None)
    assert with_notary_times(audit, ON_HOSTS.placement, {"one": clock}).notary_requests == times
    assert with_notary_times(audit, None, {}) is audit
