"""How placements fit shapes of the lab."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.placement import PLACEMENTS, Place, Placement, find_placement, fit, read_placement
from corda_lab.swarm.project import Project
from support.stacks import with_service

GIB = 1024**3


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Placement]:
    """Return a function that reads a placement of the project in which a text has been replaced."""

    def read(name: str, before: str, after: str) -> Placement:
        text = (PLACEMENTS / f"{name}.yaml").read_text(encoding="utf-8")
        assert before in text
        path = tmp_path / "mine.yaml"
        path.write_text(text.replace(before, after), encoding="utf-8")
        return read_placement(path)

    return read


def findings(placement: Placement, project: Project) -> list[str]:
    with pytest.raises(LabError) as caught:
        fit(placement, project)
    path = f"{placement.source.path}:"
    return [str(problem).removeprefix(path) for problem in caught.value.problems]


def test_every_node_has_the_host_of_its_own_name(project: Project) -> None:
    fitted = fit(find_placement("one-node-per-host"), project)
    assert fitted.places["partyk"] == Place("partyk", 3, 2 * GIB)
    assert fitted.places["postgres"].host == "database"
    nodes = ("notary", *(f"party{letter}" for letter in "abcdefghijk"))
    assert sorted(fitted.hosts) == sorted((*nodes, "database", "bridge", "generator"))


def test_one_host_can_have_all_nodes(default_project: Project) -> None:
    fitted = fit(find_placement("generator-apart"), default_project)
    assert {fitted.places[name].host for name in ("notary", "partya", "partyb", "partyc")} == {"network"}
    assert {fitted.places[name].host for name in ("bridge", "locust", "prometheus", "grafana")} == {"generator"}
    assert fitted.hosts == ("network", "generator")


def test_what_a_shape_does_not_have_is_not_placed(default_project: Project) -> None:
    fitted = fit(find_placement("one-node-per-host"), default_project)
    assert {"postgres", "postgres-exporter", "links", "partyd"}.isdisjoint(fitted.places)
    assert "database" not in fitted.hosts


def test_a_node_that_is_named_is_not_among_all_nodes(changed: Callable[..., Placement], project: Project) -> None:
    named = "postgres: {cores: 1.5, memory: 1g}\n      partyc: {cores: 2, memory: 3g}"
    fitted = fit(changed("one-node-per-host", "postgres: {cores: 2, memory: 1g}", named), project)
    assert fitted.places["partyc"] == Place("database", 2, 3 * GIB)


def test_the_bootstrapper_has_no_place(project: Project) -> None:
    assert "bootstrap" not in fit(find_placement("one-node-per-host"), project).places


def test_a_service_without_a_host_is_named(changed: Callable[..., Placement], project: Project) -> None:
    placement = changed("one-node-per-host", "      links: {cores: 0.5, memory: 256m}\n", "")
    expected = (
        "hosts: the service links of this shape has no host. Add links to services of a host, with cores and memory."
    )
    assert findings(placement, project) == [f"7: {expected}"]


def test_a_service_may_not_use_more_than_is_reserved(changed: Callable[..., Placement], project: Project) -> None:
    placement = changed("one-node-per-host", "locust: {cores: 3, memory: 1g}", "locust: {cores: 3, memory: 512m}")
    text = "512 MiB are reserved, but the limit of locust is 1 GiB. Reserve 1024m, or lower the limit in .env."
    assert findings(placement, project) == [f"32: hosts.generator.services.locust.memory: {text}"]
    greedy = with_service(project, "bridge", cpus=2.0)
    text = "1.5 cores are reserved, but the limit of bridge is 2. Reserve 2, or lower the limit in .env."
    assert findings(find_placement("one-node-per-host"), greedy) == [f"24: hosts.bridge.services.bridge.cores: {text}"]


def test_what_is_wrong_with_every_node_is_one_line(changed: Callable[..., Placement], project: Project) -> None:
    placement = changed("one-node-per-host", "nodes: {cores: 3, memory: 2g}", "nodes: {cores: 3, memory: 1g}")
    text = "1 GiB are reserved, but the limit of each node is 2 GiB. Reserve 2048m, or lower the limit in .env."
    assert findings(placement, project) == [f"13: hosts.node.services.nodes.memory: {text}"]


def test_a_host_has_room_for_all_that_the_shape_puts_on_it(
    changed: Callable[..., Placement], default_project: Project
) -> None:
    placement = changed("generator-apart", "nodes: {cores: 1, memory: 2g}", "nodes: {cores: 4.5, memory: 9g}")
    remedy = "or take a larger host"
    assert findings(placement, default_project) == [
        f"9: hosts.network.cores: 18 cores are reserved, but the host has 16; reserve fewer, {remedy}",
        f"10: hosts.network.memory: 36 GiB are reserved, but the host has 32 GiB; reserve less, {remedy}",
    ]


def test_members_of_a_notary_cluster_are_refused(project: Project) -> None:
    cluster = replace(project, services={**project.services, "notary2": project.services["notary"]})
    (problem,) = findings(find_placement("one-node-per-host"), cluster)
    assert problem.startswith("NOTARY: the members of a notary cluster look for one another")
    assert problem.endswith("Use simple, validating or jpa.")


def test_workers_have_their_hosts_in_the_order_of_the_file(
    default_project: Project, changed: Callable[..., Placement]
) -> None:
    workers = "hosts:\n  load: {cores: 4, memory: 8g, workers: {count: 2, cores: 1, memory: 2g}}\n"
    placement = changed("generator-apart", "hosts:\n", workers)
    fitted = fit(placement, default_project)
    assert fitted.workers == ("load", "load")
    assert "load" in fitted.hosts
    small = changed("generator-apart", "hosts:\n", workers.replace("2g", "64m"))
    (problem,) = findings(small, default_project)
    assert "64 MiB are reserved, but the limit of each worker is" in problem
