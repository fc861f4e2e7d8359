"""The shape of a lab in words."""

import pytest

from corda_lab.knobs import shape as knobs
from corda_lab.knobs.shape import BY_VARIABLE

DEFAULTS = {variable: knob.default for variable, knob in BY_VARIABLE.items()}


def test_a_shape_is_described_in_one_line() -> None:
    assert knobs.describe(DEFAULTS) == (
        "Corda 4.10, H2, simple notary, 3 parties, production mode, preset stock, heap 1g"
    )
    values = DEFAULTS | {"NODE_CORES": "0.5", "LINKS": "partya-partyb=+40ms", "DEV_MODE": "true"}
    assert knobs.describe(values).endswith(
        "development mode, preset stock, heap 1g, 0.5 cores a node, link partya-partyb=+40ms"
    )


def test_knobs_of_the_bridge_and_of_postgresql_are_mentioned_if_they_differ_from_the_default() -> None:
    values = DEFAULTS | {
        "POSTGRES_CORES": "0.25",
        "BRIDGE_HEAP": "1g",
        "BRIDGE_RPC": "left-open",
        "BRIDGE_MAX_OUTSTANDING_FLOWS": "100000",
        "BRIDGE_MAX_ATTACHMENT_BYTES": "67108864",
        "BRIDGE_FLOW_TIMEOUT_SECONDS": "900",
    }
    assert knobs.describe(values).removeprefix(f"{knobs.describe(DEFAULTS)}, ") == (
        "PostgreSQL on 0.25 cores, bridge heap 1g, an RPC connection left open by every flow start,"
        " at most 100,000 outstanding flows, attachments up to 64 MiB, flows time out after 900 s"
    )


def test_of_several_shapes_what_they_share_is_said_once() -> None:
    far = DEFAULTS | {"DATABASE": "postgres", "LINKS": "partya-postgres=+4ms"}
    assert knobs.describe_all([DEFAULTS, DEFAULTS]) == knobs.describe(DEFAULTS)
    assert knobs.describe_all([DEFAULTS, far]) == (
        "H2; PostgreSQL, link partya-postgres=+4ms; "
        "each with Corda 4.10, simple notary, 3 parties, production mode, preset stock, heap 1g"
    )
    near = DEFAULTS | {"LINKS": "partya-partyb=+4ms"}
    assert knobs.describe_all([DEFAULTS, near]).startswith("nothing else; link")


def test_a_run_from_before_there_was_a_knob_is_described_without_it() -> None:
    old = {variable: value for variable, value in DEFAULTS.items() if variable not in ("NODE_PRESET", "NODE_CORES")}
    assert knobs.describe(old) == "Corda 4.10, H2, simple notary, 3 parties, production mode, heap 1g"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("database", "postgres", "PostgreSQL"),
        ("parties", 5, "5 parties"),
        ("dev_mode", False, "production mode"),
        ("cores", 2.0, "2 cores a node"),
        ("cores", 0.0, "cores 0"),
        ("postgres_cores", 1.0, "PostgreSQL on 1 core"),
        ("outstanding", 1, "at most 1 outstanding flow"),
        ("attachment_max", "50m", "attachments up to 50 MiB"),
        ("attachment_max", 33554432, "attachment max 33554432"),
        ("rpc", "left-open", "an RPC connection left open by every flow start"),
        ("rpc", "shared", "rpc shared"),
        ("bridge_heap", "384m", "bridge heap 384m"),
        ("size", "small", "size small"),
        ("link", ["partya-partyb=+4ms", "partyb-partyc=+8ms"], "link partya-partyb=+4ms, link partyb-partyc=+8ms"),
        ("link", [], "link none"),
    ],
)
def test_one_option_is_said_in_words(name: str, value: object, words: str) -> None:
    assert knobs.option_label(name, value) == words
