"""The configuration of Prometheus and the provisioning of Grafana, compared with the Compose file."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from corda_lab.lab.settings import NOTARY_MEMBERS

REPOSITORY = Path(__file__).parent.parent
SCRAPE_INTERVAL = "5s"
PARTY_COUNTS = range(2, 11)


def load(path: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((REPOSITORY / path).read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    services: dict[str, Any] = load("compose.yaml")["services"]
    return services


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    return {job["job_name"]: job for job in load("monitoring/prometheus/prometheus.yml")["scrape_configs"]}


def mounted_at(service: dict[str, Any], source: str) -> PurePosixPath:
    """Return the path in a service's container of a file of the repository."""
    for mount in service["volumes"]:
        host, _, rest = mount.partition(":")
        if host.startswith("./") and PurePosixPath(source).is_relative_to(host.removeprefix("./")):
            assert rest.endswith(":ro"), f"{mount} must be read-only"
            inside = PurePosixPath(rest.removesuffix(":ro"))
            return inside / PurePosixPath(source).relative_to(host.removeprefix("./"))
    raise AssertionError(f"{source} is not mounted")


def test_every_job_is_scraped_at_the_same_interval(jobs: dict[str, Any]) -> None:
    settings = load("monitoring/prometheus/prometheus.yml")["global"]
    assert settings["scrape_interval"] == SCRAPE_INTERVAL
    assert set(jobs) == {"corda", "bridge", "locust", "postgres", "prometheus"}
    assert not any("scrape_interval" in job for job in jobs.values())


def test_grafana_knows_the_scrape_interval() -> None:
    source = load("monitoring/grafana/provisioning/datasources/prometheus.yml")["datasources"][0]
    assert source["jsonData"]["timeInterval"] == SCRAPE_INTERVAL


def network_members(kind: str) -> list[str]:
    """Return the hosts of the notaries or parties in the network, in the order of configs/network.conf."""
    text = (REPOSITORY / "configs" / "network.conf").read_text(encoding="utf-8")
    found = re.search(rf"^{kind} = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert found
    return re.findall(r"name = (\w+)", found[1])


def started_by(services: dict[str, Any], profile: str, kind: str) -> set[str]:
    """Return the services of a kind that start if this profile is active."""
    return {name for name in services if name.startswith(kind) and profile in services[name].get("profiles", [profile])}


@pytest.mark.parametrize("parties", PARTY_COUNTS)
def test_the_first_parties_start(services: dict[str, Any], parties: int) -> None:
    assert started_by(services, f"parties-{parties}", "party") == set(network_members("parties")[:parties])


@pytest.mark.parametrize(("notary", "members"), NOTARY_MEMBERS.items())
def test_a_notary_starts_with_all_its_members(services: dict[str, Any], notary: str, members: int) -> None:
    text = (REPOSITORY / "configs" / "notaries" / f"{notary}.conf").read_text(encoding="utf-8")
    assert "members = [{}]" in text if members == 1 else text.count("clusterAddresses = ") == members
    assert started_by(services, f"notary-{notary}", "notary") == set(network_members("notaries")[:members])


def test_every_kind_of_notary_has_its_settings() -> None:
    assert {path.stem for path in (REPOSITORY / "configs" / "notaries").iterdir()} == set(NOTARY_MEMBERS)


def test_services_that_wait_start_beside_the_nodes(services: dict[str, Any]) -> None:
    for name in ("locust", "prometheus"):
        assert services[name]["depends_on"].keys() == {"bootstrap"}
    nodes = {name for name in services if name.startswith(("notary", "party"))}
    conditions = {name: waited["condition"] for name, waited in services["bridge"]["depends_on"].items()}
    assert conditions == {"bootstrap": "service_completed_successfully"} | dict.fromkeys(nodes, "service_started")


def test_a_node_is_known_by_its_host_name(services: dict[str, Any]) -> None:
    nodes = {name: service for name, service in services.items() if name.startswith(("notary", "party"))}
    assert {name: service["hostname"] for name, service in nodes.items()} == {name: name for name in nodes}
    assert services.keys() >= nodes.keys() >= {"notary", "partya", "partyb"}


def test_bridge_locust_and_prometheus_take_the_network_that_the_bootstrapper_has_made(
    services: dict[str, Any], jobs: dict[str, Any]
) -> None:
    for name in ("bridge", "locust", "prometheus"):
        assert "network:/network:ro" in services[name]["volumes"]
    # A new volume gets the owner from the container that mounts it first.
    assert services["prometheus"]["depends_on"]["bootstrap"]["condition"] == "service_completed_successfully"
    for job, file in (("corda", "targets.json"), ("postgres", "database-targets.json")):
        (found,) = jobs[job]["file_sd_configs"]
        assert found["files"] == [f"/network/{file}"]


def test_every_target_is_a_service(services: dict[str, Any], jobs: dict[str, Any]) -> None:
    static = [target for job in jobs.values() for group in job.get("static_configs", []) for target in group["targets"]]
    discovered = [name for job in jobs.values() for group in job.get("dns_sd_configs", []) for name in group["names"]]
    hosts = {target.partition(":")[0] for target in static + discovered}
    assert hosts - {"localhost"} <= services.keys()


def test_the_bridge_is_scraped_at_the_port_of_its_metrics_which_is_not_published(
    services: dict[str, Any], jobs: dict[str, Any]
) -> None:
    assert jobs["bridge"]["static_configs"][0]["targets"] == [
        f"bridge:{services['bridge']['environment']['BRIDGE_METRICS_PORT']}"
    ]
    assert [port.rpartition(":")[2] for port in services["bridge"]["ports"]] == ["8080"]


def test_prometheus_is_started_with_the_mounted_configuration(services: dict[str, Any]) -> None:
    place = mounted_at(services["prometheus"], "monitoring/prometheus/prometheus.yml")
    assert f"--config.file={place}" in services["prometheus"]["command"]


@pytest.mark.parametrize("kind", ["datasources", "dashboards"])
def test_grafana_finds_the_provisioning(services: dict[str, Any], kind: str) -> None:
    place = mounted_at(services["grafana"], f"monitoring/grafana/provisioning/{kind}")
    assert place == PurePosixPath("/etc/grafana/provisioning") / kind


def test_grafana_finds_the_dashboards(services: dict[str, Any]) -> None:
    provider = load("monitoring/grafana/provisioning/dashboards/lab.yml")["providers"][0]
    place = mounted_at(services["grafana"], "monitoring/grafana/dashboards")
    assert PurePosixPath(provider["options"]["path"]) == place
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert PurePosixPath(home) == place / "lab-overview.json"


def test_the_data_source_is_the_prometheus_service(services: dict[str, Any]) -> None:
    source = load("monitoring/grafana/provisioning/datasources/prometheus.yml")["datasources"][0]
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in services
