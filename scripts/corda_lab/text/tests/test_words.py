"""Values over time in a line of text."""

from collections.abc import Sequence

import pytest

from corda_lab.text.words import sparkline


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        ([0.0, 0.0], "▁▁"),
        ([5.0], "█"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "▁▂▃▄▅▆▇█"),
        ([None, 0.0, None, 2.0, 1.0], " ▁ █▅"),
        ([-1.0, 4.0], "▁█"),
        ([None, None], "  "),
    ],
)
def test_each_value_is_a_block_as_high_as_its_share_of_the_highest(
    values: Sequence[float | None], expected: str
) -> None:
    assert sparkline(values) == expected
