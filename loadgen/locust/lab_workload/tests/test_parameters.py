"""Parameters of a workload, and groups of parties: what they change in a file, and how mistakes are told."""

from pathlib import Path
from typing import Any

import pytest

from lab_workload.load import PARTIES_MAX
from lab_workload.prepared import Prepared
from lab_workload.problems import WorkloadError
from lab_workload.schema import Workload
from lab_workload.values import Values
from lab_workload.workload import load_workload

SHIPPED = Path(__file__).resolve().parents[4] / "configs" / "workloads"
NAMES = tuple(f"Party{letter}" for letter in "ABCDEFGHIJK"[:PARTIES_MAX])
PARTICIPANTS = [number for number in (2, 4, 6, 8, 10) if number < PARTIES_MAX]
SWAP = """\
description: Swap.
node: PartyA
parameters:
  pairs: {default: 1, choices: [1, 2]}
  currency: {default: GBP}
groups:
  payers: "{{ ['PartyB', 'PartyD'][:pairs] }}"
  sellers: [PartyC]
requires: {parties: "{{ 1 + 2 * pairs }}"}
flow: Swap
args:
  amount: "{{ 5 * pairs }} {{ currency }}"
  parties: "{{ party(payers) }}"
  coins: "{{ take('coins', payers) }}"
  own: "{{ mine('coins', sellers) }}"
  fixed: 7
states_per_flow: "{{ pairs * args.fixed }}"
states:
  org.State: {payers: "{{ -pairs }}", sellers: 1, PartyC: 2}
setup:
  - {name: coins, node: item, each: "{{ payers + sellers }}", flow: Prepare, args: {currency: "{{ currency }}"}}
rate_max: "{{ 10 / pairs }}"
"""


def swap(folder: Path, overrides: dict[str, str] | None = None, text: str = SWAP) -> Workload:
    (folder / "own.yaml").write_text(text)
    return load_workload(folder, "own", NAMES, overrides)


def rendered(workload: Workload, results: Any) -> dict[str, Any]:
    parties = {name: f"O={name}" for name in NAMES}
    values = Values(seed=1, node="O=PartyA", counterparty=None, parties=parties, prepared=Prepared(results))
    return workload.flows[0].args.render_json(values)


def test_parameters_change_what_a_file_describes(tmp_path: Path) -> None:
    one, two = swap(tmp_path), swap(tmp_path, {"pairs": "2", "currency": "USD"})

    assert [workload.requires.parties for workload in (one, two)] == [3, 5]
    assert (one.rate_max, two.rate_max) == (10, 5)
    assert (one.flows[0].states_per_flow, two.flows[0].states_per_flow) == (7, 14)
    assert one.flows[0].changes == {"org.State": {"PartyB": -1, "PartyC": 3}}
    assert two.flows[0].changes == {"org.State": {"PartyB": -2, "PartyD": -2, "PartyC": 3}}
    assert one.flows[0].args.takes == {("coins", "PartyB"): 1}
    assert two.flows[0].args.takes == {("coins", "PartyB"): 1, ("coins", "PartyD"): 1}
    assert two.taken == {"coins": 1}, "of each list, a request takes one item"


def test_templates_use_parameters_and_groups(tmp_path: Path) -> None:
    coins = {"PartyB": ["b1"], "PartyD": ["d1"], "PartyC": ["c1"]}

    assert rendered(swap(tmp_path, {"pairs": "2"}), {"coins": coins}) == {
        "amount": "10 GBP",
        "parties": ["O=PartyB", "O=PartyD"],
        "coins": ["b1", "d1"],
        "own": ["c1"],
        "fixed": 7,
    }
    step = swap(tmp_path, {"pairs": "2"}).setup[0]
    values = Values(seed=1, node="O=PartyA", counterparty=None)
    assert step.items.render(values)["each"] == ["PartyB", "PartyD", "PartyC"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("default: 1, c", "default: 3, c", "4: parameters.pairs: must be 1 or 2, but is 3"),
        ("default: 1, c", "defualt: 1, c", "4: parameters.pairs.defualt: unknown field, did you mean 'default'?"),
        ("  pairs: {", "  node: {default: 1}\n  pairs: {", "4: parameters.node: 'node' has a meaning of its own"),
        ("sellers: [", "pairs: [", "8: groups.pairs: 'pairs' is also a parameter; use a different name"),
        ("[:pairs]", "[:pears]", "7: groups.payers: template: unknown name 'pears', did you mean 'pairs'?"),
        ("[PartyC]", "[]", "8: groups.sellers: must be a list of parties, but is []"),
        ("[PartyC]", "PartyC", "8: groups.sellers: template: "),
        ("1 + 2 * pairs", "1 / 0", "9: requires.parties: template: ZeroDivisionError"),
        ("1 + 2 * pairs", "90 * pairs", f"9: requires.parties: must be less than or equal to {PARTIES_MAX}, but is 90"),
        ("10 / pairs", "pairs - 1", "22: rate_max: must be greater than 0, but is 0"),
        ("take('coins', payers)", "take('coins', node)", "14: args.coins: template: take(…) needs constant names"),
        ("[PartyC]", "[PartyX]", "19: states.org.State.sellers: unknown node 'PartyX'; choose from"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SWAP
    with pytest.raises(WorkloadError) as raised:
        swap(tmp_path, text=SWAP.replace(old, new))

    found = [str(problem).removeprefix(f"{tmp_path}/") for problem in raised.value.problems]
    assert any(problem.startswith(f"own.yaml:{message}") for problem in found), found


@pytest.mark.parametrize("name", ["settlement", "settlement-parallel"])
@pytest.mark.parametrize("participants", PARTICIPANTS)
def test_the_participants_of_a_settlement_are_pairs_with_chains_of_their_own(name: str, participants: int) -> None:
    workload = load_workload(SHIPPED, name, NAMES, {"participants": str(participants), "backchainSize": "10"})

    (part,) = workload.flows
    owners = list(NAMES[1 : participants + 1])
    payers, sellers = owners[::2], owners[1::2]
    assert (workload.requires.parties, part.states_per_flow) == (participants + 1, participants)
    assert part.changes == {
        "org.cordalab.states.CashState": {**dict.fromkeys(payers, -1), **dict.fromkeys(sellers, 1)},
        "org.cordalab.states.StockState": {**dict.fromkeys(payers, 1), **dict.fromkeys(sellers, -1)},
    }
    results = {
        "cash": {payer: [f"cash of {payer}"] for payer in payers},
        "stock": {seller: [f"stock of {seller}"] for seller in sellers},
    }
    args = rendered(workload, results)
    assert args["otherPartiesNames"] == [f"O={owner}" for owner in payers + sellers]
    assert args["states"] == [*(f"cash of {one}" for one in payers), *(f"stock of {one}" for one in sellers)]
    partners = {}
    for step in workload.setup:
        values = Values(seed=1, node="O=PartyA", counterparty=None, parties={one: one for one in NAMES}, needed=9)
        for owner in step.items.render(values)["each"]:
            values.names["item"] = owner
            chain = step.args.render_json(values)
            assert (chain["backchainSize"], chain["count"], step.counts.render(values)["count"]) == (10, 2, 5)
            partners[owner] = chain["otherPartyName"]
    # Both parties of a pair know the histories of both of its assets, and so lack those of all others.
    assert partners == {**dict(zip(payers, sellers, strict=True)), **dict(zip(sellers, payers, strict=True))}


def test_assets_without_a_history_are_made_in_large_batches() -> None:
    workload = load_workload(SHIPPED, "settlement", NAMES)
    parties = {one: one for one in NAMES}
    for needed, starts, count in ((1, 1, 1), (1000, 1, 1000), (1001, 2, 1000)):
        values = Values(seed=1, node="O=PartyA", counterparty=None, parties=parties, needed=needed)
        values.names["item"] = "PartyB"
        cash = workload.setup[0]
        assert (cash.counts.render(values)["count"], cash.args.render(values)["count"]) == (starts, count)
