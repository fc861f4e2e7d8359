"""Facts about a run in one line each: its machine, its load and its notes."""

from collections.abc import Mapping

from corda_lab.analysis.notes import Kind
from corda_lab.results.manifest import Host
from corda_lab.steps.entry import LoadEntry
from corda_lab.text.words import plural

NOTE_TITLES: Mapping[Kind, str] = {
    "failed": "Failed",
    "error": "Failed requests",
    "invalid": "Invalid",
    "warning": "Warning",
}
"""What the reports put in front of a note, by its kind."""


def machine(host: Host) -> str:
    """``2 cores of AMD EPYC, 24 GiB, Linux 6.1``."""
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1024**3:.0f} GiB"
    return f"{plural(host.cpu_count or 0, 'core')} of {host.cpu_model}{memory}, {host.kernel}"


def load_facts(load: LoadEntry) -> str:
    """``closed, 8 users, pacing 0 s, seed 1``; for open load the arrivals, the rate and the pool."""
    by = f", {load.workers} workers" if load.workers else ""
    if load.model == "open":
        return (
            f"open, {load.arrivals} arrivals at {load.rate_per_second:g}/s, pool of {load.users}, "
            f"dropped when more than {load.late_max_seconds:g} s late{by}, seed {load.seed}"
        )
    return f"closed, {plural(load.users, 'user')}, pacing {load.pacing_seconds:g} s{by}, seed {load.seed}"
