"""Another shape of the lab: an older version of Corda on PostgreSQL, another preset, links with latency.

What is in a lab only in this shape is tried here too: faults of links and of PostgreSQL, and the secrets of PostgreSQL.
"""

import inspect
import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import polars as pl
import pytest

import panel_check
from corda_lab.audit import ViolationKind, audit_lab
from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab import environment
from corda_lab.lab.compose import Compose
from corda_lab.lab.shape import of_running
from corda_lab.results import audits
from e2e import test_security as security
from e2e.containerkit import LOAD, Containers, containers_of, said_of
from e2e.faultkit import await_healthy, inspected, lasting
from e2e.labkit import Lab, step_folder

pytestmark = [pytest.mark.lab("postgres"), pytest.mark.nightly]

SHAPE = (
    *("--corda", "4.6", "--database", "postgres", "--parties", "2"),
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
LOAD_SECONDS_MAX = 120.0
LINK = "partya-partyb"
TRY_LINK = f"""
import socket, sys, time
sys.path.insert(0, "/opt/corda-lab")
from links import read_links
(port,) = [one["listen"].rpartition(":")[2] for one in read_links() if one["name"] == "{LINK}"]
with socket.create_connection(("127.0.0.1", int(port)), timeout=20) as connection:
    time.sleep(0.5)
    connection.settimeout(2)
    try:
        connection.sendall(b"x")
        print("open" if connection.recv(1) else "closed")
    except TimeoutError:
        print("open")
    except OSError:
        print("reset")
"""
"""Connects through the proxy of the link, in its container, and says what becomes of the connection."""


@pytest.fixture(scope="module")
def shaped(lab: Lab) -> Lab:
    """The lab in its other shape, with its own volumes."""
    shape = (*SHAPE, "--preset", PRESET)
    refused = lab.run("up", *shape)
    assert refused.returncode == 2
    assert "another configuration (corda 4.10, but 4.6 is configured; database h2, but postgres" in refused.stderr
    lab.succeed("down", "--volumes")
    lab.succeed("up", *shape)
    return lab


@pytest.fixture(scope="module")
def compose(shaped: Lab) -> Compose:
    return Compose(of_running(shaped.settings))


@pytest.fixture(scope="module")
def measured(shaped: Lab) -> tuple[dict[str, Any], Containers]:
    """The step of a run, and what the engine said of the containers that made its load."""
    # By number, because the first flows of new nodes behind slow links take seconds on a slow machine.
    load = ("--users", "4", "--flows", "40", "--set", "flows_after=8", "--name", "e2e-postgres")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(shaped.measure, "iou", *load)
        seen: Containers = {}
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        while not seen and not running.done():
            assert time.monotonic() < deadline
            if names := shaped.compose.load_containers():
                found = json.loads(said_of("container", *names))
                seen = {f"{LOAD}-{number}": item for number, item in enumerate(found, start=1)}
            time.sleep(0.5)
        return running.result(), seen


@pytest.fixture(scope="module")
def containers(shaped: Lab, measured: tuple[dict[str, Any], Containers]) -> Containers:
    """What the engine says of the containers of all services, and of a load."""
    _, load = measured
    return {**containers_of(shaped), **load}


@pytest.fixture(scope="module")
def passwords(compose: Compose, containers: Containers) -> dict[str, str]:
    """All generated passwords of the lab, also those of the roles of PostgreSQL."""
    return security.passwords_of(Lab(compose.settings), containers)


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


def test_the_counts_agree_on_postgresql(shaped: Lab, measured: tuple[dict[str, Any], Containers]) -> None:
    step, _ = measured
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    audited = audits.read(shaped.results()[-1])[1]
    assert audited.verdict == "passed", audited.summary
    assert step["database_read"] == "server"
    # With its transaction, which is a large object.
    assert step["values"]["database_bytes_per_flow"]["PartyA"] > 5_000
    assert step["values"]["disk_written_bytes_per_flow"]["PostgreSQL"] > 0


def test_no_panel_was_empty_on_postgresql(shaped: Lab) -> None:
    assert panel_check.check(shaped.settings, shaped.results()[-1].name) == []


def test_the_run_says_in_what_shape_it_was_made(shaped: Lab) -> None:
    environment = json.loads((step_folder(shaped.results()[-1]) / "environment.json").read_text())
    assert environment["shape"]["CORDA_VERSION"] == "4.6"
    assert environment["shape"]["DATABASE"] == "postgres"
    assert environment["shape"]["NODE_PRESET"] == PRESET
    assert environment["shape"]["LINKS"] == "partya-partyb=+40ms partya-postgres=+8ms"
    assert environment["shape"]["DEV_MODE"] == "false"


def test_links_add_what_they_should(shaped: Lab) -> None:
    found = environment.measure_links(Compose(of_running(shaped.settings)))
    assert {link.name: link.wanted_ms for link in found} == {
        "partya-partyb": 40,
        "partyb-partya": 40,
        "partya-postgres": 8,
    }
    for link in found:
        assert link.through_ms - link.direct_ms == pytest.approx(link.wanted_ms, rel=0.2)


OF_CONTAINERS: tuple[Callable[..., None], ...] = (
    security.test_ports_are_on_loopback,
    security.test_no_container_has_a_privilege,
    security.test_roots_are_read_only,
    security.test_every_container_has_limits,
    security.test_the_network_is_internal,
    security.test_a_node_sees_only_its_own_keys,
    security.test_a_service_sees_only_its_own_passwords,
    security.test_no_password_is_in_an_environment,
    security.test_no_password_is_in_logs_or_results,
)


@pytest.mark.parametrize("check", OF_CONTAINERS, ids=lambda check: check.__name__.removeprefix("test_"))
def test_what_security_md_says_holds_for_every_container_of_this_shape(
    compose: Compose, containers: Containers, passwords: dict[str, str], check: Callable[..., None]
) -> None:
    assert {"postgres", "postgres-exporter", "links", f"{LOAD}-1"} <= containers.keys()
    given = {"lab": Lab(compose.settings), "containers": containers, "passwords": passwords}
    check(**{name: given[name] for name in inspect.signature(check).parameters})


def copied_ledgers(compose: Compose, statements: str) -> dict[str, str]:
    """Copy the schemas of both parties, change the copies, and return their names."""
    copies = {node: f"{COPIED}_{node.lower()}" for node in ("PartyA", "PartyB")}
    made = "".join(COPY.format(schema=node.lower(), copy=copy) for node, copy in copies.items())
    psql(compose, made + statements)
    return copies


def psql(compose: Compose, statements: str) -> None:
    where = ("--username=lab", "--dbname=corda", "--quiet", "--set=ON_ERROR_STOP=1")
    compose.exec("postgres", "psql", *where, "--command", statements)


COPIED = "copied"
AGAIN = "E" * 64
COPY = """
do $$ declare one record; begin
  create schema {copy};
  for one in select tablename from pg_tables where schemaname = '{schema}' loop
    execute format('create table {copy}.%I as table {schema}.%I', one.tablename, one.tablename);
  end loop;
end $$;
"""


def test_violations_in_copies_of_the_ledgers_are_found(
    shaped: Lab, compose: Compose, measured: tuple[dict[str, Any], Containers]
) -> None:
    """Nothing is changed in the ledgers themselves."""
    run = shaped.results()[-1]
    lost, twice, *_ = pl.read_parquet(step_folder(run) / "requests.parquet")["tx_id"].str.to_uppercase().to_list()
    changes = f"""
delete from {COPIED}_partyb.node_transactions where tx_id = '{lost}';
delete from {COPIED}_partyb.vault_states where transaction_id = '{lost}';
update {COPIED}_partya.node_transactions set tx_id = '{AGAIN}', state_machine_run_id = 'flow-again'
  where tx_id = '{twice}';
insert into {COPIED}_partya.node_transactions select * from partya.node_transactions where tx_id = '{twice}';
"""
    try:
        found = audit_lab(compose, run, files=copied_ledgers(compose, changes))
    finally:
        psql(compose, "".join(f"drop schema if exists {COPIED}_{node} cascade;" for node in ("partya", "partyb")))
    told = {(one.kind, identity) for one in found.violations for identity in one.ids}
    assert {(ViolationKind.MISSING_AT_PARTICIPANT, lost), (ViolationKind.DOUBLED, AGAIN)} <= told, found.summary
    assert audit_lab(compose, run).verdict == "passed"


def added_ms(compose: Compose) -> dict[str, float]:
    """What each link adds to the round-trip time, in milliseconds."""
    return {found.name: found.through_ms - found.direct_ms for found in environment.measure_links(compose)}


def test_a_slow_link_is_slower_while_it_lasts_and_no_other_is(compose: Compose) -> None:
    with lasting(compose, "slow-link", LINK, latency_ms=160):
        slowed = added_ms(compose)
        assert slowed[LINK] == pytest.approx(40 + 160, rel=0.2)
        assert slowed["partyb-partya"] == pytest.approx(40 + 160, rel=0.2)
        assert slowed["partya-postgres"] < 40
    assert added_ms(compose)[LINK] == pytest.approx(40, rel=0.2)


def test_a_reset_link_breaks_connections_while_it_lasts(compose: Compose) -> None:
    def tried() -> str:
        return compose.exec("links", "python3", "-c", TRY_LINK).stdout.strip()

    assert tried() == "open"
    with lasting(compose, "reset-link", LINK):
        assert tried() in {"reset", "closed"}
    assert tried() == "open"


def test_postgresql_is_frozen_and_goes_on(compose: Compose) -> None:
    with lasting(compose, "pause", "postgres"):
        assert inspected(compose, "postgres", "{{.State.Status}}") == "paused"
    assert inspected(compose, "postgres", "{{.State.Status}}") == "running"
    await_healthy(compose, "postgres")


def test_every_node_has_its_tables_in_a_schema_of_its_own(prometheus: Prometheus) -> None:
    sizes = value(prometheus, "pg_schema_size_bytes")
    assert sizes.keys() >= {"notary", "partya", "partyb"}
    assert min(sizes[schema] for schema in ("notary", "partya", "partyb")) > 500_000
    assert sizes.get("partyc", 0.0) == 0.0


def test_a_restart_of_postgresql_is_seen_and_survived(shaped: Lab, compose: Compose) -> None:
    """After faults of its links, and after one that froze it."""
    with lasting(compose, "restart", "postgres"):
        assert shaped.conditions()["postgres"] == "exited with 0"
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


@pytest.mark.parametrize("preset", sorted(FLUSH_SECONDS.keys() - {PRESET}))
def test_a_node_that_is_restarted_with_another_preset_reports_it(shaped: Lab, preset: str) -> None:
    settings = of_running(shaped.settings).with_values({"NODE_PRESET": preset})
    Compose(settings).run("up", "--detach", "--wait", "partya", seconds_max=RECOVERY_SECONDS_MAX)
    assert_preset_is_on(shaped, "partya", preset)
    if preset == "tuned":
        flags = shaped.inside("partya", "tr '\\0' '\\n' < /proc/1/cmdline").splitlines()
        assert {"-XX:TieredStopAtLevel=1", "-Xms1g", "-Xmx1g"} <= set(flags)
        assert "amazonCorrettoCryptoProvider" in shaped.inside("partya", "cat /proc/1/maps")
