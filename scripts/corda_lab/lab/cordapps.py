"""Checks the user's own CorDapps, the jars in ``cordapps/extra/``, before anything starts.

Without these checks, a node stops with a stack trace after a minute or two if it cannot load a jar, and some mistakes
show only in the first transaction. All of them can be found in the jars.
"""

import hashlib
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.paths import CORDAPPS, EXTRA_CORDAPPS, ROOT
from lab_workload.problems import Problem

JAR_BYTES_MAX = 512 * 1024**2
MANIFEST_BYTES_MAX = 1024**2

NODE_JAVA = 8
"""The version of Java on which every known version of Corda runs."""

PLATFORM_VERSIONS = {
    "3.3": 3,
    **dict.fromkeys(("4.0", "4.1", "4.2"), 4),
    **{f"4.{minor}": minor + 2 for minor in range(3, 11)},
}
"""Platform version by Corda version. A third number, as in 4.8.11, does not change it."""

CONTRACT_INTERFACES = frozenset(
    f"net/corda/core/contracts/{name}"
    for name in ("Contract", "UpgradedContract", "UpgradedContractWithLegacyConstraint")
)
"""The interfaces of a contract, by their names in class files."""
FLOW_CLASSES = frozenset({"net/corda/core/flows/FlowLogic"})
"""The superclass of a flow."""
CLASS_BYTES_MAX = 16 * 1024**2
_CLASS_MAGIC = 0xCAFEBABE
_JAVA_1 = 44
"""What the version of a class file is above that of Java: 52 is Java 8."""
_CONSTANT_BYTES = {
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4),
    **dict.fromkeys((5, 6), 8),
    **dict.fromkeys((7, 8, 16, 19, 20), 2),
    15: 3,
}
"""Bytes after the tag of each kind of constant pool entry (JVM specification, section 4.4)."""
_TEXT_TAG, _CLASS_TAG = 1, 7
_WIDE_TAGS = {5, 6}
"""Tags of 8-byte numbers, which take two entries of the pool."""

CORDAPP_NAMES = ("Cordapp-Contract-Name", "Cordapp-Workflow-Name")
"""Manifest entries of a CorDapp. An old CorDapp has ``Name`` and ``Target-Platform-Version`` instead."""

CORDAPP_NAMES_PLATFORM = 4
"""Lowest platform version whose CorDapps have these entries. Every jar is a CorDapp to older ones."""


@dataclass(frozen=True)
class Jar:
    """The facts about a jar that the checks need: its hash, main manifest entries, classes, Java version."""

    path: Path
    sha256: str
    manifest: dict[str, str]
    contracts: frozenset[str]
    flows: frozenset[str]
    java: int
    """The lowest version of Java that loads its classes; 0 if it has none."""

    @property
    def is_cordapp(self) -> bool:
        """Whether its manifest says so, or it has a flow or a contract."""
        is_old_form = "Name" in self.manifest and "Target-Platform-Version" in self.manifest
        is_named = is_old_form or any(name in self.manifest for name in CORDAPP_NAMES)
        return is_named or bool(self.contracts or self.flows)


def shown(path: Path) -> str:
    """Return a path relative to the checkout if it is inside, else the path itself."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _problem(path: Path, text: str, remedy: str) -> Problem:
    return Problem(text, remedy=remedy, path=Path(shown(path)))


def platform_version(corda_version: str) -> int | None:
    return PLATFORM_VERSIONS.get(".".join(corda_version.split(".")[:2]))


def extra_jars(folder: Path = EXTRA_CORDAPPS) -> list[Path]:
    return sorted(folder.glob("*.jar"))


def extra_configs(folder: Path = EXTRA_CORDAPPS) -> list[Path]:
    """Return the settings of CorDapps, ``config/<name of the jar>.conf``, sorted by name."""
    return sorted((folder / "config").glob("*.conf"))


def fingerprint(folder: Path = EXTRA_CORDAPPS) -> str:
    """Return a hash of the files' names and content; empty if there are none. Raises LabError."""
    files = [*extra_jars(folder), *extra_configs(folder)]
    if not files:
        return ""
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        except OSError as error:
            raise LabError(f"{shown(path)}: cannot be read ({error.strerror})", "Fix its permissions.") from None
    return digest.hexdigest()[:16]


def lab_contract_classes(sources: Path = CORDAPPS) -> dict[str, str]:
    """Return the contract classes of the lab's own CorDapp: class → source file.

    They are found in the sources, because the jar is built inside the image.
    """
    folder = sources / "contracts" / "src" / "main" / "java"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): shown(path)
        for path in sorted(folder.rglob("*.java"))
        if re.search(r"\bclass\s+\w+\s+implements\s+[^{]*\bContract\b", path.read_text(encoding="utf-8"))
    }


def parse_manifest(content: bytes) -> dict[str, str]:
    """Return the main entries of a ``MANIFEST.MF``. A line that begins with a space continues the previous line."""
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n").replace("\n ", "")
    main = text.split("\n\n", 1)[0]
    entries = (line.partition(":") for line in main.split("\n"))
    return {name.strip(): value.strip() for name, colon, value in entries if colon}


def read_jar(path: Path) -> Jar:
    """Read the facts about a jar. Raises ValueError if it is none, or OSError."""
    if path.stat().st_size > JAR_BYTES_MAX:
        raise ValueError(f"is larger than {JAR_BYTES_MAX // 1024**2} MiB")
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {info.filename.upper(): info for info in archive.infolist()}
            manifest = entries.get("META-INF/MANIFEST.MF")
            classes = {
                info.filename.removesuffix(".class"): archive.read(info)
                for info in archive.infolist()
                if info.filename.endswith(".class") and info.file_size <= CLASS_BYTES_MAX
            }
            parents = {name: class_parents(content) for name, content in classes.items()}
            return Jar(
                path,
                sha256,
                parse_manifest(archive.read(manifest)[:MANIFEST_BYTES_MAX]) if manifest else {},
                contracts=classes_below(CONTRACT_INTERFACES, parents),
                flows=classes_below(FLOW_CLASSES, parents),
                java=java_needed(classes),
            )
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"is not a jar ({error})") from None


def classes_below(tops: frozenset[str], parents: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the classes that extend or implement one of ``tops``, directly or by a class in the same jar."""
    below = set(tops)
    while more := {name for name, above in parents.items() if name not in below and below & above}:
        below |= more
    return frozenset(below & set(parents))


def java_needed(classes: Mapping[str, bytes]) -> int:
    """Return the lowest version of Java that loads every class; 0 without classes.

    Classes in ``META-INF/`` and ``module-info`` are for newer versions, which look for them themselves.
    """
    heads = [
        struct.unpack(">IHH", content[:8])
        for name, content in classes.items()
        if len(content) >= 8 and not name.startswith("META-INF/") and not name.endswith("module-info")
    ]
    return max((version - _JAVA_1 for magic, _, version in heads if magic == _CLASS_MAGIC), default=0)


def class_parents(content: bytes) -> frozenset[str]:
    """Return the superclass and the direct interfaces of a class file; empty if it cannot be parsed."""
    try:
        if struct.unpack_from(">I", content)[0] != _CLASS_MAGIC:
            return frozenset()
        texts: dict[int, str] = {}
        classes: dict[int, int] = {}
        count, at, index = struct.unpack_from(">H", content, 8)[0], 10, 1
        while index < count:
            tag = content[at]
            if tag == _TEXT_TAG:
                length = struct.unpack_from(">H", content, at + 1)[0]
                texts[index] = content[at + 3 : at + 3 + length].decode("utf-8", errors="replace")
                at += 3 + length
            else:
                if tag == _CLASS_TAG:
                    classes[index] = struct.unpack_from(">H", content, at + 1)[0]
                at += 1 + _CONSTANT_BYTES[tag]
            index += 2 if tag in _WIDE_TAGS else 1
        above, number = struct.unpack_from(">HH", content, at + 4)
        own = struct.unpack_from(f">{number}H", content, at + 8)
        return frozenset(texts[classes[parent]] for parent in (above, *own) if parent)
    except (struct.error, IndexError, KeyError):
        return frozenset()


def find_problems(paths: Sequence[Path], corda_version: str, lab_contracts: dict[str, str]) -> Iterator[Problem]:
    """Yield all problems of the jars.

    ``lab_contracts`` has the contract classes of the lab's own CorDapp: class → source file.
    """
    by_hash: dict[str, Path] = {}
    owners = {name: f"the lab's own CorDapp ({where})" for name, where in lab_contracts.items()}
    for path in paths:
        try:
            jar = read_jar(path)
        except (OSError, ValueError) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            yield _problem(path, reason, "Copy the CorDapp's jar again, or delete the file.")
            continue
        twin = by_hash.setdefault(jar.sha256, path)
        if twin != path:
            yield _problem(path, f"is the same file as {twin.name}", "Delete one of the two.")
            continue
        yield from load_problems(jar, corda_version)
        for name in sorted(jar.contracts):
            owner = owners.setdefault(name, path.name)
            if owner != path.name:
                text = f"contains the contract {name.replace('/', '.')}, which is also in {owner}"
                yield _problem(path, text, "Keep only one of them: a node rejects two jars with the same contract.")


def load_problems(jar: Jar, corda_version: str) -> Iterator[Problem]:
    """Yield why a node of this version would not load the jar: entries of its manifest, or a newer Java."""
    offered = platform_version(corda_version)
    if not jar.is_cordapp and (offered is None or offered >= CORDAPP_NAMES_PLATFORM):
        yield _problem(
            jar.path,
            f"is not a CorDapp: it has no flow and no contract, and its manifest neither {' nor '.join(CORDAPP_NAMES)}",
            "Delete it. Only CorDapps belong there; a library must be packed into the CorDapp that uses it.",
        )
    if offered is not None and jar.java > NODE_JAVA:
        yield _problem(
            jar.path,
            f"is built for Java {jar.java}, but Corda {corda_version} runs on Java {NODE_JAVA}",
            f"Build it for Java {NODE_JAVA} (`javac --release {NODE_JAVA}`), or take an older version of it.",
        )
    needed = jar.manifest.get("Min-Platform-Version", "0")
    if not needed.isdecimal():
        text = f"Min-Platform-Version {needed!r} is not a number"
        yield _problem(jar.path, text, "Correct the manifest in its build.")
    elif offered is not None and int(needed) > offered:
        newer = [version for version, number in PLATFORM_VERSIONS.items() if number >= int(needed)]
        remedy = f"Set CORDA_VERSION={newer[0]} or newer, or use a build" if newer else "Use a build"
        text = f"needs platform version {needed}, but Corda {corda_version} has {offered}"
        yield _problem(jar.path, text, f"{remedy} for platform version {offered}.")


def extra_problems(corda_version: str) -> list[Problem]:
    return list(find_problems(extra_jars(), corda_version, lab_contract_classes()))
