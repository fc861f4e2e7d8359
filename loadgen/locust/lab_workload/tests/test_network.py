"""Whether arguments fit a flow, by their names."""

from typing import Any

import pytest

from lab_workload.flows import Flow, Parameter
from lab_workload.network import flow_problems
from lab_workload.problems import Problem

PAY = Flow(
    "org.cordalab.flows.Pay",
    "Pay",
    (
        (Parameter("amount", "Amount<Currency>"), Parameter("to", "Party")),
        (Parameter("amount", "Amount<Currency>"), Parameter("to", "Party"), Parameter("note", "String?")),
    ),
)
UNKNOWN = Flow("com.example.Odd", "Odd", ())


@pytest.mark.parametrize(
    ("flow", "args"),
    [
        ("Pay", {"amount": 1, "to": "x"}),
        ("org.cordalab.flows.Pay", {"amount": 1, "to": "x", "note": "y"}),
        ("Odd", {"anything": 1}),
    ],
)
def test_arguments_that_a_constructor_takes_are_good(flow: str, args: dict[str, Any]) -> None:
    assert list(flow_problems("PartyA", flow, args, [PAY, UNKNOWN])) == []


def test_the_closest_constructor_says_what_is_missing_and_what_is_too_many() -> None:
    takes = "; Pay takes (amount, to) or (amount, to, note)"

    assert list(flow_problems("PartyA", "Pay", {"amuont": 1, "to": "x"}, [PAY])) == [
        Problem(f"is no parameter, did you mean 'amount'?{takes}", ("args", "amuont")),
        Problem(f"is missing{takes}", ("args", "amount")),
    ]


def test_an_unknown_flow_says_what_was_meant() -> None:
    assert list(flow_problems("PartyA", "Pya", {}, [PAY])) == [
        Problem.of("flow", "PartyA cannot start Pya, did you mean 'Pay'?")
    ]
    assert list(flow_problems("PartyA", "com.zzz.Zzz", {}, [PAY])) == [
        Problem.of("flow", "PartyA cannot start com.zzz.Zzz; `scripts/lab flows PartyA` lists what it can")
    ]
