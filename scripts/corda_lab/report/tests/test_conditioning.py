"""The load that conditioned the nodes is stored and told, and enters no value."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corda_lab.analysis.comparison import compare_runs
from corda_lab.report.facts import conditioning_plan
from corda_lab.results import files, folders
from corda_lab.results.files import Measured
from corda_lab.results.sweep_parts import ConditionFields
from corda_lab.stats.steady import STEADY_METHOD
from corda_lab.steps.entry import ParameterValue
from corda_lab.sweeps.plan import points_of, step_of
from support import simulation, sweeps
from support.pages import report_charts, report_file, report_text
from support.sweeps import SimulatedSweep, conditioning_before, store_sweep

PLAIN = SimulatedSweep(vary={"load.users": [1, 4]}, with_stages=False, rows_per_step=200)
CONDITIONED = replace(PLAIN, conditioned={1: True, 3: True, 5: True})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_sweep(tmp_path_factory.mktemp("plain"), PLAIN)


@pytest.fixture(scope="module")
def conditioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep, with a load before three of its steps in which half of the requests fail after half a minute."""
    return store_sweep(tmp_path_factory.mktemp("conditioned"), CONDITIONED)


def steps(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = folders.read_json(run / "steps.json")["steps"]
    return found


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    """The first step, before it is stored."""
    file = sweeps.sweep_file(PLAIN, tmp_path, None)
    point = points_of(file)[0]
    return sweeps.build(PLAIN, file.fields, step_of(point, 1, 1), simulation.ORIGIN)


def test_no_value_of_a_step_changes(conditioned: Path, plain: Path) -> None:
    with_load, without = steps(conditioned), steps(plain)
    assert [one.pop("conditioning") is not None for one in with_load] == [True, False, True, False, True, False]
    assert [one.pop("conditioning") for one in without] == [None] * 6
    assert with_load == without


def test_no_summary_and_no_chart_changes(conditioned: Path, plain: Path) -> None:
    for name in ("summary.md", "summary.csv", "summary.json"):
        assert report_file(conditioned, name) == report_file(plain, name)
    drawn, expected = report_charts(conditioned), report_charts(plain)
    assert drawn.keys() == expected.keys()
    assert [name for name, chart in drawn.items() if chart.digest != expected[name].digest] == []


def test_no_comparison_changes(conditioned: Path, plain: Path) -> None:
    found = compare_runs([plain, conditioned], metric="throughput", threshold=0.05)
    (against,) = found.others
    ratios = [one.difference and one.difference.ratio for one in against.rows["throughput"]]
    assert ratios == [pytest.approx(1.0)] * 2


def test_no_value_of_a_single_step_changes(measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=False)
    found = measured.after(entry, "")
    assert found.requests is measured.requests
    changed = {name for name, value in dict(found.step).items() if value != dict(measured.step)[name]}
    assert changed == {"conditioning", "flags"}
    assert [str(one) for one in found.step.flags if one not in measured.step.flags] == [
        "the nodes were not steady yet when their conditioning ended after 41 s"
    ]


def test_the_report_says_in_one_line_what_conditioned_the_nodes(conditioned: Path, plain: Path) -> None:
    text = report_text(conditioned)
    assert "Conditioned by 135 iou flows in 41 to 45 s, then steady" in text
    assert "Conditioning every new lab, by the load of the first step on it, until steady: 1 min to 4 min" in text
    assert "Conditioning of the nodes before it: 135 iou flows in 43 s, then steady (closed, 4 users" in text
    assert "Conditioned by" not in report_text(plain)


@pytest.mark.parametrize(
    ("seconds_min", "load", "arrivals", "lasts"),
    [
        (45, {}, ["closed"], "until steady: 45 s to 1 min 30 s"),
        (90, {}, ["closed"], "for 1 min 30 s"),
        (45, {"arrivals": "constant"}, ["closed"], "for 1 min 30 s"),
        (45, {"arrivals": "closed"}, ["poisson"], "until steady: 45 s to 1 min 30 s"),
        (45, {}, ["poisson"], "for 1 min 30 s"),
        (45, {}, ["closed", "poisson"], "until steady: 45 s to 1 min 30 s"),
    ],
)
def test_a_load_of_a_fixed_time_is_not_said_to_last_until_steady(
    seconds_min: float, load: dict[str, ParameterValue], arrivals: list[str], lasts: str
) -> None:
    planned = ConditionFields.model_validate({"for": {"min": seconds_min, "max": 90}, "load": load})
    assert conditioning_plan(planned, arrivals).endswith(f", {lasts}")


def test_a_step_whose_nodes_were_not_steady_yet_is_marked(tmp_path: Path) -> None:
    run = store_sweep(tmp_path, replace(CONDITIONED, conditioned={1: True, 3: False, 5: True}))
    text = report_text(run)
    assert "step 3: the nodes were not steady yet when their conditioning ended after 43 s." in text
    assert "135 iou flows in 41 to 45 s, steady after 2 of 3 starts" in text
    assert [bool(step["flags"]) for step in steps(run)].count(True) == 1


def test_a_step_that_warmed_up_until_it_was_steady_needs_no_warning(measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=False)
    for found, flags in ((True, 0), (False, 1)):
        warm_up = measured.step.warm_up.model_copy(update={"method": STEADY_METHOD, "found": found})
        step = measured.step.updated(warm_up=warm_up, flags=[])
        assert len(measured.with_step(step).after(entry, "").step.flags) == flags


def test_the_command_of_a_step_conditions_the_nodes_too(conditioned: Path) -> None:
    assert report_text(conditioned).count("--condition") == 6


def test_a_step_of_a_running_sweep_keeps_what_conditioned_its_nodes(tmp_path: Path, measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=True)
    files.write_step(tmp_path, measured.after(entry, "flow: Other\n"))
    found = files.read_step(tmp_path)
    assert found.conditioning_text == "flow: Other\n"
    assert found.step.conditioning == entry


def test_a_short_form_says_what_it_is(tmp_path: Path) -> None:
    run = store_sweep(tmp_path, replace(PLAIN, quick=True))
    assert "this is the short form of the sweep (--quick)" in report_text(run)
