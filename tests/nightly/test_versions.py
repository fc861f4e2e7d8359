"""Every version of Corda on every database: started from nothing, and measured with a load.

Each night has an eighth of them (``support.nights``).
"""

from collections.abc import Iterator
from itertools import product

import pytest

from corda_lab.knobs import shape as knobs
from corda_lab.knobs.shape import CORDA_VERSIONS
from corda_lab.lab.settings import Settings
from corda_lab.paths import CACHE
from corda_lab.results import audits
from corda_lab.runs import execute
from lab_workload.load import Load
from support import own_lab
from support.nights import taking_turns

LOAD = Load(workload="iou", users=4, duration_seconds=20.0, warm_up_seconds=10.0)
PLACES = taking_turns(product(knobs.names("databases"), CORDA_VERSIONS), 8)


@pytest.fixture(params=PLACES, ids="-".join)
def settings(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """The settings of a lab of its own, which is up, and is deleted after the test."""
    database, version = request.param
    with own_lab.fresh_lab(
        "versions", CACHE / "versions-results", {"DATABASE": database, "CORDA_VERSION": version}, None
    ) as made:
        yield made


def test_a_load_on_a_new_network_passes(settings: Settings) -> None:
    folder, step = execute.execute(LOAD, settings)
    # What an audit cannot tell of old versions is no violation: docs/audit.md says where that is so.
    print(f"audit: {audits.read(folder)[step.index].verdict}")
    assert step.verdict.passed, step.verdict
    assert step.counts.agree, step.counts.disagreements
