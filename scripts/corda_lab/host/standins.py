"""Builds stand-ins for official images from Debian packages, for machines that cannot reach a registry."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import consent, debian, processes
from corda_lab.host.processes import COMMAND_SECONDS_MAX, run_bounded
from corda_lab.paths import CACHE, ROOT
from corda_lab.text import ui

OFFLINE = ROOT / "scripts" / "offline"
BASE_SUITE = "trixie"
BASE_IMAGE = f"corda-lab/standin-base:{BASE_SUITE}"
PACKAGES_IMAGE = f"corda-lab/standin-packages:{BASE_SUITE}"
STANDIN_LABEL = "org.cordalab.standin"
DEBOOTSTRAP_SECONDS_MAX = 600
BUILD_SECONDS_MAX = 900


@dataclass(frozen=True)
class StandIn:
    """The stand-in for an image variable of ``.env``: folder of its Dockerfile, and the stand-in it builds on."""

    variable: str
    folder: str
    parent: "StandIn | None" = None

    @property
    def own_tag(self) -> str:
        """The stand-in's own image name, which no official image has. Stand-ins refer to each other by it."""
        return f"corda-lab/standin-{self.folder}:{BASE_SUITE}"


_JAVA21 = StandIn("JAVA21_IMAGE", "java21")

STAND_INS = (
    StandIn("JAVA8_IMAGE", "java8"),
    _JAVA21,
    StandIn("MAVEN_IMAGE", "maven", parent=_JAVA21),
    StandIn("PYTHON_IMAGE", "python"),
    StandIn("PROMETHEUS_IMAGE", "prometheus"),
    StandIn("POSTGRES_IMAGE", "postgres"),
    StandIn("POSTGRES_EXPORTER_IMAGE", "postgres-exporter"),
    StandIn("TOXIPROXY_IMAGE", "toxiproxy"),
)

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


def checked(command: Sequence[str], *, seconds_max: float, what: str, remedy: str) -> str:
    done = run_bounded(command, seconds_max=seconds_max)
    if done.returncode != 0:
        raise LabError(f"{what} failed: {processes.last_words(done.stderr or done.stdout, 8)}", remedy)
    return done.stdout


def present_images(names: Iterable[str]) -> dict[str, bool]:
    """Return which of these images exist: name → whether it is a stand-in."""
    present: dict[str, bool] = {}
    for name in names:
        done = run_bounded(
            ["docker", "image", "inspect", "--format", f'{{{{index .Config.Labels "{STANDIN_LABEL}"}}}}', name]
        )
        if done.returncode == 0:
            present[name] = done.stdout.strip() == "true"
    return present


def build_order(variables: Collection[str]) -> list[StandIn]:
    """Return the stand-ins to build for these variables of ``.env``, parents first."""
    parents = {s.parent for s in STAND_INS if s.variable in variables and s.parent}
    return sorted(
        (s for s in STAND_INS if s.variable in variables or s in parents),
        key=lambda stand_in: stand_in.parent is not None,
    )


def build(names: Mapping[str, str]) -> None:
    """Build the stand-ins for ``names`` (variable → image) in parallel. Each waits for the stand-in it builds on."""
    started = time.monotonic()
    ui.note(f"building {len(names)} stand-ins from Debian packages; this takes a few minutes")
    if not present_images([BASE_IMAGE]):
        _build_base()
        ui.note(f"{BASE_IMAGE} built in {time.monotonic() - started:.0f} s")
    _build_packages()
    order = build_order(names)
    jobs: dict[StandIn | None, Future[None]] = {}
    with ThreadPoolExecutor(max_workers=len(order)) as pool:
        for stand_in in order:
            jobs[stand_in] = pool.submit(_build_one, stand_in, names.get(stand_in.variable), jobs.get(stand_in.parent))
    for job in jobs.values():
        job.result()
    ui.note(f"stand-ins ready in {time.monotonic() - started:.0f} s")


def _build_packages() -> None:
    """Build the image with fresh package lists. A rolling archive deletes packages that older lists name."""
    before = run_bounded(["docker", "image", "inspect", "--format", "{{.Id}}", PACKAGES_IMAGE]).stdout.strip()
    _docker_build("packages", [PACKAGES_IMAGE], ["--no-cache"])
    if before:
        run_bounded(["docker", "image", "rm", before])


def _build_one(stand_in: StandIn, name: str | None, parent: "Future[None] | None") -> None:
    """Build one stand-in and tag it with its own name and, if given, the official ``name``."""
    if parent is not None:
        parent.result()
    started = time.monotonic()
    _docker_build(stand_in.folder, [stand_in.own_tag, *([name] if name else [])])
    ui.note(f"{name or stand_in.own_tag} (stand-in) built in {time.monotonic() - started:.0f} s")


def _docker_build(folder: str, tags: Sequence[str], options: Sequence[str] = ()) -> None:
    # Pass on the proxies that are set. Docker keeps these arguments out of the image's history.
    proxies = [name for name in os.environ if name.lower() in {"http_proxy", "https_proxy", "no_proxy", "ftp_proxy"}]
    checked(
        [
            *("docker", "buildx", "build", "--load", "--progress", "plain", *options),
            *(word for tag in tags for word in ("--tag", tag)),
            *(word for proxy in proxies for word in ("--build-arg", proxy)),
            str(OFFLINE / folder),
        ],
        seconds_max=BUILD_SECONDS_MAX,
        what=f"Building the stand-in {tags[-1]}",
        remedy="Check that containers can reach the Debian archive.",
    )


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


def _build_base() -> None:
    """Build the base image of all stand-ins: a minimal Debian from the archive."""
    _ensure_debootstrap()
    CACHE.mkdir(parents=True, exist_ok=True)
    # Not below /tmp, which may be mounted with nodev or noexec. In its own mount namespace, everything that debootstrap
    # mounts is unmounted when it ends, before the folder is deleted.
    with tempfile.TemporaryDirectory(prefix="standin-base-", dir=CACHE) as directory:
        root = Path(directory) / "root"
        source = debian.host_source() if debian.host_platform().is_debian else None
        mirror = [uri for uri in (source.uris.split() if source else []) if re.match(r"https?://", uri)][:1]
        checked(
            [
                *("unshare", "--mount", "debootstrap", "--variant=minbase", "--include=ca-certificates"),
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


def _ensure_debootstrap() -> None:
    if os.geteuid() != 0:
        raise LabError(
            "Building stand-in images needs root (debootstrap installs a Debian system from packages)",
            "Run this command once as root or with sudo. Afterwards, every user can use the images.",
        )
    if shutil.which("debootstrap") and Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
        return
    if not debian.can_install():
        raise LabError(
            "Building stand-in images needs debootstrap, which is not installed",
            "Install debootstrap and debian-archive-keyring, or point the *_IMAGE variables in .env to a mirror.",
        )
    consent.require(
        "install debootstrap and debian-archive-keyring with apt-get",
        by_hand="`apt-get install debootstrap debian-archive-keyring`.",
    )
    debian.apt_install(["debootstrap", "debian-archive-keyring"])


def _prepare_base(root: Path) -> None:
    """Configure the new system's apt sources and certificates, and delete what no container needs."""
    sources = root / "etc/apt/sources.list"
    trixie = sources.read_text(encoding="utf-8")
    (root / "etc/apt/sources.list.d/sid.list").write_text(trixie.replace(BASE_SUITE, "sid"), encoding="utf-8")
    # Packages come from sid only if they are requested from it or missing in trixie.
    (root / "etc/apt/preferences.d/sid").write_text(
        "Package: *\nPin: release n=sid\nPin-Priority: 100\n", encoding="utf-8"
    )
    (root / "etc/apt/apt.conf.d/90standin").write_text(
        'Acquire::Check-Valid-Until "false";\n'
        'Acquire::Languages "none";\n'
        'Acquire::GzipIndexes "true";\n'
        'Acquire::Retries "3";\n'
        'APT::Keep-Downloaded-Packages "false";\n'
        'Dir::Cache::pkgcache "";\n'
        'Dir::Cache::srcpkgcache "";\n',
        encoding="utf-8",
    )
    (root / "etc/dpkg/dpkg.cfg.d/90standin").write_text(
        "force-unsafe-io\n"
        "path-exclude /usr/share/doc/*\n"
        "path-include /usr/share/doc/*/copyright\n"
        "path-exclude /usr/share/man/*\n"
        "path-exclude /usr/share/locale/*\n"
        "path-exclude /usr/share/info/*\n",
        encoding="utf-8",
    )
    # As in the official images, services of packages must not start during a build.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    policy.chmod(0o755)
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
    changes += [f"LABEL {STANDIN_LABEL}=true", 'CMD ["bash"]']
    command = ["docker", "import", *(word for change in changes for word in ("--change", change)), "-", BASE_IMAGE]
    tar = subprocess.Popen(
        ["tar", "--create", "--numeric-owner", "--directory", str(root), "."], stdout=subprocess.PIPE
    )
    with tar:
        done = subprocess.run(
            command, stdin=tar.stdout, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False
        )
    if done.returncode != 0 or tar.returncode != 0:
        raise LabError(
            f"Importing {BASE_IMAGE} failed: {processes.last_words(done.stderr)}", "Check the engine's free disk space."
        )
