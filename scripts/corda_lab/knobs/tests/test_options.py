"""Values of options as text."""

import pytest

from corda_lab.knobs.options import Kind, Option


@pytest.mark.parametrize(
    ("value", "text"),
    [("50m", "52428800"), ("64K", "65536"), ("1g", "1073741824"), (52428800, "52428800"), ("fifty", "fifty")],
)
def test_a_number_of_bytes_may_have_a_unit(value: object, text: str) -> None:
    assert Option(name="attachment_max", kind=Kind.BYTES, help="").text(value) == text
