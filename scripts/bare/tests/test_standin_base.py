"""The base of the stand-ins: built only from signed packages."""

import os
import shutil
from pathlib import Path

import pytest

from bare import consent, debian, standin_base
from bare.commands import PreparationError


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scripts that is all of PATH. The lab is root, and Debian's keys are there."""
    folder = tmp_path / "programs"
    folder.mkdir()
    keyring = tmp_path / "debian.gpg"
    keyring.touch()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(debian, "KEYRING", keyring)
    monkeypatch.setattr(standin_base, "CACHE", tmp_path)
    for name in ("debootstrap", "gpgv", "apt-config", "chroot"):
        put(folder, name, "exit 0")
    return folder


def put(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_debootstrap_must_check_the_signature_of_the_archive(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(programs, "unshare", f'echo "$@" > {tmp_path}/arguments; echo "E: no signature" >&2; exit 1')
    with pytest.raises(PreparationError, match="debootstrap failed: E: no signature"):
        standin_base.build()
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8").split()
    assert "--force-check-gpg" in arguments
    assert f"--keyring={tmp_path}/debian.gpg" in arguments


@pytest.mark.parametrize("missing", ["debootstrap", "gpgv", "debian-archive-keyring"])
def test_what_is_missing_is_installed_only_with_consent(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    (tmp_path / "debian.gpg" if missing == "debian-archive-keyring" else programs / missing).unlink()
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setenv(consent.VARIABLE, "no")
    with pytest.raises(PreparationError, match=f"have to install {missing} with apt-get, but LAB_INSTALL says no"):
        standin_base.build()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a Debian that debootstrap has just made, as far as they are changed."""
    root = tmp_path / "root"
    for folder in ("sources.list.d", "preferences.d", "apt.conf.d"):
        (root / "etc/apt" / folder).mkdir(parents=True)
    for folder in ("etc/dpkg/dpkg.cfg.d", "etc/ssl/certs", "usr/sbin", "usr/share/man", "var/cache/apt/archives"):
        (root / folder).mkdir(parents=True)
    (root / "etc/apt/sources.list").write_text("deb http://mirror.example/debian trixie main\n", encoding="utf-8")
    (root / "etc/ssl/certs/ca-certificates.crt").touch()
    (root / "var/cache/apt/archives/bash_5.2_amd64.deb").write_bytes(b"bash")
    return root


def test_age_of_package_lists_is_checked_as_on_the_host(programs: Path, root: Path) -> None:
    again = shutil.copytree(root, root.with_name("again"))
    standin_base._prepare_base(root)
    put(programs, "apt-config", "echo 'Acquire::Check-Valid-Until \"false\";'")
    standin_base._prepare_base(again)
    texts = [(one / "etc/apt/apt.conf.d/90standin").read_text(encoding="utf-8") for one in (root, again)]
    assert ["Check-Valid-Until" in text for text in texts] == [False, True]
