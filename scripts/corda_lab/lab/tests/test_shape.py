"""Shapes of the lab: what can be, what cannot and how it is said, and what a running lab tells of its own."""

import re

import pytest
import yaml

from corda_lab.knobs.shape import KNOBS
from corda_lab.lab import shape
from corda_lab.lab.compose import lab_environment
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import COMPOSE_FILE, ENV_FILE, ROOT

CORES = 8


def settings_with(**values: str) -> Settings:
    return load_settings(ENV_FILE, {}).with_values(values)


def test_the_defaults_are_possible() -> None:
    assert shape.problems(settings_with(), cores=1) == []


@pytest.mark.parametrize(
    "values",
    [
        {"DATABASE": "postgres", "NOTARY": "jpa"},
        {"NOTARY": "raft", "PARTIES": "11"},
        {"NOTARY": "bft", "LINKS": "notary4-partya=+5ms"},
        {"DATABASE": "postgres", "LINKS": "partya-partyb=+40ms partyc-postgres=+8ms,10mbit notary-postgres=2.5mbit"},
        {"NODE_CORES": "0.5", "NODE_CPUSET": "0-3,7"},
        {"CORDAPP": "finance", "CORDA_VERSION": "4.0"},
        {"CORDA_VERSION": "3.3", "NOTARY": "validating", "DATABASE": "postgres"},
        {"NODE_PRESET": "no-compression", "CORDA_IMAGE": "example.org/corda-enterprise:4.10"},
        {"DATABASE": "postgres", "POSTGRES_CORES": "0.25"},
        {"DATABASE": "postgres", "NODE_PRESET": "connection-pool-30"},
        {"DATABASE": "postgres", "PARTIES": "11", "NOTARY": "raft"},
        {"BRIDGE_RPC": "left-open", "BRIDGE_MAX_OUTSTANDING_FLOWS": "1"},
        {"BRIDGE_MAX_ATTACHMENT_BYTES": "50331648"},
    ],
)
def test_what_fits_together_is_taken(values: dict[str, str]) -> None:
    assert shape.problems(settings_with(**values), cores=CORES) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"DATABASE": "mysql"}, "DATABASE: unknown database 'mysql'; choose from h2, postgres"),
        ({"NODE_PRESET": "quick"}, "NODE_PRESET: unknown preset 'quick'; choose from"),
        ({"NODE_PRESET": "no-compression"}, "no-compression needs Corda Enterprise"),
        (
            {"DATABASE": "postgres", "NODE_PRESET": "connection-pool-30", "PARTIES": "5"},
            "NODE_PRESET: 6 nodes need 190 connections. Set POSTGRES_MAX_CONNECTIONS=190",
        ),
        ({"CORDA_VERSION": "4.11"}, "CORDA_VERSION: unknown version '4.11'; choose from 3.3, 4.0"),
        ({"PARTIES": "12"}, "PARTIES: '12' is not a valid number of parties; use 2 to 11"),
        ({"DEV_MODE": "yes"}, "DEV_MODE: 'yes' must be true or false"),
        ({"NOTARY": "jpa"}, "NOTARY: jpa needs PostgreSQL. Add --database postgres."),
        (
            {"NOTARY": "jpa", "DATABASE": "postgres", "CORDA_VERSION": "4.1"},
            "NOTARY: jpa is not supported with Corda 4.1. Use Corda 4.6 or newer",
        ),
        (
            {"NOTARY": "raft", "CORDA_VERSION": "3.3"},
            "NOTARY: raft is not supported with Corda 3.3. Use Corda 4.0 or newer",
        ),
        (
            {"CORDAPP": "finance", "CORDA_VERSION": "3.3"},
            "CORDAPP: finance is not supported with Corda 3.3. Use Corda 4.0 or newer",
        ),
        ({"NODE_CORES": "9"}, "NODE_CORES: 9 cores are too many; this machine has 8"),
        (
            {"NODE_CPUSET": "0-8"},
            "NODE_CPUSET: 0-8 includes a core that this machine does not have; its last core is 7",
        ),
        ({"NODE_HEAP": "2g"}, "NODE_HEAP: 2g does not fit in NODE_MEMORY=2g. Set NODE_MEMORY=3072m"),
        ({"NODE_HEAP": "1.5g"}, "NODE_HEAP: '1.5g' is not a memory size; use a value such as 1536m or 2g"),
        ({"DATABASE": "postgres", "POSTGRES_POOL_SIZE": "some"}, "POSTGRES_POOL_SIZE: 'some' is not a number"),
        ({"LINKS": "partya-partyb"}, "LINKS: 'partya-partyb' is not a link"),
        ({"LINKS": "partya-partya=+1ms"}, "LINKS: partya-partya=+1ms connects partya with itself. Remove it."),
        (
            {"LINKS": "partya-partyb=+1ms partya-partyb=+2ms"},
            "LINKS: partya-partyb=+2ms sets the same link a second time. Remove it.",
        ),
        (
            {"NOTARY": "raft", "LINKS": "notary-notary2=+1ms"},
            "LINKS: notary-notary2=+1ms connects two members of the notary",
        ),
        (
            {"LINKS": "partya-partyd=+1ms"},
            "LINKS: unknown node 'partyd' in partya-partyd=+1ms. Choose from notary, partya, partyb, partyc, and",
        ),
        ({"LINKS": "partya-postgres=+1ms"}, "needs PostgreSQL. Add --database postgres."),
        (
            {"POSTGRES_CORES": "2"},
            "POSTGRES_CORES: 2 cores of PostgreSQL need PostgreSQL. Add --database postgres, or leave it",
        ),
        ({"BRIDGE_RPC": "single"}, "BRIDGE_RPC: unknown rpc 'single'; choose from shared, left-open"),
        ({"BRIDGE_MAX_OUTSTANDING_FLOWS": "100001"}, "is not a valid number of flows; use 1 to 100000"),
        ({"BRIDGE_MAX_ATTACHMENT_BYTES": "50m"}, "'50m' is not a valid number of bytes; use 1024 to 209715200"),
        (
            {"BRIDGE_MAX_ATTACHMENT_BYTES": "52428800"},
            "attachments of 50 MiB need a bridge heap 8 times as large. Set BRIDGE_HEAP=400m, or use smaller",
        ),
        ({"BRIDGE_HEAP": "1g"}, "BRIDGE_HEAP: 1g does not fit in BRIDGE_MEMORY=768m. Set BRIDGE_MEMORY=1408m."),
    ],
)
def test_what_cannot_be_is_said_with_its_remedy(values: dict[str, str], words: str) -> None:
    (problem,) = shape.problems(settings_with(**values), cores=CORES)
    assert words in str(problem)


def test_the_labels_hold_the_whole_shape_each_that_of_its_own_containers() -> None:
    compose = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
    services = {name: service["labels"] for name, service in compose["services"].items() if "labels" in service}
    assert services.keys() >= {"bootstrap", "partya", "partyk", "notary4", "bridge", "postgres"}
    for name, labels in services.items():
        own = name if name in ("bridge", "postgres") else ""
        wanted = {knob.variable for knob in KNOBS if knob.service == own}
        assert set(shape.parse_label(labels[shape.LABEL])) == wanted, name


def test_the_shape_of_a_lab_is_read_from_the_labels_of_its_services() -> None:
    lines = "bridge BRIDGE_RPC=left-open NODE_HEAP=9g\npartyb NODE_HEAP=2g\npartya NODE_HEAP=1g BRIDGE_RPC=shared\n"
    assert shape.parse_labels(lines) == {"BRIDGE_RPC": "left-open", "NODE_HEAP": "1g"}
    assert shape.parse_labels("postgres POSTGRES_CORES=0.5\nbootstrap PARTIES=3\n") == {"POSTGRES_CORES": "0.5"}


def test_settings_beside_the_shape_are_kept_in_the_label_of_the_bridge() -> None:
    settings = load_settings(ENV_FILE, {})
    wanted = shape.with_options(settings, {"NODE_HEAP": "1g", "POSTGRES_SHARED_BUFFERS": "1 GB"}, size=None)
    environment = lab_environment(wanted)
    assert (environment["POSTGRES_SHARED_BUFFERS"], environment["LAB_SET"]) == (
        "1 GB",
        "POSTGRES_SHARED_BUFFERS='1 GB'",
    )
    found = shape.parse_labels(f"bridge BRIDGE_HEAP=384m {environment['LAB_SET']}\npartya NODE_HEAP=1g X='y'\n")
    assert found.keys() == {"BRIDGE_HEAP", "NODE_HEAP", "POSTGRES_SHARED_BUFFERS", "LAB_SET"}
    assert lab_environment(settings.with_values(found))["LAB_SET"] == environment["LAB_SET"]
    assert lab_environment(settings)["LAB_SET"] == ""


def test_the_bridge_reads_the_knobs_of_its_label() -> None:
    service = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))["services"]["bridge"]
    text = str({**service, "labels": {}})
    assert [knob.variable for knob in KNOBS if knob.service == "bridge" and f"${{{knob.variable}}}" not in text] == []


def test_volumes_are_kept_for_the_knobs_that_the_bootstrapper_compares() -> None:
    script = (ROOT / "nodes" / "bin" / "bootstrap").read_text(encoding="utf-8")
    (line,) = re.findall(r'^shape="(.*)"$', script, re.MULTILINE)
    assert re.findall(r"(\S+)=\$", line) == list(shape.KEPT)


@pytest.mark.parametrize("notary", shape.NOTARY_PLATFORM_MIN)
def test_the_bootstrapper_knows_the_same_lowest_platform_of_a_notary(notary: str) -> None:
    file = ROOT / "configs" / "notaries" / f"{notary}.conf"
    assert f"platformVersionMin = {shape.NOTARY_PLATFORM_MIN[notary]}\n" in file.read_text(encoding="utf-8")


def test_compose_is_told_the_whole_shape() -> None:
    wanted = {"DATABASE": "postgres", "NOTARY": "raft", "LINKS": "partya-partyb=+40ms", "CORDA_VERSION": "4.5"}
    environment = lab_environment(settings_with(**wanted))
    assert environment.items() >= wanted.items()
    assert environment["CORDA_IMAGE"] == ""
    services = environment["COMPOSE_PROFILES"].split(",")
    assert services == [
        *("notary2", "notary3", "partya", "partyb", "partyc"),
        *("postgres", "postgres-exporter", "links"),
    ]


def test_options_win_over_the_settings_and_memory_follows_the_heap() -> None:
    settings = shape.with_options(settings_with(), {"NODE_HEAP": "4g"}, size=None)
    assert (settings["NODE_HEAP"], settings["NODE_MEMORY"], settings["DATABASE"]) == ("4g", "5120m", "h2")
    bridge = shape.with_options(settings_with(), {"BRIDGE_HEAP": "1g"}, size=None)
    assert (bridge["BRIDGE_HEAP"], bridge["BRIDGE_MEMORY"]) == ("1g", "1408m")
    left_open = shape.with_options(settings_with(), {"BRIDGE_RPC": "left-open"}, size=None)
    assert (left_open["BRIDGE_HEAP"], left_open["BRIDGE_MEMORY"]) == ("1g", "3456m")
    larger = shape.with_options(settings_with(BRIDGE_HEAP="2g"), {"BRIDGE_RPC": "left-open"}, size=None)
    assert (larger["BRIDGE_HEAP"], larger["BRIDGE_MEMORY"]) == ("2g", "4480m")
    own = shape.with_options(settings_with(), {"BRIDGE_RPC": "left-open", "BRIDGE_HEAP": "512m"}, size=None)
    assert (own["BRIDGE_HEAP"], own["BRIDGE_MEMORY"]) == ("512m", "2944m")
    shared = shape.with_options(settings_with(), {"BRIDGE_RPC": "shared"}, size=None)
    assert (shared["BRIDGE_HEAP"], shared["BRIDGE_MEMORY"]) == ("384m", "768m")
    sized = shape.with_options(settings_with(), {"NODE_CORES": "2"}, size="medium")
    assert (sized["NODE_HEAP"], sized["NODE_CORES"]) == ("4g", "2")
