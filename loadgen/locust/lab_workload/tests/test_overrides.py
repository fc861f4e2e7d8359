"""The values of ``--set``."""

import pytest

from lab_workload import overrides


def test_values_are_read_by_key() -> None:
    assert overrides.parse(["iouValue=7", "note=a=b", "empty="]) == (
        {"iouValue": "7", "note": "a=b", "empty": ""},
        [],
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (["iouValue"], "--set: 'iouValue' is not key=value. For example: --set numberOfStatesPerTx=10"),
        (["=3"], "--set: '=3' is not key=value. For example: --set numberOfStatesPerTx=10"),
        (["a=1", "a=2"], "--set: a is given twice. Pass it only once."),
    ],
)
def test_a_text_that_sets_no_value_is_a_problem(settings: list[str], problem: str) -> None:
    (found,) = overrides.parse(settings)[1]
    assert str(found) == problem
