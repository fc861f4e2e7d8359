"""Facts about a run in one line each: its environment, its load and the kinds of its notes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from corda_lab.analysis.notes import Kind
from corda_lab.results.manifest import Environment, Host, Manifest
from corda_lab.steps.build import conditioning_words
from corda_lab.steps.entry import ConditioningEntry, LoadEntry
from corda_lab.steps.load import burst_words, flows_words
from corda_lab.text.words import plural

NOTE_TITLES: Mapping[Kind, str] = {
    "failed": "Failed",
    "error": "Failed requests",
    "invalid": "Invalid",
    "warning": "Warning",
}
"""What the reports put in front of a note, by its kind."""


MORE_FILES = {
    "samples.parquet": "",
    "stages.parquet": "",
    "notary.parquet": "",
    "drops.parquet": "",
    "audit.json": "",
    "faults.json": "",
    "logs/": "",
    "profiles/": "",
    "conditioning.parquet": " (of the load before; in no value)",
}
"""Files and folders that not every run has, with what a reader must know of them."""


def more_files(folder: Path) -> list[str]:
    """The files of a run that not every run has, in words."""
    return [f"{name}{words}" for name, words in MORE_FILES.items() if (folder / name).exists()]


def machine(host: Host) -> str:
    """``2 cores of AMD EPYC, 24 GiB, Linux 6.1, governor performance, turbo off``."""
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1024**3:.0f} GiB"
    governor = "" if host.governor is None else f", governor {host.governor}"
    turbo = "" if host.turbo is None else f", turbo {'on' if host.turbo else 'off'}"
    return f"{plural(host.cpu_count or 0, 'core')} of {host.cpu_model}{memory}, {host.kernel}{governor}{turbo}"


def rerun_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """That a run repeats another, and what had changed since, as a row of a table of facts; none if it does not."""
    if manifest.rerun is None:
        return []
    changes = "; ".join(manifest.rerun.changes)
    return [("Repeats", manifest.rerun.run + (f", with changes: {changes}" if changes else ", to the letter"))]


def web_ui_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """That a load was started in the web UI, and what its form said, as rows of a table of facts; none otherwise."""
    by_hand = manifest.web_ui
    if by_hand is None:
        return []
    form = ", ".join(f"{name}={text}" for name, text in by_hand.form.items() if text)
    users = ", ".join(f"{one.users} from {_clock(one.asked_at)}" for one in by_hand.users)
    return [
        ("Started in", f"the Locust web UI, as {by_hand.id}"),
        ("Form", form or "not known"),
        *([("Users", users)] if len(by_hand.users) > 1 else []),
    ]


def _clock(seconds: float) -> str:
    """Unix seconds as a time of the day in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"


def environment_facts(environment: Environment) -> list[tuple[str, str]]:
    """The rows about software and machine that the reports of runs and sweeps share, as (name, text)."""
    versions = environment.versions
    java = ", ".join(f"{name} {version}" for name, version in versions.java.items())
    return [
        ("Corda", f"{versions.corda} (Java: {java})"),
        ("Docker", f"engine {versions.engine}, Compose {versions.compose}"),
        ("Commit", environment.git.words),
        ("Stand-in images", ", ".join(environment.stand_ins) or "none (all images are official)"),
        *_machines(environment),
    ]


def _machines(environment: Environment) -> list[tuple[str, str]]:
    """The machine, or the hosts of a placement with what ran on each, as rows of a table of facts."""
    placed = environment.placement
    if placed is None:
        return [("Machine", machine(environment.host))]
    return [
        ("Placement", f"{placed.name} ({placed.sha256[:12]}), {placed.overlay} overlay"),
        *((f"Host {name}", host.words) for name, host in placed.hosts.items()),
        ("Manager", f"{machine(environment.host)}; it drove the load, and may be one of the hosts"),
        ("Not measured", NOT_ON_HOSTS),
    ]


NOT_ON_HOSTS = (
    "what hosts and containers used, and how fast the processors were: these are read on one machine only. Times"
    " between hosts, because they need one clock"
)
"""What a run on several hosts lacks."""


def machines(environment: Environment) -> str:
    """The machine, or the hosts of a placement, in one line."""
    placed = environment.placement
    if placed is None:
        return machine(environment.host)
    return f"{plural(len(placed.hosts), 'host')} of the placement {placed.name}"


def load_facts(load: LoadEntry) -> str:
    """``closed, 8 users, pacing 0 s, seed 1``; for open load the arrivals, rate and pool; for bursts their size."""
    by = f", {plural(load.workers, 'worker')}" if load.workers else ""
    if load.model == "open":
        return (
            f"open, {load.arrivals} arrivals at {load.rate_per_second:g}/s, pool of {load.users}, "
            f"dropped when more than {load.late_max_seconds:g} s late{by}, seed {load.seed}"
        )
    if load.model == "burst":
        return f"{burst_words(load)}, seed {load.seed}"
    flows = "" if load.flows is None else f", {flows_words(load)}"
    return f"closed, {plural(load.users, 'user')}, pacing {load.pacing_seconds:g} s{flows}{by}, seed {load.seed}"


def conditioning_facts(before: ConditioningEntry | None) -> str:
    """``412 iou flows in 58 s, then steady (closed, 8 users, pacing 0 s, seed 1)``: what conditioned the nodes."""
    return "none" if before is None else f"{conditioning_words(before)} ({load_facts(before.load)})"
