"""The load that conditioned the nodes is stored and told, and enters no value."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.report.facts import conditioned_by, conditioning_plan
from corda_lab.results import stored
from corda_lab.results.store import Measured
from corda_lab.results.sweep_parts import ConditionFields
from corda_lab.stats.steady import STEADY_METHOD
from corda_lab.steps.entry import ParameterValue
from corda_lab.sweeps.plan import points_of, step_of
from support import simulation, sweeps
from support.pages import report_charts, report_file, report_text
from support.runs import steps_of
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


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    """The first step, before it is stored."""
    file = sweeps.sweep_file(PLAIN, tmp_path, None)
    point = points_of(file)[0]
    return sweeps.build(PLAIN, file.fields, step_of(point, 1, 1), simulation.ORIGIN)


def test_no_value_summary_or_chart_changes(conditioned: Path, plain: Path) -> None:
    with_load, without = steps_of(conditioned), steps_of(plain)
    assert [step.pop("conditioning") is not None for step in with_load] == [True, False, True, False, True, False]
    assert [step.pop("conditioning") for step in without] == [None] * 6
    assert with_load == without
    for name in ("summary.md", "summary.csv", "summary.json"):
        assert report_file(conditioned, name) == report_file(plain, name)
    drawn, expected = report_charts(conditioned), report_charts(plain)
    assert {name: chart.digest for name, chart in drawn.items()} == {
        name: chart.digest for name, chart in expected.items()
    }


def test_no_value_of_a_single_step_changes(measured: Measured) -> None:
    after = measured.after(conditioning_before(measured.step, steady=False))
    assert after.requests is measured.requests
    changed = {name for name, value in dict(after.step).items() if value != dict(measured.step)[name]}
    assert changed == {"conditioning", "flags"}
    assert [flag.code for flag in after.step.flags if flag not in measured.step.flags] == ["conditioning_not_steady"]


def test_the_report_says_what_conditioned_the_nodes(conditioned: Path, plain: Path) -> None:
    text = report_text(conditioned)
    assert "Conditioned by 135 iou flows in 41 to 45 s, then steady" in text
    assert "Conditioning every new lab, by the load of the first step on it, until steady: 1 min to 4 min" in text
    assert "Conditioning of the nodes before it: 135 iou flows in 43 s, then steady (users 4, " in text
    assert text.count("--condition") == 6, "the command of a step conditions the nodes too"
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
    run = stored.read(store_sweep(tmp_path, replace(CONDITIONED, conditioned={1: True, 3: False, 5: True})))
    assert [step.index for step in run.steps if step.flags] == [3]
    assert conditioned_by(run.steps) == "135 iou flows in 41 to 45 s, steady after 2 of 3 starts"


def test_a_step_that_warmed_up_until_it_was_steady_needs_no_warning(measured: Measured) -> None:
    entry = conditioning_before(measured.step, steady=False)
    for is_found, flags in ((True, 0), (False, 1)):
        warm_up = measured.step.warm_up.model_copy(update={"method": STEADY_METHOD, "found": is_found})
        step = measured.step.updated(warm_up=warm_up, flags=[])
        assert len(measured.with_step(step).after(entry).step.flags) == flags
