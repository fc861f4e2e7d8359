"""Reading ``.env`` as Compose does."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.knobs.shape import KNOBS
from corda_lab.lab.settings import Settings, load_settings, parse_env_file, parse_size
from corda_lab.paths import ENV_FILE


@pytest.mark.parametrize("address", ["", "127.0.0.1", "127.0.1.1", "localhost", "::1"])
def test_the_bridge_needs_no_token_on_this_machine(address: str) -> None:
    settings = load_settings(ENV_FILE, {"BRIDGE_ADDRESS": address})
    settings.check_bridge_address()
    assert settings.bridge_token == ""
    assert settings.bridge_url.startswith("http://")


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "lab.example", "127.0.0.1.example"])
def test_the_bridge_is_not_published_to_other_machines_without_a_token(address: str) -> None:
    settings = load_settings(ENV_FILE, {"BRIDGE_ADDRESS": address})
    for refused in (settings.check_bridge_address, lambda: settings.bridge_url):
        with pytest.raises(
            LabError, match=rf"^BRIDGE_ADDRESS: {address} lets other machines reach the bridge, but"
        ) as e:
            refused()
        assert "Set BRIDGE_TOKEN" in e.value.remedy

    secured = settings.with_values({"BRIDGE_TOKEN": "0123456789abcdef"})
    secured.check_bridge_address()
    expected = "127.0.0.1" if address in ("0.0.0.0", "::") else address
    assert secured.bridge_url == f"http://{expected}:8080"
    assert "BRIDGE_TOKEN" not in secured.public()


@pytest.mark.parametrize(
    ("endpoint", "is_taken"),
    [
        ("", True),
        ("http://jaeger:4318", True),
        ("https://[::1]:4318/otlp", True),
        ("jaeger:4318", False),
        ("http://jaeger:4318/", False),
        ("http://a b", False),
        ("grpc://jaeger:4317", False),
    ],
)
def test_spans_are_sent_to_urls_only(endpoint: str, is_taken: bool) -> None:
    settings = load_settings(ENV_FILE, {"TRACES_ENDPOINT": endpoint})
    if is_taken:
        settings.check_traces_endpoint()
    else:
        with pytest.raises(LabError, match=r"^TRACES_ENDPOINT: .* is not the URL of a receiver"):
            settings.check_traces_endpoint()


@pytest.mark.parametrize("token", ["short", "0123456789abcde", "with a space in it", "é" * 16, "x" * 257])
def test_a_token_must_be_one_that_a_header_can_have(token: str) -> None:
    with pytest.raises(LabError, match=r"^BRIDGE_TOKEN: is not a token$"):
        _ = load_settings(ENV_FILE, {"BRIDGE_TOKEN": token}).bridge_token


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("BRIDGE_PORT=8080\n", encoding="utf-8")
    settings = load_settings(file, {"BRIDGE_PORT": "18080", "UNRELATED": "x", "COMPOSE_PROJECT_NAME": "other"})
    assert settings.port("BRIDGE_PORT") == 18080
    assert settings.project == "other"
    assert "UNRELATED" not in settings.values


def test_the_project_is_found_where_compose_looks_for_it_and_in_the_same_order(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("", encoding="utf-8")

    def project(**environment: str) -> str:
        return load_settings(tmp_path / ".env", environment).project

    assert project() == "corda-lab"
    (tmp_path / "compose.override.yaml").write_text("services: {}\nname: 'from-file' # why\n", encoding="utf-8")
    assert project() == "from-file"
    (tmp_path / ".env").write_text("COMPOSE_PROJECT_NAME=from-env-file\n", encoding="utf-8")
    assert project() == "from-env-file"
    assert project(COMPOSE_PROJECT_NAME="from-environment") == "from-environment"


def test_the_lab_s_own_images_belong_to_the_project_and_have_one_name_in_manifests(tmp_path: Path) -> None:
    settings = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "mine", "CORDA_VERSION": "4.5"})
    assert (settings.node_image, settings.recorded_image) == ("mine/node:4.5", "corda-lab/node:4.5")
    assert settings.recorded_name("mine/locust") == "corda-lab/locust"
    assert settings.recorded_name("prom/prometheus:v3.5.0") == "prom/prometheus:v3.5.0"
    own = settings.with_values({"CORDA_IMAGE": "example.org/corda:${CORDA_VERSION}"})
    assert own.node_image == own.recorded_image == own.foreign_image == "example.org/corda:4.5"


def test_understands_comments_quotes_and_export() -> None:
    text = "# comment\n\nA=1 # why\nexport B='two words'\nC=\"x # not a comment\"\nD=\nE=a#b\n"
    expected = {"A": "1", "B": "two words", "C": "x # not a comment", "D": "", "E": "a#b"}
    assert parse_env_file(text, name=".env") == expected


def test_names_the_line_that_is_wrong() -> None:
    with pytest.raises(LabError, match=r"^\.env, line 2: 'NODE_HEAP 1g' is not NAME=value$"):
        parse_env_file("A=1\nNODE_HEAP 1g\n", name=".env")


def test_names_a_missing_file_and_a_missing_variable(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"^\.env: cannot be read"):
        load_settings(tmp_path / ".env", {})
    with pytest.raises(LabError, match="NODE_HEAP is missing"):
        _ = Settings({})["NODE_HEAP"]


def test_refuses_a_project_name_that_compose_would_refuse(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("", encoding="utf-8")
    with pytest.raises(LabError, match=r"^COMPOSE_PROJECT_NAME: "):
        load_settings(tmp_path / ".env", {"COMPOSE_PROJECT_NAME": "My Lab"})


def test_leaves_secrets_out_of_what_is_public() -> None:
    settings = load_settings(ENV_FILE, {})
    assert "CORDA_VERSION" in settings.public()
    assert not [name for name in settings.public() if "PASSWORD" in name]
    assert settings.secrets() == frozenset(), "nobody has set one"
    assert load_settings(ENV_FILE, {"RPC_PASSWORD": "own-password-1"}).secrets() == {"own-password-1"}


@pytest.mark.parametrize(
    ("text", "count"), [("1g", 2**30), ("512m", 2**29), ("1.5G", 3 * 2**29), ("100", 100), ("2GiB", 2**31)]
)
def test_reads_sizes(text: str, count: int) -> None:
    assert parse_size(text, option="X") == count


def test_the_parties_are_the_first_of_the_alphabet() -> None:
    settings = load_settings(ENV_FILE, {}).with_values({"PARTIES": "5"})
    assert settings.parties == ("PartyA", "PartyB", "PartyC", "PartyD", "PartyE")
    assert settings.nodes[0] == "Notary"
    assert Settings({}).parties == ("PartyA", "PartyB", "PartyC")
    assert Settings({"PARTIES": "11"}).parties[-1] == "PartyK"


def test_every_knob_is_in_the_file_with_its_default() -> None:
    values = load_settings(ENV_FILE, {}).values
    assert {knob.variable: values.get(knob.variable) for knob in KNOBS} == {one.variable: one.default for one in KNOBS}
