"""Prometheus' configuration and Grafana's provisioning, against the Compose file that runs them."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parent.parent
SCRAPE_INTERVAL = "5s"


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
    """Where a file of the repository is found inside a service's container."""
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
    assert set(jobs) == {"corda", "bridge", "locust", "prometheus"}
    assert not any("scrape_interval" in job for job in jobs.values())


def test_grafana_knows_the_scrape_interval() -> None:
    source = load("monitoring/grafana/provisioning/datasources/prometheus.yml")["datasources"][0]
    assert source["jsonData"]["timeInterval"] == SCRAPE_INTERVAL


def test_every_node_of_the_bridge_is_scraped_under_the_same_name(
    services: dict[str, Any], jobs: dict[str, Any]
) -> None:
    pairs = (pair.split("=") for pair in services["bridge"]["environment"]["BRIDGE_NODES"].split(","))
    expected = {f"{address.partition(':')[0]}:9404": name for name, address in pairs}
    scraped = {group["targets"][0]: group["labels"]["node"] for group in jobs["corda"]["static_configs"]}
    assert scraped == expected


def test_every_target_is_a_service(services: dict[str, Any], jobs: dict[str, Any]) -> None:
    static = [target for job in jobs.values() for group in job.get("static_configs", []) for target in group["targets"]]
    discovered = [name for job in jobs.values() for group in job.get("dns_sd_configs", []) for name in group["names"]]
    hosts = {target.partition(":")[0] for target in static + discovered}
    assert hosts - {"localhost"} <= services.keys()


def test_the_bridge_is_scraped_at_its_port(services: dict[str, Any], jobs: dict[str, Any]) -> None:
    assert jobs["bridge"]["static_configs"][0]["targets"] == [
        f"bridge:{services['bridge']['environment']['BRIDGE_PORT']}"
    ]


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
