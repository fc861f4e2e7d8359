"""``lab test --suite chaos``: goes on with the campaign of faults until the stored trials have seen enough.

Each piece is a call of ``lab chaos`` on a new lab. What it has stored is moved to ``docs/reliability/`` when it ends,
however that comes about; what a killed command has left, at the next start. So the campaign can be interrupted at any
time, and continued on another day or another machine with the same checkout.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from corda_lab.chaos.measurement import ChaosFile
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import NOTARY, load_settings
from corda_lab.paths import CACHE
from corda_lab.reliability import document, goals, stored
from corda_lab.reliability.goals import Piece
from corda_lab.selftest import suite
from corda_lab.selftest.suite import CommandResult, Totals
from corda_lab.text import ui
from corda_lab.text.words import listed, plural

SUFFIX = "chaos"
RESULTS = CACHE / "chaos-results"
TRIAL_SECONDS_MAX = 1200.0
"""Time limit of a trial: a load of six minutes, a lab that comes to rest with restarts of its nodes, and the audit."""

LINKS: Mapping[str, str] = {
    "h2": "partya-partyb=+1ms",
    "postgres": "partya-partyb=+1ms partya-postgres=+1ms",
}
"""Links that can be slowed and reset."""


def run(totals: Totals, images: lifecycle.ImageChoice | None) -> None:
    """Make pieces until there is nothing left to see. Each trial is a test. Stops after a piece without a trial."""
    lifecycle.prepare_engine()
    with ui.phase("What earlier pieces have stored"):
        published(stored.adopt(RESULTS))
        settings = load_settings()
        corda = settings["CORDA_VERSION"]
        parties = [node.lower() for node in settings.nodes if node != NOTARY]
        say(corda)
    while (piece := goals.next_piece(corda, parties, files())) is not None:
        known = trials()
        with ui.phase(
            f"{piece.workload} on {piece.database}: {plural(piece.trials, 'trial')} from seed {piece.seed} on"
        ):
            suite.record(totals, f"lab chaos on {piece.database}", partial(made, piece, images))
            say(corda)
        if trials() == known:
            ui.warn("The piece made no trial, so the campaign ends here. The lines above say why.")
            return


def made(piece: Piece, images: lifecycle.ImageChoice | None) -> CommandResult:
    """Make a piece on a new lab, and return how many of its trials passed and failed."""
    before = trials()
    knobs = {"DATABASE": piece.database, "LINKS": LINKS[piece.database]}
    with adopting(), suite.fresh_lab(SUFFIX, RESULTS, knobs, images):
        _, output = suite.execute(command(piece), seconds_max=piece.trials * TRIAL_SECONDS_MAX)
    new = [outcome for identity, outcome in trials().items() if identity not in before]
    missing = piece.trials - len(new)
    return CommandResult(sum(new), len(new) - sum(new) + int(missing > 0), output)


@contextmanager
def adopting() -> Iterator[None]:
    """Adopt what the block has stored, also if it is interrupted."""
    try:
        yield
    finally:
        published(stored.adopt(RESULTS))


def published(changed: Sequence[Path]) -> None:
    """Write the document again if files have changed."""
    if changed:
        document.publish()


def command(piece: Piece) -> list[str]:
    """The command that makes a piece."""
    only = ("--kinds", "kill", "--targets", ",".join(piece.targets)) if piece.targets else ()
    load = ("--workload", piece.workload, "--seed", str(piece.seed))
    counts = ("--trials", str(piece.trials), "--faults", str(goals.PIECE_FAULTS))
    return [sys.executable, "-m", "corda_lab", "chaos", *load, *counts, *only]


def files() -> list[ChaosFile]:
    """The stored files of all pieces."""
    return [file for file in stored.read_all() if isinstance(file, ChaosFile)]


def trials() -> dict[tuple[str, int], bool]:
    """The stored trials, by file and seed, and whether each passed."""
    return {(file.id, trial.seed): not trial.problems for file in files() for trial in file.trials}


def say(corda: str) -> None:
    """Print how far the campaign is."""
    for what, wanted, *counts in goals.rows(corda, files()):
        ui.note(f"{what}: {counts[-1]} of {wanted} ({listed(counts[:-1])} on H2 and PostgreSQL)")
