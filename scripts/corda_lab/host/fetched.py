"""What the lab has fetched for this machine, each file with its hash, for the manifests of runs.

Packages of the system and Docker's plugins are recorded in ``.cache/fetched.json`` when they are installed. pip writes
its own report when ``scripts/lab`` creates the virtual environment.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from corda_lab import atomic
from corda_lab.paths import CACHE

RECORD = CACHE / "fetched.json"
LAUNCHER_RECORD = CACHE / "packages.sha256"
"""The packages that ``scripts/lab`` itself has installed, before the virtual environment existed."""

PIP_REPORT = Path(sys.prefix) / "fetched.json"


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def parse_hashes(text: str) -> dict[str, str]:
    """Parse the lines ``hash  name`` of sha256sum. A Debian package is named by its file, which has its version."""
    hashes = {}
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        if name:
            hashes[unquote(Path(name).name) if name.endswith(".deb") else name] = digest
    return dict(sorted(hashes.items()))


def record(files: Mapping[str, str]) -> None:
    """Add files (name → hash) to what was fetched for this machine."""
    if files:
        atomic.write_text(RECORD, json.dumps({**recorded(), **files}, indent=2, sort_keys=True) + "\n")


def recorded() -> dict[str, str]:
    """Return what was fetched for this machine from this checkout: name of the file → SHA-256."""
    files: dict[str, str] = {}
    with suppress(OSError):
        files |= parse_hashes(LAUNCHER_RECORD.read_text(encoding="utf-8"))
    with suppress(OSError, ValueError):
        content = json.loads(RECORD.read_text(encoding="utf-8"))
        files |= {str(name): str(digest) for name, digest in content.items()} if isinstance(content, dict) else {}
    return dict(sorted(files.items()))


def python_packages(report: Path = PIP_REPORT) -> dict[str, str]:
    """Return the files from which the virtual environment was installed: name of the wheel → SHA-256.

    Empty if the environment was not created by ``scripts/lab``. Addresses are left out, which may contain passwords.
    """
    try:
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    except (OSError, ValueError, KeyError):
        return {}
    files = {}
    for package in installed:
        download = package["download_info"]
        name = unquote(Path(urlsplit(download["url"]).path).name)
        files[name] = str(download.get("archive_info", {}).get("hash", "")).removeprefix("sha256=")
    return dict(sorted(files.items()))
