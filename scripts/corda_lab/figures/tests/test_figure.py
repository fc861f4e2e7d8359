"""Figure files: every mistake at once, each with its line; and the ready-made ones."""

import re
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures.figure import FIGURES, Figure, by_sweep, metrics_of, read_figure
from corda_lab.figures.judge import judge
from corda_lab.figures.points import plan_of
from support.claims import HEAD, SWEEP, figure_of, write_figure

SOUND = "name: grows, says: 1, ratio: p50, of: {load.users: 70}, to: {load.users: 1}, within: [4, null]"


def told(folder: Path, claims: str, *, head: str = HEAD, sweep: str = SWEEP, deviations: str = "[]") -> list[str]:
    """What is wrong with a figure, a line each, without its folder."""
    path = write_figure(folder, claims, head=head, sweep=sweep, deviations=deviations)
    with pytest.raises(LabError) as caught:
        read_figure(path, folder)
    assert caught.value.exit_code == 2
    return [line.removeprefix(f"{folder}/") for line in caught.value.message.splitlines()]


def test_a_sound_figure_is_read_with_its_sweep(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, SOUND)
    assert (figure.name, figure.sweep.name, len(figure.fields.rows)) == ("fig", "own", 18)
    assert figure.fields.claims[0].region == (4, float("inf"))


def test_every_mistake_in_a_field_is_told_with_its_line(tmp_path: Path) -> None:
    head = """\
titel: A figure
source: {document: r3-result, place: ""}
words: []
conditions: [a]
published:
  - {id: IIT-3.5, y: mean latency, by: colour}
sweep: own
chart: {x: load.users, y: p5, anchor: {}}
"""
    claims = """\
name: a, says: 0, ratio: [p50], of: {n: 1}, within: [1]
name: b, says: theirs, exponent: p50, over: n *, from: 3 x best, within: [low, 2], broken: maybe
name: c, says: 1, level: p5, at: {n: [1, 2]}, within: [0, 1], on_published: {where: {a: b}, verdict: x}
name: d, says: 1, needs: {enterprise: false}, added: 28 November, found: {date: yesterday, txt: It queues.}
"""
    deviations = "\n  - {published: a, here: b, because: c, touches: all}"
    lines = told(tmp_path, claims, head=head, deviations=deviations)
    places = {
        1: "title titel",
        2: "source.document source.place",
        3: "words",
        4: "conditions",
        6: "published[0].by",
        8: "chart.y chart.anchor",
        10: "claims[0].says claims[0].within",
        11: "claims[1].says claims[1].over claims[1].from claims[1].within[0] claims[1].broken",
        12: "claims[2].level claims[2].at.n claims[2].on_published.where claims[2].on_published.verdict",
        13: "claims[3].needs.enterprise claims[3].found.date claims[3].found.text claims[3].found.txt claims[3].added",
        15: "deviations[0].touches",
    }
    expected = [f"fig.yaml:{line}: {field}" for line, fields in places.items() for field in fields.split()]
    assert [": ".join(line.split(": ")[:2]) for line in lines] == expected
    text = "\n".join(lines)
    for hint in ("titel: unknown field, did you mean 'title'?", "did you mean 'p95'?", "over: is no expression"):
        assert hint in text


def test_every_name_that_does_not_resolve_is_told_with_its_line(tmp_path: Path) -> None:
    head = HEAD.replace("id: IIT-3.5", "id: IIT-3.55").replace(
        "x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}",
        "x: load.user, y: p50, by: shape.core, anchor: {load.users: 11}",
    )
    claims = f"{SOUND}\n{SOUND.replace('says: 1', 'says: 3')}"
    deviations = "\n  - {published: a, here: b, because: c, touches: [grow]}"
    found = [line.partition(": ")[2] for line in told(tmp_path, claims, head=head, deviations=deviations)]
    assert [line.partition(":")[0] for line in found] == [
        "published[0]",
        "chart.x",
        "chart.by",
        "chart.anchor",
        "claims[0]",
        "claims[1].name",
        "claims[1].says",
        "claims[1]",
        "deviations[0].touches",
    ]
    assert found[1] == "chart.x: load.user does not vary in the sweep, did you mean 'load.users'?"
    assert "2 points have load.users 70" in found[4]


LEVEL, POINT = "level: p50, within: [1, 2]", "at: {load.users: 1}"


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("within: [1, 2]", "needs one of ratio, exponent and level"),
        (f"{LEVEL}, {POINT}, ratio: p50", "needs one of ratio, exponent and level"),
        ("ratio: p50, within: [1, 2]", "ratio needs of"),
        ("ratio: p50, of: {load.users: 1}, within: [1, 2]", "to: is missing, the other point"),
        ("exponent: p50, within: [1, 2]", "exponent needs over"),
        (f"level: p50, {POINT}", "level needs within"),
        (f"level: p50, {POINT}, within: [null, null]", "within: needs an end"),
        (f"level: p50, {POINT}, within: [2, 1]", "within: needs an end, and the lower one first"),
        (f"{LEVEL}, {POINT}, of: {{load.users: 1}}, over: n", "of and over: not with level"),
        (f"level: outcome, {POINT}", "outcome needs broken"),
        (f"level: outcome, {POINT}, broken: true, within: [1, 1]", "within: not with outcome"),
        ("exponent: p50, over: user, within: [1, 2]", "user is None"),
        ("exponent: p50, over: load.users * 0 + 1, within: [1, 2]", "several points have the same"),
        ("exponent: p50, over: load.users, from: 70, within: [1, 2]", "an exponent needs two points, and 1 has"),
        (f"{LEVEL}, at: {{load.users: 1, shape.corda: 4.10}}", "no point has load.users 1, shape.corda 4.1"),
        (f'{LEVEL}, at: {{shape.corda: "4.9"}}', "4 points have shape.corda 4.9"),
        ("needs: {cores: 7}, within: [1, 2]", "within: not with untested"),
        (f"{LEVEL}, {POINT}, on_published: {{where: {{edition: OS 3.3}}, verdict: held}}", "on_published: 2 points"),
        (f"{LEVEL}, {POINT}, on_published: {{where: {{edition: OS 4}}, verdict: held}}", "on_published: no point"),
        (
            "ratio: [p50, p95], of: {load.users: 70}, within: [1, 2], on_published: {verdict: held}",
            "on_published: needs of and to, which rows they are",
        ),
    ],
)
def test_a_claim_that_means_nothing_says_why(tmp_path: Path, claim: str, problem: str) -> None:
    (line,) = told(tmp_path, f"name: a, says: ours, {claim}")
    assert problem in line.partition("claims[0]")[2]


def test_a_claim_that_cannot_be_tested_here_may_name_other_points(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, SOUND.replace("{load.users: 1}", '{shape.corda: "9"}') + ", needs: {enterprise: true}")
    assert figure.fields.claims[0].points["to"] == {"shape.corda": "9"}
    assert figure_of(tmp_path, "name: a, says: 1, needs: {other: Braid}").fields.claims[0].kind == "untested"


def test_a_sweep_that_is_not_there_or_not_valid_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, SOUND, head=HEAD.replace("sweep: own", "sweep: owen")) == [
        "fig.yaml:10: sweep: there is no sweep 'owen', did you mean 'own'?"
    ]
    assert told(tmp_path, SOUND, sweep=SWEEP.replace("iou", "[iou]")) == [
        "own.yaml:2: workload: must be text, but is ['iou']; put it in quotes"
    ]


def test_figures_of_one_sweep_and_their_metrics(tmp_path: Path) -> None:
    both = [figure_of(tmp_path, SOUND), figure_of(tmp_path, SOUND.replace("ratio: p50", "ratio: [p95, throughput]"))]
    assert by_sweep(both) == {"own": both}
    assert metrics_of(both) == ["p50", "p95", "throughput"]
    outcome = figure_of(tmp_path, "name: a, says: 1, level: outcome, at: {load.users: 1}, broken: true")
    assert metrics_of([outcome]) == ["p50"]


# The figures of the repository. Reading them checks every name.


@pytest.fixture(params=sorted(FIGURES.glob("*.yaml")), ids=lambda path: path.stem)
def figure(request: pytest.FixtureRequest) -> Figure:
    return read_figure(request.param)


def test_every_claim_has_the_reason_for_its_region_and_every_axis_a_title(figure: Figure) -> None:
    assert [claim.name for claim in figure.fields.claims if not claim.because] == []
    assert figure.fields.chart.x != "at" or figure.fields.chart.x_title


def test_what_a_person_found_has_no_measured_number(figure: Figure) -> None:
    """The numbers of the book are those of its repeats, and later ones are others. What varies, and the share that a
    sentence names, are no measured numbers."""
    given = {str(value) for point in plan_of(figure.sweep) for value in point.values()}
    given |= {word for name in given for word in name.split()}
    said = " ".join(sentence.text for sentence in figure.fields.words).replace(" ", "")
    for claim in figure.fields.claims:
        numbers = re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?: ?%)?", claim.found.text if claim.found else "")
        assert [one for one in numbers if one not in given and one.replace(" ", "") not in said] == [], claim.name


def test_before_it_is_measured_a_claim_has_its_recorded_verdicts(figure: Figure) -> None:
    for verdict in judge(figure, []).verdicts:
        claim = verdict.claim
        recorded = claim.on_published
        assert (verdict.published and verdict.published.verdict) == (recorded and recorded.verdict), claim.name
        is_untested = claim.needs is not None
        assert verdict.verdict == ("not testable here" if is_untested else "cannot tell"), claim.name
