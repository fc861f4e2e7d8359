"""Builds the base image of the stand-ins: a minimal Debian, from packages whose lists Debian has signed.

It has the apt sources of trixie and sid, and the certificates that this host trusts.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bare import consent, debian
from bare.commands import CACHE, COMMAND_SECONDS_MAX, PreparationError, checked, last_words

BASE_SUITE = "trixie"
BASE_IMAGE = f"corda-lab/standin-base:{BASE_SUITE}"
STANDIN_LABEL = "org.cordalab.standin"
REVISION_LABEL = "org.cordalab.standin.revision"
REVISION = "2"
"""Revision of the recipes, which all stand-ins inherit from the base. A higher one has them built again."""

FILES = Path(__file__).parent / "images" / "base"
"""What the base has beside the packages of Debian: packages come from sid only if they are requested from it or missing
in trixie, no service starts during a build, and no manual is kept."""

DEBOOTSTRAP_SECONDS_MAX = 600
BUILD_SECONDS_MAX = 900

BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
    "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
    "REQUESTS_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
    "CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt",
}
"""Makes tools with their own certificates (pip, requests, Node) use the system's certificates instead."""


def split_certificates(bundle: str) -> list[str]:
    """Return the PEM certificates of a bundle, with normalised line ends, so that equal certificates compare equal."""
    blocks = re.findall(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", bundle)
    return [block.replace("\r", "") + "\n" for block in blocks]


def extra_certificates(host_bundle: str, base_bundle: str) -> list[str]:
    """Return the certificates that only the host trusts, such as that of a company's proxy."""
    known = set(split_certificates(base_bundle))
    return [certificate for certificate in split_certificates(host_bundle) if certificate not in known]


def host_ca_bundle() -> str:
    """Return the certificates that this host trusts, as PEM text; empty if there is no bundle."""
    for path in (os.environ.get("SSL_CERT_FILE", ""), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/cert.pem"):
        if path and Path(path).is_file():
            return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def build() -> None:
    keyring = _ensure_debootstrap()
    CACHE.mkdir(parents=True, exist_ok=True)
    # Not below /tmp, which may be mounted with nodev or noexec. In its own mount namespace, everything that debootstrap
    # mounts is unmounted when it ends, before the folder is deleted.
    with tempfile.TemporaryDirectory(prefix="standin-base-", dir=CACHE) as directory:
        root = Path(directory) / "root"
        source = debian.host_source() if debian.is_debian() else None
        mirror = [uri for uri in (source.uris.split() if source else []) if re.match(r"https?://", uri)][:1]
        checked(
            [
                *("unshare", "--mount", "debootstrap", "--variant=minbase", "--include=ca-certificates"),
                # Without these two, debootstrap only warns if it cannot check the signature of the archive.
                *("--force-check-gpg", f"--keyring={keyring}"),
                BASE_SUITE,
                str(root),
                *mirror,
            ],
            seconds_max=DEBOOTSTRAP_SECONDS_MAX,
            what="debootstrap",
            remedy="Check that this host can reach the Debian archive, or use a registry: pass `--images registry`.",
        )
        _prepare_base(root)
        _import_base(root)


def _ensure_debootstrap() -> Path:
    """Make sure that debootstrap can check signatures, and return Debian's keyring. Raises PreparationError."""
    if os.geteuid() != 0:
        raise PreparationError(
            "Building stand-in images needs root (debootstrap installs a Debian system from packages)",
            "Run this command once as root or with sudo. Afterwards, every user can use the images.",
        )
    missing = [] if shutil.which("debootstrap") else ["debootstrap"]
    missing += [] if debian.KEYRING.exists() else ["debian-archive-keyring"]
    missing += [] if shutil.which("gpgv") else ["gpgv"]
    if not missing:
        return debian.KEYRING
    packages = " ".join(missing)
    if not debian.can_install():
        raise PreparationError(
            f"Building stand-in images needs packages that are not installed: {packages}",
            "Install them, or point the *_IMAGE variables in .env to a mirror.",
        )
    consent.require(f"install {packages} with apt-get", by_hand=f"`apt-get install {packages}`.")
    debian.apt_install(missing)
    return debian.KEYRING


def _prepare_base(root: Path) -> None:
    """Configure the new system's apt sources and certificates, and delete what no container needs."""
    sources = root / "etc/apt/sources.list"
    trixie = sources.read_text(encoding="utf-8")
    (root / "etc/apt/sources.list.d/sid.list").write_text(trixie.replace(BASE_SUITE, "sid"), encoding="utf-8")
    for path in (path for path in FILES.rglob("*") if path.is_file()):
        target = root / path.relative_to(FILES)
        shutil.copyfile(path, target)
        target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    # The age of package lists is checked as on this host.
    with (root / "etc/apt/apt.conf.d/90standin").open("a", encoding="utf-8") as file:
        file.writelines(f'{name} "false";\n' for name in debian.lifted_checks())
    base_bundle = (root / "etc/ssl/certs/ca-certificates.crt").read_text(encoding="utf-8")
    local = root / "usr/local/share/ca-certificates"
    local.mkdir(parents=True, exist_ok=True)
    for number, certificate in enumerate(extra_certificates(host_ca_bundle(), base_bundle), start=1):
        (local / f"host-{number:02}.crt").write_text(certificate, encoding="utf-8")
    checked(
        ["chroot", str(root), "update-ca-certificates"],
        seconds_max=COMMAND_SECONDS_MAX,
        what="update-ca-certificates",
        remedy="Check the certificates in this host's CA bundle.",
    )
    for pattern in ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/log/*.log", "var/lib/apt/lists/*_*"):
        for path in root.glob(pattern):
            path.unlink()
    for folder in ("usr/share/man", "usr/share/locale", "usr/share/info"):
        shutil.rmtree(root / folder, ignore_errors=True)
    # The Java packages link their manual pages here, and fail if the folder is missing.
    (root / "usr/share/man/man1").mkdir(parents=True)
    for name in ("etc/hostname", "etc/resolv.conf"):
        (root / name).unlink(missing_ok=True)


def _import_base(root: Path) -> None:
    changes = [f"ENV {name}={value}" for name, value in BASE_ENVIRONMENT.items()]
    changes += [f"LABEL {STANDIN_LABEL}=true", f"LABEL {REVISION_LABEL}={REVISION}", 'CMD ["bash"]']
    command = ["docker", "import", *(word for change in changes for word in ("--change", change)), "-", BASE_IMAGE]
    tar = subprocess.Popen(
        ["tar", "--create", "--numeric-owner", "--directory", str(root), "."], stdout=subprocess.PIPE
    )
    with tar:
        try:
            done = subprocess.run(
                command, stdin=tar.stdout, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False
            )
        except subprocess.TimeoutExpired:
            tar.kill()
            raise PreparationError(
                f"Importing {BASE_IMAGE} did not end within {BUILD_SECONDS_MAX:.0f} s",
                "Check the engine: `docker info`, and its free disk space.",
            ) from None
    if done.returncode != 0 or tar.returncode != 0:
        raise PreparationError(
            f"Importing {BASE_IMAGE} failed: {last_words(done.stderr)}", "Check the engine's free disk space."
        )
