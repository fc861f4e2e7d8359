"""Figure files: every mistake at once, each with its line."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures.file import Figure, Places, by_sweep, metrics_of, read_figure
from support.claims import HEAD, SWEEP, figure_of, write_figure

SOUND = "name: grows, says: 1, ratio: p50, of: {load.users: 70}, to: {load.users: 1}, within: [4, null]"


def told(folder: Path, claims: str, *, head: str = HEAD, sweep: str = SWEEP, deviations: str = "[]") -> list[str]:
    """What is wrong with a figure, a line each, without its folder."""
    path = write_figure(folder, claims, head=head, sweep=sweep, deviations=deviations)
    with pytest.raises(LabError) as caught:
        read_figure(path, folder)
    assert caught.value.exit_code == 2
    return [line.removeprefix(f"{folder}/") for line in caught.value.message.splitlines()]


def of_claim(folder: Path, claim: str) -> list[str]:
    """What is wrong with the only claim of a figure, without the place."""
    return [line.partition("claims[0]")[2].removeprefix(".").removeprefix(": ") for line in told(folder, claim)]


def test_a_sound_figure_is_read_with_its_sweep(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, SOUND)
    assert (figure.name, figure.sweep.name, len(figure.rows)) == ("fig", "own", 18)
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
chart: {x: load.users, y: p50, anchor: {}}
"""
    claims = """\
name: a, says: 0, ratio: [p50], within: [1]
name: b, says: theirs, exponent: p50, from: 3 x best, within: [low, 2], broken: maybe
name: c, says: 1, level: p50, at: {n: [1, 2]}, needs: {enterprise: false}, on_published: {where: {a: b}, verdict: x}
name: d, says: 1, added: 28 November, found: {date: yesterday, txt: It queues.}
"""
    path = write_figure(
        tmp_path, claims, head=head, deviations="\n  - {published: a, here: b, because: c, touches: all}"
    )
    with pytest.raises(LabError) as caught:
        read_figure(path, tmp_path)
    columns = "'id', 'source', 'edition', 'workload', 'x', 'metric', 'unit' or 'hardware'"
    names = "id, source, edition, workload, x, metric, unit, hardware"
    ends = "two ends, each a number or null for no end, such as [0.7, 1.3] or [2, null]"
    documents = "'iitb-2019', 'r3-results', 'r3-sizing', 'r3-blog-2020', 'r3-attachments-2020' or 'coconut'"
    verdicts = "'held', 'did not hold', 'cannot tell' or 'not testable here'"
    assert [line.removeprefix(f"{tmp_path}/") for line in caught.value.message.splitlines()] == [
        "fig.yaml:1: title: is missing",
        "fig.yaml:1: titel: unknown field, did you mean 'title'?",
        f"fig.yaml:2: source.document: must be {documents}, but is 'r3-result'",
        "fig.yaml:2: source.place: must not be empty",
        "fig.yaml:3: words: must not be empty",
        "fig.yaml:4: conditions: must be text, but is ['a']; put it in quotes",
        f"fig.yaml:6: published[0].by: must be {columns}, but is 'colour'",
        "fig.yaml:8: chart.anchor: must not be empty",
        "fig.yaml:10: claims[0].says: must be the number of a sentence in words, or ours",
        "fig.yaml:10: claims[0].ratio: must be the name of a metric, or a list of two",
        f"fig.yaml:10: claims[0].within: must be {ends}",
        "fig.yaml:11: claims[1].says: must be the number of a sentence in words, or ours",
        "fig.yaml:11: claims[1].from: must be a number, or a number of peaks such as 3 x peak",
        "fig.yaml:11: claims[1].broken: must be a valid boolean, but is 'maybe'",
        f"fig.yaml:11: claims[1].within: must be {ends}",
        "fig.yaml:12: claims[2].at.n: must be a single value, but is [1, 2]",
        f"fig.yaml:12: claims[2].on_published.where.a: must be a column of published.csv: {names}, but is 'a'",
        f"fig.yaml:12: claims[2].on_published.verdict: must be {verdicts}, but is 'x'",
        "fig.yaml:12: claims[2].needs.enterprise: must be True, but is False",
        "fig.yaml:13: claims[3].found.date: must be a day such as 2026-11-24",
        "fig.yaml:13: claims[3].found.text: is missing",
        "fig.yaml:13: claims[3].found.txt: unknown field, did you mean 'text'?",
        "fig.yaml:13: claims[3].added: must be a day such as 2026-11-24",
        "fig.yaml:15: deviations[0].touches: must be a list of claims, or absolute",
    ]


def test_published_values_have_a_place_beside_ours(tmp_path: Path) -> None:
    places = "{id: R3-F1, y: throughput, by: workload, beside: {edition: {CE 4.0: 11, CE 5: 10}}}"
    head = HEAD.replace("sweep:", f"  - {places}\n  - {{id: R3-F1, y: throughput, beside: x}}\nsweep:")
    assert told(tmp_path, SOUND, head=head) == [
        "fig.yaml:10: published[2].beside.edition.CE 4.0: 11 is not in the sweep's load.users, which has 1, 10, 40, 70",
        "fig.yaml:10: published[2].beside.edition: no row of R3-F1 has edition 'CE 5'",
        "fig.yaml:11: published[3].beside: the rows have no x; name our x for the values of a column",
    ]
    head = HEAD.replace("by: edition}\nsweep", "by: edition, beside: y}\nsweep")
    (line,) = told(tmp_path, SOUND, head=head)
    assert "published[1].beside: must be x or x / peak, or a column with our x for its values" in line


def test_every_name_that_does_not_resolve_is_told_with_its_line(tmp_path: Path) -> None:
    head = (
        HEAD.replace("id: IIT-3.5", "id: IIT-3.55")
        .replace("y: throughput,", "y: thoughput,")
        .replace("sweep:", "  - {id: COCO, x: offered tx/s, y: throughput, where: {workload: None}}\nsweep:")
        .replace(
            "x: load.users, y: p50, by: shape.corda, anchor: {load.users: 10}",
            "x: load.user, y: p5, by: shape.core, anchor: {load.users: 11}",
        )
    )
    claims = f"""\
{SOUND}
{SOUND.replace("says: 1", "says: 3")}
"""
    deviations = "\n  - {published: a, here: b, because: c, touches: [grow]}"
    assert told(tmp_path, claims, head=head, deviations=deviations) == [
        "fig.yaml:8: published[0].id: 'IIT-3.55' is not in published.csv, did you mean 'IIT-3.5'?",
        "fig.yaml:9: published[1].y: 'thoughput' is not in published.csv for IIT-3.4, did you mean 'throughput'?",
        "fig.yaml:10: published[2].where: no row of COCO has workload None",
        "fig.yaml:12: chart.y: there is no metric 'p5', did you mean 'p95'?",
        "fig.yaml:12: chart.x: 'load.user' does not vary in the sweep, did you mean 'load.users'?",
        "fig.yaml:12: chart.by: 'shape.core' does not vary in the sweep, did you mean 'shape.corda'?",
        "fig.yaml:12: chart.anchor.load.users: 11 is not in the sweep's load.users, which has 1, 10, 40, 70",
        "fig.yaml:14: claims[0].ratio: 2 points have load.users 70; they differ in shape.corda",
        "fig.yaml:15: claims[1].name: 'grows' is used twice",
        "fig.yaml:15: claims[1].says: there is no sentence 3 in words, which has 2",
        "fig.yaml:15: claims[1].ratio: 2 points have load.users 70; they differ in shape.corda",
        "fig.yaml:17: deviations[0].touches[0]: there is no claim 'grow', did you mean 'grows'?",
    ]


BASE = "name: a, says: ours, "


@pytest.mark.parametrize(
    ("claim", "problems"),
    [
        ("within: [1, 2]", ["needs one of ratio, exponent and level"]),
        (
            "level: p50, at: {load.users: 1}, exponent: p50, over: users, within: [1, 2]",
            ["level: a claim has one statistic, and this one has exponent already"],
        ),
        ("ratio: p50, within: [1, 2]", ["ratio: needs of, the point"]),
        (
            "ratio: p50, of: {load.users: 1}, within: [1, 2]",
            ["ratio: needs to, the other point; or name two metrics of one point"],
        ),
        ("exponent: p50, within: [1, 2]", ["exponent: needs over, the x"]),
        ("level: p50, within: [1, 2]", ["level: needs at, the point"]),
        ("level: p50, at: {load.users: 1}", ["within: is missing"]),
        ("level: p50, at: {load.users: 1}, within: [null, null]", ["within: has no end, so every value is inside"]),
        ("level: p50, at: {load.users: 1}, within: [2, 1]", ["within: the first end must not be above the second"]),
        (
            "level: p50, at: {load.users: 1}, within: [1, 2], of: {load.users: 1}, over: users, from: 3, where: {n: 1}",
            [
                "from: does not belong to a level",
                "of: does not belong to a level",
                "over: does not belong to a level",
                "where: does not belong to a level",
            ],
        ),
        (
            "exponent: p50, over: users, at: {load.users: 1}, broken: true, within: [1, 2]",
            ["at: does not belong to an exponent", "broken: does not belong to an exponent"],
        ),
        ("level: outcome, at: {load.users: 1}", ["level: needs broken: true or false"]),
        (
            "level: outcome, at: {load.users: 1}, broken: true, within: [1, 1]",
            ["within: does not belong to an outcome; broken says what is asked for"],
        ),
        (
            "level: p50, at: {load.users: 1}, broken: false, within: [1, 2]",
            ["broken: false is only for level: outcome"],
        ),
        (
            "level: thoughput, at: {load.users: 1}, within: [1, 2]",
            ["level: there is no metric 'thoughput', did you mean 'throughput'?"],
        ),
        ("exponent: p50, over: users *, within: [1, 2]", ["over: is no expression"]),
        ("exponent: p50, over: user, within: [1, 2]", ["over: user is neither in vary nor set by the sweep"]),
        (
            "exponent: p50, over: depth, within: [1, 2]",
            ["exponent: several points have the same depth: 10; name one of them in where"],
        ),
        (
            "exponent: p50, over: users, from: 70, within: [1, 2]",
            ["exponent: an exponent needs two points, and 1 has shape.corda 4.9 and users from 70"],
        ),
        (
            "level: p50, at: {load.users: 1, shape.corda: 4.10}, within: [1, 2]",
            ["at.shape.corda: 4.1 is not in the sweep's shape.corda, which has 4.9, 4.10"],
        ),
        (
            "level: p50, at: {load.users: 1, shape.corda: 4.9}, within: [1, 2]",
            ["at.shape.corda: 4.9 is not in the sweep's shape.corda; write it as in the sweep, '4.9'"],
        ),
        (
            "level: p50, at: {users: 1}, within: [1, 2]",
            ["at.users: does not vary in the sweep, did you mean 'load.users'?"],
        ),
        (
            'level: p50, at: {shape.corda: "4.9"}, within: [1, 2]',
            ["level: 4 points have shape.corda 4.9; they differ in load.users"],
        ),
        (
            "level: p50, at: {load.users: 1}, within: [1, 2], only_published: true",
            ["only_published: is only for a claim with on_published and without needs"],
        ),
        ("needs: {}", ["needs: needs one of enterprise, cores, platform, software and users"]),
        (
            "needs: {cores: 7}, of: {load.users: 1}, within: [1, 2]",
            ["of: is only for a claim with a statistic", "within: is only for a claim with a statistic"],
        ),
        (
            "level: outcome, at: {load.users: 1}, broken: true, on_published: {verdict: held}",
            ["on_published: does not belong to an outcome: published.csv has none"],
        ),
        (
            "level: p50, at: {load.users: 1}, within: [1, 2], on_published: {of: {x: 1}, verdict: held}",
            ["on_published.of: does not belong to a level"],
        ),
        (
            "level: p50, at: {load.users: 1}, within: [1, 2], on_published: {where: {edition: OS 3.3}, verdict: held}",
            ["on_published: 2 points have load.users 1; they differ in id, metric, source, unit"],
        ),
        (
            "level: p50, at: {load.users: 1}, within: [1, 2], on_published: {where: {edition: OS 4}, verdict: held}",
            ["on_published: no published row of the figure has edition OS 4"],
        ),
        (
            (
                "ratio: p50, of: {load.users: 7}, to: {load.users: 1}, within: [1, 2], "
                "on_published: {of: {x: 1}, verdict: held}"
            ),
            [
                "of.load.users: 7 is not in the sweep's load.users, which has 1, 10, 40, 70",
                "on_published: needs both of and to, or neither",
            ],
        ),
        (
            (
                'ratio: p50, of: {load.users: 1, shape.corda: "4.9"}, to: {load.users: 1, shape.corda: "4.10"}, '
                "within: [1, 2], on_published: {verdict: held}"
            ),
            ["on_published: needs of and to, which rows they are: the points differ in shape.corda"],
        ),
        (
            "ratio: [p50, p95], of: {load.users: 70}, within: [1, 2], on_published: {verdict: held}",
            ["on_published: needs of and to, which rows they are: the points differ in the metrics"],
        ),
    ],
)
def test_a_claim_that_means_nothing_says_why(tmp_path: Path, claim: str, problems: list[str]) -> None:
    assert of_claim(tmp_path, BASE + claim) == problems


def test_a_deviation_may_be_a_number(tmp_path: Path) -> None:
    path = write_figure(tmp_path, SOUND, deviations="[{published: 800, here: 16, because: two cores, touches: []}]")
    (deviation,) = read_figure(path, tmp_path).fields.deviations
    assert (deviation.published, deviation.here) == (800, 16)
    bad = "[{published: [800], here: '', because: two cores, touches: []}]"
    assert told(tmp_path, SOUND, deviations=bad) == [
        "fig.yaml:14: deviations[0].published: must be text or a number",
        "fig.yaml:14: deviations[0].here: must be text or a number",
    ]


def test_a_check_needs_published_rows(tmp_path: Path) -> None:
    start, end = HEAD.index("published:"), HEAD.index("sweep:")
    claim = f"{SOUND}, on_published: {{verdict: held}}"
    assert told(tmp_path, claim, head=HEAD[:start] + HEAD[end:]) == [
        "fig.yaml:10: claims[0].on_published: the figure has no published rows; name them in published"
    ]


def test_a_claim_that_cannot_be_tested_here_may_name_other_points(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, SOUND.replace("{load.users: 1}", '{shape.corda: "9"}') + ", needs: {enterprise: true}")
    assert figure.fields.claims[0].to == {"shape.corda": "9"}
    assert figure_of(tmp_path, "name: a, says: 1, needs: {software: Braid}").fields.claims[0].statistic is None


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


def figures(tmp_path: Path) -> list[Figure]:
    first = figure_of(tmp_path, SOUND)
    second = figure_of(tmp_path, SOUND.replace("ratio: p50", "ratio: [p95, throughput]"))
    return [first, second]


def test_figures_of_one_sweep_and_their_metrics(tmp_path: Path) -> None:
    both = figures(tmp_path)
    assert by_sweep(both) == {"own": both}
    assert metrics_of(both) == ["p50", "p95", "throughput"]


def test_the_outcome_is_no_metric(tmp_path: Path) -> None:
    figure = figure_of(tmp_path, "name: a, says: 1, level: outcome, at: {load.users: 1}, broken: true")
    assert metrics_of([figure]) == ["p50"]


def test_a_figure_is_found_by_its_name(tmp_path: Path) -> None:
    write_figure(tmp_path, SOUND)
    assert Places(tmp_path, tmp_path).find_figure("fig").name == "fig"
    with pytest.raises(LabError, match="no figure 'fog', did you mean 'fig'"):
        Places(tmp_path, tmp_path).find_figure("fog")


def test_a_sentence_may_be_of_another_document(tmp_path: Path) -> None:
    line = "  - Latency also increases in a linear fashion.\n"
    head = HEAD.replace(line, "  - {document: r3-blog-2020, text: Latency increases.}\n")
    fields = read_figure(write_figure(tmp_path, SOUND, head=head), tmp_path).fields
    assert [(one.document, one.text) for one in fields.words] == [
        ("r3-blog-2020", "Latency increases."),
        (None, "The throughput is around 8."),
    ]
    assert fields.document_of(fields.claims[0]) == "r3-blog-2020"
    bad = HEAD.replace(line, "  - {document: r3-blog, txt: Latency increases.}\n  - 7\n")
    documents = "'iitb-2019', 'r3-results', 'r3-sizing', 'r3-blog-2020', 'r3-attachments-2020' or 'coconut'"
    assert told(tmp_path, SOUND, head=bad) == [
        "fig.yaml:4: words[0].text: is missing",
        f"fig.yaml:4: words[0].document: must be {documents}, but is 'r3-blog'",
        "fig.yaml:4: words[0].txt: unknown field, did you mean 'text'?",
        "fig.yaml:5: words[1].text: must be text, but is 7; put it in quotes",
    ]
