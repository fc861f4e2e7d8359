"""Whether arguments fit a flow, before any is sent."""

from typing import Any

import pytest

from lab_workload.flow_arguments import argument_problems, fits, flow_problems
from lab_workload.flows import Flow, Parameter
from lab_workload.problems import Problem

IOU = (
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party")),
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party"), Parameter("timeWindow", "boolean")),
)


def test_any_constructor_that_fits_will_do() -> None:
    assert argument_problems("Iou", {"iouValue": 3, "otherParty": "{{ counterparty }}"}, IOU) == []
    assert argument_problems("Iou", {"iouValue": 3, "otherParty": "O=B,L=L,C=GB", "timeWindow": True}, IOU) == []
    assert argument_problems("Iou", {"anything": 1}, ()) == [], "a flow whose parameter names are not known"


def test_names_what_is_missing_and_what_is_too_much() -> None:
    unknown, missing = argument_problems("Iou", {"otherParty": "x", "iouValu": 3}, IOU)
    assert unknown.finding == "iouValu: unknown argument, did you mean 'iouValue'?"
    assert missing.finding == "iouValue: is missing"
    ways = "(iouValue: int, otherParty: Party) or (iouValue: int, otherParty: Party, timeWindow: boolean)"
    assert unknown.remedy == missing.remedy == f"Iou takes {ways}."


def test_names_a_constant_of_the_wrong_type() -> None:
    (wrong,) = argument_problems("Iou", {"iouValue": "much", "otherParty": "x"}, IOU)
    assert str(wrong) == "iouValue: 'much' is not a value of type int"
    assert argument_problems("Iou", {"iouValue": "{{ pick(['much']) }}", "otherParty": "x"}, IOU) == []


def test_a_parameter_that_may_be_null_needs_an_argument_too() -> None:
    constructors = ((Parameter("amount", "Amount<Currency>"), Parameter("notary", "Party?")),)
    (missing,) = argument_problems("Iou", {"amount": "1 GBP"}, constructors)
    assert missing.finding == "notary: is missing"
    assert argument_problems("Iou", {"amount": "1 GBP", "notary": None}, constructors) == []


@pytest.mark.parametrize(
    ("value", "kind", "does"),
    [
        (1, "int", True),
        (2**31, "int", False),
        (2**31, "long", True),
        (1.5, "int", False),
        (1.5, "double", True),
        (True, "int", False),
        (True, "boolean", True),
        ("true", "boolean", False),
        ("5", "int", False),
        (5.0, "int", False),
        ("1.5", "double", False),
        ("1.5", "BigDecimal", True),
        ("much", "BigDecimal", False),
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
        ("Pay", {"amount": "1 GBP", "to": "x"}),
        ("org.cordalab.flows.Pay", {"amount": "1 GBP", "to": "x", "note": "y"}),
        ("Odd", {"anything": 1}),
    ],
)
def test_arguments_that_a_constructor_takes_are_good(flow: str, args: dict[str, Any]) -> None:
    assert flow_problems("PartyA", flow, args, [PAY, UNKNOWN]) == []


def test_the_closest_constructor_says_what_is_missing_and_what_is_too_many() -> None:
    amount_to = "amount: Amount<Currency>, to: Party"
    takes = f"Pay takes ({amount_to}) or ({amount_to}, note: String?)."

    assert flow_problems("PartyA", "Pay", {"amuont": "1 GBP", "to": "x"}, [PAY]) == [
        Problem("unknown argument, did you mean 'amount'?", ("args", "amuont"), takes),
        Problem("is missing", ("args", "amount"), takes),
    ]


def test_an_unknown_flow_says_what_was_meant() -> None:
    remedy = "`scripts/lab workload flows PartyA` lists its flows."

    assert flow_problems("PartyA", "Pya", {}, [PAY]) == [
        Problem.of("flow", "PartyA has no flow 'Pya', did you mean 'Pay'?", remedy)
    ]
    assert flow_problems("PartyA", "com.zzz.Zzz", {}, [PAY]) == [
        Problem.of("flow", "PartyA has no flow 'com.zzz.Zzz'", remedy)
    ]


COLOUR = Parameter("colour", "Colour", values=("RED", "GREEN"))
VEHICLE = (Parameter("plate", "String"), COLOUR, Parameter("weight", "int?", is_optional=True))
POLICY = Parameter(
    "policy",
    "Policy",
    (
        Parameter("insured", "long"),
        Parameter("vehicles", "List<Vehicle>", VEHICLE),
        Parameter("shares", "Map<String, int>"),
        Parameter("first", "Optional<Vehicle>", VEHICLE),
    ),
)
INSURED = {
    "insured": 5,
    "vehicles": [{"plate": "AB 1", "colour": "RED"}, {"plate": "AB 2", "colour": "GREEN", "weight": 9}],
    "shares": {"PartyA": 40},
    "first": None,
}


def insure(**changed: Any) -> list[Problem]:
    return argument_problems("Insure", {"policy": {**INSURED, **changed}}, ((POLICY,),))


def test_an_object_with_all_fields_is_good() -> None:
    assert insure() == []
    assert insure(vehicles="{{ take('vehicles') }}", first={"plate": "{{ counter() }}", "colour": "RED"}) == []
    assert insure(vehicles=None) == [], "whether a field may be null is not known from Java"


@pytest.mark.parametrize(
    ("changed", "location", "text"),
    [
        ({"insured": "much"}, ("insured",), "'much' is not a value of type long"),
        ({"vehicles": "AB 1"}, ("vehicles",), "'AB 1' is not a value of type List<Vehicle>"),
        ({"vehicles": [{"plate": "A", "colour": "BLUE"}]}, ("vehicles", 0, "colour"), "'BLUE' is none of RED, GREEN"),
        ({"vehicles": [{"plate": "A"}]}, ("vehicles", 0, "colour"), "is missing"),
        ({"first": {"plate": 1, "colour": "RED"}}, ("first", "plate"), "1 is not a value of type String"),
        ({"shares": {"PartyA": "all"}}, ("shares", "PartyA"), "'all' is not a value of type int"),
        ({"insurd": 5}, ("insurd",), "unknown field, did you mean 'insured'?"),
    ],
)
def test_a_wrong_field_is_named_with_its_path(
    changed: dict[str, Any], location: tuple[str | int, ...], text: str
) -> None:
    (problem,) = insure(**changed)
    assert (problem.location, problem.text) == (("policy", *location), text)


def test_a_missing_field_says_which_fields_there_are() -> None:
    (problem,) = insure(vehicles=[{"colour": "RED"}])
    assert problem.remedy == "Vehicle has the fields plate: String, colour: Colour, weight: int?."


def test_a_value_of_an_interface_names_its_class() -> None:
    asset = Parameter("asset", "Asset", is_abstract=True)
    (problem,) = argument_problems("Sell", {"asset": {"name": "x"}}, ((asset,),))
    assert problem.location == ("asset", "@class")
    assert argument_problems("Sell", {"asset": {"@class": "com.example.House", "name": "x"}}, ((asset,),)) == []


def test_the_wrong_item_of_a_list_is_named() -> None:
    (problem,) = argument_problems("Sum", {"numbers": [1, "x", 3]}, ((Parameter("numbers", "List<int>"),),))
    assert (problem.location, problem.text) == (("numbers", 1), "'x' is not a value of type int")


def test_an_optional_argument_may_be_null() -> None:
    assert argument_problems("Ask", {"until": None}, ((Parameter("until", "Optional<LocalDate>"),),)) == []


def test_the_result_of_a_transaction_is_a_hash() -> None:
    constructors = ((Parameter("id", "SecureHash"),),)
    assert argument_problems("Ask", {"id": {"txId": "AB" * 32, "signatures": 2}}, constructors) == []


def test_a_name_of_several_flows_lists_them() -> None:
    flows = [Flow(f"com.example.{one}$Initiator", f"{one}$Initiator", ((),)) for one in ("Pay", "Ask")]
    (problem,) = flow_problems("PartyA", "Initiator", {}, flows)
    assert problem.text == "'Initiator' may mean several flows"
    assert problem.remedy == "Choose from com.example.Pay$Initiator, com.example.Ask$Initiator."
    assert flow_problems("PartyA", "Pay.Initiator", {}, flows) == []
