"""What was fetched for a lab, each file with its version and its hash, for the manifests of runs."""

from contextlib import suppress

from corda_lab.errors import LabError
from corda_lab.host import fetched
from corda_lab.host.standins import packages_of
from corda_lab.lab import images
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT

LISTS = (".mvn/checksums/checksums.sha256", "loadgen/locust/requirements.txt", "scripts/requirements.txt")
"""Files of the checkout with the hashes of what Maven and pip may fetch."""


def fetched_files(settings: Settings) -> dict[str, dict[str, str]]:
    """Return what was fetched, by kind: name with version → hash (SHA-256, or ``h1:`` of a Go module).

    ``host``: packages and plugins that this checkout installed on the machine. ``images``: digests of official images.
    ``stand-ins``: packages of all stand-ins in use. ``python``: wheels of the command line. ``lists``: the lists of
    hashes from which images were built. Kinds without a file are left out.
    """
    packages: dict[str, str] = {}
    needed = images.image_names(settings)
    for variable, image in images.in_use(settings).items():
        # Whoever removes an image that has been used can still measure.
        with suppress(LabError):
            packages |= packages_of(image) if variable in needed else {}
    kinds = {
        "host": fetched.recorded(),
        "images": images.digests(settings),
        "stand-ins": dict(sorted(packages.items())),
        "python": fetched.python_packages(),
        "lists": {name: fetched.file_hash(ROOT / name) for name in LISTS},
    }
    return {kind: files for kind, files in kinds.items() if files}
