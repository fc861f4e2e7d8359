"""Installs packages on Debian and Ubuntu with apt, and unpacks single programs from Debian sid.

Callers ask for consent first (see ``consent``). The addresses of archives come from the host's apt sources, so a
company's mirror is used if there is one.
"""

import os
import pwd
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bare.commands import COMMAND_SECONDS_MAX, PreparationError, last_words, note, run, warn

OS_RELEASE = Path("/etc/os-release")
APT_ETC = Path("/etc/apt")

PRIVATE_APT = Path(__file__).with_name("private-apt.conf")

APT_UPDATE_SECONDS_MAX = 300
APT_INSTALL_SECONDS_MAX = 900
DOWNLOAD_SECONDS_MAX = 600

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The keys of Debian's archive, from the package debian-archive-keyring."""

APT_USER = "_apt"
"""The user without privileges as which apt downloads and checks signatures."""

UNSIGNED = (
    "APT::Get::AllowUnauthenticated",
    "Acquire::AllowInsecureRepositories",
    "Acquire::AllowWeakRepositories",
    "Acquire::AllowDowngradeToInsecureRepositories",
)
"""Options of apt that would accept lists or packages without a signature."""
AGE_CHECKS = ("Acquire::Check-Valid-Until", "Acquire::Check-Date")
"""apt's checks of the age of package lists. The host's own configuration decides about them."""

_ROLLING_SUITES = frozenset({"stable", "oldstable", "testing", "unstable", "sid"})


def os_release() -> dict[str, str]:
    """Return the values of this host's ``os-release``; none if it has no such file."""
    try:
        text = OS_RELEASE.read_text(encoding="utf-8")
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+)=[\"']?(.*?)[\"']?$", text, re.MULTILINE))


def is_debian() -> bool:
    return os_release().get("ID") == "debian"


def has_apt() -> bool:
    """Return whether this host is Debian, Ubuntu or a derivative."""
    values = os_release()
    return bool({"debian", "ubuntu"} & {values.get("ID"), *values.get("ID_LIKE", "").split()})


def can_install() -> bool:
    """Return whether packages can be installed: apt exists, and the user is root."""
    return has_apt() and os.geteuid() == 0 and shutil.which("apt-get") is not None


def _run(command: Sequence[str], *, seconds_max: float, what: str, cwd: Path | None = None) -> str:
    """Run a command of the package system and return its output. Raises PreparationError with its last lines."""
    environment = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    done = run(command, seconds_max=seconds_max, environment=environment, cwd=cwd)
    if done.returncode != 0:
        words = last_words(done.stderr or done.stdout)
        raise PreparationError(f"{what} failed with status {done.returncode}: {words}", _remedy(words, command))
    return done.stdout


def _remedy(words: str, command: Sequence[str]) -> str:
    """Return the remedy for a command that failed with these words."""
    if "is expired" in words or "is not valid yet" in words:
        return (
            "Debian no longer vouches for lists of this age: the mirror may be stale, or the clock wrong. "
            "Use another mirror in /etc/apt, or use an image registry and Docker's own packages."
        )
    return f"Run `{shlex.join(command)}` by hand to see its whole output."


def apt_install(packages: Iterable[str], *, say: Callable[[str], None] = note) -> None:
    """Install packages and their dependencies from the host's apt sources. Needs root. Raises PreparationError.

    Lists and packages without a signature are refused, unless a source of the host says that it needs none.
    """
    wanted = list(packages)
    say(f"installing with apt-get: {' '.join(wanted)}")
    options = ["-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    options += [word for name in UNSIGNED for word in ("-o", f"{name}=false")]
    _run(["apt-get", *options, "update"], seconds_max=APT_UPDATE_SECONDS_MAX, what="apt-get update")
    _run(
        ["apt-get", *options, "install", "--yes", "--no-install-recommends", *wanted],
        seconds_max=APT_INSTALL_SECONDS_MAX,
        what=f"apt-get install {' '.join(wanted)}",
    )


def lifted_checks() -> list[str]:
    """Return those checks of the age of package lists that this host's own apt configuration has switched off."""
    dump = _run(["apt-config", "dump"], seconds_max=COMMAND_SECONDS_MAX, what="apt-config dump")
    off = re.findall(r'^(\S+) "(?:false|no|off|without|disable|0)";$', dump, re.MULTILINE | re.IGNORECASE)
    return [name for name in AGE_CHECKS if name in off]


def _stanzas(text: str) -> list[dict[str, str]]:
    """Parse the paragraphs of a deb822 file. A field of several lines keeps its line breaks."""
    without_comments = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    return [
        {
            name.lower(): value.strip(" \t")
            for name, value in re.findall(r"^([^\s:]+):(.*(?:\n[ \t].*)*)", paragraph, re.MULTILINE)
        }
        for paragraph in re.split(r"\n\s*\n", without_comments)
    ]


_ONE_LINE = re.compile(r"^deb\s+(?P<options>\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")


@dataclass(frozen=True)
class PackageArchive:
    """The archive of a host's release: its URIs, and the key that signs it. Without one, it is Debian's."""

    uris: str
    signed_by: str

    def with_suite(self, suite: str) -> str:
        """Return the text of a ``.sources`` file for the main component of another suite in this archive."""
        # Without a key of its own, apt would accept any key that this host trusts for any archive.
        key = self.signed_by or KEYRING
        return f"Types: deb\nURIs: {self.uris}\nSuites: {suite}\nComponents: main\nSigned-By: {key}\n"


def find_source(files: Mapping[str, str], codename: str) -> PackageArchive | None:
    """Find the archive of the release ``codename`` in a host's apt sources.

    ``files`` maps each file's name to its text, in either of apt's formats. Security and update suites, disabled
    sources and sources without a main component are ignored. Returns None if no source is left.
    """
    suites = _ROLLING_SUITES | {codename}
    for name, text in sorted(files.items()):
        if name.endswith(".sources"):
            for stanza in _stanzas(text):
                if (
                    stanza.get("enabled", "yes").lower() not in {"no", "false", "off", "0"}
                    and "deb" in stanza.get("types", "").split()
                    and suites & set(stanza.get("suites", "").split())
                    and "main" in stanza.get("components", "").split()
                    and stanza.get("uris")
                ):
                    return PackageArchive(stanza["uris"], stanza.get("signed-by", ""))
        elif name.endswith(".list"):
            for line in text.splitlines():
                match = _ONE_LINE.match(line.partition("#")[0].strip())
                if match and match["suite"] in suites and "main" in match["components"].split():
                    signed = re.search(r"signed-by=([^\s\]]+)", match["options"] or "", re.IGNORECASE)
                    return PackageArchive(match["uri"], signed[1].replace(",", " ") if signed else "")
    return None


def host_source() -> PackageArchive | None:
    """Return the archive of this host's release; None if its apt sources do not contain it."""
    return find_source(_source_files(), os_release().get("VERSION_CODENAME", ""))


def _source_files() -> dict[str, str]:
    paths = [APT_ETC / "sources.list", *sorted((APT_ETC / "sources.list.d").glob("*"))]
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()}


def _make_folders(directory: Path) -> None:
    """Make the folders of a private apt. Its user may write where it downloads, so that nothing is fetched as root."""
    directory.chmod(0o711)
    owner = -1  # nobody else
    if os.geteuid() == 0:
        # Without such a user, apt downloads as root.
        with suppress(KeyError):
            owner = pwd.getpwnam(APT_USER).pw_uid
    for name in ("lists", "lists/partial", "cache", "cache/archives", "cache/archives/partial", "download", "unpacked"):
        folder = directory / name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        if name.endswith(("partial", "download")):
            os.chown(folder, owner, -1)


def unpack_from_sid(packages: Sequence[str], directory: Path) -> Path:
    """Download packages from Debian sid and unpack them below ``directory``, without installing them.

    Returns the folder with their files. The system's apt sources and package state do not change.
    Raises PreparationError.
    """
    source = host_source()
    if source is None:
        raise PreparationError(
            f"This host's apt sources contain no Debian archive to download {' and '.join(packages)} from",
            "Add the Debian archive to /etc/apt/sources.list.d, or install Docker's own packages.",
        )
    if not source.signed_by and not KEYRING.exists():
        raise PreparationError(
            f"{KEYRING} is missing, so the signature of Debian's archive cannot be checked",
            "Install the package debian-archive-keyring, or Docker's own packages.",
        )
    if lifted := lifted_checks():
        warn(f"this host's apt configuration accepts old package lists ({' and '.join(lifted)})")
    _make_folders(directory)
    (directory / "debian.sources").write_text(source.with_suite("sid"), encoding="utf-8")
    config = directory / "apt.conf"
    config.write_text(PRIVATE_APT.read_text(encoding="utf-8").replace("@FOLDER@", str(directory)), encoding="utf-8")
    apt_get = ["apt-get", "-qq", f"--config-file={config}"]
    _run([*apt_get, "update"], seconds_max=APT_UPDATE_SECONDS_MAX, what="apt-get update for Debian sid")
    download = directory / "download"
    _run(
        [*apt_get, "download", *packages],
        seconds_max=DOWNLOAD_SECONDS_MAX,
        what=f"Download of {' and '.join(packages)} from Debian sid",
        cwd=download,
    )
    for archive in sorted(download.glob("*.deb")):
        _run(
            ["dpkg-deb", "--extract", str(archive), str(directory / "unpacked")],
            seconds_max=DOWNLOAD_SECONDS_MAX,
            what=f"Unpacking {archive.name}",
        )
    return directory / "unpacked"
