"""Whether arguments fit a flow, before any is sent."""

from typing import Any

import pytest

from lab_workload.flow_arguments import argument_problems, fits
from lab_workload.flows import Parameter

IOU = (
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party")),
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party"), Parameter("timeWindow", "boolean")),
)


def test_any_constructor_that_fits_will_do() -> None:
    assert argument_problems({"iouValue": 3, "otherParty": "{{ counterparty }}"}, IOU) == []
    assert argument_problems({"iouValue": "3", "otherParty": "O=B,L=L,C=GB", "timeWindow": True}, IOU) == []
    assert argument_problems({"anything": 1}, ()) == [], "a flow whose parameter names are not known"


def test_names_what_is_missing_and_what_is_too_much() -> None:
    missing, many = map(str, argument_problems({"otherParty": "x", "iouValu": 3}, IOU)[::-1])
    assert missing.startswith("iouValue: is missing; the flow takes (iouValue: int, otherParty: Party) or (")
    assert many.startswith("iouValu: is no parameter, did you mean 'iouValue'?")


def test_names_a_constant_of_the_wrong_type() -> None:
    (wrong,) = argument_problems({"iouValue": "much", "otherParty": "x"}, IOU)
    assert str(wrong) == "iouValue: 'much' is no int"
    assert argument_problems({"iouValue": "{{ pick(['much']) }}", "otherParty": "x"}, IOU) == []


def test_a_parameter_that_may_be_null_may_be_left_out() -> None:
    constructors = ((Parameter("amount", "Amount<Currency>"), Parameter("notary", "Party?")),)
    assert argument_problems({"amount": "1 GBP"}, constructors) == []
    assert argument_problems({"amount": "1 GBP", "notary": None}, constructors) == []


@pytest.mark.parametrize(
    ("value", "kind", "does"),
    [
        (1, "int", True),
        (2**31, "int", False),
        (2**31, "long", True),
        (1.5, "int", False),
        (1.5, "double", True),
        (True, "int", False),
        ("true", "boolean", True),
        ("yes", "boolean", False),
        ("100 GBP", "Amount<Currency>", True),
        ("$100", "Amount<Currency>", True),
        ("100", "Amount<Currency>", False),
        (100, "Amount<Currency>", False),
        (["a", "b"], "List<Party>", True),
        ("a", "List<Party>", False),
        ([1, "x"], "List<int>", False),
        ("AB" * 32, "SecureHash", True),
        ("AB", "SecureHash", False),
        ("", "Party", False),
        ("", "String", True),
        (None, "String", False),
        ({"a": 1}, "MyOwnType", True),
    ],
)
def test_knows_what_fits(value: Any, kind: str, does: bool) -> None:
    assert fits(value, kind) is does
