"""Another shape of the lab: an older version of Corda on PostgreSQL, another preset, links with latency."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

import panel_check
from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab import links
from corda_lab.lab.compose import Compose
from corda_lab.lab.shape import of_running
from corda_lab.results import audits
from labkit import Lab

pytestmark = pytest.mark.lab("postgres")

SHAPE = (
    *("--corda", "4.5", "--database", "postgres", "--parties", "2"),
    *("--link", "partya-partyb=+40ms", "--link", "partya-postgres=+8ms"),
)
NODES = ("notary", "partya", "partyb")
PRESET = "artemis-infrequent-flush"
FLUSH_SECONDS = {
    "artemis-default": 0.003333333,
    "artemis-frequent-flush": 0.001,
    "artemis-medium-flush": 0.01,
    PRESET: 0.02,
    "stock": 0.003333333,
    "tuned": 0.003333333,
}
"""Preset → seconds after which the broker's journal is flushed. Presets that do not set it have Artemis's default."""

RECOVERY_SECONDS_MAX = 240.0


@pytest.fixture(scope="module")
def shaped(lab: Lab) -> Lab:
    """The lab in its other shape, with its own volumes."""
    shape = (*SHAPE, "--preset", PRESET)
    refused = lab.run("up", *shape)
    assert refused.returncode == 2
    assert "another configuration (corda 4.10, but 4.5 is configured; database h2, but postgres" in refused.stderr
    lab.succeed("down", "--volumes")
    lab.succeed("up", *shape)
    return lab


@pytest.fixture(scope="module")
def prometheus(shaped: Lab) -> Iterator[Prometheus]:
    with closing(Prometheus(shaped.prometheus_url)) as client:
        yield client


def value(prometheus: Prometheus, query: str) -> dict[str, float]:
    """Return the latest values of a query: node or schema → value."""
    found = prometheus.latest(query)
    return {sample.labels.get("node") or sample.labels.get("schema") or "": sample.value for sample in found}


def succeeds(url: str, body: object) -> bool:
    """Return whether a flow that is started now succeeds."""
    try:
        return httpx.post(url, json=body, timeout=60).status_code == 200
    except httpx.HTTPError:
        return False


def test_the_counts_agree_on_postgresql(shaped: Lab) -> None:
    step = shaped.measure("iou", "--users", "4", "--duration", "8s", "--warm-up", "4s", "--name", "e2e-postgres")
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    audited = audits.read(shaped.results()[-1])[1]
    assert audited.verdict == "passed", audited.summary
    assert step["costs"]["database_read"] == "server"
    # With its transaction, which is a large object.
    assert step["costs"]["database_bytes_per_flow"]["PartyA"] > 5_000
    assert step["costs"]["disk_written_bytes_per_flow"]["PostgreSQL"] > 0


def test_no_panel_was_empty_on_postgresql(shaped: Lab) -> None:
    assert panel_check.check(shaped.settings, shaped.results()[-1].name) == []


def test_the_run_says_in_what_shape_it_was_made(shaped: Lab) -> None:
    (environment,) = json.loads((shaped.results()[-1] / "run.json").read_text())["environments"]
    assert environment["shape"]["CORDA_VERSION"] == "4.5"
    assert environment["shape"]["DATABASE"] == "postgres"
    assert environment["shape"]["NODE_PRESET"] == PRESET
    assert environment["shape"]["LINKS"] == "partya-partyb=+40ms partya-postgres=+8ms"
    assert environment["shape"]["DEV_MODE"] == "false"


def test_links_add_what_they_should(shaped: Lab) -> None:
    found = links.measure_links(Compose(of_running(shaped.settings)))
    assert {link.name: link.wanted_ms for link in found} == {
        "partya-partyb": 40,
        "partyb-partya": 40,
        "partya-postgres": 8,
    }
    for link in found:
        assert link.through_ms - link.direct_ms == pytest.approx(link.wanted_ms, rel=0.2)


def test_every_node_has_its_tables_in_a_schema_of_its_own(prometheus: Prometheus) -> None:
    sizes = value(prometheus, "pg_schema_size_bytes")
    assert sizes.keys() >= {"notary", "partya", "partyb"}
    assert min(sizes[schema] for schema in ("notary", "partya", "partyb")) > 500_000
    assert sizes.get("partyc", 0.0) == 0.0


def test_a_restart_of_postgresql_is_seen_and_survived(shaped: Lab) -> None:
    compose = Compose(of_running(shaped.settings))
    compose.run("stop", "postgres")
    assert shaped.conditions()["postgres"] == "exited with 0"
    compose.run("start", "postgres")
    deadline = time.monotonic() + RECOVERY_SECONDS_MAX
    body = {"flow": "Iou", "args": {"iouValue": 5, "otherParty": "O=PartyB,L=New York,C=US"}}
    while not succeeds(f"{shaped.bridge_url}/v1/nodes/PartyA/flows", body):
        assert time.monotonic() < deadline, "no flow succeeds after PostgreSQL has come back"
        time.sleep(2)


def assert_preset_is_on(lab: Lab, node: str, preset: str) -> None:
    """Check in the node's MBeans that the preset's broker settings and garbage collector are in use."""
    metrics = lab.metrics(node)
    flush = re.search(r"^artemis_journal_buffer_timeout_seconds(?:{.*})? (\S+)$", metrics, re.MULTILINE)
    assert flush, metrics
    assert float(flush[1]) == pytest.approx(FLUSH_SECONDS[preset])
    collector = "PS Scavenge" if preset == "tuned" else "G1 Young Generation"
    assert f'jvm_gc_collection_seconds_count{{gc="{collector}"' in metrics


@pytest.mark.parametrize("node", NODES)
def test_every_node_itself_says_that_the_preset_is_on(shaped: Lab, node: str) -> None:
    assert_preset_is_on(shaped, node, PRESET)


# A restart takes half a minute, so the presets that differ from a tested one only in a number are slow.
SLOW_PRESETS = {"artemis-default", "artemis-medium-flush"}


@pytest.mark.parametrize(
    "preset",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW_PRESETS else ())
        for name in FLUSH_SECONDS
        if name != PRESET
    ],
)
def test_a_node_that_is_restarted_with_another_preset_reports_it(shaped: Lab, preset: str) -> None:
    settings = of_running(shaped.settings).with_values({"NODE_PRESET": preset})
    Compose(settings).run("up", "--detach", "--wait", "partya", seconds_max=RECOVERY_SECONDS_MAX)
    assert_preset_is_on(shaped, "partya", preset)
    if preset == "tuned":
        flags = shaped.inside("partya", "tr '\\0' '\\n' < /proc/1/cmdline").splitlines()
        assert {"-XX:TieredStopAtLevel=1", "-Xms1g", "-Xmx1g"} <= set(flags)
        assert "amazonCorrettoCryptoProvider" in shaped.inside("partya", "cat /proc/1/maps")
