"""Names of images in the registry of the stack."""

import pytest

from corda_lab.swarm.images import stack_image


@pytest.mark.parametrize(
    ("service", "source", "name"),
    [
        ("prometheus", "prom/prometheus:v3.5.0", "127.0.0.1:5000/prom/prometheus:v3.5.0"),
        ("locust", "corda-lab/locust", "127.0.0.1:5000/corda-lab/locust"),
        ("links", "ghcr.io/shopify/toxiproxy:2.12.0", "127.0.0.1:5000/ghcr.io/shopify/toxiproxy:2.12.0"),
        ("grafana", "registry:5001/grafana:12", "127.0.0.1:5000/registry-5001/grafana:12"),
        ("grafana", "grafana/grafana:12@sha256:0123", "127.0.0.1:5000/grafana/grafana:12"),
        ("partya", "corda-lab/node:4.10", "127.0.0.1:5000/corda-lab/node:4.10-abc"),
        ("bridge", "registry:5001/bridge", "127.0.0.1:5000/registry-5001/bridge:latest-abc"),
    ],
)
def test_an_image_keeps_its_name_below_that_of_the_registry(service: str, source: str, name: str) -> None:
    image = stack_image(service, source, "127.0.0.1:5000", "abc")
    assert (image.source, image.name) == (source, name)
    assert image.has_network_files is name.endswith("-abc")
