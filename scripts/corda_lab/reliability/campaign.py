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

from corda_lab.chaos.measurement import CHAOS, ChaosFile
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
"""The folder of the runs of all pieces. ``lab chaos`` stores its files below it."""
TRIAL_SECONDS_MAX = 1200.0
"""Time limit of a trial: a load of six minutes, a lab that comes to rest with restarts of its nodes, and the audit."""

LINKS: Mapping[str, str] = {
    "h2": "partya-partyb=+1ms",
    "postgres": "partya-partyb=+1ms partya-postgres=+1ms",
}
"""Links that can be slowed and reset."""


def run(totals: Totals, images: lifecycle.ImageChoice | None) -> None:
    """Make pieces until there is nothing left to see. Each trial is a test, and so is the whole campaign at its end.

    Stops after a piece of which no trial counts, or that made none of the faults for which it was made.
    """
    lifecycle.prepare_engine()
    with ui.phase("What earlier pieces have stored"):
        published(stored.adopt(RESULTS / CHAOS.name))
        settings = load_settings()
        corda = settings["CORDA_VERSION"]
        parties = [node.lower() for node in settings.nodes if node != NOTARY]
        say(corda)
    while (piece := goals.next_piece(corda, parties, files())) is not None:
        before, asked_before = counted(corda), goals.asked_for(piece, corda, files())
        with ui.phase(
            f"{piece.workload} on {piece.database}: {plural(piece.trials, 'trial')} from seed {piece.seed} on"
        ):
            suite.record(totals, f"lab chaos on {piece.database}", partial(made, piece, images))
            say(corda)
        if counted(corda) == before:
            ui.warn("No trial of the piece counts, so the campaign ends here. The lines above say why.")
            return
        if piece.kinds and goals.asked_for(piece, corda, files()) == asked_before:
            ui.warn(
                f"The piece was for {', '.join(piece.kinds)} on {', '.join(piece.targets)} and made none of it, "
                "so the campaign ends here. The lines above say why."
            )
            totals.add(0, 1)
            return
    suite.record(totals, "the campaign as a whole", partial(whole, corda))


def whole(corda: str) -> CommandResult:
    """Whether nothing that was ever stored contradicts the campaign, once it has seen enough."""
    found = list(goals.contradictions(corda, files()))
    return CommandResult(int(not found), int(bool(found)), "\n".join(found))


def made(piece: Piece, images: lifecycle.ImageChoice | None) -> CommandResult:
    """Make a piece on a new lab, and return how many of its trials passed and failed.

    The audit of all of them together is one more.
    """
    known = {file.id for file in files()}
    knobs = {"DATABASE": piece.database, "LINKS": LINKS[piece.database]}
    with adopting(), suite.fresh_lab(SUFFIX, RESULTS, knobs, images):
        _, output = suite.execute(command(piece), seconds_max=piece.trials * TRIAL_SECONDS_MAX)
    new = [file for file in files() if file.id not in known]
    passed = [not trial.problems for file in new for trial in file.trials]
    passed += [len(file.confirmed) == len(file.trials) for file in new]
    missing = piece.trials + 1 - len(passed)
    return CommandResult(sum(passed), len(passed) - sum(passed) + int(missing > 0), output)


@contextmanager
def adopting() -> Iterator[None]:
    """Adopt what the block has stored, also if it is interrupted."""
    try:
        yield
    finally:
        published(stored.adopt(RESULTS / CHAOS.name))


def published(changed: Sequence[Path]) -> None:
    """Write the document again if files have changed."""
    if changed:
        document.publish()


def command(piece: Piece) -> list[str]:
    """The command that makes a piece."""
    only = [*(("--kinds", ",".join(piece.kinds)) if piece.kinds else ())]
    only += ("--targets", ",".join(piece.targets)) if piece.targets else ()
    load = ("--workload", piece.workload, "--seed", str(piece.seed))
    counts = ("--trials", str(piece.trials), "--faults", str(goals.PIECE_FAULTS))
    return [sys.executable, "-m", "corda_lab", "chaos", *load, *counts, *only]


def files() -> list[ChaosFile]:
    """The stored files of all pieces."""
    return [file for file in stored.read_all() if isinstance(file, ChaosFile)]


def counted(corda: str) -> int:
    """How many of the stored trials count."""
    return sum(goals.seen_on(database, corda, files()).counted for database in goals.DATABASES)


def say(corda: str) -> None:
    """Print how far the campaign is."""
    for what, wanted, *counts in goals.rows(corda, files()):
        of = "" if wanted == goals.NONE else f" of {wanted}"
        ui.note(f"{what}: {counts[-1]}{of} ({listed(counts[:-1])} on H2 and PostgreSQL)")
    for line in goals.left_out(corda, files()):
        ui.note(f"does not count: {line}")
