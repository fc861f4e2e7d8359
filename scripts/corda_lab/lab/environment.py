"""The environment of a run, as stored in ``run.json``: everything outside the workload that its results depend on."""

import json
import platform
import re
import subprocess
from pathlib import Path

from bare import plugins
from corda_lab.host import engine, frequency, machine
from corda_lab.knobs.shape import SHAPE_VARIABLES
from corda_lab.lab import images, shape
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.engine import inspect_all
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results.manifest import Environment, GitState, Host, Image, MeasuredLink, Versions

DOCUMENTS = ":(exclude)docs"
"""Nothing that runs is in there. The lab writes what it has measured there, so a second repeat finds the first one."""


def git_state(checkout: Path = ROOT) -> GitState:
    """Return the commit of the checkout, and whether it has uncommitted changes, apart from those in ``docs/``.

    Both are None outside a repository.
    """

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    changes = git("status", "--porcelain", "--", ".", DOCUMENTS)
    return GitState(commit=git("rev-parse", "HEAD"), has_changes=None if changes is None else bool(changes))


def image_ids(compose: Deployed) -> dict[str, Image]:
    """Return the image of each service's container: service → name, as manifests have it, and id."""
    containers = [service for service in compose.services() if service.state in {"running", "exited"}]
    if not containers:
        return {}
    found = inspect_all([service.container for service in containers], "{{.Config.Image}} {{.Image}}")
    return {
        service.name: Image(
            name=compose.recorded_image(service.name, found[service.container].split()[0]),
            id=found[service.container].split()[1],
        )
        for service in sorted(containers, key=lambda service: service.name)
        if service.container in found
    }


def parse_java_version(text: str) -> str:
    match = re.search(r'version "([^"]+)"', text)
    return match[1] if match else ""


def java_versions(compose: Deployed) -> dict[str, str]:
    versions = {}
    for name, service in (("node", "partya"), ("bridge", "bridge")):
        done = compose.run("exec", "-T", service, "java", "-version", check=False)
        versions[name] = parse_java_version(done.stderr + done.stdout)
    return versions


def versions(settings: Settings, compose: Deployed) -> Versions:
    return Versions(
        corda=settings["CORDA_VERSION"],
        java=java_versions(compose),
        engine=engine.probe().server_version,
        compose=plugins.version_of("compose"),
        python=platform.python_version(),
    )


def measure_links(compose: Deployed) -> list[MeasuredLink]:
    """Measure the round-trip time of every link, directly and through its proxy, in milliseconds. Raises LabError."""
    done = compose.run("exec", "-T", "links", "/opt/corda-lab/measure")
    return [MeasuredLink(**json.loads(line)) for line in done.stdout.splitlines()]


def read_host() -> Host:
    frequency_now = frequency.read()
    return Host(
        cpu_model=machine.cpu_model(),
        cpu_count=machine.cores(),
        memory_bytes=machine.memory_total_bytes(),
        kernel=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        governor=frequency_now.governor,
        turbo=frequency_now.turbo,
    )


def read_environment(compose: Deployed) -> Environment:
    """Return the part of the manifest that does not depend on the load.

    Call it before the load, so that it takes no CPU time from it.
    """
    settings = compose.settings
    return Environment(
        git=git_state(),
        versions=versions(settings, compose),
        images=image_ids(compose),
        stand_ins=list(images.standins_present(settings)),
        host=read_host(),
        shape={name: settings[name] for name in SHAPE_VARIABLES} | {"CORDA_IMAGE": settings.recorded_image},
        links_measured=measure_links(compose) if settings.values.get("LINKS") else [],
        settings=settings.public(),
        preset_sha256=shape.preset_sha256(settings["NODE_PRESET"]),
        placement=compose.placement,
    )
