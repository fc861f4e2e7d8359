"""The environment of a run, as stored in ``run.json``: everything outside the workload that its results depend on."""

import json
import platform
import re
from pathlib import Path

from bare import plugins
from bare.commands import run
from corda_lab.host import engine, machine
from corda_lab.knobs.shape import SHAPE_VARIABLES
from corda_lab.lab import images, shape
from corda_lab.lab.docker import inspect_all
from corda_lab.lab.lab import Lab
from corda_lab.paths import ROOT
from corda_lab.results.manifest import Environment, GitState, Host, Image, MeasuredLink, Versions

DOCUMENTS = ":(exclude)docs"
"""Nothing that runs is in there. The lab writes what it has measured there, so a second repeat finds the first one."""


def git_state(checkout: Path = ROOT) -> GitState:
    """Return the commit of the checkout, and whether it has uncommitted changes, apart from those in ``docs/``.

    Both are None outside a repository.
    """

    def git(*arguments: str) -> str | None:
        done = run(["git", "-C", str(checkout), *arguments])
        return done.stdout.strip() if done.returncode == 0 else None

    changes = git("status", "--porcelain", "--", ".", DOCUMENTS)
    return GitState(commit=git("rev-parse", "HEAD"), has_changes=None if changes is None else bool(changes))


def image_ids(lab: Lab) -> dict[str, Image]:
    """Return the image of each service's container: service → name, as manifests have it, and id."""
    containers = [service for service in lab.services() if service.state in {"running", "exited"}]
    if not containers:
        return {}
    inspected = inspect_all([service.container for service in containers], "{{.Config.Image}} {{.Image}}")
    named = {container: text.split() for container, text in inspected.items()}
    return {
        service.name: Image(
            name=lab.recorded_image(service.name, named[service.container][0]), id=named[service.container][1]
        )
        for service in sorted(containers, key=lambda service: service.name)
        if service.container in named
    }


def java_version(lab: Lab, service: str) -> str:
    """Return the version of a service's Java; empty if it does not say."""
    done = lab.exec(service, "java", "-version", check=False)
    return parse_java_version(done.stderr + done.stdout)


def parse_java_version(text: str) -> str:
    match = re.search(r'version "([^"]+)"', text)
    return match[1] if match else ""


def versions(lab: Lab) -> Versions:
    return Versions(
        corda=lab.settings["CORDA_VERSION"],
        java={"node": java_version(lab, "partya"), "bridge": java_version(lab, "bridge")},
        engine=engine.probe().server_version,
        compose=plugins.version_of("compose"),
        python=platform.python_version(),
    )


def measure_links(lab: Lab) -> list[MeasuredLink]:
    """Measure the round-trip time of every link, directly and through its proxy, in milliseconds. Raises LabError."""
    done = lab.exec("links", "/opt/corda-lab/measure")
    return [MeasuredLink(**json.loads(line)) for line in done.stdout.splitlines()]


def read_host() -> Host:
    frequency = machine.frequency()
    return Host(
        cpu_model=machine.cpu_model(),
        cpu_count=machine.cores(),
        memory_bytes=machine.memory_total_bytes(),
        kernel=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        governor=frequency.governor,
        turbo=frequency.turbo,
    )


def read_environment(lab: Lab) -> Environment:
    """Return the part of the manifest that does not depend on the load.

    Call it before the load, so that it takes no CPU time from it.
    """
    settings = lab.settings
    return Environment(
        git=git_state(),
        versions=versions(lab),
        images=image_ids(lab),
        stand_ins=list(images.standins_present(settings)),
        host=read_host(),
        shape={name: settings[name] for name in SHAPE_VARIABLES} | {"CORDA_IMAGE": settings.recorded_image},
        links_measured=measure_links(lab) if settings.values.get("LINKS") else [],
        settings=settings.public(),
        preset_sha256=shape.preset_sha256(settings["NODE_PRESET"]),
        placement=lab.placement,
    )
