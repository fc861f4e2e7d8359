"""The table of hosts in the report of a run on several: what each used in the measuring window."""

from corda_lab.report.chart import MIB
from corda_lab.steps.entry import StepEntry


def rows(step: StepEntry) -> list[list[str]]:
    """Name, busy, CPU steal, memory, and megabytes received and sent in a second of each host."""
    return [
        [
            name,
            f"{use.busy_percent:.0f} %",
            f"{use.stolen_percent:.1f} %",
            f"{use.memory_used_bytes / MIB:,.0f} MiB",
            _per_second(use.received_bytes_per_second),
            _per_second(use.sent_bytes_per_second),
        ]
        for name, use in step.hosts.items()
    ]


def _per_second(bytes_per_second: float | None) -> str:
    return "not known" if bytes_per_second is None else f"{bytes_per_second / MIB:,.2f} MiB/s"
