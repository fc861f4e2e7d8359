"""Values that a change of the code must not change: of stored loads, of sweeps, and of the published figures."""

from collections.abc import Iterable

import pytest

from golden import golden_adapter, golden_table
from golden.golden_cases import Case, cases
from golden.golden_table import Value

SHOWN_MAX = 20
LOADS = [one for one in cases() if not one.is_sweep and not one.is_unfinished]
SWEEPS = [one for one in cases() if one.is_sweep]
UNFINISHED = [one for one in cases() if one.is_unfinished]


@pytest.fixture
def is_writing(request: pytest.FixtureRequest) -> bool:
    """Whether the values are to be written, and not compared. ``--write`` is only known if this folder is named."""
    return bool(request.config.getoption("--write", default=False))


def check(name: str, values: Iterable[Value], *, is_writing: bool) -> None:
    """Compare values with those that are stored under a name, or store them."""
    found = list(values)
    if is_writing:
        golden_table.write(name, found)
        return
    differences = golden_table.differences(golden_table.read(name), golden_table.as_texts(found))
    shown = "\n".join(differences[:SHOWN_MAX])
    assert not differences, f"{len(differences)} values of {name} differ:\n{shown}"


@pytest.mark.parametrize("case", LOADS, ids=lambda case: case.name)
def test_a_load_has_the_same_values(case: Case, is_writing: bool) -> None:
    check(case.name, golden_adapter.load_values(case), is_writing=is_writing)


@pytest.mark.parametrize("case", SWEEPS, ids=lambda case: case.name)
def test_a_sweep_has_the_same_steps_points_and_comparisons(case: Case, is_writing: bool) -> None:
    check(case.name, golden_adapter.sweep_values(case), is_writing=is_writing)


@pytest.mark.parametrize("case", UNFINISHED, ids=lambda case: case.name)
def test_a_load_that_did_not_end_keeps_its_rows(case: Case, is_writing: bool) -> None:
    check(case.name, golden_adapter.unfinished_values(case), is_writing=is_writing)


def test_an_interrupted_sweep_keeps_its_steps(is_writing: bool) -> None:
    check("interrupted-sweep", golden_adapter.interrupted_values("sweep-databases", steps=15), is_writing=is_writing)


def test_two_sweeps_differ_as_before(is_writing: bool) -> None:
    values = golden_adapter.compared_values("sweep-databases", "sweep-databases-later")
    check("compared-sweeps", values, is_writing=is_writing)


def test_the_ready_made_sweeps_plan_the_same_steps(is_writing: bool) -> None:
    check("plans", golden_adapter.plan_values(), is_writing=is_writing)


def test_the_claims_of_all_figures_have_the_same_verdicts(is_writing: bool) -> None:
    # Repeats that were added since the values were written do not count.
    known = None if is_writing else [place for place, metric, _ in golden_table.read("figures") if metric == "points"]
    check("figures", golden_adapter.figure_values(known), is_writing=is_writing)


def test_every_table_of_values_has_a_test() -> None:
    others = {"interrupted-sweep", "compared-sweeps", "figures", "plans"}
    assert {path.stem for path in golden_table.VALUES.glob("*.csv")} == others | {one.name for one in cases()}
