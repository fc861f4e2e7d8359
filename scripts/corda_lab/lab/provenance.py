"""What was fetched for a lab, each file with its version and its hash, for the manifests of runs."""

from contextlib import suppress
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import fetched, image_files
from corda_lab.host.standins import packages_of
from corda_lab.lab import images
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT

LISTS = (".mvn/checksums/checksums.sha256", "loadgen/locust/requirements.txt", "scripts/requirements.txt")
"""Files of the checkout with the hashes of what Maven and pip may fetch."""

JAVA = {
    "java-node": ("node", ("/opt/corda/fetched.sha256", "/opt/corda/finance.sha256")),
    "java-bridge": ("bridge", ("/opt/corda-lab/fetched.sha256",)),
}
"""What Maven fetched for the lab's own images: kind → name of the image, and the files in it that list the hashes."""

JAVA_FILES_MAX = 1_000
"""Files of one image in a manifest, more than any image has."""


def java_files(settings: Settings, kind: str) -> dict[str, str]:
    """Return the Java files that were fetched for one of the lab's own images: name with version → SHA-256.

    Raises LabError if the image does not exist, or has no such list, as those of earlier versions of the lab.
    """
    name, paths = JAVA[kind]
    image = settings.own_image(f"{name}:{settings['CORDA_VERSION']}")
    text = image_files.read(image, *paths, folder="java", remedy="Run `scripts/lab up`, which builds it.")
    files = {Path(path).name: digest for path, digest in fetched.parse_hashes(text).items()}
    return dict(sorted(files.items())[:JAVA_FILES_MAX])


def fetched_files(settings: Settings) -> dict[str, dict[str, str]]:
    """Return what was fetched, by kind: name with version → hash (SHA-256, or ``h1:`` of a Go module).

    ``host``: packages and plugins that this checkout installed on the machine. ``images``: digests of official images.
    ``stand-ins``: packages of all stand-ins in use. ``python``: wheels of the command line. ``java-node`` and
    ``java-bridge``: what Maven fetched for these images. ``lists``: the lists of hashes from which images were built.
    Kinds without a file are left out.
    """
    packages: dict[str, str] = {}
    needed = images.image_names(settings)
    for variable, image in images.in_use(settings).items():
        # Whoever removes an image that has been used can still measure.
        with suppress(LabError):
            packages |= packages_of(image) if variable in needed else {}
    java: dict[str, dict[str, str]] = {}
    for kind in JAVA:
        with suppress(LabError):
            java[kind] = java_files(settings, kind)
    kinds = {
        "host": fetched.recorded(),
        "images": images.digests(settings),
        "stand-ins": dict(sorted(packages.items())),
        "python": fetched.python_packages(),
        **java,
        "lists": {name: fetched.file_hash(ROOT / name) for name in LISTS},
    }
    return {kind: files for kind, files in kinds.items() if files}
