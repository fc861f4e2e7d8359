"""Figure files: every mistake at once, each with its line; and the ready-made ones."""

import re
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures.claims import Untested
from corda_lab.figures.figure import Figure, Places, by_sweep, metrics_of, read_figure, unresolved
from corda_lab.figures.judge import judge
from corda_lab.figures.points import plan_of
from corda_lab.figures.published import FIGURES
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
    assert figure.fields.claims[0].within == (4, float("inf"))  # type: ignore[union-attr]


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
name: c, says: 1, level: p50, at: {n: [1, 2]}, within: [0, 1], on_published: {where: {a: b}, verdict: x}
name: d, says: 1, needs: {enterprise: false}, added: 28 November, found: {date: yesterday, txt: It queues.}
"""
    deviations = "\n  - {published: a, here: b, because: c, touches: all}"
    columns = "'id', 'source', 'edition', 'workload', 'x', 'metric', 'unit' or 'hardware'"
    names = "id, source, edition, workload, x, metric, unit, hardware"
    ends = "two ends, each a number or null for no end, such as [0.7, 1.3] or [2, null]"
    documents = "'iitb-2019', 'r3-results', 'r3-sizing', 'r3-blog-2020', 'r3-attachments-2020' or 'coconut'"
    verdicts = "'held', 'did not hold', 'cannot tell' or 'not testable here'"
    assert told(tmp_path, claims, head=head, deviations=deviations) == [
        "fig.yaml:1: title: is missing",
        "fig.yaml:1: titel: unknown field, did you mean 'title'?",
        f"fig.yaml:2: source.document: must be {documents}, but is 'r3-result'",
        "fig.yaml:2: source.place: must not be empty",
        "fig.yaml:3: words: must not be empty",
        "fig.yaml:4: conditions: must be text, but is ['a']; put it in quotes",
        f"fig.yaml:6: published[0].by: must be {columns}, but is 'colour'",
        "fig.yaml:8: chart.y: there is no metric 'p5', did you mean 'p95'?",
        "fig.yaml:8: chart.anchor: must not be empty",
        "fig.yaml:10: claims[0].says: must be the number of a sentence in words, or ours",
        f"fig.yaml:10: claims[0].within: must be {ends}",
        "fig.yaml:10: claims[0].ratio: must be the name of a metric, or a list of two",
        "fig.yaml:11: claims[1].says: must be the number of a sentence in words, or ours",
        f"fig.yaml:11: claims[1].within: must be {ends}",
        "fig.yaml:11: claims[1].over: is no expression",
        "fig.yaml:11: claims[1].from: must be a number, or a number of peaks such as 3 x peak",
        "fig.yaml:11: claims[1].broken: does not belong to an exponent",
        f"fig.yaml:12: claims[2].on_published.where: 'a' is no column of published.csv; choose from {names}",
        f"fig.yaml:12: claims[2].on_published.verdict: must be {verdicts}, but is 'x'",
        "fig.yaml:12: claims[2].at.n: must be a single value, but is [1, 2]",
        "fig.yaml:13: claims[3].needs.enterprise: must be True, but is False",
        "fig.yaml:13: claims[3].found.date: must be a day such as 2026-11-24",
        "fig.yaml:13: claims[3].found.text: is missing",
        "fig.yaml:13: claims[3].found.txt: unknown field, did you mean 'text'?",
        "fig.yaml:13: claims[3].added: must be a day such as 2026-11-24",
        "fig.yaml:15: deviations[0].touches: must be a list of claims, or absolute",
    ]


def test_every_name_that_does_not_resolve_is_told_with_its_line(tmp_path: Path) -> None:
    head = (
        HEAD.replace("id: IIT-3.5", "id: IIT-3.55")
        .replace("sweep:", "  - {id: COCO, x: offered tx/s, y: throughput, where: {workload: None}}\nsweep:")
        .replace(
            "x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}",
            "x: load.user, y: p50, by: shape.core, anchor: {load.users: 11}",
        )
    )
    claims = f"{SOUND}\n{SOUND.replace('says: 1', 'says: 3')}"
    deviations = "\n  - {published: a, here: b, because: c, touches: [grow]}"
    none, which = "no row of published.csv has", "x_name requests in 1s, metric mean latency"
    assert told(tmp_path, claims, head=head, deviations=deviations) == [
        f"fig.yaml:8: published[0]: {none} id IIT-3.55, {which}, did you mean 'IIT-3.5'?",
        f"fig.yaml:10: published[2]: {none} id COCO, x_name offered tx/s, metric throughput, workload None",
        "fig.yaml:12: chart.load.user: does not vary in the sweep, did you mean 'load.users'?",
        "fig.yaml:12: chart.shape.core: does not vary in the sweep, did you mean 'shape.corda'?",
        "fig.yaml:12: chart.anchor.load.users: 11 is not in the sweep's load.users, which has 1, 10, 40, 70",
        "fig.yaml:14: claims[0]: 2 points have load.users 70; they differ in shape.corda",
        "fig.yaml:15: claims[1].name: 'grows' is used twice",
        "fig.yaml:15: claims[1].says: there is no sentence 3 in words, which has 2",
        "fig.yaml:15: claims[1]: 2 points have load.users 70; they differ in shape.corda",
        "fig.yaml:17: deviations[0].touches[0]: there is no claim 'grow', did you mean 'grows'?",
    ]


def test_published_values_have_a_place_beside_ours(tmp_path: Path) -> None:
    places = "{id: R3-F1, y: throughput, by: workload, beside: {edition: {CE 4.0: 11, CE 5: 10}}}"
    head = HEAD.replace("sweep:", f"  - {places}\n  - {{id: R3-F1, y: throughput, beside: x}}\nsweep:")
    not_there = "is not in the sweep's load.users, which has 1, 10, 40, 70"
    assert told(tmp_path, SOUND, head=head) == [
        f"fig.yaml:10: published[2].beside.edition.load.users: 11 {not_there}",
        "fig.yaml:10: published[2].beside.edition: no row of R3-F1 has edition 'CE 5'",
        "fig.yaml:11: published[3].beside: the rows have no x; name our x for the values of a column",
    ]
    head = HEAD.replace("by: edition}\nsweep", "by: edition, beside: y}\nsweep")
    (line,) = told(tmp_path, SOUND, head=head)
    assert "published[1].beside: must be x or x / peak, or a column with our x for its values" in line


LEVEL, POINT = "level: p50, within: [1, 2]", "at: {load.users: 1}"


@pytest.mark.parametrize(
    ("claim", "problems"),
    [
        ("within: [1, 2]", ["needs one of ratio, exponent and level"]),
        (
            f"{LEVEL}, {POINT}, ratio: p50, of: {{load.users: 1}}",
            ["level: does not belong to a ratio", "at: does not belong to a ratio"],
        ),
        ("ratio: p50, within: [1, 2]", ["of: is missing"]),
        (
            "ratio: [p50, p5], of: {load.users: 1}, within: [1, 2]",
            ["ratio: there is no metric 'p5', did you mean 'p95'"],
        ),
        ("ratio: p50, of: {load.users: 1}, within: [1, 2]", ["to: is missing, the other point; or name two"]),
        ("exponent: p50, within: [1, 2]", ["over: is missing"]),
        (LEVEL, ["at: is missing"]),
        (f"level: p50, {POINT}", ["within: is missing"]),
        (f"level: p50, {POINT}, within: [null, null]", ["within: has no end, so every value is inside"]),
        (f"level: p50, {POINT}, within: [2, 1]", ["within: the first end must not be above the second"]),
        (
            f"{LEVEL}, {POINT}, of: {{load.users: 1}}, over: users",
            ["of: does not belong to a level", "over: does not belong to a level"],
        ),
        (f"level: outcome, {POINT}", ["broken: is missing"]),
        (f"level: outcome, {POINT}, broken: true, within: [1, 1]", ["within: does not belong to an outcome"]),
        (
            "level: thoughput, within: [1, 2], " + POINT,
            ["level: there is no metric 'thoughput', did you mean 'throughput'"],
        ),
        ("exponent: p50, over: user, within: [1, 2]", ["over: user is neither in vary nor set by the sweep"]),
        (
            "exponent: p50, over: depth, within: [1, 2]",
            ["several points have the same depth; name one of them in where"],
        ),
        (
            "exponent: p50, over: users, from: 70, within: [1, 2]",
            ["an exponent needs two points, and 1 has shape.corda"],
        ),
        (
            f"{LEVEL}, at: {{load.users: 1, shape.corda: 4.10}}",
            ["at.shape.corda: 4.1 is not in the sweep's shape.corda, which has 4.9, 4.10"],
        ),
        (f"{LEVEL}, at: {{users: 1}}", ["at.users: does not vary in the sweep, did you mean 'load.users'?"]),
        (f'{LEVEL}, at: {{shape.corda: "4.9"}}', ["4 points have shape.corda 4.9; they differ in load.users"]),
        (f"{LEVEL}, {POINT}, only_published: true", ["only_published: is only for a claim with on_published"]),
        ("needs: {}", ["needs: needs one of enterprise, cores, software, users"]),
        ("needs: {cores: 7}, within: [1, 2]", ["within: does not belong to a claim without a number"]),
        (
            f"{LEVEL}, {POINT}, on_published: {{of: {{x: 1}}, to: {{x: 1}}, verdict: held}}",
            ["on_published.of: does not belong to this kind of claim"],
        ),
        (
            f"{LEVEL}, {POINT}, on_published: {{where: {{edition: OS 3.3}}, verdict: held}}",
            ["on_published: 2 points have load.users 1; they differ in id, metric, source, unit"],
        ),
        (
            f"{LEVEL}, {POINT}, on_published: {{where: {{edition: OS 4}}, verdict: held}}",
            ["on_published: no point has load.users 1"],
        ),
        (
            (
                'ratio: p50, of: {load.users: 1, shape.corda: "4.9"}, to: {load.users: 1, shape.corda: "4.10"}, '
                "within: [1, 2], on_published: {verdict: held}"
            ),
            ["on_published: needs of and to, which rows they are: the points differ in shape.corda"],
        ),
        (
            "ratio: [p50, p95], of: {load.users: 70}, within: [1, 2], on_published: {of: {x: 1}, verdict: held}",
            ["on_published: needs both of and to, or neither"],
        ),
        (
            "ratio: [p50, p95], of: {load.users: 70}, within: [1, 2], on_published: {verdict: held}",
            ["on_published: needs of and to, which rows they are: the points differ in the metrics"],
        ),
    ],
)
def test_a_claim_that_means_nothing_says_why(tmp_path: Path, claim: str, problems: list[str]) -> None:
    lines = told(tmp_path, f"name: a, says: ours, {claim}")
    found = [line.partition("claims[0]")[2].removeprefix(".").removeprefix(": ") for line in lines]
    assert [line[: len(problem)] for line, problem in zip(found, problems, strict=True)] == problems


def test_a_claim_that_is_no_mapping_is_told(tmp_path: Path) -> None:
    path = write_figure(tmp_path, SOUND)
    path.write_text(path.read_text(encoding="utf-8").replace(f"{{{SOUND}}}", "a claim"), encoding="utf-8")
    with pytest.raises(LabError, match="needs one of ratio, exponent and level"):
        read_figure(path, tmp_path)


def test_a_deviation_may_be_a_number(tmp_path: Path) -> None:
    path = write_figure(tmp_path, SOUND, deviations="[{published: 800, here: 16, because: two cores, touches: []}]")
    (deviation,) = read_figure(path, tmp_path).fields.deviations
    assert (deviation.published, deviation.here) == (800, 16)


def test_a_check_needs_published_rows(tmp_path: Path) -> None:
    start, end = HEAD.index("published:"), HEAD.index("sweep:")
    assert told(tmp_path, f"{SOUND}, on_published: {{verdict: held}}", head=HEAD[:start] + HEAD[end:]) == [
        "fig.yaml:10: claims[0].on_published: the figure has no published rows; name them in published"
    ]


def test_a_claim_that_cannot_be_tested_here_may_name_other_points(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, SOUND.replace("{load.users: 1}", '{shape.corda: "9"}') + ", needs: {enterprise: true}")
    assert figure.fields.claims[0].points("to") == {"shape.corda": "9"}
    assert isinstance(figure_of(tmp_path, "name: a, says: 1, needs: {software: Braid}").fields.claims[0], Untested)


def test_a_sweep_that_is_not_there_or_not_valid_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, SOUND, head=HEAD.replace("sweep: own", "sweep: owen")) == [
        "fig.yaml:10: sweep: there is no sweep 'owen', did you mean 'own'?"
    ]
    assert told(tmp_path, SOUND, sweep=SWEEP.replace("iou", "[iou]")) == [
        "own.yaml:2: workload: must be text, but is ['iou']; put it in quotes"
    ]


def test_the_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    path = write_figure(tmp_path, SOUND, head=HEAD.replace("title", "titel"))
    (tmp_path / "figures").mkdir()
    for name in ("a", "b"):
        (tmp_path / "figures" / f"{name}.yaml").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(LabError) as caught:
        Places(tmp_path / "figures", tmp_path).read_figures()
    assert len(caught.value.problems) == 4


def test_figures_of_one_sweep_and_their_metrics(tmp_path: Path) -> None:
    both = [figure_of(tmp_path, SOUND), figure_of(tmp_path, SOUND.replace("ratio: p50", "ratio: [p95, throughput]"))]
    assert by_sweep(both) == {"own": both}
    assert metrics_of(both) == ["p50", "p95", "throughput"]
    outcome = figure_of(tmp_path, "name: a, says: 1, level: outcome, at: {load.users: 1}, broken: true")
    assert metrics_of([outcome]) == ["p50"]


def test_a_sentence_may_be_of_another_document(tmp_path: Path) -> None:
    line = "  - Latency also increases in a linear fashion.\n"
    head = HEAD.replace(line, "  - {document: r3-blog-2020, text: Latency increases.}\n")
    fields = read_figure(write_figure(tmp_path, SOUND, head=head), tmp_path).fields
    assert [(one.document, one.text) for one in fields.words] == [
        ("r3-blog-2020", "Latency increases."),
        (None, "The throughput is around 8."),
    ]
    assert fields.document_of(fields.claims[0]) == "r3-blog-2020"


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
    given = {str(value) for point in plan_of(figure.sweep).points for value in point.values()}
    given |= {word for name in given for word in name.split()}
    said = " ".join(sentence.text for sentence in figure.fields.words).replace(" ", "")
    for claim in figure.fields.claims:
        numbers = re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?: ?%)?", claim.found.text if claim.found else "")
        assert [one for one in numbers if one not in given and one.replace(" ", "") not in said] == [], claim.name


def test_before_it_is_measured_a_claim_has_its_recorded_verdicts(figure: Figure) -> None:
    for verdict in judge(figure, []).verdicts:
        claim = verdict.claim
        recorded = getattr(claim, "on_published", None)
        assert (verdict.published and verdict.published.verdict) == (recorded and recorded.verdict), claim.name
        is_untested = claim.needs is not None or getattr(claim, "only_published", None)
        assert verdict.verdict == ("not testable here" if is_untested else "cannot tell"), claim.name
        # A command is printed only for a claim that it decides.
        assert not verdict.command or unresolved(claim, plan_of(figure.sweep)) == "", claim.name
