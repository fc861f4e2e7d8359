"""Checks of the user's own CorDapps, the jars of ``cordapps/extra/``, before anything starts.

A node that meets a jar it cannot take stops with a stack trace after a minute or two, and some mistakes show only in the
first transaction. All of them can be seen in the jars.
"""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.lab.class_files import contract_classes
from corda_lab.paths import CORDAPPS, EXTRA_CORDAPPS, ROOT

JARS_MAX = 100
JAR_BYTES_MAX = 512 * 1024**2
MANIFEST_BYTES_MAX = 1024**2

PLATFORM_VERSIONS = {
    "3.3": 3,
    "4.0": 4,
    "4.1": 4,
    "4.2": 4,
    "4.3": 5,
    "4.4": 6,
    "4.5": 7,
    "4.6": 8,
    "4.7": 9,
    "4.8": 10,
    "4.9": 11,
    "4.10": 12,
}
"""Platform version of every Corda version that the lab can run; a fourth number, as in 4.8.11, changes nothing."""

CORDAPP_NAMES = ("Cordapp-Contract-Name", "Cordapp-Workflow-Name")
"""Manifest entries of a CorDapp. An older one has a Name and a Target-Platform-Version instead."""

CORDAPP_NAMES_PLATFORM = 4
"""Platform version from which on a node looks for them; an older one takes every jar."""


@dataclass(frozen=True)
class JarProblem:
    """What is wrong with one jar, and what to do about it."""

    path: Path
    finding: str
    remedy: str

    @property
    def text(self) -> str:
        """The file and what is wrong with it."""
        return f"{shown(self.path)}: {self.finding}"


@dataclass(frozen=True)
class Jar:
    """What the checks need of one jar: the hash of its bytes, its manifest's main entries, its contract classes."""

    path: Path
    sha256: str
    manifest: dict[str, str]
    contracts: frozenset[str]

    @property
    def is_cordapp(self) -> bool:
        """Whether a node would take it for a CorDapp."""
        is_old_form = "Name" in self.manifest and "Target-Platform-Version" in self.manifest
        return is_old_form or any(name in self.manifest for name in CORDAPP_NAMES)


def shown(path: Path) -> str:
    """A path as a person in the checkout would write it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def platform_version(corda_version: str) -> int | None:
    """Platform version of a Corda version; None for one that is not known."""
    return PLATFORM_VERSIONS.get(".".join(corda_version.split(".")[:2]))


def extra_jars(folder: Path = EXTRA_CORDAPPS) -> list[Path]:
    """The jars of the user's own CorDapps, in order of name; an absent folder has none."""
    return sorted(folder.glob("*.jar"))


def fingerprint(folder: Path = EXTRA_CORDAPPS) -> str:
    """Changes with the jars' names and content; empty when there are none."""
    jars = extra_jars(folder)
    if not jars:
        return ""
    digest = hashlib.sha256()
    for jar in jars:
        try:
            digest.update(jar.name.encode() + hashlib.sha256(jar.read_bytes()).digest())
        except OSError as error:
            raise LabError(f"{shown(jar)}: cannot be read ({error.strerror})", "Mend its permissions.") from None
    return digest.hexdigest()[:16]


def lab_contract_classes(sources: Path = CORDAPPS) -> dict[str, str]:
    """Contracts of the lab's own CorDapp by class: they are built inside the image, so they are found in their sources."""
    folder = sources / "contracts" / "src" / "main" / "java"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): shown(path)
        for path in sorted(folder.rglob("*.java"))
        if re.search(r"\bclass\s+\w+\s+implements\s+[^{]*\bContract\b", path.read_text(encoding="utf-8"))
    }


def parse_manifest(content: bytes) -> dict[str, str]:
    """Main entries of a ``MANIFEST.MF``; a line that begins with a space goes on with the one before."""
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n").replace("\n ", "")
    main = text.split("\n\n", 1)[0]
    entries = (line.partition(":") for line in main.split("\n"))
    return {name.strip(): value.strip() for name, colon, value in entries if colon}


def read_jar(path: Path) -> Jar:
    """Read one jar. Raises ValueError with a reason when it is none."""
    if path.stat().st_size > JAR_BYTES_MAX:
        raise ValueError(f"is larger than {JAR_BYTES_MAX // 1024**2} MiB")
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1024 * 1024):
            digest.update(block)
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename.upper(): info for info in archive.infolist()}
            found = names.get("META-INF/MANIFEST.MF")
            manifest = parse_manifest(archive.read(found)[:MANIFEST_BYTES_MAX]) if found else {}
            return Jar(path, digest.hexdigest(), manifest, frozenset(contract_classes(archive)))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"is not a jar ({error})") from None


def find_problems(paths: Sequence[Path], corda_version: str, lab_contracts: dict[str, str]) -> list[JarProblem]:
    """Everything that is wrong with the jars, all at once.

    ``lab_contracts`` gives the contract classes of the lab's own CorDapp and where each is from.
    """
    if len(paths) > JARS_MAX:
        return [JarProblem(paths[0].parent, f"holds {len(paths)} jars, more than {JARS_MAX}", "Remove some of them.")]
    problems: list[JarProblem] = []
    by_hash: dict[str, Path] = {}
    owners: dict[str, tuple[str, bool]] = {name: (where, True) for name, where in lab_contracts.items()}
    for path in paths:
        try:
            jar = read_jar(path)
        except (OSError, ValueError) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            problems.append(JarProblem(path, reason, "Copy the CorDapp's jar there again, or remove the file."))
            continue
        twin = by_hash.setdefault(jar.sha256, path)
        if twin != path:
            problems.append(JarProblem(path, f"is the same file as {twin.name}", "Remove one of the two."))
            continue
        problems += manifest_problems(jar, corda_version)
        for name in sorted(jar.contracts):
            where, is_lab = owners.setdefault(name, (path.name, False))
            if where != path.name:
                other = f"the lab's own CorDapp ({where})" if is_lab else where
                problems.append(
                    JarProblem(
                        path,
                        f"holds the contract {name.replace('/', '.')}, and so does {other}",
                        "Keep one of them: a node refuses two jars with the same contract.",
                    )
                )
    return problems


def manifest_problems(jar: Jar, corda_version: str) -> Iterator[JarProblem]:
    """What the manifest says that a node of this version would not take."""
    offered = platform_version(corda_version)
    if not jar.is_cordapp and (offered is None or offered >= CORDAPP_NAMES_PLATFORM):
        yield JarProblem(
            jar.path,
            f"is not a CorDapp: its manifest has neither {' nor '.join(CORDAPP_NAMES)}",
            "Only CorDapps belong there; a library has to be packed into the CorDapp that uses it. Remove the file.",
        )
    wanted = jar.manifest.get("Min-Platform-Version")
    if wanted is None:
        return
    if not wanted.isdecimal():
        yield JarProblem(
            jar.path, f"Min-Platform-Version {wanted!r} is not a number", "Mend the manifest in its build."
        )
        return
    if offered is not None and int(wanted) > offered:
        newer = [version for version, number in PLATFORM_VERSIONS.items() if number >= int(wanted)]
        remedy = f"Set CORDA_VERSION={newer[0]} or newer, or take a build" if newer else "Take a build"
        yield JarProblem(
            jar.path,
            f"needs platform version {wanted}, Corda {corda_version} has {offered}",
            f"{remedy} of it for platform version {offered}.",
        )


def require_sound(corda_version: str) -> int:
    """Check all jars of ``cordapps/extra/``; returns how many there are. Raises LabError with every problem."""
    paths = extra_jars()
    problems = find_problems(paths, corda_version, lab_contract_classes())
    if problems:
        raise LabError("\n".join(f"{problem.text}\n       {problem.remedy}" for problem in problems))
    return len(paths)
