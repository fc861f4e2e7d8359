"""Writes ``docs/dependencies.md``: what the lab consists of and what its images contain, with versions and licences.

Also writes the hashes with which Maven compares what it fetches, ``.mvn/checksums/``.

    PYTHONPATH=scripts:loadgen/locust .venv/bin/python tests/evidence/dependencies.py

Needs Maven with JDK 21 or newer, and reaches pip's index and Maven Central. A test compares the document with the pins
in the checkout, so a release cannot forget it.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path
from typing import cast

from bare.commands import last_words
from corda_lab import __version__, atomic
from corda_lab.errors import LabError
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT

DOCUMENT = ROOT / "docs" / "dependencies.md"
CHECKSUMS = ROOT / ".mvn" / "checksums" / "checksums.sha256"
"""The hashes of what Maven fetches for the default version of Corda, in the form of sha256sum: hash and path in a
repository. ``.mvn/maven.config`` names the folder."""

SECONDS_MAX = 1800.0

REQUIREMENTS = {
    "scripts/requirements.txt": "command line",
    "loadgen/locust/requirements.txt": "generator",
    "scripts/requirements-dev.txt": "tests",
    "tests/e2e/browser/requirements.txt": "browser tests",
}
"""Lists of Python packages, and what installs them."""

MODULES = {
    "nodes": "bootstrapper",
    "cordapps/contracts": "CorDapps",
    "cordapps/workflows": "CorDapps",
    "loadgen/bridge": "bridge",
    "loadgen/peers": "JMeter",
}
"""Maven modules with libraries, and the part that they belong to."""

POMS = ("pom.xml", "cordapps/pom.xml", *(f"{module}/pom.xml" for module in MODULES))

IMAGE_LICENCES = {
    "eclipse-temurin": "GPL-2.0 with Classpath exception (OpenJDK)",
    "maven": "Apache-2.0; contains OpenJDK",
    "python": "PSF-2.0",
    "prom/prometheus": "Apache-2.0",
    "postgres": "PostgreSQL",
    "prometheuscommunity/postgres-exporter": "Apache-2.0",
    "ghcr.io/shopify/toxiproxy": "MIT",
    "grafana/grafana": "AGPL-3.0",
    "registry": "Apache-2.0",
}
"""Licences of the main program of each official image; its base system has licences of its own."""

KNOWN: Mapping[str, str] = {
    "com.h2database:h2": "MPL-2.0 or EPL-1.0",  # its pom names both in one
    "io.netty:netty-tcnative-classes": "Apache-2.0",  # header of its parent's pom
    "oro:oro": "Apache-1.1",  # META-INF/LICENSE of its jar
    "playwright": "Apache-2.0",  # its metadata, which only the image of the browser tests has
    "pyee": "MIT",  # the same
    "xalan:serializer": "Apache-2.0",  # a part of Xalan
    "xalan:xalan": "Apache-2.0",  # META-INF/LICENSE.txt of its jar
}
"""Licences of packages whose metadata name none: name → licence, with its source in a comment."""

SPDX = (
    (r"apache.*2|apache software license|asl.?2", "Apache-2.0"),
    (r"^mit\b|\bmit license|bouncy castle licence", "MIT"),
    (r"bsd.?3|new bsd|3-clause|revised bsd|modified bsd", "BSD-3-Clause"),
    (r"bsd.?2|2-clause|simplified bsd", "BSD-2-Clause"),
    (r"\bepl.?2|eclipse public license.*2", "EPL-2.0"),
    (r"\bepl.?1|eclipse public license.*1", "EPL-1.0"),
    (r"^cc0|creative commons zero|public domain.*cc0", "CC0-1.0"),
    (r"mozilla.*2|^mpl.?2", "MPL-2.0"),
    (r"python software foundation|^psf", "PSF-2.0"),
    (r"^bsd( license)?$", "BSD"),
    (r"isc license", "ISC"),
    (r"lesser general public license.*3", "LGPL-3.0"),
    (r"^(gnu )?lesser general public license$", "LGPL"),
    (r"library general public license v2\.1 or later", "LGPL-2.1-or-later"),
)
"""Ways in which metadata name a licence, and its SPDX identifier. Other names stay as they are."""

_POM = "{http://maven.apache.org/POM/4.0.0}"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)(?:\s*;\s*(.*?))?\s*\\?$", re.MULTILINE)


@dataclass(frozen=True)
class Dependency:
    """One package: its name, version and licence, and the parts of the lab that use it."""

    name: str
    version: str
    licence: str
    parts: tuple[str, ...]


def pins(path: Path) -> dict[str, str]:
    """Return the packages of a list that Linux and macOS install with CPython: name → version."""
    elsewhere = re.compile(r"sys_platform == 'win32'|implementation_name == 'pypy'")
    found = _PIN.findall(path.read_text(encoding="utf-8"))
    return {name: version for name, version, marker in found if not elsewhere.search(marker)}


def simplified(licence: str) -> str:
    """Return the SPDX identifier of a licence if its name is known, otherwise its first line."""
    first = next((line.strip() for line in licence.splitlines() if line.strip()), "")
    return next((spdx for pattern, spdx in SPDX if re.search(pattern, first, re.IGNORECASE)), first)


def python_licence(metadata: Message) -> str:
    """Return the licence in the metadata of a Python package; empty if there is none."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    listed = [str(one) for one in metadata.get_all("Classifier") or []]
    names = [one.rpartition(" :: ")[2] for one in listed if one.startswith("License :: ") and one.count(" :: ") > 1]
    return " or ".join(simplified(name) for name in names) or simplified(str(metadata.get("License") or ""))


def run(command: list[str], *, folder: Path = ROOT) -> str:
    """Run a command and return its output. Raises LabError with its last lines if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise LabError(f"{command[0]} failed: {last_words(done.stderr or done.stdout)}", "Run it by hand.")
    return done.stdout


def python_dependencies() -> list[Dependency]:
    """Return the packages of the lists."""
    parts: dict[tuple[str, str], list[str]] = {}
    for name, part in REQUIREMENTS.items():
        for package, version in pins(ROOT / name).items():
            parts.setdefault((package, version), []).append(part)
    return [
        Dependency(name, version, KNOWN.get(name) or installed_licence(name, version), tuple(parts[name, version]))
        for name, version in sorted(parts)
    ]


def installed_licence(name: str, version: str) -> str:
    """Return the licence of a package of the environment; empty if it is not there, or names none."""
    found = [one.metadata for one in distributions(name=name) if one.version == version]
    return python_licence(cast(Message, found[0])) if found else ""


def direct_artifacts() -> set[tuple[str, str]]:
    """Return what the poms of the lab name themselves: ``group:artifact`` and version.

    Libraries, plugins, and the programs that are copied into images. Left out are bills of materials, the versions that
    they set, and what is in a profile.
    """
    properties: dict[str, str] = {}
    roots = [ElementTree.parse(ROOT / name).getroot() for name in POMS]
    for root in roots:
        properties |= {one.tag.removeprefix(_POM): one.text or "" for one in root.iterfind(f"{_POM}properties/*")}
    found = set()
    parts = [part for root in roots for part in root if part.tag != f"{_POM}profiles"]
    for element in (element for part in parts for element in part.iter()):
        kind = element.tag.removeprefix(_POM)
        if kind not in {"dependency", "plugin", "artifactItem", "palantirJavaFormat"}:
            continue
        if element.findtext(f"{_POM}type") == "pom":
            continue
        group = element.findtext(f"{_POM}groupId") or _default_group(element)
        artifact = element.findtext(f"{_POM}artifactId") or "palantir-java-format"
        version = resolved(element.findtext(f"{_POM}version") or "", properties)
        if version and group != "org.cordalab":
            found.add((f"{group}:{artifact}", version))
    return found


def _default_group(element: ElementTree.Element) -> str:
    is_format = element.tag == f"{_POM}palantirJavaFormat"
    return "com.palantir.javaformat" if is_format else "org.apache.maven.plugins"


def resolved(text: str, properties: Mapping[str, str]) -> str:
    """Replace the properties in a version."""
    return re.sub(r"\$\{([^}]+)\}", lambda match: properties.get(match[1], ""), text)


def java_licence(repository: Path, group: str, artifact: str, version: str) -> str:
    """Return the licence that a pom in Maven's local repository names, or one of its parents; empty if none does."""
    pom = repository / group.replace(".", "/") / artifact / version / f"{artifact}-{version}.pom"
    if not pom.is_file():
        return ""
    # Some old poms have no namespace.
    text = re.sub(r'\sxmlns="[^"]+"', "", pom.read_text(encoding="utf-8", errors="replace"), count=1)
    root = ElementTree.fromstring(text.encode())
    names = [name.text.strip() for name in root.iterfind("licenses/license/name") if name.text]
    if names:
        return " or ".join(dict.fromkeys(simplified(name) for name in names))
    parent = root.find("parent")
    if parent is None:
        return ""
    return java_licence(repository, *(parent.findtext(name, "") for name in ("groupId", "artifactId", "version")))


def parse_listed(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, artifact and version of the lines that ``dependency:list`` writes."""
    for line in text.splitlines():
        words = line.strip().split(" ")[0].split(":")
        if len(words) in {5, 6}:
            yield words[0], words[1], words[-2]


def java_dependencies(repository: Path) -> list[Dependency]:
    """Ask Maven for the libraries of every module, with those that they need."""
    output = Path("target") / "dependencies.txt"
    maven = ["mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}", "-Dmaven.test.skip=true"]
    maven += ["-DincludeScope=runtime", f"-DoutputFile={output}", f"--projects={','.join(MODULES)}", "--also-make"]
    # The first of these phases fetches all that builds the images: plugins, the formatter, the node's own parts.
    run([*maven, "verify", "dependency:list"])
    parts: dict[tuple[str, str, str], list[str]] = {}
    for module, part in MODULES.items():
        for key in parse_listed((ROOT / module / output).read_text(encoding="utf-8")):
            if key[0] != "org.cordalab":
                parts.setdefault(key, []).append(part)
    for name, version in sorted(direct_artifacts()):
        group, _, artifact = name.partition(":")
        parts.setdefault((group, artifact, version), []).append("builds and tests")
    return [
        Dependency(
            f"{group}:{artifact}",
            version,
            KNOWN.get(f"{group}:{artifact}") or java_licence(repository, group, artifact, version),
            tuple(dict.fromkeys(parts[group, artifact, version])),
        )
        for group, artifact, version in sorted(parts)
    ]


def checksums(repository: Path) -> str:
    """Return the hashes of all artifacts in a local repository, sorted by path: lines ``hash  path``."""
    artifacts = {path.relative_to(repository).as_posix(): path for path in repository.rglob("*") if is_artifact(path)}
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in artifacts.items()}
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(artifacts))


def is_artifact(path: Path) -> bool:
    """Return whether a file of a local repository came from Maven Central, and is not about a download or a module."""
    return path.is_file() and path.suffix in {".jar", ".pom"} and "cordalab" not in path.parts


def images() -> list[Dependency]:
    """Return the official images in ``.env``."""
    settings = load_settings(environment={})
    named = [value for name, value in settings.values.items() if name.endswith("_IMAGE") and value]
    split = [(name.partition("@")[0].rpartition(":")[0], name.partition("@")[0].rpartition(":")[2]) for name in named]
    return [Dependency(name, tag, IMAGE_LICENCES.get(name, ""), ()) for name, tag in split]


def table(dependencies: Iterable[Dependency], *, parts: bool) -> str:
    """Return the table of some dependencies, with a column for the parts that use them if ``parts``."""
    columns = ["name", "version", "licence", *(["used by"] if parts else [])]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in dependencies:
        licence = one.licence.replace("|", "/") or "unknown"
        used = f" {', '.join(one.parts)} |" if parts else ""
        lines.append(f"| {one.name} | {one.version} | {licence} |{used}")
    return "\n".join(lines) + "\n"


def document(python: Iterable[Dependency], java: Iterable[Dependency], containers: Iterable[Dependency]) -> str:
    """Return the text of ``docs/dependencies.md``."""
    return f"""\
# Dependencies and their licences

What version {__version__} of the lab installs and puts into its images, with the default `CORDA_VERSION`. This file is
generated ([CONTRIBUTING.md](../CONTRIBUTING.md#dependencies)), and a test compares it with the pins. A licence is the
one that the package's own metadata name.

## Images

Without a registry, stand-ins take their places, but for Grafana, without which the lab then runs. They consist of
packages of Debian, whose licences are in the stand-in: `/usr/share/doc/<package>/copyright`. Only Toxiproxy is built
from its own source, with Go modules that `/var/lib/corda-lab/packages.sha256` in the stand-in names.

{table(containers, parts=False)}
## Java

The jar of the Corda node (`net.corda:corda`) contains further libraries. Its file `NOTICE` has their licences.

{table(java, parts=True)}
## Python

{table(python, parts=True)}"""


def main() -> None:
    """Write the document. Maven's local repository is a temporary folder, so that nothing but the pins decides."""
    with tempfile.TemporaryDirectory(prefix="corda-lab-maven-") as folder:
        repository = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        text = document(python_dependencies(), java_dependencies(repository), images())
        atomic.write_text(CHECKSUMS, checksums(repository))
    atomic.write_text(DOCUMENT, text)


if __name__ == "__main__":
    main()
