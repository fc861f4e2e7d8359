"""Workload files: what is accepted, and how every mistake is told with its file and line."""

from pathlib import Path

import pytest

from lab_load.workload import WorkloadError, load_workload, workload_names
from lab_load.yaml_source import NODES_MAX

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
SHIPPED = Path(__file__).resolve().parents[3] / "configs" / "workloads"


def problems(folder: Path, text: str | bytes) -> list[str]:
    """What is said of a file with this text, without the folder."""
    (folder / "own.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(WorkloadError) as raised:
        load_workload(folder, "own", PARTIES)
    assert raised.value.message == "\n".join(raised.value.problems)
    return [problem.removeprefix(f"{folder}/") for problem in raised.value.problems]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD)

    workload = load_workload(tmp_path, "own", PARTIES)

    assert (workload.name, workload.node, workload.counterparty) == ("own", "PartyA", "PartyB")
    (part,) = workload.parts
    assert (part.name, part.weight, part.unit) == ("Iou", 1, "flow")
    assert (part.flow, part.flow_short_name) == ("org.cordalab.flows.Iou", "Iou")
    assert part.vault_changes("PartyC", "PartyA") == {"org.cordalab.states.IouState": {"PartyC": 1, "PartyA": 1}}
    assert part.vault_changes("PartyC", None) == {"org.cordalab.states.IouState": {"PartyC": 1}}


def test_every_shipped_workload_is_good() -> None:
    assert {"empty", "iou"} <= set(workload_names(SHIPPED))
    for name in workload_names(SHIPPED):
        assert load_workload(SHIPPED, name, PARTIES).name == name


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
        ("zzz", "unknown workload 'zzz'; there are iou, own"),
    ],
)
def test_an_unknown_name_says_which_there_are(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "own.yaml").touch()
    (tmp_path / "iou.yaml").touch()

    with pytest.raises(WorkloadError) as raised:
        load_workload(tmp_path, name)

    assert raised.value.message == message


def test_a_folder_without_workloads_says_so(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="there is no workload file in"):
        load_workload(tmp_path, "iou")


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
        "own.yaml:4: flow: 'not a class' is not the name of a class",
        "own.yaml:6: args.iouValue: template: unknown name 'random_in', did you mean 'random_int'?",
        "own.yaml:9: args.amounts[1]: template: unexpected 'end of template'",
        "own.yaml:10: args.pick: template: No filter named 'random'.",
        "own.yaml:11: unit: should be 'flow', 'transaction' or 'state', is 'states'",
        "own.yaml:12: state: should be a valid string, is 5",
    ]


def test_unknown_nodes_are_told_with_those_there_are(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD.replace("PartyA", "PartyX").replace("PartyB", "PartyY")) == [
        "own.yaml:2: node: unknown node 'PartyX'; there are PartyA, PartyB, PartyC",
        "own.yaml:3: counterparty: unknown node 'PartyY'; there are PartyA, PartyB, PartyC",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "own.yaml:1: is empty"),
        ("- description", "own.yaml:1: must be a list of 'field: value' lines"),
        ("node: PartyA\nflow: a: b", "own.yaml:2: YAML syntax, column 8: mapping values are not allowed here"),
        ("node: PartyA\n\tflow: a", "own.yaml:2: YAML syntax, column 1: found character '\\t' that cannot start any"),
        ('flow: "abc\nnode: PartyA', "own.yaml:2: YAML syntax, column 13: found unexpected end of stream"),
        ("description: [", "own.yaml:1: YAML syntax, column 15: expected the node content"),
        ("node: !!python/object:os.system 1", "own.yaml:1: YAML syntax, column 7: could not determine a constructor"),
        ("node: PartyA\nflow: a\nnode: PartyB", "own.yaml:3: node: is given twice, first on line 1"),
        ("node: PartyA\nargs: !!int many", "own.yaml:2: 'many' cannot be read: invalid literal"),
        ("args: " + "9" * 5000, f"own.yaml:1: '{'9' * 40}' cannot be read: Exceeds the limit"),
        ("node: PartyA\n5: a", "own.yaml:2: a field's name must be text"),
        ("args: &loop\n  again: *loop", "own.yaml:1: is nested more than 20 deep"),
        ("args: " + "[" * 5000, "own.yaml: is nested more than 20 deep"),
        (b"description: \xe9", "own.yaml: is not YAML text"),
        (b"\x00", "own.yaml: is not YAML text"),
        ("#" * 300_000, "own.yaml: is larger than 262144 bytes"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    (problem,) = problems(tmp_path, text)

    assert problem.startswith(message)


def test_a_few_lines_of_aliases_cannot_fill_the_memory(tmp_path: Path) -> None:
    levels = [f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]

    (problem,) = problems(tmp_path, "\n".join(["args:", "  l0: &l0 x", *levels]))

    assert problem.endswith(f"has more than {NODES_MAX} values")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").mkdir()

    with pytest.raises(WorkloadError, match=r"own\.yaml: cannot be read: Is a directory"):
        load_workload(tmp_path, "own")


def test_a_date_is_text(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("args:", "args:\n  due: 2026-01-31"))

    assert load_workload(tmp_path, "own").parts[0].args["due"] == "2026-01-31"
