"""Reading a host's own package sources, and fetching from them only what is signed."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from bare import debian
from bare.commands import PreparationError, last_words
from bare.debian import PackageArchive

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


def use_release(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "os-release").write_text(text, encoding="utf-8")
    monkeypatch.setattr(debian, "OS_RELEASE", tmp_path / "os-release")


def test_os_release_tells_distribution_family_and_codename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\n'
    use_release(text, tmp_path, monkeypatch)
    assert debian.os_release()["VERSION_CODENAME"] == "wilma"
    assert debian.has_apt()
    assert not debian.is_debian()


@pytest.mark.parametrize("text", ["ID=fedora\n", "", "no assignment here\n"])
def test_other_systems_have_no_apt(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_release(text, tmp_path, monkeypatch)
    assert not debian.has_apt()


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


def test_private_configuration_keeps_apt_in_its_folder_and_accepts_only_what_is_signed() -> None:
    """The age of lists and the user of apt are left to the host."""
    config = debian.PRIVATE_APT.read_text(encoding="utf-8")
    for setting in ("Dir::Etc::SourceList", "Dir::State::Lists", "Dir::Cache"):
        assert f'{setting} "@FOLDER@/' in config
    assert 'Dir::Etc::SourceParts "/dev/null"' in config
    assert all(f'{name} "false";' in config for name in debian.UNSIGNED)
    for setting in (*debian.AGE_CHECKS, "APT::Sandbox"):
        assert setting not in config


def test_archive_without_a_key_of_its_own_is_held_to_that_of_debian() -> None:
    sources = PackageArchive("http://mirror.example/debian", "").with_suite("sid")
    assert sources.endswith(f"\nSigned-By: {debian.KEYRING}\n")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that puts a shell script on PATH, before the programs of this machine."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    return put


@pytest.mark.parametrize(
    ("dump", "lifted"),
    [
        ('Acquire::Check-Valid-Until "false";\nAcquire::Check-Date "0";\n', list(debian.AGE_CHECKS)),
        ('Acquire::Check-Valid-Until "true";\nAPT::Get::Upgrade "false";\n', []),
        ("", []),
    ],
)
def test_checks_of_age_are_lifted_only_by_the_host(
    programs: Callable[[str, str], None], dump: str, lifted: list[str]
) -> None:
    programs("apt-config", f"cat << 'END'\n{dump}END")
    assert debian.lifted_checks() == lifted


def test_packages_are_installed_from_signed_lists(tmp_path: Path, programs: Callable[[str, str], None]) -> None:
    programs("apt-get", f'echo "$@" >> {tmp_path}/calls')
    debian.apt_install(["docker.io"])
    update, install = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert update.endswith("update")
    for call in (update, install):
        assert all(f"{name}=false" in call for name in debian.UNSIGNED)
    assert install.endswith("install --yes --no-install-recommends docker.io")


@pytest.fixture
def sid(tmp_path: Path, programs: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a private apt, whose programs are scripts. The archive of the host has a key."""
    archive = PackageArchive("http://mirror.example/debian", "/usr/share/keyrings/archive.gpg")
    monkeypatch.setattr(debian, "host_source", lambda: archive)
    programs("apt-config", "")
    programs("dpkg-deb", 'mkdir -p "$3/usr" && cp "$2" "$3/usr/plugin"')
    programs("apt-get", 'case "$*" in *download*) echo compose > docker-compose_2.40.3-3_amd64.deb;; esac')
    folder = tmp_path / "apt"
    folder.mkdir(mode=0o700)
    return folder


def test_packages_of_another_suite_are_unpacked(sid: Path) -> None:
    unpacked = debian.unpack_from_sid(["docker-compose"], sid)
    assert (unpacked / "usr/plugin").read_text(encoding="utf-8") == "compose\n"
    assert "Signed-By: /usr/share/keyrings/archive.gpg" in (sid / "debian.sources").read_text(encoding="utf-8")
    assert f'Dir::State::Lists "{sid}/lists"' in (sid / "apt.conf").read_text(encoding="utf-8")


def test_user_of_apt_can_reach_the_folders_into_which_it_downloads(sid: Path) -> None:
    debian.unpack_from_sid(["docker-compose"], sid)
    assert all(path.stat().st_mode & 0o001 for path in (sid, sid / "lists", sid / "cache/archives", sid / "download"))
    if os.geteuid() == 0 and debian.APT_USER in {account.pw_name for account in pwd.getpwall()}:
        owners = {(sid / name).owner() for name in ("lists/partial", "cache/archives/partial", "download")}
        assert owners == {debian.APT_USER}


def test_expired_list_is_an_error_with_its_own_remedy(sid: Path, programs: Callable[[str, str], None]) -> None:
    programs("apt-get", "echo 'E: Release file for http://x/InRelease is expired (invalid since 3d).' >&2; exit 100")
    with pytest.raises(PreparationError, match="is expired") as caught:
        debian.unpack_from_sid(["docker-compose"], sid)
    assert "no longer vouches" in caught.value.remedy


def test_old_lists_that_the_host_accepts_are_said(
    sid: Path, programs: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    programs("apt-config", "echo 'Acquire::Check-Valid-Until \"false\";'")
    debian.unpack_from_sid(["docker-compose"], sid)
    assert "accepts old package lists (Acquire::Check-Valid-Until)" in capsys.readouterr().out


def test_archive_whose_signature_cannot_be_checked_is_refused(
    sid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "host_source", lambda: PackageArchive("http://mirror.example/debian", ""))
    monkeypatch.setattr(debian, "KEYRING", tmp_path / "absent.gpg")
    with pytest.raises(PreparationError, match=r"absent\.gpg is missing, so the signature .* cannot be checked"):
        debian.unpack_from_sid(["docker-compose"], sid)


def test_tail_is_one_line_of_the_last_words() -> None:
    assert last_words("first\n\n second \nthird\n", 2) == "second | third"
