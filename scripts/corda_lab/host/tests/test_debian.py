"""Reading a host's own package sources, and fetching from them only what is signed."""

from pathlib import Path

import pytest

from corda_lab.host import debian, processes
from corda_lab.host.debian import PackageArchive

DEB822 = """\
# The archive
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
"""


def test_os_release_tells_distribution_family_and_codename() -> None:
    text = 'PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\n'
    platform = debian.parse_os_release(text)
    assert platform == debian.Platform(id="linuxmint", id_like=("ubuntu", "debian"), codename="wilma")
    assert platform.has_apt
    assert not platform.is_debian


@pytest.mark.parametrize("text", ["ID=fedora\n", "", "no assignment here\n"])
def test_other_systems_have_no_apt(text: str) -> None:
    assert not debian.parse_os_release(text).has_apt


def test_archive_of_the_release_is_found_in_deb822_sources() -> None:
    source = debian.find_source({"debian.sources": DEB822}, "bookworm")
    assert source == PackageArchive("http://mirror.example/debian", "/usr/share/keyrings/archive.gpg")


def test_archive_of_the_release_is_found_in_one_line_sources() -> None:
    text = (
        "# deb http://old.example/debian bookworm main\n"
        "deb-src http://mirror.example/debian bookworm main\n"
        "deb http://mirror.example/security bookworm-security main\n"
        "deb [arch=amd64 signed-by=/k/a.gpg] https://mirror.example/debian bookworm main contrib # ours\n"
    )
    assert debian.find_source({"sources.list": text}, "bookworm") == PackageArchive(
        "https://mirror.example/debian", "/k/a.gpg"
    )


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"debian.sources": DEB822.replace("Types: deb\nURIs: http://mirror.example/debian", "Types: deb-src\nURIs: x")},
        {"debian.sources": DEB822.replace("# The archive", "Enabled: no")},
        {"debian.sources": DEB822.replace("Components: main", "Components: contrib")},
        {"debian.sources.disabled": DEB822},
        {"vendor.list": "deb https://vendor.example/apt vendor-bookworm main\n"},
    ],
    ids=["none", "source packages only", "disabled", "without main", "not a source file", "a vendor's archive"],
)
def test_what_is_not_the_release_is_no_source(files: dict[str, str]) -> None:
    assert debian.find_source(files, "bookworm") is None


def test_host_that_follows_a_moving_name_is_understood() -> None:
    source = debian.find_source({"a.list": "deb mirror+file:/etc/apt/mirrors/debian.list stable main\n"}, "bookworm")
    assert source == PackageArchive("mirror+file:/etc/apt/mirrors/debian.list", "")


def test_rewritten_suite_keeps_address_and_an_embedded_key() -> None:
    key = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----"
    text = DEB822.replace(" /usr/share/keyrings/archive.gpg", key)
    source = debian.find_source({"debian.sources": text}, "bookworm")
    assert source is not None
    rewritten = source.with_suite("sid")
    assert rewritten.startswith(
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\nSigned-By:"
    )
    assert debian.find_source({"x.sources": rewritten}, "sid") == source


def test_private_configuration_keeps_apt_inside_its_folder() -> None:
    config = debian.private_apt_config(Path("/somewhere"))
    for setting in ("Dir::Etc::SourceList", "Dir::State::Lists", "Dir::Cache"):
        assert f'{setting} "/somewhere/' in config
    assert 'Dir::Etc::SourceParts "/dev/null"' in config


def test_tail_is_one_line_of_the_last_words() -> None:
    assert processes.last_words("first\n\n second \nthird\n", 2) == "second | third"
