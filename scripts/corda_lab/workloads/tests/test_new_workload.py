"""Workload files that are written for a person: they load, and name everything."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.workloads.new import (
    STATES_HINT,
    check_name,
    default_name,
    example,
    find_flow,
    propose_states,
    text_of,
    write,
)
from lab_workload.flows import Flow, Parameter
from lab_workload.workload import load_workload
from support.simulation import X500_NAMES, nodes

PAY = Flow(
    "net.corda.finance.flows.CashIssueAndPaymentFlow",
    "CashIssueAndPaymentFlow",
    (
        (Parameter("request", "IssueAndPaymentRequest"),),
        (
            Parameter("amount", "Amount<Currency>"),
            Parameter("issueRef", "OpaqueBytes"),
            Parameter("recipient", "Party"),
            Parameter("anonymous", "boolean"),
            Parameter("notary", "Party"),
            Parameter("rates", "List<Double>?"),
            Parameter("own", "MyOwnType"),
            Parameter("note", "String?"),
        ),
    ),
)
EMPTY = Flow("org.cordalab.flows.Empty", "Empty", ((),))
VEHICLE = (
    Parameter("plate", "String"),
    Parameter("colour", "Colour", values=("RED", "GREEN")),
    Parameter("tracker", "ProgressTracker?", is_optional=True),
)
INSURE = Flow(
    "com.example.InsureFlow$InsureInitiator",
    "InsureFlow$InsureInitiator",
    (
        (
            Parameter(
                "policy",
                "Policy",
                (
                    Parameter("insured", "long"),
                    Parameter("vehicles", "List<Vehicle>", VEHICLE),
                    Parameter("spare", "Optional<Vehicle>", VEHICLE),
                    Parameter("byDriver", "Map<String, Vehicle>", VEHICLE),
                    Parameter("no", "int[]"),
                    Parameter("shares", "Map<String, int>"),
                    Parameter("none", "Empty"),
                ),
            ),
            Parameter("asset", "Asset", is_abstract=True),
            Parameter("insurer", "Party"),
        ),
    ),
)


def written(tmp_path: Path, flow: Flow) -> str:
    text = text_of(flow, nodes()["PartyA"], "PartyC")
    write(tmp_path / "new.yaml", text)
    return text


def test_the_file_loads_and_has_every_parameter_of_the_longest_constructor(tmp_path: Path) -> None:
    text = written(tmp_path, PAY)
    workload = load_workload(tmp_path, "new", ("Notary", "PartyA", "PartyB", "PartyC"))
    arguments = workload.flows[0].args
    assert list(arguments) == [one.name for one in PAY.constructors[1]]
    assert arguments["recipient"] == "{{ counterparty }}"
    assert arguments["notary"] == X500_NAMES["Notary"]
    assert arguments["anonymous"] is False
    assert (workload.node, workload.counterparty) == ("PartyA", "PartyC")
    assert "#   request: IssueAndPaymentRequest" in text
    for one in PAY.constructors[1]:
        assert f"# {one.type}: " in text


def test_a_way_to_start_it_whose_values_can_all_be_written_comes_first(tmp_path: Path) -> None:
    amount, tracker = Parameter("amount", "Amount<Currency>"), Parameter("progressTracker", "ProgressTracker")
    parties = Parameter("parties", "List<Party>")
    flow = Flow("com.example.Pay", "Pay", ((amount,), (amount, parties), (amount, parties, tracker)))
    written(tmp_path, flow)
    workload = load_workload(tmp_path, "new", ("PartyA", "PartyC"))
    assert list(workload.flows[0].args) == ["amount", "parties"]


def test_an_object_has_a_line_for_every_field(tmp_path: Path) -> None:
    text = written(tmp_path, INSURE)
    arguments = load_workload(tmp_path, "new", ("PartyA", "PartyC")).flows[0].args
    vehicle = {"plate": "text {{ counter() }}", "colour": "RED"}
    assert arguments["policy"] == {
        "insured": "{{ random_int(1, 99) }}",
        "vehicles": [vehicle],
        "spare": vehicle,
        "byDriver": {"put a key here": vehicle},
        "no": ["{{ random_int(1, 99) }}"],
        "shares": {"put a key here": "{{ random_int(1, 99) }}"},
        "none": "put a value here",
    }
    assert arguments["asset"] == {"@class": "put a class here"}
    for words in ("Policy: an object", "List<Vehicle>: a list of objects", "Colour: one of RED, GREEN"):
        assert f"# {words}" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_states_of_one_flow_take_the_place_of_the_hint(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    assert STATES_HINT in written(tmp_path, INSURE)
    assert not propose_states(path, {}), "nothing to propose"
    states = {"com.example.Policy$State": {"node": 1, "counterparty": 1}, "com.example.Coin": {"PartyB": -2}}
    assert propose_states(path, states)
    (part,) = load_workload(tmp_path, "new", ("PartyA", "PartyB", "PartyC")).flows
    assert part.changes == states
    text = path.read_text(encoding="utf-8")
    assert not propose_states(path, {"com.example.Other": {"node": 1}}), "states that are declared stay"
    assert path.read_text(encoding="utf-8") == text


def test_a_file_that_is_there_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(LabError, match="already exists"):
        write(path, "other")
    assert path.read_text(encoding="utf-8") == "mine"


def test_finds_a_flow_by_either_name_and_says_what_was_probably_meant() -> None:
    assert find_flow("Empty", "PartyA", [PAY, EMPTY]) is EMPTY
    assert find_flow(PAY.name, "PartyA", [PAY, EMPTY]) is PAY
    with pytest.raises(LabError, match="PartyA has no flow 'Emtpy', did you mean 'Empty'"):
        find_flow("Emtpy", "PartyA", [PAY, EMPTY])


def test_finds_a_nested_flow_and_lists_those_that_a_name_may_mean() -> None:
    other = Flow("com.example.ClaimFlow$InsureInitiator", "ClaimFlow$InsureInitiator", ((),))
    for name in ("InsureInitiator", "InsureFlow.InsureInitiator", "InsureFlow$InsureInitiator"):
        assert find_flow(name, "PartyA", [PAY, INSURE]) is INSURE
    with pytest.raises(LabError, match="--flow: 'InsureInitiator' may mean several flows") as caught:
        find_flow("InsureInitiator", "PartyA", [INSURE, other])
    assert caught.value.remedy == f"Choose from {INSURE.name}, {other.name}."


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("net.corda.finance.flows.CashIssueFlow", "cash-issue"),
        ("org.cordalab.flows.IouUpdate", "iou-update"),
        ("com.example.ProposalFlow$Initiator", "proposal"),
        ("com.example.IssueInsuranceFlow$IssueInsuranceInitiator", "issue-insurance"),
        ("com.example.DVPTrade2", "dvp-trade2"),
    ],
)
def test_makes_a_file_name_of_the_class(name: str, short: str) -> None:
    assert default_name(Flow(name, name, ())) == short
    assert check_name(short) == short


@pytest.mark.parametrize("name", ["", "../up", "With Space", "x" * 61])
def test_refuses_a_name_that_is_no_file_s(name: str) -> None:
    with pytest.raises(LabError, match="--name"):
        check_name(name)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", '"{{ random_int(1, 99) }}"'),
        ("List<Party>", '["{{ counterparty }}"]'),
        ("String?", '"text {{ counter() }}"'),
        ("MyOwnType?", "null"),
        ("Optional<Party>", '"{{ counterparty }}"'),
        ("Map<String, int>", '{"put a key here": "{{ random_int(1, 99) }}"}'),
    ],
)
def test_an_example_for_every_type(kind: str, value: str) -> None:
    assert example(Parameter("one", kind), None)[0] == value
