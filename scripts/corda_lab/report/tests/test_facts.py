"""Facts about a run in one line each."""

import pytest

from corda_lab.report import facts
from support.runs import ENVIRONMENT, ON_HOSTS


@pytest.mark.parametrize(
    ("governor", "turbo", "text"),
    [
        (None, None, ""),
        ("powersave", True, ", governor powersave, turbo on"),
        ("performance", None, ", governor performance"),
    ],
)
def test_a_machine_is_described_by_what_is_known_of_it(governor: str | None, turbo: bool | None, text: str) -> None:
    host = ENVIRONMENT.host.model_copy(update={"governor": governor, "turbo": turbo})
    assert facts.machine(host) == f"2 cores of A processor of some kind, 24 GiB, Linux 6.1{text}"


def test_hosts_are_counted() -> None:
    assert facts.machines(ON_HOSTS) == "1 host of the placement three"
    assert facts.machines(ENVIRONMENT) == facts.machine(ENVIRONMENT.host)
    assert (ENVIRONMENT.clocks_apart_seconds_max, ON_HOSTS.clocks_apart_seconds_max) == (0.0, 1.0)
