"""Workload files: what is accepted, and how every mistake is told with its file and line."""

from pathlib import Path

import pytest

from lab_workload.prepared import Prepared, Results
from lab_workload.problems import WorkloadError
from lab_workload.values import Values
from lab_workload.workload import load_workload, workload_names

GOOD = """\
description: Issue an IOU.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ random_int(1, 99) }}"
  otherParty: "{{ counterparty }}"
state: org.cordalab.states.IouState
"""
PARTIES = ("PartyA", "PartyB", "PartyC")
SHIPPED = Path(__file__).resolve().parents[4] / "configs" / "workloads"


def problems(folder: Path, text: str | bytes) -> list[str]:
    """What is said of a file with this text, without the folder."""
    (folder / "own.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(WorkloadError) as raised:
        load_workload(folder, "own", PARTIES)
    found = [str(problem) for problem in raised.value.problems]
    assert raised.value.message == "\n".join(found)
    return [problem.removeprefix(f"{folder}/") for problem in found]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD)

    workload = load_workload(tmp_path, "own", PARTIES)

    assert (workload.name, workload.node, workload.counterparty) == ("own", "PartyA", "PartyB")
    (part,) = workload.flows
    assert (part.name, part.weight, part.unit) == ("Iou", 1, "flow")
    assert part.flow == "org.cordalab.flows.Iou"
    assert part.vault_changes("PartyC", "PartyA") == {"org.cordalab.states.IouState": {"PartyC": 1, "PartyA": 1}}
    assert part.vault_changes("PartyC", None) == {"org.cordalab.states.IouState": {"PartyC": 1}}


def test_every_shipped_workload_is_good() -> None:
    assert {"empty", "iou"} <= set(workload_names(SHIPPED))
    for name in workload_names(SHIPPED):
        assert load_workload(SHIPPED, name, PARTIES).name == name


@pytest.mark.parametrize("name", workload_names(SHIPPED))
def test_every_shipped_workload_gives_arguments_that_can_be_sent(name: str) -> None:
    workload = load_workload(SHIPPED, name, PARTIES)
    parties = {f"Party{letter}": f"O=Party{letter},L=London,C=GB" for letter in "ABCDEFGHI"}
    results: dict[str, Results] = {}

    def values() -> Values:
        prepared = Prepared(results)
        known = {"node": parties["PartyA"], "counterparty": parties["PartyB"], "parties": parties, "notary": "O=N"}
        return Values(seed=1, users=4, needed=10, run_id="run", prepared=prepared, **known)  # type: ignore[arg-type]

    for step in workload.setup:
        drawn_from = values()
        items = step.items.render(drawn_from)["each"] if step.each else [None]
        for item in items:
            drawn_from.names["item"] = item
            step.args.render_json(drawn_from)
            assert type(step.counts.render(drawn_from)["count"]) is int
        prepared = [f"{step.name}-{number}" for number in range(10)]
        results[step.name] = {str(item): prepared for item in items} if step.each else prepared
    for part in workload.flows:
        part.args.render_json(values())


def test_names_are_those_of_the_yaml_files(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", ".hidden.yaml", "notes.txt"):
        (tmp_path / name).touch()

    assert workload_names(tmp_path) == ["a", "b"]
    assert workload_names(tmp_path / "absent") == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("onw", "unknown workload 'onw', did you mean 'own'?"),
        ("../own", "unknown workload '../own', did you mean 'own'?"),
        ("zzz", "unknown workload 'zzz'; choose from iou, own"),
    ],
)
def test_an_unknown_name_says_which_there_are(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "own.yaml").touch()
    (tmp_path / "iou.yaml").touch()

    with pytest.raises(WorkloadError) as raised:
        load_workload(tmp_path, name)

    assert raised.value.message == message


def test_all_mistakes_of_a_file_are_told_in_the_order_of_its_lines(tmp_path: Path) -> None:
    text = """\
description: ""
nod: PartyA
counterparty: PartyZ
flow: not a class
args:
  iouValue: "{{ random_in(1, 99) }}"
  amounts:
    - 1
    - "{{ oops("
  pick: "{{ [1]|random }}"
unit: states
state: 5
"""
    assert problems(tmp_path, text) == [
        "own.yaml:1: description: must not be empty",
        "own.yaml:1: node: is missing",
        "own.yaml:2: nod: unknown field, did you mean 'node'?",
        "own.yaml:3: counterparty: unknown node 'PartyZ'; choose from PartyA, PartyB, PartyC",
        "own.yaml:4: flow: 'not a class' is not a valid class name",
        "own.yaml:6: args.iouValue: template: unknown name 'random_in', did you mean 'random_int'?",
        "own.yaml:9: args.amounts[1]: template: unexpected 'end of template'",
        "own.yaml:10: args.pick: template: No filter named 'random'.",
        "own.yaml:11: unit: must be 'flow', 'transaction' or 'state', but is 'states'",
        "own.yaml:12: state: must be text, but is 5; put it in quotes",
    ]


def test_unknown_nodes_are_told_with_those_there_are(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD.replace("PartyA", "PartyX").replace("PartyB", "PartyY")) == [
        "own.yaml:2: node: unknown node 'PartyX'; choose from PartyA, PartyB, PartyC",
        "own.yaml:3: counterparty: unknown node 'PartyY'; choose from PartyA, PartyB, PartyC",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "own.yaml:1: is empty"),
        ("- description", "own.yaml:1: must consist of 'field: value' lines"),
        ("node: PartyA\nflow: a: b", "own.yaml:2: YAML syntax, column 8: mapping values are not allowed here"),
        ("node: PartyA\n\tflow: a", "own.yaml:2: YAML syntax, column 1: found character '\\t' that cannot start any"),
        ('flow: "abc\nnode: PartyA', "own.yaml:2: YAML syntax, column 13: found unexpected end of stream"),
        ("description: [", "own.yaml:1: YAML syntax, column 15: expected the node content"),
        ("node: !!python/object:os.system 1", "own.yaml:1: YAML syntax, column 7: could not determine a constructor"),
        ("node: PartyA\nflow: a\nnode: PartyB", "own.yaml:3: node: is given twice, first on line 1"),
        ("node: PartyA\nargs: !!int many", "own.yaml:2: 'many' cannot be read: invalid literal"),
        ("args: " + "9" * 5000, f"own.yaml:1: '{'9' * 40}' cannot be read: Exceeds the limit"),
        ("node: PartyA\n5: a", "own.yaml:2: the name of a field must be text"),
        ("args: &loop\n  again: *loop", "own.yaml: is nested too deep"),
        ("args: " + "[" * 5000, "own.yaml: is nested too deep"),
        (b"description: \xe9", "own.yaml: is not valid YAML"),
        (b"\x00", "own.yaml: is not valid YAML"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    (problem,) = problems(tmp_path, text)

    assert problem.startswith(message)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").mkdir()

    with pytest.raises(WorkloadError, match=r"own\.yaml: cannot be read: Is a directory"):
        load_workload(tmp_path, "own")


def test_a_date_is_text(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("args:", "args:\n  due: 2026-01-31"))

    assert load_workload(tmp_path, "own").flows[0].args["due"] == "2026-01-31"


SETTLEMENT = """\
description: Swap prepared assets, and some IOUs beside.
node: PartyA
counterparty: PartyB
requires: {parties: 3, platform: 7}
flows:
  - flow: org.cordalab.flows.Settlement
    weight: 3
    args:
      states: ["{{ take('cash') }}", "{{ take('stock', 'PartyC') }}"]
      numberOfStates: 2
    unit: state
    states_per_flow: "{{ args.numberOfStates }}"
    states:
      org.cordalab.states.CashState: {PartyB: -1, node: "{{ args.numberOfStates - 1 }}", counterparty: 5}
  - name: iou
    flow: Iou
    counterparty: PartyC
    args: {iouValue: 5}
    state: org.cordalab.states.IouState
    expect: {error: refused, status: 502}
setup:
  - name: cash
    node: PartyB
    flow: AssetPrepare
    args: {asset: cash, count: "{{ needed }}"}
    concurrency: 4
  - name: stock
    node: item
    each: [PartyC]
    flow: AssetPrepare
    args: {asset: "{{ item }}", count: "{{ setup.cash | length }}"}
    timeout_seconds: 60
  - name: files
    attachments: {megabytes: 10, count: 2}
rate_max: 10
"""


def test_a_file_with_everything_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SETTLEMENT)

    workload = load_workload(tmp_path, "own", PARTIES)

    settlement, iou = workload.flows
    assert (settlement.name, settlement.weight, settlement.location) == ("Settlement", 3, ("flows", 0))
    assert (settlement.unit, settlement.states_per_flow, settlement.counterparty) == ("state", 2, None)
    assert settlement.vault_changes("PartyA", "PartyB") == {
        "org.cordalab.states.CashState": {"PartyB": 4, "PartyA": 1},
    }
    assert (iou.name, iou.counterparty, iou.location) == ("iou", "PartyC", ("flows", 1))
    assert iou.expect is not None
    assert (iou.expect.error, iou.expect.status) == ("refused", 502)
    assert (workload.requires.parties, workload.requires.platform) == (3, 7)
    assert [(step.name, step.node, step.concurrency, step.timeout_seconds) for step in workload.setup] == [
        ("cash", "PartyB", 4, 300),
        ("stock", "item", 1, 60),
        ("files", "node", 1, 300),
    ]
    assert workload.setup[2].megabytes == 10
    assert workload.taken == {"cash": 1, "stock": 1}, "counted in the templates"
    assert (workload.own_steps, workload.rate_max) == (set(), 10)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weight: 3", "weight: 0", "7: flows[0].weight: must be greater than or equal to 1, but is 0"),
        ("weight: 3", "wieght: 3", "7: flows[0].wieght: unknown field, did you mean 'weight'?"),
        ("name: iou", "name: Settlement", "15: flows[1]: another entry is also named 'Settlement'; use a different"),
        ("counterparty: PartyC", "counterparty: PartyX", "17: flows[1].counterparty: unknown node 'PartyX'; choose"),
        ("flows:\n", "flow: Iou\nflows:\n", "5: flow: is a field of a single flow; move it into an entry of flows"),
        ("- name: iou\n    flow: Iou\n", "- name: iou\n", "15: flows[1].flow: is missing"),
        ('numberOfStates }}"\n', 'number }}"\n', "12: flows[0].states_per_flow: template: {{ args.number }}: has"),
        ("{PartyB: -1,", "{PartyZ: -1,", "14: flows[0].states.org.cordalab.states.CashState.PartyZ: unknown node"),
        ("states_per_flow: ", "#", "11: flows[0].unit: is state, so states_per_flow must be set"),
        ("take('cash')", "take('csah')", "9: flows[0].args.states[0]: template: unknown step 'csah', did you mean"),
        ("take('cash')", "take(node)", "9: flows[0].args.states[0]: template: take(…) needs constant names"),
        ("setup.cash", "setup.stock", "31: setup[1].args.count: template: unknown step 'stock'; choose from cash"),
        ("asset: cash", "asset: '{{ item }}'", "25: setup[0].args.asset: template: unknown name 'item'; choose from"),
        ("node: PartyB\n", "node: item\n", "23: setup[0].node: unknown node 'item'; choose from PartyA, PartyB"),
        ("- name: files", "- name: cash", "33: setup[2]: another entry is also named 'cash'; use a different name"),
        ("- name: files", "- name: my files", "33: setup[2].name: 'my files' is not a valid name (letters and digits)"),
        (
            "- name: files\n",
            "- name: files\n    flow: X\n",
            "33: setup[2]: files: must have either flow",
        ),
        ("each: [PartyC]", "each: []", "29: setup[1].each: must be a list, or one expression in {{ }}"),
        ("rate_max: 10", "prepared: {coins: 1}", "35: prepared.coins: setup has no such step"),
        ("    state: org", "    states: {a.B: {node: 1}}\n    state: org", "20: flows[1].state: is the short form of"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SETTLEMENT

    found = problems(tmp_path, SETTLEMENT.replace(old, new))

    assert any(problem.startswith(f"own.yaml:{message}") for problem in found), found


def test_parties_that_are_not_there_are_left_to_what_the_file_requires(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("PartyB", "PartyE") + "requires: {parties: 5}\n")

    assert load_workload(tmp_path, "own", PARTIES).counterparty == "PartyE"


@pytest.mark.parametrize(
    ("overrides", "iou_value", "asset"),
    [
        ({"iouValue": "7"}, 7, "cash"),
        ({"iou.iouValue": "{{ counter() }}"}, "{{ counter() }}", "cash"),
        ({"asset": "gold"}, 5, "gold"),
        ({"cash.asset": "true"}, 5, True),
    ],
)
def test_single_values_are_overridden(
    tmp_path: Path, overrides: dict[str, str], iou_value: object, asset: object
) -> None:
    (tmp_path / "own.yaml").write_text(SETTLEMENT)

    workload = load_workload(tmp_path, "own", PARTIES, overrides)

    assert workload.flows[1].args["iouValue"] == iou_value
    assert workload.setup[0].args["asset"] == asset


def test_numbers_are_overridden_where_they_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SETTLEMENT)

    workload = load_workload(tmp_path, "own", PARTIES, {"rate_max": "2.5", "megabytes": "3", "numberOfStates": "8"})

    assert (workload.rate_max, workload.setup[2].megabytes, workload.flows[0].states_per_flow) == (2.5, 3, 8)
    with pytest.raises(WorkloadError) as raised:
        load_workload(tmp_path, "own", PARTIES, {"megabytes": "900", "iouVale": "1", "zzz": "1"})
    vale, zzz, megabytes = map(str, raised.value.problems)
    assert vale == "--set: unknown key 'iouVale', did you mean 'iouValue'?"
    assert zzz.startswith("--set: unknown key 'zzz'; choose from rate_max, megabytes,")
    assert megabytes.endswith(
        "own.yaml:34: setup[2].attachments.megabytes: must be less than or equal to 200, but is 900"
    )
