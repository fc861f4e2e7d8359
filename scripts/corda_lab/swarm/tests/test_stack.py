"""``compose.yaml`` and the stack that is derived from it, held against each other field by field.

``docker compose config`` prints the one; tests/swarm look at what Swarm reads of the other.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from corda_lab.errors import LabError
from corda_lab.swarm.project import CARRIED, LEFT_OUT, Project
from corda_lab.swarm.stack import (
    AWAIT_SECONDS_MAX,
    AWAIT_TARGET,
    RETRIES,
    Derivation,
    DerivedService,
    ImageCommand,
    Stack,
    derive,
)
from support.stacks import with_service

DerivationOf = Callable[..., Derivation]


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


def test_the_stack_has_the_services_of_the_shape_without_the_bootstrapper(services: Any, project: Project) -> None:
    assert set(services) == set(project.services) - {"bootstrap"}


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
    service = DerivedService("locust", derivation.project.services["locust"], derivation).fragment
    assert service["deploy"]["restart_policy"] == policy


def test_a_service_without_a_restart_policy_is_not_restarted(services: Any, config: dict[str, Any]) -> None:
    assert "restart" not in config["services"]["locust"]
    assert services["locust"]["deploy"]["restart_policy"] == {"condition": "none"}


def test_what_is_not_healthy_is_not_stopped(services: Any, config: dict[str, Any]) -> None:
    for name, service in services.items():
        if "healthcheck" in service:
            own = config["services"][name]["healthcheck"]
            assert service["healthcheck"] == {**own, "retries": RETRIES}, name


def test_a_node_waits_for_what_it_depends_on(services: Any) -> None:
    waiting = ["sh", AWAIT_TARGET, str(AWAIT_SECONDS_MAX), "links,postgres"]
    assert services["partya"]["entrypoint"] == [*waiting, "bash", "/network/bin/run-corda"]
    assert "command" not in services["partya"]
    assert AWAIT_TARGET in [one["target"] for one in services["partya"]["configs"]]


def test_who_waits_only_for_the_bootstrapper_does_not_wait(
    derivation_of: DerivationOf, default_project: Project
) -> None:
    services: Any = derive(derivation_of(default_project)).document["services"]
    assert services["partya"]["entrypoint"] == ["bash", "/network/bin/run-corda"]
    assert "entrypoint" not in services["bridge"]
    assert AWAIT_TARGET not in [one["target"] for one in services["partya"]["configs"]]


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


def test_no_volume_of_the_bootstrapper_and_no_folder_of_this_machine_is_mounted(stack: Stack, project: Project) -> None:
    services: Any = stack.document["services"]
    mounted = [one for service in services.values() for one in service["volumes"]]
    assert {one["type"] for one in mounted} == {"volume", "tmpfs"}
    assert {one.get("source") for one in mounted}.isdisjoint(project.bootstrapped)


def test_temporary_folders_are_volumes(services: Any) -> None:
    temporary = [one for one in services["postgres"]["volumes"] if one["type"] == "tmpfs"]
    assert {"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": 128 * 1024**2}} in temporary
    assert {"type": "tmpfs", "target": "/var/run/postgresql"} in temporary
    assert [name for name in services if "/dev/shm" in str(services[name]["volumes"])] == ["postgres"]
    assert {"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 256 * 1024**2}} in services["partya"]["volumes"]


def test_every_secret_and_config_of_a_service_is_defined_with_its_file(stack: Stack, services: Any) -> None:
    for kind in ("secrets", "configs"):
        defined: Any = stack.document[kind]
        named = {reference["source"] for service in services.values() for reference in service.get(kind, ())}
        assert named == set(defined)
        assert all(set(one) == {"name", "file"} and one["name"] == name for name, one in defined.items())


def test_keys_are_in_no_config(stack: Stack) -> None:
    configs: Any = stack.document["configs"]
    assert not [one["file"] for one in configs.values() if "certificates" in one["file"] or "secrets" in one["file"]]


def test_nothing_is_published_by_default(stack: Stack, services: Any) -> None:
    assert not any("ports" in service for service in services.values())
    options = {"encrypted": "true"}
    networks = {"default": {"driver": "overlay", "attachable": True, "internal": True, "driver_opts": options}}
    assert stack.document["networks"] == networks


def published(project: Project, address: str, token: str) -> Project:
    bridge = project.services["bridge"]
    port = {"mode": "ingress", "host_ip": address, "target": 8080, "published": "9080", "protocol": "tcp"}
    return with_service(project, "bridge", ports=[port], environment={**bridge["environment"], "BRIDGE_TOKEN": token})


def test_a_port_for_all_is_that_of_the_host_of_its_service(project: Project, derivation_of: DerivationOf) -> None:
    stack = derive(derivation_of(published(project, "0.0.0.0", "0123456789abcdef")))
    services: Any = stack.document["services"]
    assert services["bridge"]["ports"] == [{"mode": "host", "target": 8080, "published": 9080, "protocol": "tcp"}]
    assert services["bridge"]["networks"] == ["default", "published"]
    assert services["locust"]["networks"] == ["default"]


def test_a_port_for_all_needs_a_token(project: Project, derivation_of: DerivationOf) -> None:
    with pytest.raises(LabError, match="BRIDGE_TOKEN: is empty, but other machines are to reach bridge"):
        derive(derivation_of(published(project, "0.0.0.0", "")))


def test_a_port_on_one_address_is_refused(project: Project, derivation_of: DerivationOf) -> None:
    with pytest.raises(LabError, match=r"on all addresses of a host, not only on 192\.0\.2\.7"):
        derive(derivation_of(published(project, "192.0.2.7", "0123456789abcdef")))


def test_cores_of_one_machine_are_refused(project: Project, derivation_of: DerivationOf) -> None:
    with pytest.raises(LabError, match="NODE_CPUSET: 0-1 are cores of one machine"):
        derive(derivation_of(with_service(project, "partya", cpuset="0-1")))


def test_an_unknown_option_of_a_temporary_folder_is_refused(project: Project, derivation_of: DerivationOf) -> None:
    with pytest.raises(LabError, match="partya: tmpfs: Swarm has no option 'uid=1000'"):
        derive(derivation_of(with_service(project, "partya", tmpfs=["/tmp:uid=1000"])))


def test_images_are_those_of_the_registry(stack: Stack, services: Any, project: Project) -> None:
    assert {service["image"] for service in services.values()} == {image.name for image in stack.images}
    assert {image.source for image in stack.images} == {service["image"] for service in project.running.values()}
    assert services["partya"]["image"] == services["notary"]["image"]
    made = {image.source for image in stack.images if image.has_network_files}
    assert made == {project.services[name]["image"] for name in ("partya", "bridge")}


def test_the_text_is_the_document_without_aliases(stack: Stack) -> None:
    assert yaml.safe_load(stack.text) == stack.document
    assert "&id" not in stack.text
    assert f"docker stack deploy --compose-file FILE {stack.name}" in stack.text
