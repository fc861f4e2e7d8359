"""Shapes of the lab: what can be, what cannot and how it is said, and what a running lab tells of its own."""

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.compose import lab_environment
from corda_lab.lab.settings import SHAPE_VARIABLES, Settings, load_settings
from corda_lab.paths import COMPOSE_FILE, ENV_FILE
from corda_lab.text import shapes

CORES = 8


def settings_with(**values: str) -> Settings:
    return load_settings(ENV_FILE, {}).with_values(values)


def test_the_defaults_are_possible() -> None:
    assert shape.problems(settings_with(), cores=1) == []


@pytest.mark.parametrize(
    "values",
    [
        {"DATABASE": "postgres", "NOTARY": "jpa"},
        {"NOTARY": "raft", "PARTIES": "10"},
        {"NOTARY": "bft", "LINKS": "notary4-partya=+5ms"},
        {"DATABASE": "postgres", "LINKS": "partya-partyb=+40ms partyc-postgres=+8ms,10mbit notary-postgres=2.5mbit"},
        {"NODE_CORES": "0.5", "NODE_CPUSET": "0-3,7"},
        {"CORDA_VERSION": "3.3", "NOTARY": "validating", "DATABASE": "postgres"},
        {"NODE_PRESET": "no-compression", "CORDA_IMAGE": "example.org/corda-enterprise:4.10"},
    ],
)
def test_what_fits_together_is_taken(values: dict[str, str]) -> None:
    assert shape.problems(settings_with(**values), cores=CORES) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"DATABASE": "mysql"}, "DATABASE: 'mysql' is not there; choose from h2, postgres"),
        ({"NOTARY": "paxos"}, "NOTARY: 'paxos' is not there; choose from bft, jpa, raft, simple, validating"),
        ({"NODE_PRESET": "quick"}, "NODE_PRESET: 'quick' is not there"),
        ({"NODE_PRESET": "no-compression"}, "sets what only Corda Enterprise has"),
        ({"CORDA_VERSION": "4.11"}, "CORDA_VERSION: '4.11' is not there"),
        ({"PARTIES": "11"}, "PARTIES: '11' is not a number of parties"),
        ({"DEV_MODE": "yes"}, "DEV_MODE: 'yes' is neither true nor false"),
        ({"NOTARY": "jpa"}, "jpa keeps its records in PostgreSQL; add --database postgres"),
        (
            {"NOTARY": "jpa", "DATABASE": "postgres", "CORDA_VERSION": "4.1"},
            "the lab runs no jpa notary on Corda 4.1; take Corda 4.6",
        ),
        ({"NOTARY": "raft", "CORDA_VERSION": "3.3"}, "the lab runs no raft notary on Corda 3.3; take Corda 4.0"),
        ({"NOTARY": "bft", "CORDA_VERSION": "3.3"}, "the lab runs no bft notary on Corda 3.3; take Corda 4.0"),
        ({"NODE_CORES": "9"}, "9 cores are wanted, and this machine has 8"),
        ({"NODE_CORES": "all"}, "NODE_CORES: 'all' is not a number of cores"),
        ({"NODE_CPUSET": "0-8"}, "names a core beyond the last of this machine, 7"),
        ({"NODE_CPUSET": "first"}, "NODE_CPUSET: 'first' is not a set of cores"),
        ({"NODE_HEAP": "2g"}, "NODE_HEAP: 2g leaves no room in NODE_MEMORY=2g; set NODE_MEMORY=3072m"),
        ({"NODE_HEAP": "much"}, "NODE_HEAP: 'much' is not a size"),
        ({"NODE_HEAP": "1.5g"}, "NODE_HEAP: '1.5g' is no size for a JVM; write it like 1536m or 2g"),
        (
            {"DATABASE": "postgres", "POSTGRES_POOL_SIZE": "50"},
            "4 nodes need 210 connections; set POSTGRES_MAX_CONNECTIONS=210",
        ),
        ({"DATABASE": "postgres", "POSTGRES_POOL_SIZE": "some"}, "POSTGRES_POOL_SIZE: 'some' is not a number"),
        ({"LINKS": "partya-partyb"}, "LINKS: 'partya-partyb' is not a link"),
        ({"LINKS": "partya-partyb=0mbit"}, "LINKS: 'partya-partyb=0mbit' is not a link"),
        ({"LINKS": "partya-partya=+1ms"}, "has one end twice"),
        ({"LINKS": "partya-partyb=+1ms partya-partyb=+2ms"}, "is the second for its ends"),
        ({"NOTARY": "raft", "LINKS": "notary-notary2=+1ms"}, "is between members of the notary"),
        ({"LINKS": "partya-partyd=+1ms"}, "has the end 'partyd'; there are notary, partya, partyb, partyc"),
        ({"LINKS": "partya-postgres=+1ms"}, "needs PostgreSQL; add --database postgres"),
    ],
)
def test_what_cannot_be_is_said_with_its_remedy(values: dict[str, str], words: str) -> None:
    (problem,) = shape.problems(settings_with(**values), cores=CORES)
    assert words in problem


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(LabError) as caught:
        shape.require_possible(settings_with(DATABASE="mysql", NOTARY="paxos", DEV_MODE="yes"))
    assert len(caught.value.message.splitlines()) == 3


def test_the_label_of_the_nodes_holds_the_whole_shape() -> None:
    text = COMPOSE_FILE.read_text(encoding="utf-8")
    label = text[text.index(shape.LABEL) :].split("healthcheck", 1)[0]
    assert set(shape.parse_label(label)) == set(SHAPE_VARIABLES)


def test_reads_the_label_of_a_running_node() -> None:
    label = "CORDA_VERSION=4.5 DATABASE=postgres NODE_CPUSET= LINKS='partya-partyb=+40ms partya-postgres=+8ms'"
    assert shape.parse_label(label) == {
        "CORDA_VERSION": "4.5",
        "DATABASE": "postgres",
        "NODE_CPUSET": "",
        "LINKS": "partya-partyb=+40ms partya-postgres=+8ms",
    }


def test_compose_is_told_the_whole_shape() -> None:
    wanted = {"DATABASE": "postgres", "NOTARY": "raft", "LINKS": "partya-partyb=+40ms", "CORDA_VERSION": "4.5"}
    environment = lab_environment(settings_with(**wanted))
    assert environment.items() >= wanted.items()
    assert environment["CORDA_IMAGE"] == "corda-lab/node:4.5"
    services = environment["COMPOSE_PROFILES"].split(",")
    assert services == [
        *("notary2", "notary3", "partya", "partyb", "partyc"),
        *("postgres", "postgres-exporter", "links"),
    ]


def test_options_win_over_the_settings_and_memory_follows_the_heap() -> None:
    settings = shape.with_options(settings_with(), {"NODE_HEAP": "4g", "DATABASE": None}, size=None)
    assert (settings["NODE_HEAP"], settings["NODE_MEMORY"], settings["DATABASE"]) == ("4g", "5120m", "h2")
    sized = shape.with_options(settings_with(), {"NODE_CORES": "2"}, size="medium")
    assert (sized["NODE_HEAP"], sized["NODE_CORES"]) == ("4g", "2")


def test_a_shape_is_described_in_one_line() -> None:
    values = {name: settings_with()[name] for name in SHAPE_VARIABLES} | {"CORDA_IMAGE": "corda-lab/node:4.10"}
    assert shapes.describe(values) == (
        "Corda 4.10, h2, simple notary, 3 parties, production mode, preset stock, heap 1g"
    )
    values |= {"NODE_CORES": "0.5", "LINKS": "partya-partyb=+40ms", "DEV_MODE": "true"}
    assert shapes.describe(values).endswith(
        "development mode, preset stock, heap 1g, 0.5 cores a node, link partya-partyb=+40ms"
    )


def test_of_several_shapes_what_they_share_is_told_once() -> None:
    values = {name: settings_with()[name] for name in SHAPE_VARIABLES} | {"CORDA_IMAGE": "corda-lab/node:4.10"}
    far = values | {"DATABASE": "postgres", "LINKS": "partya-postgres=+4ms"}
    assert shapes.describe_all([values, values]) == shapes.describe(values)
    assert shapes.describe_all([values, far]) == (
        "h2; postgres, link partya-postgres=+4ms; "
        "each with Corda 4.10, simple notary, 3 parties, production mode, preset stock, heap 1g"
    )
    assert shapes.describe_all([values, values | {"LINKS": "partya-partyb=+4ms"}]).startswith("nothing else; link")
