"""A workload bound to a network: everything that the network cannot give is found at once, each with its place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab_workload.flows import Flow, Parameter, Party
from lab_workload.load import Load
from lab_workload.network import Network, Roles, bind, subject_of
from lab_workload.problems import WorkloadError
from lab_workload.schema import Workload
from lab_workload.starts import flow_starts
from lab_workload.workload import load_workload

IOU = Flow("org.cordalab.flows.Iou", "Iou", ((Parameter("iouValue", "int"), Parameter("otherParty", "Party")),))
EMPTY = Flow("org.cordalab.flows.Empty", "Empty", ((),))
PREPARE = Flow("org.cordalab.flows.CashPrepare", "CashPrepare", ((Parameter("count", "int"),),))
PAY = Flow("org.cordalab.flows.Pay", "Pay", ((Parameter("coin", "StateRef"),),))
PARTIES = {name: Party(name, f"O={name},L=London,C=GB") for name in ("PartyA", "PartyB", "PartyC")}
NETWORK = Network(
    PARTIES,
    flows=lambda node: [EMPTY] if node == "PartyC" else [IOU, EMPTY, PREPARE, PAY],
    platform_version=lambda node: 12,
    notaries=("Notary",),
    startable=("PartyA", "PartyB", "PartyC", "PartyD", "PartyE"),
)
NAMES = ("Notary", *NETWORK.startable)
IOU_WORKLOAD = """\
description: Issue an IOU.
node: PartyA
counterparty: PartyB
flow: Iou
args: {iouValue: "{{ random_int(1, 99) }}", otherParty: "{{ counterparty }}"}
"""
EMPTY_WORKLOAD = "description: x\nnode: PartyA\nflow: Empty\n"
Read = Callable[[str], Workload]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def from_text(text: str) -> Workload:
        (tmp_path / "own.yaml").write_text(text)
        return load_workload(tmp_path, "own", NAMES)

    return from_text


def load(**options: object) -> Load:
    return Load.read({"workload": "own", **options})


def problems(workload: Workload, asked: Load | None = None, network: Network = NETWORK) -> list[str]:
    """What is wrong, without the folder."""
    with pytest.raises(WorkloadError) as caught:
        bind(workload, asked or load(), network)
    return [str(problem).removeprefix(f"{workload.source.path.parent}/") for problem in caught.value.problems]


def bound(workload: Workload, asked: Load | None = None) -> tuple[Roles, ...]:
    return bind(workload, asked or load(), NETWORK)


def test_parties_are_the_workload_s_unless_the_run_asks_for_others(read: Read) -> None:
    own = bound(read(IOU_WORKLOAD))
    asked = bound(read(IOU_WORKLOAD), load(node="PARTYB", counterparty="partya"))

    assert [(roles.node, roles.counterparty) for roles in own] == [(PARTIES["PartyA"], PARTIES["PartyB"])]
    assert [(roles.node, roles.counterparty) for roles in asked] == [(PARTIES["PartyB"], PARTIES["PartyA"])]
    (part,) = subject_of(read(IOU_WORKLOAD), asked, NETWORK.flows).parts
    assert (part.flow, part.flow_short, part.counterparty) == (IOU.name, "Iou", "PartyA")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (load(node="PartyX"), "node: unknown party 'PartyX', did you mean 'Party"),
        (
            load(node="PartyE"),
            "node: unknown party 'PartyE'. The parties are PartyA, PartyB, PartyC. Start more with `scri",
        ),
        (load(node="Notary"), "node: Notary is a notary. The parties are PartyA, PartyB, PartyC."),
        (load(counterparty="zzz"), "counterparty: unknown party 'zzz'. The parties are PartyA, PartyB, PartyC."),
        (
            load(counterparty="partya"),
            "counterparty: PartyA is also the node that starts the flows. Choose two different parties.",
        ),
        (
            load(node="PartyB"),
            "own.yaml:3: counterparty: PartyB is also the node that starts the flows. Choose two different parties.",
        ),
        (
            load(node="PartyC"),
            "own.yaml:4: flow: PartyC has no flow 'Iou'. `scripts/lab workload flows PartyC` lists its flows.",
        ),
    ],
)
def test_a_party_that_cannot_be_is_named_with_who_chose_it(read: Read, asked: Load, words: str) -> None:
    (problem,) = problems(read(IOU_WORKLOAD), asked)

    assert problem.startswith(words)


@pytest.mark.parametrize(
    ("requires", "words"),
    [
        ("{parties: 5}", "needs 5 parties, but the network has 3. Start the lab with `scripts/lab up --parties 5`."),
        ("{platform: 13}", "needs platform version 13, but PartyA has 12. Start the lab with a newer version of Corda"),
    ],
)
def test_what_a_workload_requires_is_compared_with_the_network(read: Read, requires: str, words: str) -> None:
    (problem,) = problems(read(f"{EMPTY_WORKLOAD}requires: {requires}\n"))

    assert problem.startswith("own.yaml:4: requires")
    assert words in problem


def test_a_cordapp_that_the_nodes_lack_is_one_problem_with_the_option_that_installs_it(read: Read) -> None:
    text = EMPTY_WORKLOAD.replace("flow: Empty", "flow: net.corda.finance.flows.CashIssueFlow")
    (problem,) = problems(read(f"{text}requires: {{cordapp: finance}}\n"))
    assert problem == (
        "own.yaml:4: requires.cordapp: needs the CorDapp 'finance', which PartyA does not have."
        " Start the lab with `scripts/lab up --cordapp finance`."
    )
    assert bound(read(f"{EMPTY_WORKLOAD}requires: {{cordapp: finance}}\n")), "the nodes have its flow"


def test_templates_can_name_the_notary(read: Read) -> None:
    workload = read(EMPTY_WORKLOAD.replace("flow: Empty", "flow: Pay\nargs: {coin: '{{ notary }}'}"))
    (problem,) = problems(workload)
    assert problem == "own.yaml:4: args.coin: uses notary, but the network has none"
    (start,) = flow_starts(workload, bind(workload, load(), replace(NETWORK, notary="O=Notary,L=London,C=GB")))
    assert start.args == {"coin": "O=Notary,L=London,C=GB"}


def parties_of(starters: tuple[Roles, ...]) -> list[tuple[str, str | None]]:
    """The node and the counterparty of every node that starts flows."""
    return [(roles.node.name, roles.counterparty.name if roles.counterparty else None) for roles in starters]


def test_several_nodes_form_a_ring_if_the_counterparty_is_one_of_them(read: Read) -> None:
    network = replace(NETWORK, flows=lambda node: [IOU, EMPTY])
    text = IOU_WORKLOAD.replace("node: PartyA", "nodes: [PartyA, partyb]")
    iou = read(text)
    assert parties_of(bind(iou, load(), network)) == [("PartyA", "PartyB"), ("PartyB", "PartyA")]
    asked = load(nodes=("PartyC", "PartyA", "PartyB"))
    assert parties_of(bind(iou, asked, network)) == [("PartyC", "PartyA"), ("PartyA", "PartyB"), ("PartyB", "PartyC")]
    outside = load(counterparty="PartyC")
    assert parties_of(bind(iou, outside, network)) == [("PartyA", "PartyC"), ("PartyB", "PartyC")]
    assert parties_of(bind(iou, load(node="PartyC"), network)) == [("PartyC", "PartyB")], (
        "a node in place of all of them"
    )
    none = read(EMPTY_WORKLOAD.replace("node: PartyA", "nodes: [PartyA, PartyB]"))
    assert parties_of(bind(none, load(), network)) == [("PartyA", None), ("PartyB", None)]
    starts = flow_starts(iou, bind(iou, load(), network))
    assert [(start.node, start.args["otherParty"]) for start in starts] == [
        ("PartyA", PARTIES["PartyB"].x500_name),
        ("PartyB", PARTIES["PartyA"].x500_name),
    ]


@pytest.mark.parametrize(
    ("nodes", "asked", "words"),
    [
        ("[PartyA, PartyE]", load(), "own.yaml:2: nodes[1]: unknown party 'PartyE'. The parties are"),
        ("[PartyA, partya]", load(), "own.yaml:2: nodes[1]: PartyA is named twice. Name each node once."),
        ("[PartyA]", load(nodes=("PartyB", "Notary")), "nodes: Notary is a notary. The parties are"),
        (
            "[PartyA, PartyB]",
            load(counterparty="partyb"),
            "counterparty: PartyB is also one of the nodes that start the flows. Choose a party that starts none",
        ),
        (
            "[PartyA, PartyC]",
            load(),
            "own.yaml:4: flow: PartyC has no flow 'Iou'. `scripts/lab workload flows PartyC` lists",
        ),
    ],
)
def test_nodes_that_cannot_be_are_named_with_who_chose_them(read: Read, nodes: str, asked: Load, words: str) -> None:
    (problem,) = problems(read(IOU_WORKLOAD.replace("node: PartyA", f"nodes: {nodes}")), asked)

    assert problem.startswith(words)


def test_problems_of_all_parts_and_steps_are_found_at_once(read: Read) -> None:
    text = """\
description: Several mistakes.
node: PartyA
flows:
  - flow: Iuo
  - flow: Iou
    args: {iouValue: many, otherParty: "{{ counterparty }}"}
    states: {com.example.S: {PartyE: 1}}
  - {name: own, flow: Empty, counterparty: PartyD}
  - {name: third, flow: Iou, args: {iouValue: 1, otherParty: "{{ party('PartyD') }}"}}
setup:
  - {name: a, node: PartyD, flow: CashPrepare, args: {count: 1}}
  - {name: b, node: PartyB, flow: CashPrepare, args: {cuont: 1}}
"""
    found = problems(read(text))

    remedy = "`scripts/lab workload flows PartyA` lists its flows."
    assert [problem.partition(". ")[0] for problem in found] == [
        f"own.yaml:4: flows[0].flow: PartyA has no flow 'Iuo', did you mean 'Iou'? {remedy}",
        "own.yaml:6: flows[1].args.otherParty: uses counterparty, but the run has none",
        "own.yaml:7: flows[1].states.com.example.S.PartyE: unknown party 'PartyE'",
        "own.yaml:8: flows[2].counterparty: unknown party 'PartyD'",
        "own.yaml:9: flows[3].args.otherParty: unknown party 'PartyD'",
        "own.yaml:11: setup[0].node: unknown party 'PartyD'",
        "own.yaml:12: setup[1].args.cuont: unknown argument, did you mean 'count'? CashPrepare takes (count: int).",
        "own.yaml:12: setup[1].args.count: is missing",
    ]


def test_every_start_has_its_arguments_rendered(read: Read) -> None:
    text = """\
description: Two parts.
node: PartyA
counterparty: PartyB
flows:
  - {flow: Iou, args: {iouValue: "{{ counter() }}", otherParty: "{{ counterparty }}"}}
  - {name: own, flow: Iou, counterparty: PartyC, args: {iouValue: 2, otherParty: "{{ counterparty }}"}}
"""
    first, second = flow_starts(read(text), bound(read(text)))

    assert (first.node, first.flow, first.location) == ("PartyA", "Iou", ("flows", 0))
    assert first.args == {"iouValue": 1, "otherParty": PARTIES["PartyB"].x500_name}
    assert second.args == {"iouValue": 2, "otherParty": PARTIES["PartyC"].x500_name}


def test_templates_without_a_value_are_found_in_set_up_and_parts(read: Read) -> None:
    text = IOU_WORKLOAD.replace("random_int(1, 99)", "random_int(9, 1)") + (
        "setup:\n"
        "  - {name: a, flow: CashPrepare, args: {count: '{{ 1 // 0 }}'}}\n"
        "  - {name: b, flow: CashPrepare, each: '{{ 5 }}', args: {count: 1}}\n"
    )
    with pytest.raises(WorkloadError) as caught:
        flow_starts(read(text), bound(read(text)))

    assert [(problem.location, problem.line) for problem in caught.value.problems] == [
        (("setup", 0, "args"), 7),
        (("setup", 1, "each"), 8),
        (("args",), 5),
    ]
