"""A load during which a part of the lab was killed, as a model."""

from typing import Literal

from pydantic import Field

from corda_lab.bench.file import BenchPart

Target = Literal["bridge", "generator"]
"""What is killed: the bridge, which is then started again; or the container that generates the load."""

TARGETS: tuple[Target, ...] = ("bridge", "generator")


class KillTrial(BenchPart):
    """One load during which one container was killed, and what was found afterwards."""

    target: Target
    seed: int
    """The seed of the load and of the moment. With it and the same options, a trial can be repeated."""
    moment_seconds: float
    """When the container was meant to be killed, after the begin of the load."""
    killed_at: float | None
    """In Unix seconds; None if the load had ended before."""
    run: str
    """The id of the run; empty if it did not begin."""
    stored: bool
    """Whether the run has its results. That of a killed generator has none, and is kept as unfinished."""
    reason: str | None = None
    """Why the run has no results."""
    rows: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Rows by outcome."""
    resolved: dict[str, int] = Field(default_factory=dict)
    """Rows with an unknown outcome, by what became of them."""
    unrecorded: int = 0
    """Flows on the ledger of which the killed generator wrote no row."""
    acknowledged: int = 0
    """Flows that the generator was told have succeeded."""
    on_ledger: int = 0
    """Transactions of this load in the vault with the most of them."""
    rest_seconds: float | None = None
    """Time from the end of the run until no flow was in flight."""
    warnings: tuple[str, ...] = ()
    """The warnings of the run, such as CPU steal."""
    problems: tuple[str, ...] = ()
    """What was wrong: the trial failed. Empty if nothing was."""
