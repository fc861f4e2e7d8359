"""Placement files: those of the project are valid, and every mistake is one line with the field and a remedy."""

import re
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.placement import PLACEMENTS, find_placement, read_placement

VALID = """\
description: two hosts
overlay: plain
registry: images.lab:5000
hosts:
  node:
    each: node
    cores: 4
    memory: 8g
    services:
      nodes: {cores: 2, memory: 2g}
  load:
    cores: 4
    memory: 8g
    services:
      bridge: {cores: 1, memory: 1g}
    workers: {count: 2, cores: 1, memory: 512m}
"""


def problems_of(folder: Path, text: str) -> list[str]:
    """Return the problems of a file, each with its line and without the path."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LabError) as caught:
        read_placement(path)
    assert "docs/scale-out.md" in caught.value.remedy
    return [problem.finding.removeprefix(f"{path}:") for problem in caught.value.problems]


@pytest.mark.parametrize("path", sorted(PLACEMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_placement_of_the_project_is_valid(path: Path) -> None:
    assert find_placement(path.stem).fields.overlay == "encrypted"


def test_sizes_are_bytes_and_defaults_are_those_of_the_document(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(VALID, encoding="utf-8")
    fields = find_placement(str(path)).fields
    workers = fields.hosts["load"].workers
    assert workers is not None
    assert (workers.count, workers.memory) == (2, 512 * 1024**2)
    assert (fields.label, fields.registry) == ("corda-lab.host", "images.lab:5000")


@pytest.mark.parametrize(
    ("replaced", "by", "expected"),
    [
        ("overlay: plain", "overlay: secret", "2: overlay: must be 'encrypted' or 'plain', but is 'secret'"),
        ("overlay: plain", "", "1: overlay: is missing"),
        ("overlay:", "overlays:", "2: overlays: unknown field, did you mean 'overlay'?"),
        ("    memory: 8g\n    serv", "    serv", "5: hosts.node.memory: is missing"),
        ("memory: 2g", "memory: 2", "10: hosts.node.services.nodes.memory: must be a memory size such as 1536m or 2g"),
        ("{cores: 2,", "{cores: 0,", "10: hosts.node.services.nodes.cores: must be greater than 0, but is 0"),
        ("{cores: 2,", "{cors: 2,", "10: hosts.node.services.nodes.cors: unknown field, did you mean 'cores'?"),
        ("nodes:", "node:", "6: hosts.node.each: needs nodes, and nothing else, in services"),
        ("each: node", "each: party", "6: hosts.node.each: must be 'node', but is 'party'"),
        ("bridge:", "brigde:", "15: hosts.load.services.brigde: unknown service, did you mean 'bridge'?"),
        ("bridge:", "bootstrap:", "15: hosts.load.services.bootstrap: does not run in the stack; remove it"),
        ("bridge:", "nodes:", "15: hosts.load.services.nodes: is also on the host node; remove one of them"),
        ("  load:", "  Load:", "11: hosts.Load: the name of a host must be lower-case letters, digits and hyphens"),
        (
            "  load:",
            "  partya:",
            "11: hosts.partya: is also the name of the host that each: node stands for; rename it",
        ),
        ("count: 2", "count: 20", "12: hosts.load.cores: 21 cores are reserved, but the host has 4"),
        ("count: 2", "count: 0", "16: hosts.load.workers.count: must be greater than or equal to 1, but is 0"),
        ("memory: 512m", "memory: 4g", "13: hosts.load.memory: 9 GiB are reserved, but the host has 8 GiB"),
        ("images.lab:5000", "http://r", "3: registry: must be host, host:port or host:port/path, but is 'http://r'"),
        ("registry: images.lab:5000\n", "", "1: registry: is missing"),
        ("hosts:", "label: Ä\nhosts:", "4: label: must be lower-case letters, digits, dots and hyphens, but is 'Ä'"),
        ("{cores: 1, memory: 1g}", "1", "15: hosts.load.services.bridge: must consist of 'field: value' lines"),
    ],
)
def test_a_mistake_is_one_line_with_its_field(tmp_path: Path, replaced: str, by: str, expected: str) -> None:
    assert replaced in VALID
    found = problems_of(tmp_path, VALID.replace(replaced, by, 1))
    assert any(problem.startswith(expected) for problem in found), found


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = VALID.replace("bridge:", "brigde:").replace("count: 2", "count: 20")
    lines = [int(re.match(r"\d+", problem)[0]) for problem in problems_of(tmp_path, text)]  # type: ignore[index]
    assert lines == [12, 13, 15]


def test_a_host_without_anything_to_run_is_a_mistake(tmp_path: Path) -> None:
    text = VALID + "  spare:\n    cores: 1\n    memory: 1g\n"
    expected = "hosts.spare.services: is missing: nothing runs on this host; add it, or remove the host"
    assert problems_of(tmp_path, text) == [f"17: {expected}"]


def test_only_one_host_stands_for_all_nodes(tmp_path: Path) -> None:
    second = (
        "  other:\n    each: node\n    cores: 4\n    memory: 8g\n    services:\n      nodes: {cores: 1, memory: 1g}\n"
    )
    assert "18: hosts.other.each: is given for a second host; keep one of them" in problems_of(tmp_path, VALID + second)


def test_an_unknown_name_has_the_known_ones() -> None:
    with pytest.raises(
        LabError, match="There is no placement 'generator-appart', did you mean 'generator-apart'"
    ) as caught:
        find_placement("generator-appart")
    assert "one-node-per-host" in caught.value.remedy
