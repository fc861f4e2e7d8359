"""The clocks of the hosts of a lab around one load, and the times of its tables as those of one host."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed, HostSamples
from corda_lab.results.audits import Audit
from corda_lab.results.manifest import PlacementEntry
from corda_lab.runs.containers import LoadContainers
from corda_lab.steps import clocks
from corda_lab.steps.clocks import by_part
from corda_lab.steps.entry import ClockEntry, ClockReading
from corda_lab.steps.stages import ROW_TIMES

BRIDGE, NOTARY = "bridge", "notary"
"""Services with times of their own in the tables of a run."""


@dataclass
class HostClocks:
    """The clocks of a lab on several hosts, read before a load and after it. On one machine, it changes nothing."""

    lab: Deployed
    names: LoadContainers
    before: Mapping[str, ClockReading]
    hosts: Mapping[str, str]
    """The host of each service."""
    entries: Mapping[str, ClockEntry] = field(default_factory=dict)
    """What the step has of them; empty as long as the load has not ended."""

    @classmethod
    def read(cls, lab: Deployed, names: LoadContainers) -> "HostClocks":
        """Read the clocks before a load. Raises LabError if one is far off, or the services are not known."""
        if lab.is_here:
            return cls(lab, names, {}, {})
        hosts = {service.name: service.container.engine.name for service in lab.services()}
        before = lab.read_clocks()
        for host, one in before.items():
            if abs(one.offset_ms) > 1000 * clocks.OFFSET_SECONDS_MAX:
                text = f"{host}: its clock differs from that of this machine by {one.offset_ms / 1000:.1f} s"
                raise LabError(
                    f"{text}, and a load needs all within {clocks.OFFSET_SECONDS_MAX:g} s",
                    "Let NTP set the clocks of all hosts; `scripts/lab doctor --placement NAME` shows them.",
                    exit_code=1,
                )
        return cls(lab, names, before, hosts)

    def end(self) -> None:
        """Read them after the load."""
        if not self.lab.is_here:
            all_hosts = [engine.name for engine in self.lab.engines]
            reference = self.names.driver.engine.name
            self.entries = clocks.entries(self.before, self.lab.read_clocks(), reference, all_hosts)

    @property
    def of_values(self) -> Mapping[str, ClockEntry]:
        """The clocks from which times in the values come: those of nodes, the bridge and the load generator."""
        services = {BRIDGE, *(node.lower() for node in self.lab.settings.nodes)}
        hosts = {host for service, host in self.hosts.items() if service in services}
        hosts |= {container.engine.name for container in self.names.all}
        return {host: one for host, one in self.entries.items() if host in hosts}

    def samples(self, found: HostSamples) -> HostSamples:
        """Return samples with the times of the host of the load generator, and containers by part of the lab."""
        return HostSamples(
            containers=by_part(clocks.corrected_samples(found.containers, self.entries)),
            hosts=clocks.corrected_samples(found.hosts, self.entries),
        )

    def requests(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the times of the host of the load generator."""
        if not self.entries:
            return rows
        workers = {index: worker.engine.name for index, worker in enumerate(self.names.workers, start=1)}
        workers[0] = self.names.driver.engine.name
        return clocks.corrected_requests(rows, workers, self.hosts.get(BRIDGE, ""), self.entries)

    def stage_rows(self, rows: pl.DataFrame | None) -> pl.DataFrame | None:
        """Return stage rows with the times of the host of the load generator."""
        if rows is None or not self.entries:
            return rows
        hosts = {node: self.hosts[node.lower()] for node in self.lab.settings.nodes if node.lower() in self.hosts}
        return clocks.corrected_stage_rows(rows, hosts, self.entries, ROW_TIMES)


def with_notary_times(found: Audit, placement: PlacementEntry | None, known: Mapping[str, ClockEntry]) -> Audit:
    """Return an audit whose times of the notary's log are those of the host of the load generator.

    They are left out if the clock of the notary's host is not known. On one machine, nothing changes.
    """
    if placement is None:
        return found
    host = next((name for name, one in placement.hosts.items() if NOTARY in one.services), "")
    own = clocks.corrections(known).get(host)
    times = {} if own is None else {name: at - own.offset_seconds for name, at in found.notary_requests.items()}
    return found.model_copy(update={"notary_requests": times})
