"""A file of the campaign of faults, for tests."""

from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from support.runs import ENVIRONMENT


def chaos_file(audit: PieceAudit | None, *trials: ChaosTrial) -> ChaosFile:
    """Return the file of a piece of the campaign: its trials, and the audit of all of them together."""
    return ChaosFile(
        id="20260102T030405Z-chaos",
        lab_version="0.3",
        environment=ENVIRONMENT,
        workload="iou",
        users=8,
        pacing_seconds=0.25,
        cuts_both_ways=True,
        trials=trials,
        audit=audit,
    )
