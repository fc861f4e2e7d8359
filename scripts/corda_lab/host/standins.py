"""Stand-ins of official images, built from Debian's packages where no registry can be reached."""

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
from corda_lab.host import debian, processes
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
    """How one image of ``.env`` is replaced: the folder of its Dockerfile, and the stand-in that it builds on."""

    variable: str
    folder: str
    parent: "StandIn | None" = None

    @property
    def own_tag(self) -> str:
        """A name that no official image has; stand-ins build on each other by it."""
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
"""Tools that bring certificates of their own (pip, requests, Node) are told to use the system's."""


def checked(command: Sequence[str], *, seconds_max: float, what: str, remedy: str) -> str:
    done = run_bounded(command, seconds_max=seconds_max)
    if done.returncode != 0:
        raise LabError(f"{what} failed: {processes.last_words(done.stderr or done.stdout, 8)}", remedy)
    return done.stdout


def present_images(names: Iterable[str]) -> dict[str, bool]:
    """Which of these images the engine holds: name → whether it is a stand-in."""
    present: dict[str, bool] = {}
    for name in names:
        done = run_bounded(
            ["docker", "image", "inspect", "--format", f'{{{{index .Config.Labels "{STANDIN_LABEL}"}}}}', name]
        )
        if done.returncode == 0:
            present[name] = done.stdout.strip() == "true"
    return present


def build_order(variables: Collection[str]) -> list[StandIn]:
    """The stand-ins to build for these variables of ``.env``, each after the one it builds on."""
    parents = {s.parent for s in STAND_INS if s.variable in variables and s.parent}
    return sorted(
        (s for s in STAND_INS if s.variable in variables or s in parents),
        key=lambda stand_in: stand_in.parent is not None,
    )


def build(names: Mapping[str, str]) -> None:
    """Build the stand-ins for ``names`` (variable → image) side by side; one that builds on another waits for it."""
    started = time.monotonic()
    ui.note(f"building {len(names)} stand-ins from Debian's packages, which takes some minutes")
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
    """Fetch the package lists anew: a rolling archive deletes the packages that older lists name."""
    before = run_bounded(["docker", "image", "inspect", "--format", "{{.Id}}", PACKAGES_IMAGE]).stdout.strip()
    _docker_build("packages", [PACKAGES_IMAGE], ["--no-cache"])
    if before:
        run_bounded(["docker", "image", "rm", before])


def _build_one(stand_in: StandIn, name: str | None, parent: "Future[None] | None") -> None:
    """Build one stand-in under its own tag and, where wanted, the official ``name``."""
    if parent is not None:
        parent.result()
    started = time.monotonic()
    _docker_build(stand_in.folder, [stand_in.own_tag, *([name] if name else [])])
    ui.note(f"{name or stand_in.own_tag} (stand-in) built in {time.monotonic() - started:.0f} s")


def _docker_build(folder: str, tags: Sequence[str], options: Sequence[str] = ()) -> None:
    # Proxies are passed on only where they are set; Docker keeps these arguments out of the image's history.
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
        remedy="The Debian archive has to be reachable from containers; see the last lines above for the cause.",
    )


def split_certificates(bundle: str) -> list[str]:
    """The PEM certificates of a bundle, each with normal line ends, so that equal ones compare equal."""
    blocks = re.findall(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", bundle)
    return [block.replace("\r", "") + "\n" for block in blocks]


def extra_certificates(host_bundle: str, base_bundle: str) -> list[str]:
    """What the host trusts and the base does not: the authorities of a company's proxy, for example."""
    known = set(split_certificates(base_bundle))
    return [certificate for certificate in split_certificates(host_bundle) if certificate not in known]


def host_ca_bundle() -> str:
    """The certificates that this host trusts; empty when no bundle is found."""
    for path in (os.environ.get("SSL_CERT_FILE", ""), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/cert.pem"):
        if path and Path(path).is_file():
            return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def _build_base() -> None:
    """Make the base of all stand-ins: a minimal Debian from the archive, imported as an image."""
    _ensure_debootstrap()
    CACHE.mkdir(parents=True, exist_ok=True)
    # Not below /tmp, which may be mounted without the rights to make devices and run programs. The namespace of its
    # own makes sure that what debootstrap mounts is gone when it ends, however it ends, before the folder is deleted.
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
            remedy="The Debian archive has to be reachable from this host; otherwise use a registry.",
        )
        _prepare_base(root)
        _import_base(root)


def _ensure_debootstrap() -> None:
    if os.geteuid() != 0:
        raise LabError(
            "Building stand-ins for images needs root (debootstrap makes a Debian from packages)",
            "Run this command once as root or with sudo; afterwards the images are there for everyone.",
        )
    if shutil.which("debootstrap") and Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
        return
    if not debian.can_install():
        raise LabError(
            "No image registry can be reached, and stand-ins need debootstrap, which is missing",
            "Install debootstrap and the Debian archive's keyring, or point *_IMAGE in .env to a registry mirror.",
        )
    debian.apt_install(["debootstrap", "debian-archive-keyring"])


def _prepare_base(root: Path) -> None:
    """Give the new system its sources and trust, and strip what no container needs."""
    sources = root / "etc/apt/sources.list"
    trixie = sources.read_text(encoding="utf-8")
    (root / "etc/apt/sources.list.d/sid.list").write_text(trixie.replace(BASE_SUITE, "sid"), encoding="utf-8")
    # Sid serves only what is asked from it by name or what trixie does not have.
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
    # As in the official images: a package's service must not start while an image is built.
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
        remedy="Check the certificates that this host trusts.",
    )
    for pattern in ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/log/*.log", "var/lib/apt/lists/*_*"):
        for path in root.glob(pattern):
            path.unlink()
    for folder in ("usr/share/man", "usr/share/locale", "usr/share/info"):
        shutil.rmtree(root / folder, ignore_errors=True)
    # The alternatives of Java's packages fail where there is no folder for the manual pages that they would link.
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
