"""Files of common volumes and folders, as secrets and configs."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.paths import CONFIGS
from corda_lab.swarm.project import Project
from corda_lab.swarm.stack import BYTES_MAX, Kind, NetworkFiles, StackFile, files_of

NAME_MAX = 64
"""Swarm's limit of the name of a secret or config."""


def files(name: str, project: Project, network: NetworkFiles) -> dict[str, StackFile]:
    """Return the files of a service by their paths in the container."""
    return {file.target: file for file in files_of(name, project.services[name], project, network)}


def test_keys_are_secrets_of_their_node_alone(project: Project, network: NetworkFiles) -> None:
    found = files("partya", project, network)
    keys = found["/node/certificates/nodekeystore.jks"]
    assert (keys.kind, keys.mode) == (Kind.SECRET, 0o600)
    assert keys.reference["uid"] == "1000"
    assert keys.reference["gid"] == "1000"
    assert found["/node/node.conf"].kind is Kind.SECRET
    others = {
        file.name for name in project.running if name != "partya" for file in files(name, project, network).values()
    }
    assert others.isdisjoint(file.name for file in found.values() if file.kind is Kind.SECRET)


def test_passwords_are_secrets(project: Project, network: NetworkFiles) -> None:
    found = files("grafana", project, network)["/secrets/password"]
    assert (found.kind, found.reference["uid"], found.reference["gid"]) == (Kind.SECRET, "472", "0")


def test_node_infos_are_configs_that_nodes_share(project: Project, network: NetworkFiles) -> None:
    target = "/node/node-infos/nodeInfo-partya"
    info = files("partya", project, network)[target]
    assert (info.kind, info.mode) == (Kind.CONFIG, 0o644)
    assert files("partyb", project, network)[target].name == info.name


def test_files_of_the_network_are_configs_and_its_folders_are_in_images(
    project: Project, network: NetworkFiles
) -> None:
    found = {target for target in files("bridge", project, network) if target.startswith("/network/")}
    names = {"network-parameters", "bridge.env", "targets.json", "database-targets.json", "parties", "links.json"}
    assert found == {f"/network/{name}" for name in names}
    root = network.of("/network")
    in_images = {path.relative_to(root).as_posix() for path in network.image_files}
    # Swarm takes no empty config.
    assert in_images == {"bin/run-corda", "bin/drivers/postgresql.jar", "cordapps/flows.jar", "schemas"}


def test_folders_of_the_checkout_are_configs(project: Project, network: NetworkFiles) -> None:
    found = files("locust", project, network)
    workloads = {path.name for path in (CONFIGS / "workloads").iterdir()}
    assert {target for target in found if target.startswith("/etc/")} == {
        f"/etc/corda-lab/workloads/{name}" for name in workloads
    }
    rules = files("prometheus", project, network)["/etc/prometheus/rules/alerts.yml"]
    assert (rules.kind, rules.path.name) == (Kind.CONFIG, "alerts.yml")


def test_a_script_can_still_be_executed(project: Project, network: NetworkFiles) -> None:
    healthcheck = files("postgres", project, network)["/opt/corda-lab/healthcheck"]
    assert healthcheck.mode == (0o755 if healthcheck.path.stat().st_mode & 0o100 else 0o644)


def test_another_content_is_another_name(project: Project, network: NetworkFiles) -> None:
    target = "/node/node.conf"
    before = files("partya", project, network)[target]
    before.path.write_text("other", encoding="utf-8")
    after = files("partya", project, network)[target]
    assert after.name != before.name
    assert after.name.startswith(f"{project.name[:24]}-partya-node.conf-")


def test_names_are_short_enough_for_swarm(project: Project, network: NetworkFiles) -> None:
    long = replace(project, name="a-project-whose-name-is-far-too-long-for-anybody")
    names = {file.name for name in project.running for file in files(name, long, network).values()}
    assert max(map(len, names)) <= NAME_MAX


def test_the_hash_of_images_is_that_of_their_files(network: NetworkFiles) -> None:
    before = network.image_hash
    (network.of("/network") / "parties").write_text("PartyA,PartyB\n", encoding="utf-8")
    assert NetworkFiles(network.root).image_hash == before
    (network.of("/network") / "cordapps" / "mine.jar").write_text("mine", encoding="utf-8")
    assert NetworkFiles(network.root).image_hash != before


def test_a_file_that_swarm_cannot_take_is_named(project: Project, network: NetworkFiles) -> None:
    path = network.of("/nodes/partya") / "node.conf"
    path.write_bytes(b"x" * (BYTES_MAX + 1))
    with pytest.raises(LabError, match=r"node\.conf: has 500 KiB, but a secret or config of Swarm has at most 500 KiB"):
        files("partya", project, network)
    path.write_bytes(b"")
    with pytest.raises(LabError, match=r"node\.conf: is empty"):
        files("partya", project, network)


def test_missing_files_of_the_bootstrapper_are_named(project: Project, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="network: there are no files of the bootstrapper") as caught:
        files("partya", project, NetworkFiles(tmp_path))
    assert "/network" in caught.value.remedy
