"""The list of dependencies names what is pinned in the checkout, each with a licence."""

import re
from email import message_from_string

import pytest

import dependencies
from corda_lab import __version__
from corda_lab.paths import ROOT

ROW = re.compile(r"^\| (?!name |-)([^|]+) \| ([^|]+) \| ([^|]+) \|(?: ([^|]+) \|)?$", re.MULTILINE)
REMEDY = "Write docs/dependencies.md again: CONTRIBUTING.md, Dependencies."


def section(title: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Rows of a section of the document: (name, version) → (licence, parts)."""
    text = dependencies.DOCUMENT.read_text(encoding="utf-8")
    body = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = {(row[1], row[2]): (row[3], row[4] or "") for row in ROW.finditer(body)}
    assert rows, title
    return rows


def test_document_is_that_of_this_version() -> None:
    assert f"version {__version__} of the lab" in dependencies.DOCUMENT.read_text(encoding="utf-8"), REMEDY


@pytest.mark.parametrize(("name", "part"), dependencies.REQUIREMENTS.items())
def test_python_packages_are_those_that_are_pinned(name: str, part: str) -> None:
    listed = {key for key, (_, parts) in section("Python").items() if part in parts.split(", ")}
    assert listed == set(dependencies.pins(ROOT / name).items()), REMEDY


def test_java_artifacts_that_the_poms_name_are_listed() -> None:
    direct = dependencies.direct_artifacts()
    assert ("net.corda:corda", "4.10") in direct
    assert direct <= section("Java").keys(), REMEDY


def test_java_libraries_have_their_hashes() -> None:
    names = {line.partition("  ")[2] for line in dependencies.CHECKSUMS.read_text(encoding="utf-8").splitlines()}
    folders = {name.rpartition("/")[0] for name in names if name.endswith(".jar")}
    libraries = {(*name.split(":"), version) for name, version in section("Java")}
    assert {f"{group.replace('.', '/')}/{artifact}/{version}" for group, artifact, version in libraries} <= folders, (
        REMEDY
    )


def test_images_are_those_of_the_settings() -> None:
    assert section("Images").keys() == {(one.name, one.version) for one in dependencies.images()}, REMEDY


@pytest.mark.parametrize("title", ["Images", "Java", "Python"])
def test_everything_has_a_licence(title: str) -> None:
    assert [key for key, (licence, _) in section(title).items() if licence == "unknown"] == []


@pytest.mark.parametrize("name", dependencies.REQUIREMENTS)
def test_every_pin_has_hashes_and_no_index_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text)
    assert len(blocks) > 1
    assert [block for block in blocks[1:] if "--hash=sha256:" not in block] == []
    assert not re.search(r"--(extra-)?index-url|--find-links|--trusted-host|https?://", text)


def test_markers_of_other_systems_are_left_out() -> None:
    assert "colorama" not in dependencies.pins(ROOT / "scripts/requirements.txt")
    assert "greenlet" in dependencies.pins(ROOT / "scripts/requirements-dev.txt")


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("License-Expression: BSD-3-Clause\nLicense: x", "BSD-3-Clause"),
        ("Classifier: Topic :: X\nClassifier: License :: OSI Approved :: MIT License", "MIT"),
        ("Classifier: License :: OSI Approved\nLicense: Apache License 2.0", "Apache-2.0"),
        ("License: Something else\n         and its text", "Something else"),
        ("Name: without", ""),
    ],
)
def test_licence_is_read_from_the_metadata(text: str, licence: str) -> None:
    assert dependencies.python_licence(message_from_string(text)) == licence


def test_lines_of_maven_are_read() -> None:
    text = (
        "\nThe following files have been resolved:\n   a.b:c:jar:1.0:compile -- module c\n   a:d:jar:linux:2:runtime\n"
    )
    assert list(dependencies.parse_listed(text)) == [("a.b", "c", "1.0"), ("a", "d", "2")]
