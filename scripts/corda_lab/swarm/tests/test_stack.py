"""``compose.yaml`` and the stack that is derived from it, held against each other field by field.

``docker compose config`` prints the one; tests/swarm look at what Swarm reads of the other.
"""

import copy
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.paths import CONFIGS, ROOT
from corda_lab.swarm.lifecycle import copy_files
from corda_lab.swarm.placement import GENERATOR
from corda_lab.swarm.stack import (
    AWAIT_SECONDS_MAX,
    AWAIT_TARGET,
    BYTES_MAX,
    CARRIED,
    LEFT_OUT,
    RETRIES,
    Derivation,
    DerivedService,
    ImageCommand,
    Project,
    Stack,
    derive,
    files_of,
    parse_project,
    secret_of,
    stack_image,
)
from lab_workload.row import ROWS_DIRECTORY
from support.stacks import with_service

DerivationOf = Callable[..., Derivation]
NAME_MAX = 64
"""Swarm's limit of the name of a secret."""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("services", "partya"), "compose.yaml.services.partya.sysctls: has no rule for Docker Swarm"),
        (("services", "partya", "healthcheck"), "compose.yaml.services.partya.healthcheck.sysctls: has no rule"),
        (("services", "partya", "volumes", 0), "compose.yaml.services.partya.volumes[0].sysctls: has no rule"),
        (("networks", "default"), "compose.yaml.networks.default.sysctls: has no rule"),
        ((), "compose.yaml.sysctls: has no rule"),
    ],
)
def test_an_unknown_field_is_named(config: dict[str, Any], place: tuple[Any, ...], expected: str) -> None:
    changed = copy.deepcopy(config)
    inner = changed
    for part in place:
        inner = inner[part]
    inner["sysctls"] = {"net.core.somaxconn": 1024}
    with pytest.raises(LabError) as caught:
        parse_project(changed)
    assert caught.value.message.startswith(expected)
    assert "stack.py" in caught.value.remedy


@pytest.fixture
def stack(project: Project, derivation_of: DerivationOf) -> Stack:
    """The stack of the full shape."""
    return derive(derivation_of(project))


@pytest.fixture
def services(stack: Stack) -> Any:
    """Its services, by name."""
    return stack.document["services"]


def test_what_swarm_has_too_is_carried_over(config: dict[str, Any], services: Any) -> None:
    for name, service in services.items():
        given = config["services"][name]
        assert {field: service.get(field) for field in CARRIED} == {
            field: given.get(field) or None for field in CARRIED
        }
        assert service.keys().isdisjoint({*LEFT_OUT, "mem_limit", "cpus", "pids_limit", "tmpfs", "shm_size", "restart"})


def test_limits_are_those_of_compose_and_reservations_those_of_the_placement(services: Any) -> None:
    assert services["partya"]["deploy"]["resources"] == {
        "limits": {"memory": str(2 * 1024**3), "cpus": "2", "pids": 1024},
        "reservations": {"cpus": "3", "memory": str(2 * 1024**3)},
    }
    assert services["postgres"]["deploy"]["resources"]["limits"]["cpus"] == "1.5"
    assert "cpus" not in services["bridge"]["deploy"]["resources"]["limits"]


def test_every_service_runs_once_on_its_host_and_needs_no_virtual_address(services: Any) -> None:
    for name, host in {"partyk": "partyk", "postgres": "database", "locust": "generator"}.items():
        deploy = services[name]["deploy"]
        assert deploy["placement"] == {"constraints": [f"node.labels.corda-lab.host == {host}"]}
        assert (deploy["replicas"], deploy["endpoint_mode"]) == (1, "dnsrr")
        assert deploy["update_config"] == {"order": "stop-first"}


@pytest.mark.parametrize(
    ("restart", "policy"),
    [
        ("no", {"condition": "none"}),
        ("on-failure", {"condition": "on-failure"}),
        ("on-failure:5", {"condition": "on-failure", "max_attempts": 5}),
        ("unless-stopped", {"condition": "any"}),
        ("always", {"condition": "any"}),
    ],
)
def test_a_service_restarts_as_in_compose(
    restart: str, policy: dict[str, Any], project: Project, derivation_of: DerivationOf
) -> None:
    derivation = derivation_of(with_service(project, "locust", restart=restart))
    service = DerivedService("locust", derivation).fragment
    assert service["deploy"]["restart_policy"] == policy


def test_what_is_not_healthy_is_not_stopped(services: Any, config: dict[str, Any]) -> None:
    for name, service in services.items():
        if "healthcheck" in service:
            own = config["services"][name]["healthcheck"]
            assert service["healthcheck"] == {**own, "retries": RETRIES}, name


def test_a_node_waits_for_what_it_depends_on(services: Any, stack: Stack) -> None:
    waiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX), "links,postgres"]
    assert services["partya"]["entrypoint"] == [*waiting, "bash", "/network/bin/run-corda"]
    assert "command" not in services["partya"]
    (image,) = [image for image in stack.images if image.name == services["partya"]["image"]]
    assert image.files[AWAIT_TARGET].name == "await-services"


def test_an_image_that_has_to_wait_still_runs_its_own_command(services: Any, config: dict[str, Any]) -> None:
    waiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX)]
    assert services["grafana"]["entrypoint"] == [*waiting, "prometheus", "/run.sh"]
    assert services["postgres-exporter"]["entrypoint"] == [*waiting, "postgres", "/bin/postgres_exporter"]
    assert services["postgres-exporter"]["command"] == config["services"]["postgres-exporter"]["command"]


def test_what_compose_has_not_seen_is_not_read_as_a_variable(project: Project, derivation_of: DerivationOf) -> None:
    image = project.services["grafana"]["image"]
    derivation = derivation_of(project)
    commands = {**derivation.commands, image: ImageCommand(("/run.sh", "$HOME"), ("$$", "x"))}
    grafana: Any = derive(replace(derivation, commands=commands)).document["services"]
    assert grafana["grafana"]["entrypoint"][-2:] == ["/run.sh", "$$HOME"]
    assert grafana["grafana"]["command"] == ["$$$$", "x"]


def test_an_image_whose_command_is_not_known_cannot_wait(project: Project, derivation_of: DerivationOf) -> None:
    derivation = replace(derivation_of(with_service(project, "grafana", image="mine/grafana:1")), commands={})
    with pytest.raises(LabError, match="grafana: it is not known what the image mine/grafana:1 runs"):
        derive(derivation)


def test_own_volumes_stay_and_have_names_that_no_lab_of_one_machine_has(
    stack: Stack, project: Project, config: dict[str, Any]
) -> None:
    services: Any = stack.document["services"]
    volumes: Any = stack.document["volumes"]
    kept = [one for one in services["partya"]["volumes"] if one["type"] == "volume"]
    assert kept == [
        {"type": "volume", "source": "partya-persistence", "target": "/opt/corda/persistence"},
        {"type": "volume", "source": "partya-artemis", "target": "/opt/corda/artemis"},
    ]
    assert volumes["partya-persistence"] == {"name": f"{project.name}-swarm_partya-persistence"}
    own = {volume["name"] for volume in config["volumes"].values()}
    assert own.isdisjoint(volume["name"] for volume in volumes.values())
    assert volumes.keys().isdisjoint(project.bootstrapped)


def test_temporary_folders_are_volumes(services: Any) -> None:
    temporary = [one for one in services["postgres"]["volumes"] if one["type"] == "tmpfs"]
    assert {"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": 128 * 1024**2}} in temporary
    assert {"type": "tmpfs", "target": "/var/run/postgresql"} in temporary
    assert [name for name in services if "/dev/shm" in str(services[name]["volumes"])] == ["postgres"]
    assert {"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 256 * 1024**2}} in services["partya"]["volumes"]


def test_every_secret_of_a_service_is_defined_with_its_file(stack: Stack, services: Any) -> None:
    defined: Any = stack.document["secrets"]
    named = {reference["source"] for service in services.values() for reference in service.get("secrets", ())}
    assert named == set(defined)
    assert all(set(secret) == {"name", "file"} and secret["name"] == name for name, secret in defined.items())


def test_keys_are_in_no_image(stack: Stack) -> None:
    files = [str(path) for image in stack.images for path in image.files.values()]
    assert files
    assert not [path for path in files if "certificates" in path or "secrets" in path or path.endswith("node.conf")]


def test_nothing_is_published_and_all_are_in_one_overlay(stack: Stack, services: Any) -> None:
    assert all(service["networks"] == ["default"] for service in services.values())
    options = {"encrypted": "true"}
    networks = {"default": {"driver": "overlay", "attachable": True, "internal": True, "driver_opts": options}}
    assert stack.document["networks"] == networks


def test_cores_of_one_machine_are_refused(project: Project, derivation_of: DerivationOf) -> None:
    with pytest.raises(LabError, match="NODE_CPUSET: 0-1 are cores of one machine"):
        derive(derivation_of(with_service(project, "partya", cpuset="0-1")))


def test_images_are_those_of_the_registry(stack: Stack, services: Any, project: Project) -> None:
    assert {service["image"] for service in services.values()} == {image.name for image in stack.images}
    assert {image.source for image in stack.images} == {service["image"] for service in project.running.values()}
    # It waits for nothing but the database and the links, as all nodes do.
    assert services["partya"]["image"] == services["notary"]["image"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("prom/prometheus:v3.5.0", "images.lab/prom/prometheus:v3.5.0"),
        ("corda-lab/locust", "images.lab/corda-lab/locust:latest"),
        ("ghcr.io/shopify/toxiproxy:2.12.0", "images.lab/ghcr.io/shopify/toxiproxy:2.12.0"),
        ("registry:5001/grafana:12", "images.lab/registry-5001/grafana:12"),
        ("grafana/grafana:12@sha256:0123", "images.lab/grafana/grafana:12"),
        ("registry:5001/bridge", "images.lab/registry-5001/bridge:latest"),
    ],
)
def test_an_image_keeps_its_name_below_that_of_the_registry(source: str, name: str) -> None:
    assert stack_image(source, "images.lab", {}).name.rpartition("-")[0] == name


def test_another_file_is_another_image(network: Path) -> None:
    files = {"/network/parties": network / "network" / "parties"}
    before = stack_image("bridge", "r", files)
    assert stack_image("bridge", "r", {"/network/others": files["/network/parties"]}).name != before.name
    files["/network/parties"].write_text("PartyA,PartyB\n", encoding="utf-8")
    assert stack_image("bridge", "r", files).name != before.name


def test_keys_and_passwords_are_secrets_of_their_service(project: Project, network: Path) -> None:
    private = files_of("partya", project, network).private
    assert set(private) == {"/node/node.conf", "/node/jvm.args", "/node/certificates/nodekeystore.jks"}
    for name, target, owner in (
        ("partya", "/node/node.conf", ("1000", "1000")),
        ("grafana", "/secrets/password", ("472", "0")),
    ):
        files = files_of(name, project, network)
        assert target not in files.public
        reference = secret_of(project, name, files.private[target], target).reference
        assert (reference["uid"], reference["gid"], reference["mode"]) == (*owner, 0o600)


def test_public_files_are_those_of_the_network_and_of_the_checkout(project: Project, network: Path) -> None:
    small = {"network-parameters", "bridge.env", "targets.json", "database-targets.json", "parties", "links.json"}
    files = {f"/network/{name}" for name in (*small, "schemas")}
    folders = {f"/network/{name}" for name in ("bin/run-corda", "bin/drivers/postgresql.jar", "cordapps/flows.jar")}
    assert set(files_of("bridge", project, network).public) == files | folders
    assert set(files_of("partya", project, network).public) == {*files, *folders, "/node/node-infos/nodeInfo-partya"}
    workloads = {f"/etc/corda-lab/workloads/{path.name}" for path in (CONFIGS / "workloads").iterdir()}
    assert set(files_of("locust", project, network).public) == files | workloads
    assert "/etc/prometheus/rules/alerts.yml" in files_of("prometheus", project, network).public


def test_another_content_is_another_secret_with_a_name_that_swarm_takes(project: Project, network: Path) -> None:
    long = replace(project, name="a-project-whose-name-is-far-too-long-for-anybody")
    path = network / "nodes" / "partya" / "node.conf"
    before = secret_of(long, "partya", path, "/node/node.conf")
    path.write_text("other", encoding="utf-8")
    after = secret_of(long, "partya", path, "/node/node.conf")
    assert before.name != after.name
    assert after.name.startswith("a-project-whose-name-is--partya-node.conf-")
    assert len(after.name) <= NAME_MAX


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"x" * (BYTES_MAX + 1), "has 500 KiB, but a secret of Swarm has at most 500 KiB"),
        (b"", "is empty, which a secret of Swarm cannot be"),
    ],
)
def test_a_file_that_swarm_cannot_take_is_named(project: Project, network: Path, content: bytes, problem: str) -> None:
    path = network / "nodes" / "partya" / "node.conf"
    path.write_bytes(content)
    with pytest.raises(LabError, match=rf"node\.conf: {problem}"):
        secret_of(project, "partya", path, "/node/node.conf")


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_strict_umask")
def test_everybody_can_read_what_is_added_to_an_image(project: Project, network: Path, tmp_path: Path) -> None:
    (network / "network" / "bin" / "run-corda").chmod(0o700)
    root = tmp_path / "files"
    copy_files(files_of("bridge", project, network).public, root)
    modes = {path.relative_to(root).as_posix(): path.stat().st_mode & 0o777 for path in (root, *root.rglob("*"))}
    assert modes["network/bin/run-corda"] == 0o755
    assert modes["network/cordapps/flows.jar"] == 0o644
    assert modes["network/bin/drivers"] == modes["."] == 0o755


@pytest.fixture
def load(stack: Stack, tmp_path: Path) -> Any:
    """The service of a load, as Compose reads it from its file."""
    file = tmp_path / "load.json"
    file.write_text(json.dumps(stack.load_document), encoding="utf-8")
    command = ["docker", "compose", "--file", str(file), "config", "--format", "json"]
    config = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert config["networks"]["default"] == {"name": f"{stack.name}_default", "ipam": {}, "external": True}
    assert config["volumes"]["locust-rows"]["name"] == f"{stack.name}_locust-rows"
    assert config["volumes"]["locust-rows"]["labels"] == {"com.docker.stack.namespace": stack.name}
    return config["services"][GENERATOR]


def test_a_load_has_the_environment_and_the_limits_of_the_service(load: Any, stack: Stack, project: Project) -> None:
    service = project.services[GENERATOR]
    kept = ("environment", "mem_limit", "pids_limit", "user", "read_only", "cap_drop", "security_opt", "tmpfs", "dns")
    assert {name: load[name] for name in kept} == {name: service[name] for name in kept}
    assert load["image"] == stack.image_of(GENERATOR)
    assert load["healthcheck"] == {"disable": True}
    assert load["labels"]["org.cordalab.stack"] == stack.name
    assert set(load["networks"]) == {"default"}
    assert load.keys().isdisjoint({"build", "depends_on", "ports"})


def test_rows_are_in_the_named_volume_wherever_the_image_declares_one(load: Any) -> None:
    """A container of a load is removed with its volumes without a name, so its rows must not be in one of these."""
    assert f"VOLUME {ROWS_DIRECTORY}\n" in (ROOT / "loadgen" / "locust" / "Dockerfile").read_text(encoding="utf-8")
    (mount,) = load["volumes"]
    assert (mount["source"], mount["target"]) == ("locust-rows", ROWS_DIRECTORY)
