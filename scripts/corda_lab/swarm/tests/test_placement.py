"""Placement files: every mistake is one line with the field and a remedy; and how they fit shapes of the lab."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.placement import PLACEMENTS, Place, Placement, find_placement, fit, read_placement
from corda_lab.swarm.stack import Project

GIB = 1024**3
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
SPARE = "  spare:\n    cores: 1\n    memory: 1g\n"
SECOND = "  other:\n    each: node\n    cores: 4\n    memory: 8g\n    services:\n      nodes: {cores: 1, memory: 1g}\n"


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
        ("memory: 2g", "memory: 2", "10: hosts.node.services.nodes.memory: must be a memory size such as 1536m or 2g"),
        ("{cores: 2,", "{cors: 2,", "10: hosts.node.services.nodes.cors: unknown field, did you mean 'cores'?"),
        ("nodes:", "node:", "6: hosts.node.each: needs nodes, and nothing else, in services"),
        ("bridge:", "brigde:", "15: hosts.load.services.brigde: unknown service, did you mean 'bridge'?"),
        ("bridge:", "bootstrap:", "15: hosts.load.services.bootstrap: does not run in the stack; remove it"),
        ("bridge:", "nodes:", "15: hosts.load.services.nodes: is also on the host node; remove one of them"),
        ("  load:", "  Load:", "11: hosts.Load: the name of a host must be lower-case letters, digits and hyphens"),
        ("  load:", "  partya:", "11: hosts.partya: is also the name of the host that each: node stands for"),
        ("images.lab:5000", "http://r", "3: registry: must be host, host:port or host:port/path, but is 'http://r'"),
        ("hosts:", "label: Ä\nhosts:", "4: label: must be lower-case letters, digits, dots and hyphens, but is 'Ä'"),
        ("{cores: 1, memory: 1g}", "1", "15: hosts.load.services.bridge: must consist of 'field: value' lines"),
        (VALID, VALID + SPARE, "17: hosts.spare.services: is missing: nothing runs on this host; add it, or remove"),
        (VALID, VALID + SECOND, "18: hosts.other.each: is given for a second host; keep one of them"),
    ],
)
def test_a_mistake_is_one_line_with_its_field(tmp_path: Path, replaced: str, by: str, expected: str) -> None:
    assert replaced in VALID
    path = tmp_path / "mine.yaml"
    path.write_text(VALID.replace(replaced, by, 1), encoding="utf-8")
    with pytest.raises(LabError) as caught:
        read_placement(path)
    assert "docs/scale-out.md" in caught.value.remedy
    problems = [problem.finding.removeprefix(f"{path}:") for problem in caught.value.problems]
    assert any(problem.startswith(expected) for problem in problems), problems


def test_an_unknown_name_has_the_known_ones() -> None:
    with pytest.raises(LabError, match="no placement 'generator-appart', did you mean 'generator-apart'") as caught:
        find_placement("generator-appart")
    assert "one-node-per-host" in caught.value.remedy


Changed = Callable[..., Placement]


@pytest.fixture
def changed(tmp_path: Path) -> Changed:
    """Return a function that reads a placement of the project in which a text has been replaced."""

    def read(name: str, before: str, after: str) -> Placement:
        text = (PLACEMENTS / f"{name}.yaml").read_text(encoding="utf-8")
        assert before in text
        path = tmp_path / "mine.yaml"
        path.write_text(text.replace(before, after), encoding="utf-8")
        return read_placement(path)

    return read


def problems_of(placement: Placement, project: Project) -> list[str]:
    with pytest.raises(LabError) as caught:
        fit(placement, project.running)
    path = f"{placement.source.path}:"
    return [str(problem).removeprefix(path) for problem in caught.value.problems]


def test_every_node_has_the_host_of_its_own_name(project: Project) -> None:
    fitted = fit(find_placement("one-node-per-host"), project.running)
    assert fitted.places["partyk"] == Place("partyk", 3, 2 * GIB)
    assert fitted.places["postgres"].host == "database"
    assert "bootstrap" not in fitted.places
    nodes = ("notary", *(f"party{letter}" for letter in "abcdefghijk"))
    assert sorted(fitted.hosts) == sorted((*nodes, "database", "bridge", "generator"))


def test_what_a_shape_does_not_have_is_not_placed(default_project: Project) -> None:
    fitted = fit(find_placement("one-node-per-host"), default_project.running)
    assert {"postgres", "postgres-exporter", "links", "partyd"}.isdisjoint(fitted.places)
    assert "database" not in fitted.hosts
    assert fit(find_placement("generator-apart"), default_project.running).hosts == ("network", "generator")


def test_a_node_that_is_named_is_not_among_all_nodes(changed: Changed, project: Project) -> None:
    named = "postgres: {cores: 1.5, memory: 1g}\n      partyc: {cores: 2, memory: 3g}"
    fitted = fit(changed("one-node-per-host", "postgres: {cores: 2, memory: 1g}", named), project.running)
    assert fitted.places["partyc"] == Place("database", 2, 3 * GIB)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "      links: {cores: 0.5, memory: 256m}\n",
            "",
            (
                "7: hosts: the service links of this shape has no host. Add links to services of a host, with cores and"
                " memory."
            ),
        ),
        (
            "locust: {cores: 3, memory: 1g}",
            "locust: {cores: 3, memory: 512m}",
            (
                "32: hosts.generator.services.locust.memory: 512 MiB are reserved, but the limit of locust is 1 GiB."
                " Reserve 1024m, or lower the limit in .env."
            ),
        ),
        (
            "nodes: {cores: 3, memory: 2g}",
            "nodes: {cores: 3, memory: 1g}",
            (
                "13: hosts.node.services.nodes.memory: 1 GiB are reserved, but the limit of each node is 2 GiB. Reserve"
                " 2048m, or lower the limit in .env."
            ),
        ),
        (
            "nodes: {cores: 3, memory: 2g}",
            "nodes: {cores: 5, memory: 2g}",
            "10: hosts.node.cores: 5 cores are reserved, but the host has 4; reserve fewer, or take a larger host",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(
    changed: Changed, project: Project, before: str, after: str, expected: str
) -> None:
    assert problems_of(changed("one-node-per-host", before, after), project) == [expected]


def test_a_host_has_room_for_all_that_the_shape_puts_on_it(changed: Changed, default_project: Project) -> None:
    placement = changed("generator-apart", "nodes: {cores: 1, memory: 2g}", "nodes: {cores: 4.5, memory: 9g}")
    remedy = "or take a larger host"
    assert problems_of(placement, default_project) == [
        f"9: hosts.network.cores: 18 cores are reserved, but the host has 16; reserve fewer, {remedy}",
        f"10: hosts.network.memory: 36 GiB are reserved, but the host has 32 GiB; reserve less, {remedy}",
    ]


def test_members_of_a_notary_cluster_are_refused(project: Project) -> None:
    cluster = replace(project, services={**project.services, "notary2": project.services["notary"]})
    (problem,) = problems_of(find_placement("one-node-per-host"), cluster)
    assert problem.startswith("NOTARY: the members of a notary cluster look for one another")


def test_workers_have_their_hosts_in_the_order_of_the_file(default_project: Project, changed: Changed) -> None:
    workers = "hosts:\n  load: {cores: 4, memory: 8g, workers: {count: 2, cores: 1, memory: 2g}}\n"
    fitted = fit(changed("generator-apart", "hosts:\n", workers), default_project.running)
    assert fitted.workers == ("load", "load")
    assert "load" in fitted.hosts
    assert fitted.reserved_on("load") == (2, 4 * GIB)
    for count, memory, expected in (
        (20, "2g", "8: hosts.load.cores: 20 cores are reserved, but the host has 4"),
        (2, "64m", "64 MiB are reserved, but the limit of each worker is"),
    ):
        wrong = workers.replace("count: 2", f"count: {count}").replace("2g", memory)
        assert expected in problems_of(changed("generator-apart", "hosts:\n", wrong), default_project)[0]
