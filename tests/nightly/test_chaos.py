"""Faults under load, on a new lab of each database: nothing that was acknowledged is lost, doubled or made.

The seed changes every night (``support.nights``).
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from corda_lab.chaos.trial import TRIAL, Trial
from corda_lab.paths import CACHE, ROOT
from corda_lab.results import folders
from support import own_lab
from support.nights import NIGHT

SEED = int(f"{NIGHT:%y%m%d}")
RESULTS = CACHE / "nightly-chaos-results"
TRIAL_SECONDS_MAX = 1200.0
"""Time limit of a trial: a load of six minutes, a lab that comes to rest with restarts of its nodes, and the audit."""
LINKS = {
    "h2": "partya-partyb=+1ms",
    "postgres": "partya-partyb=+1ms partya-postgres=+1ms",
}
"""Links that can be slowed and reset, by database."""
DRAWN = ("--faults", "4")
KILLED: dict[str, tuple[str, ...]] = {
    **{
        target: ("--faults", "2", "--kinds", "kill", "--targets", target) for target in ("notary", "partya", "postgres")
    },
    "generator": ("--faults", "1", "--kinds", "kill", "--targets", "generator"),
}
DRAWN_VALUE = (*DRAWN, "--workload", "cash-issue-and-pay")
TRIALS: dict[tuple[str, str], tuple[str, ...]] = {
    **{("h2", target): KILLED[target] for target in ("notary", "partya", "generator")},
    ("h2", "drawn"): DRAWN,
    **{("postgres", target): KILLED[target] for target in ("notary", "postgres")},
    ("postgres", "drawn-value"): DRAWN_VALUE,
}
"""The options of ``lab chaos`` in each trial, by database. ``drawn-value`` moves value and consumes states. A kill of
the bridge is made in every run of the end-to-end tests."""


@pytest.fixture(scope="module")
def use() -> Iterator[Callable[[str], object]]:
    """Starts a new lab with links on a database, in place of that on another one."""

    def lab_on(database: str) -> AbstractContextManager[object]:
        knobs = {"DATABASE": database, "LINKS": LINKS[database]}
        return own_lab.fresh_lab("chaos", RESULTS / database, knobs, None)

    with own_lab.one_at_a_time(lab_on) as use:
        yield use


def chaos(*options: str) -> tuple[int, list[Trial]]:
    """Run ``lab chaos``. Returns its exit status, and the trials that it has stored."""
    before = set(RESULTS.rglob(TRIAL))
    command: list[Any] = [ROOT / "scripts" / "lab", "chaos", "--seed", str(SEED), *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=TRIAL_SECONDS_MAX, check=False)
    return done.returncode, [read(path) for path in sorted({*RESULTS.rglob(TRIAL)} - before)]


def read(path: Path) -> Trial:
    return folders.read_model(path, Trial)


@pytest.mark.parametrize(("database", "name"), TRIALS)
def test_nothing_acknowledged_is_lost_doubled_or_made(use: Callable[[str], object], database: str, name: str) -> None:
    use(database)
    status, (trial,) = chaos(*TRIALS[database, name])
    assert not trial.problems, f"seed {trial.seed}, run {trial.run}"
    assert status == 0
    assert trial.made, "a fault took place"
    assert trial.acknowledged > 0
    assert trial.audit is not None
    assert trial.unexplained == 0
