"""Parties that join an existing network, and a settlement between four of them. It starts six nodes."""

import pytest

import panel_check
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("more-parties"), pytest.mark.nightly]


@pytest.fixture(scope="module")
def joined(lab: Lab) -> Lab:
    """A lab with two parties, which three more have joined."""
    lab.succeed("down", "--volumes")
    for parties in ("2", "5"):
        lab.succeed("up", "--parties", parties)
    return lab


def test_parties_that_joined_settle(joined: Lab) -> None:
    # The first flows of six nodes that were just started take eight seconds, and a rate needs two scrapes after them.
    step = joined.measure(
        "settlement", "--set", "participants=4", "--users", "2", "--duration", "30s", "--warm-up", "10s"
    )
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["counts"]["agree"], step["counts"]["disagreements"]


def test_no_panel_was_empty_with_more_parties(joined: Lab) -> None:
    assert panel_check.check(joined.settings, joined.results()[-1].name) == []
