"""The values of parameters in words."""

import pytest

from corda_lab.steps.entry import ParameterValue
from corda_lab.steps.parameters import value_words


@pytest.mark.parametrize(
    ("parameter", "value", "told"),
    [
        ("workload", "cash-issue", "cash-issue"),
        ("step", "1st minute", "1st minute"),
        ("load.users", 1, "1 user"),
        ("load.users", 8, "8 users"),
        ("load.users", "8", "users=8"),
        ("load.rate", 4.0, "4/s"),
        ("load.workers", 2, "2 workers"),
        ("load.arrivals", "poisson", "poisson arrivals"),
        ("load.arrivals", "closed", "closed load"),
        ("load.arrivals", "burst", "bursts"),
        ("load.pool", 8, "pool of 8"),
        ("load.within", "1s", "within=1s"),
        ("load.within", 1.0, "started within 1 s"),
        ("load.late_max", 60.0, "at most 60 s late"),
        ("load.rest", 0.5, "rest of 0.5 s"),
        ("load.pacing", 4.0, "pacing of 4 s"),
        ("load.pacing", "100ms", "pacing=100ms"),
        ("load.node", "PartyB", "node=PartyB"),
        ("load.gone", 3, "gone=3"),
        ("shape.database", "postgres", "PostgreSQL"),
        ("shape.heap", "2g", "heap 2g"),
        ("shape.dev_mode", False, "production mode"),
        ("shape.link", ["a-b=+8ms", "a-c=+4ms"], "link a-b=+8ms, link a-c=+4ms"),
        ("set.n", 10, "n=10"),
        ("set.currency", "GBP", "currency=GBP"),
        ("set.anonymous", True, "anonymous=true"),
    ],
)
def test_a_value_has_the_words_that_its_parameter_declares(parameter: str, value: ParameterValue, told: str) -> None:
    assert value_words(parameter, value) == told
