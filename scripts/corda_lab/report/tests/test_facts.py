"""Facts about a run in one line each."""

import pytest

from corda_lab.report import facts
from support.runs import ENVIRONMENT, ON_HOSTS


@pytest.mark.parametrize(
    ("governor", "turbo", "text"),
    [
        (None, None, "2 cores of A processor of some kind, 24 GiB, Linux 6.1"),
        ("powersave", True, "2 cores of A processor of some kind, 24 GiB, Linux 6.1, governor powersave, turbo on"),
        ("performance", None, "2 cores of A processor of some kind, 24 GiB, Linux 6.1, governor performance"),
    ],
)
def test_a_machine_is_described_by_what_is_known_of_it(governor: str | None, turbo: bool | None, text: str) -> None:
    assert facts.machine(ENVIRONMENT.host.model_copy(update={"governor": governor, "turbo": turbo})) == text


def test_hosts_are_described_with_what_ran_on_each_and_what_was_not_measured() -> None:
    assert facts.machines(ON_HOSTS) == "1 host of the placement three"
    assert facts.machines(ENVIRONMENT) == facts.machine(ENVIRONMENT.host)


def test_only_clocks_of_several_hosts_may_be_apart() -> None:
    assert ENVIRONMENT.clocks_apart_seconds_max == 0.0
    assert ON_HOSTS.clocks_apart_seconds_max == 1.0
