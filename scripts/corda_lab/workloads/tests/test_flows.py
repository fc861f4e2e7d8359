"""How a node's flows are shown."""

import pytest

from corda_lab.workloads.flows import as_dicts, innermost, show, taken_apart
from lab_workload.flows import Flow, Parameter

IOU = Flow(
    "org.cordalab.flows.Iou",
    "Iou",
    (
        (Parameter("iouValue", "int"), Parameter("otherParty", "Party")),
        (Parameter("iouValue", "int"), Parameter("parties", "List<Party>"), Parameter("note", "String[]")),
    ),
)


def test_a_line_for_every_way_to_start_a_flow(capsys: pytest.CaptureFixture[str]) -> None:
    show("PartyA", [Flow("org.cordalab.flows.Empty", "Empty", ((),)), Flow("com.example.Odd", "Odd", ()), IOU])
    printed = capsys.readouterr().out
    assert printed.count("org.cordalab.flows.Iou") == 1
    for words in (
        "iouValue: int, otherParty: Party",
        "parties: List<Party>, note: String[]",
        "none",
        "unknown parameters",
    ):
        assert words in printed
    assert "scripts/lab workload new --node PartyA --flow " in printed


def test_the_classes_of_arguments_have_a_line_with_their_fields(capsys: pytest.CaptureFixture[str]) -> None:
    colour = Parameter("colour", "Colour", values=("RED", "GREEN"))
    vehicles = Parameter("vehicles", "List<Vehicle>", (Parameter("plate", "String"), colour))
    policy = Parameter("policy", "Policy", (vehicles, Parameter("spare", "Vehicle?", vehicles.fields)))
    flow = Flow("com.example.Insure", "Insure", ((policy,), (policy, colour)))
    show("PartyA", [flow])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines.count("Policy: vehicles: List<Vehicle>, spare: Vehicle?") == 1
    assert lines.count("Vehicle: plate: String, colour: Colour") == 1
    assert lines.count("Colour: one of RED, GREEN") == 1
    assert as_dicts([flow])[0]["constructors"][1][1] == {"name": "colour", "type": "Colour", "values": ["RED", "GREEN"]}


@pytest.mark.parametrize(
    ("name", "form", "inner", "innermost_type"),
    [
        ("Set<int>?", "list", "int", "int"),
        ("int[][]", "list", "int[]", "int"),
        ("byte[]", "", "byte[]", "byte[]"),
        ("List", "", "List", "List"),
        ("Map<String, List<Party>>?", "map", "List<Party>", "Party"),
        ("Map<Pair<A, B>, C>", "map", "C", "C"),
        ("Optional<LocalDate>", "optional", "LocalDate", "LocalDate"),
        ("Amount<Currency>", "", "Amount<Currency>", "Amount<Currency>"),
    ],
)
def test_a_type_is_taken_apart(name: str, form: str, inner: str, innermost_type: str) -> None:
    assert taken_apart(name) == (form, inner)
    assert innermost(name) == innermost_type
