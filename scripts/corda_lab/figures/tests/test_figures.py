"""The figures of the repository: every name resolves, and every check on the published values has its verdict."""

import pytest

from corda_lab.figures.file import Figure, read_figure
from corda_lab.figures.judge import judge, judge_published
from corda_lab.figures.published import FIGURES

FILES = sorted(FIGURES.glob("*.yaml"))


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def figure(request: pytest.FixtureRequest) -> Figure:
    return read_figure(request.param)


def test_every_name_resolves(figure: Figure) -> None:
    # Reading checks all of them: the sweep, its points, metrics, rows of published.csv, sentences, claims.
    assert figure.fields.claims


def test_every_check_on_the_published_values_gives_the_recorded_verdict(figure: Figure) -> None:
    found = {
        claim.name: theirs.verdict
        for claim, theirs in zip(figure.fields.claims, judge_published(figure), strict=True)
        if theirs is not None
    }
    recorded = {
        claim.name: claim.on_published.verdict for claim in figure.fields.claims if claim.on_published is not None
    }
    assert found == recorded


def test_a_claim_that_needs_nothing_can_be_judged_before_it_is_measured(figure: Figure) -> None:
    for found in judge(figure, []):
        expected = "not testable here" if found.claim.needs is not None else "cannot tell"
        assert found.verdict == expected, found.claim.name
