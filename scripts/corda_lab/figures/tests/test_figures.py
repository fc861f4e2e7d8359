"""The figures of the repository: every name resolves, and every check on the published values has its verdict."""

import re
from collections.abc import Sequence

import pytest

from corda_lab.figures.file import Figure, read_figure
from corda_lab.figures.judge import judge
from corda_lab.figures.published import FIGURES
from corda_lab.figures.repeat import Form
from corda_lab.figures.statistic import unresolved
from corda_lab.figures.store import FORMS, in_form, names_of
from corda_lab.figures.words import number_words
from corda_lab.sweeps.plan import points_of, step_of

FILES = sorted(FIGURES.glob("*.yaml"))


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def figure(request: pytest.FixtureRequest) -> Figure:
    return read_figure(request.param)


def test_every_name_resolves(figure: Figure) -> None:
    # Reading checks all of them: the sweep, its points, metrics, rows of published.csv, sentences, claims.
    assert figure.fields.claims


def test_an_axis_of_the_numbers_of_steps_says_what_they_are(figure: Figure) -> None:
    chart = figure.fields.chart
    assert chart.x != "at" or chart.x_title


def test_every_claim_has_the_reason_for_its_region_and_says_what_its_number_is(figure: Figure) -> None:
    for claim in figure.fields.claims:
        assert claim.because, claim.name
        assert bool(number_words(claim, figure.fields.chart)) == (claim.statistic is not None), claim.name


def test_what_a_person_found_has_no_measured_number(figure: Figure) -> None:
    """The numbers of the book are those of its repeats, and later ones are others. What varies, and the share that a
    sentence names, are no measured numbers."""
    given = {str(value) for point in names_of(figure.sweep).points for value in point.values()}
    given |= {word for name in given for word in name.split()}
    for claim in figure.fields.claims:
        text = claim.found.text if claim.found else ""
        numbers = re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?: ?%)?", text)
        said = " ".join(sentence.text for sentence in figure.fields.words).replace(" ", "")
        measured = [one for one in numbers if one not in given and one.replace(" ", "") not in said]
        assert measured == [], claim.name


def test_every_check_on_the_published_values_gives_the_recorded_verdict(figure: Figure) -> None:
    found = {each.claim.name: each.published.verdict for each in judge(figure, []) if each.published is not None}
    recorded = {
        claim.name: claim.on_published.verdict for claim in figure.fields.claims if claim.on_published is not None
    }
    assert found == recorded


@pytest.mark.parametrize("form", FORMS)
def test_what_conditions_the_nodes_of_a_lab_uses_all_that_its_steps_use(figure: Figure, form: Form) -> None:
    short = in_form(figure.sweep, form)
    used: dict[object, set[str]] = {}
    conditioned: dict[object, list[set[str]]] = {}
    for point in points_of(short):
        step = step_of(point, 1, 1)
        used.setdefault(point.shape_key, set()).update(nodes_of(step.workload, step.load.nodes))
        before = step.condition
        assert before is not None
        own = nodes_of(before.options.workload, before.options.nodes)
        conditioned.setdefault(point.shape_key, []).append(own)
    # Any step may be the first on its lab.
    assert all(used[key] <= own for key, each in conditioned.items() for own in each)


def nodes_of(workload: str, nodes: Sequence[str] | None) -> set[str]:
    """The nodes of a lab of two or three parties that a workload uses; the parties of a settlement are its own."""
    if workload.startswith("settlement"):
        return {"PartyA", "PartyB", "PartyC", "Notary"}
    if workload in ("cash-issue", "finance-issue"):
        return {"PartyA"}
    parties = {"PartyA", "PartyB"} if not nodes else {*nodes}
    return parties if workload == "iou" else {*parties, "Notary"}


def test_a_claim_that_needs_nothing_can_be_judged_before_it_is_measured(figure: Figure) -> None:
    for found in judge(figure, []):
        is_untested = found.claim.needs is not None or found.claim.only_published
        assert found.verdict == ("not testable here" if is_untested else "cannot tell"), found.claim.name


def test_a_command_is_printed_only_for_a_claim_that_it_decides(figure: Figure) -> None:
    for found in judge(figure, []):
        if found.verdict == "not testable here" and found.command:
            assert found.claim.statistic is not None, found.claim.name
            assert unresolved(found.claim, names_of(figure.sweep)) == "", found.claim.name
