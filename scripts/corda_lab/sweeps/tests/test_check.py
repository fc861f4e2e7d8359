"""Points that cannot run are refused before anything starts, or left out by name; and the lab admits every load."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings
from corda_lab.paths import WORKLOADS
from corda_lab.results import folders
from corda_lab.runs.preflight import OUTSTANDING_MAX
from corda_lab.sweeps.check import checked
from corda_lab.sweeps.command import SWEEPS, show_plan
from corda_lab.sweeps.file import read_sweep
from corda_lab.sweeps.lab import admitting
from corda_lab.sweeps.plan import points_of
from corda_lab.workloads import resolve
from support.sweep_files import BURSTS, SOUND, steps_of, sweep_of, written


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_every_sweep_of_the_repository_can_run_on_a_machine_that_is_large_enough(
    path: Path, settings: Settings
) -> None:
    sweep = read_sweep(path)
    points = points_of(sweep)
    assert sweep.name == path.stem
    assert [point.label for point in points] == list(dict.fromkeys(point.label for point in points))
    large = settings.with_values({"NODE_CORES": "0", "CORDA_IMAGE": "example/enterprise:${CORDA_VERSION}"})
    if all(point.variables.get("NODE_CORES", "0") == "0" for point in points):
        checked(replace(sweep, fields=sweep.fields.model_copy(update={"impossible": "refuse"})), large)


def problems(tmp_path: Path, settings: Settings, text: str) -> list[str]:
    with pytest.raises(LabError) as caught:
        checked(sweep_of(tmp_path, text), settings)
    return [str(problem).partition(" (")[2] for problem in caught.value.problems]


def test_all_points_that_cannot_be_are_named(tmp_path: Path, settings: Settings) -> None:
    text = """\
workload: settlement
set: {participants: 4}
vary:
  shape.parties: [3, 5]
  shape.notary: [simple, jpa]
"""
    lines = problems(tmp_path, settings, text)
    assert [line.partition(")")[0] for line in lines] == [
        "3 parties, simple notary",
        *["3 parties, jpa notary"] * 2,
        "5 parties, jpa notary",
    ]
    assert "needs 5 parties, but the shape has 3" in lines[0]
    assert ["Add --database postgres." in line for line in lines] == [False, True, False, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "workload: finance-issue\nvary: {shape.cordapp: [lab, finance]}\n",
            "the workload finance-issue needs the CorDapp finance. Set shape.cordapp: finance.",
        ),
        (
            "workload: iou\nload: {nodes: [PartyA, PartyD]}\nvary: {shape.parties: [3, 4]}\n",
            "load.nodes names PartyD, but the parties are PartyA, PartyB, PartyC",
        ),
        (
            "workload: iou\ncondition: {workload: cash-isue}\n",
            "condition: unknown workload 'cash-isue', did you mean 'cash-issue'",
        ),
        (
            "workload: iou\ncondition: {workload: settlement, set: {participants: 8}}\n",
            "condition: the workload settlement needs 9 parties",
        ),
        (
            "workload: iou\ncondition: {workload: finance-issue}\n",
            "condition: the workload finance-issue needs the CorDapp finance",
        ),
        ("workload: iou\ncondition: {load: {rate: 5}}\n", "condition.load.rate: is only for open load"),
        (
            "workload: iou\nvary: {shape.outstanding: [100, 400]}\nload: {users: 300}\n",
            "shape.outstanding: --users: 300 is more than the 100 flows",
        ),
        (
            "workload: iou\nshape: {outstanding: 100}\nload: {users: 50}\ncondition: {load: {users: 150}}\n",
            "condition: shape.outstanding: --users: 150 is more than the 100 flows",
        ),
        (
            "workload: attachment-send\nset: {megabytes: 50}\nload: {users: 1}\n",
            "50 MB are more than the bridge accepts",
        ),
        (
            (
                "workload: iou\nsteps:\n  - {name: over, workload: empty, load: {arrivals: poisson, rate: 4 x peak}}\n"
                "  - {name: knee, peak: true}\n"
            ),
            "load.rate: 4 x peak needs a peak of the workload empty on the same shape",
        ),
        (
            (
                "workload: iou\nsteps:\n  - {name: over, load: {arrivals: poisson, rate: 999999 x peak}}\n"
                "  - {name: knee, peak: true}\n"
            ),
            "--rate: ",
        ),
    ],
)
def test_a_point_that_cannot_run_is_refused(tmp_path: Path, settings: Settings, text: str, problem: str) -> None:
    (told,) = problems(tmp_path, settings, text)
    assert problem in told


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("kind: kill, target: partyd, at: 1s, for: 1s", "load.faults[0].target: the lab has no 'partyd'"),
        ("kind: kill, target: postgres, at: 1s, for: 1s", "load.faults[0].target: the lab has no 'postgres'"),
        ("kind: reset-link, target: partya-partyb, at: 1s, for: 1s", "is not a link of the lab; it has none"),
        ("kind: kill, target: generator, at: 1s, for: 1s", "ends the load, so the step has no result"),
        ("kind: kill, target: bridge, at: 41s, for: 1s", "load.faults[0].at: kill bridge begins at 41 s, but the load"),
    ],
)
def test_a_fault_that_a_step_cannot_have_is_refused(
    tmp_path: Path, settings: Settings, fault: str, problem: str
) -> None:
    (told,) = problems(tmp_path, settings, f"workload: iou\nload: {{faults: [{{{fault}}}]}}\n")
    assert problem in told


@pytest.mark.parametrize(
    "text",
    [
        "workload: finance-issue\nshape: {cordapp: finance}\n",
        "workload: iou\nload: {arrivals: poisson, rate: 5, users: 300}\nshape: {outstanding: 100}\ncondition: none\n",
        (
            "workload: attachment-send\nset: {megabytes: 50}\nload: {users: 1}\n"
            "shape: {attachment_max: 48m, bridge_heap: 384m}\n"
        ),
    ],
)
def test_what_looks_like_it_and_can_run_is_not_refused(tmp_path: Path, settings: Settings, text: str) -> None:
    assert len(steps_of(sweep_of(tmp_path, text), settings)) == 1


def test_a_name_that_leaves_no_room_for_a_step_s_number_is_refused(tmp_path: Path, settings: Settings) -> None:
    sweep = sweep_of(tmp_path, "workload: iou\n")
    longest = replace(sweep, name="a" * (folders.NAME_LENGTH_MAX - len("-0001")))
    checked(longest, settings)
    with pytest.raises(LabError, match="cannot be the name of a run"):
        checked(replace(sweep, name=f"{longest.name}a"), settings)


# impossible: skip


def test_what_this_machine_cannot_have_is_left_out_by_name(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.cores: [0.5, 9999]}\n"
    sweep = checked(sweep_of(tmp_path, text), settings)
    assert [point.label for point in points_of(sweep)] == ["0.5 cores a node"]
    (left_out,) = sweep.left_out
    assert left_out.label == "9999 cores a node"
    assert "9999 cores are too many; this machine has" in left_out.reason
    show_plan(sweep, settings)
    assert "Left out: 9999 cores a node: " in capsys.readouterr().out
    assert sweep.entry({}).left_out == [left_out]
    for refused in (text.replace("impossible: skip\n", ""), text.replace("0.5, ", "")):
        assert "9999 cores are too many" in problems(tmp_path, settings, refused)[0]


def test_a_workload_for_more_parties_than_the_shape_has_is_left_out(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (WORKLOADS / "iou.yaml").read_text(encoding="utf-8")
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "crowd.yaml").write_text(f"{text}requires: {{parties: 5}}\n", encoding="utf-8")
    monkeypatch.setattr(resolve, "WORKLOADS", tmp_path)
    sweep = checked(sweep_of(tmp_path, "impossible: skip\nvary: {workload: [pair, crowd]}\n"), settings)
    reason = "the workload crowd needs 5 parties, and the shape has 3"
    assert [(point.label, point.reason) for point in sweep.left_out] == [("crowd", reason)]


def test_a_mistake_is_not_left_out(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nimpossible: skip\nvary: {shape.notary: [simple, jpa]}\n"
    assert "jpa needs PostgreSQL" in problems(tmp_path, settings, text)[0]


# What the bridge admits.


@pytest.mark.parametrize(
    ("text", "limit", "admitted"),
    [
        ("vary:\n  load.users: [2, 300]\n", "100", "300"),
        ("vary:\n  load.users: [2, 300]\n", "800", "800"),
        ("load: {users: 2}\ncondition: {load: {users: 400}}\n", "100", "400"),
        ("load: {users: 64}\n", "", ""),
        ("load: {arrivals: poisson, rate: 5, users: 300}\n", "100", "100"),
    ],
)
def test_the_lab_of_a_sweep_admits_its_largest_closed_load(
    tmp_path: Path, settings: Settings, text: str, limit: str, admitted: str
) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: limit})
    assert admitting(written(tmp_path, SOUND + text), limited)[OUTSTANDING_MAX] == admitted


@pytest.mark.parametrize(("pool", "admitted"), [("", "40"), (", pool: 25", "30")])
def test_the_pool_of_a_burst_is_admitted(tmp_path: Path, settings: Settings, pool: str, admitted: str) -> None:
    limited = settings.with_values({OUTSTANDING_MAX: "30"})
    text = BURSTS.replace(", pool: 8}", f", users: 40{pool}}}")
    assert admitting(written(tmp_path, text), limited)[OUTSTANDING_MAX] == admitted
