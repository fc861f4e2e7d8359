"""The whole pipeline, from the generator over the real bridge to the stored run, on stub nodes whose truth is known."""

from collections.abc import Iterator

import pytest

from corda_lab.lab import project
from corda_lab.lab.settings import load_settings
from pipeline import measure
from pipeline.cases import Case, all_cases
from pipeline.checks import TIMER_ERROR_MS_MAX
from pipeline.stub_lab import StubLab, own_settings

CASES = [
    pytest.param(case, id=case.name, marks=[pytest.mark.nightly] if case.is_nightly else []) for case in all_cases()
]


@pytest.fixture(scope="module")
def stub_lab() -> Iterator[StubLab]:
    measure.remove_results()
    project.settle()
    lab = StubLab(own_settings(load_settings()))
    try:
        lab.build(all_cases()[0])
        yield lab
    finally:
        lab.stop()


@pytest.mark.parametrize("case", CASES)
def test_every_value_is_that_of_the_stub_nodes(stub_lab: StubLab, case: Case) -> None:
    result = measure.measure_undisturbed(stub_lab, case)
    late = result.truth.timer_error_ms
    told = f"the stub nodes' own timers were late by {late:.2f} ms at p99.9, of which {TIMER_ERROR_MS_MAX} are allowed"
    wrong = [f"{one.name}: {one.found:,.2f} for {one.truth:,.2f} {one.off}" for one in result.checks if not one.holds]
    print(*wrong, told, sep="\n")
    assert not [check.name for check in result.checks if check.fails]
