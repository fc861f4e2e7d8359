"""How flows are parsed, and which names they have."""

import pytest

from lab_workload.flows import Flow, Parameter, flow_problems, named

OFFER = Flow("com.example.OfferFlow$Initiator", "OfferFlow$Initiator", ((),))
DEEP = Flow("com.example.Market$Offer$Initiator", "Market$Offer$Initiator", ((),))
PLAIN = Flow("com.example.Initiator", "Initiator", ((),))
INSURE = {
    "flow": "com.example.Insure",
    "shortName": "Insure",
    "parameters": [
        [
            {
                "name": "policies",
                "type": "List<Policy>",
                "fields": [
                    {"name": "colour", "type": "Colour", "values": ["RED", "GREEN"]},
                    {"name": "note", "type": "String?", "optional": True},
                    {"name": "asset", "type": "Asset", "abstract": True},
                ],
            }
        ]
    ],
}


def test_fields_are_parsed_and_given_on_as_they_are() -> None:
    ((policies,),) = Flow.of_json(INSURE).constructors
    assert policies.fields == (
        Parameter("colour", "Colour", values=("RED", "GREEN")),
        Parameter("note", "String?", is_optional=True),
        Parameter("asset", "Asset", is_abstract=True),
    )
    assert [[policies.as_json()]] == INSURE["parameters"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("com.example.OfferFlow$Initiator", [OFFER]),
        ("com.example.OfferFlow.Initiator", [OFFER]),
        ("OfferFlow$Initiator", [OFFER]),
        ("OfferFlow.Initiator", [OFFER]),
        ("Market.Offer.Initiator", [DEEP]),
        ("Offer$Initiator", [DEEP]),
        ("Offer.Initiator", [DEEP]),
        ("Initiator", [OFFER, DEEP]),
        ("OfferFlow", []),
        ("itiator", []),
    ],
)
def test_a_nested_flow_is_found_by_the_end_of_its_name(name: str, found: list[Flow]) -> None:
    assert named(name, [OFFER, DEEP]) == found


def test_a_flow_with_the_whole_name_comes_before_nested_ones() -> None:
    other = Flow("com.example.other.Initiator", "com.example.other.Initiator", ((),))
    assert named("com.example.Initiator", [OFFER, PLAIN, other]) == [PLAIN]
    assert named("Initiator", [OFFER, PLAIN]) == [PLAIN]
    assert named("Initiator", [OFFER, PLAIN, other]) == [PLAIN, other]


IOU = (
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party")),
    (Parameter("iouValue", "int"), Parameter("otherParty", "Party"), Parameter("notary", "Party?")),
)
FLOWS = [Flow("com.example.Iou", "Iou", IOU), Flow("com.example.Unknown", "Unknown", ())]


def test_any_constructor_with_these_names_will_do() -> None:
    assert flow_problems("PartyA", "Iou", {"iouValue": 3, "otherParty": "x"}, FLOWS) == []
    assert flow_problems("PartyA", "Iou", {"iouValue": "much", "otherParty": "x", "notary": None}, FLOWS) == []
    assert flow_problems("PartyA", "Unknown", {"anything": 1}, FLOWS) == [], "its parameter names are not known"


def test_names_of_arguments_that_are_missing_and_too_much_are_told() -> None:
    unknown, missing = flow_problems("PartyA", "Iou", {"otherParty": "x", "iouValu": 3}, FLOWS)
    assert unknown.finding == "args.iouValu: unknown argument, did you mean 'iouValue'?"
    assert missing.finding == "args.iouValue: is missing"
    ways = "(iouValue: int, otherParty: Party) or (iouValue: int, otherParty: Party, notary: Party?)"
    assert unknown.remedy == missing.remedy == f"Iou takes {ways}."


def test_a_name_of_several_flows_is_refused_with_them() -> None:
    (problem,) = flow_problems("PartyA", "Initiator", {}, [OFFER, DEEP])
    assert problem.finding == "flow: 'Initiator' may mean several flows"
    assert DEEP.name in problem.remedy
