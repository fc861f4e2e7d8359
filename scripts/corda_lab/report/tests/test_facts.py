"""Facts about a run in one line each."""

import pytest

from corda_lab.report import facts
from corda_lab.testing.runs import ENVIRONMENT


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
