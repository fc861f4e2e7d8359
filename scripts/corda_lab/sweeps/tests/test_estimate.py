"""How long a sweep takes: starts, conditionings, loads, and what its file says that steps take beside them."""

from pathlib import Path

import pytest

from corda_lab.lab.settings import Settings
from corda_lab.steps.load import SECONDS_MAX, SECONDS_MIN
from corda_lab.sweeps.file import quick, with_repeats
from corda_lab.sweeps.plan import STEP_OVERHEAD_SECONDS, RunTime, run_time
from support.sweep_files import COUNTED, SOUND, steps_of, sweep_of, written


def test_the_estimate_counts_starts_and_steps(tmp_path: Path, settings: Settings) -> None:
    text = "workload: iou\nvary:\n  shape.database: [h2, postgres]\n  load.users: [2, 8]\n"
    steps = steps_of(sweep_of(tmp_path, text), settings)
    found = run_time(steps, settings, fresh="shape")
    assert found.starts == 2
    assert found.seconds_max - found.seconds_min == 4 * 10 + 2 * (SECONDS_MAX - SECONDS_MIN)
    assert run_time(steps, settings, fresh="step").starts == 4


@pytest.mark.parametrize("text", [SOUND, f"{COUNTED}measure: {{flows: 80, after: 0}}\n"])
def test_the_estimate_counts_the_time_at_rest_after_every_load(tmp_path: Path, settings: Settings, text: str) -> None:
    def found(load: str) -> RunTime:
        return run_time(steps_of(written(tmp_path, text + load), settings), settings, fresh="shape")

    bare, idle = found(""), found("load: {idle_after: 60s}\n")
    assert (idle.seconds_min - bare.seconds_min, idle.seconds_max - bare.seconds_max) == (60, 60)


def test_the_estimate_counts_the_load_that_conditions_the_nodes_after_every_start(
    tmp_path: Path, settings: Settings
) -> None:
    text = "workload: iou\nrepeats: 3\nvary: {load.users: [2, 8]}\n"
    own = steps_of(sweep_of(tmp_path, text + "condition: {for: {min: 20s, max: 60s}}\n"), settings)
    without = steps_of(sweep_of(tmp_path, text + "condition: none\n"), settings)
    found, bare = (run_time(steps, settings, fresh="repeat") for steps in (own, without))
    assert found.starts == 3
    assert found.seconds_min - bare.seconds_min == 3 * (20 + STEP_OVERHEAD_SECONDS)
    assert found.seconds_max - bare.seconds_max == 3 * (60 + STEP_OVERHEAD_SECONDS)
    # A sweep that is resumed starts a lab for the first missing step, whichever it is.
    assert run_time(own[1:], settings, fresh="repeat").starts == 3
    assert run_time(own[1:], settings, fresh="repeat", before=own[0]).starts == 2


def test_the_estimate_counts_what_the_file_says_that_steps_take_beside_their_loads(
    tmp_path: Path, settings: Settings
) -> None:
    text = "workload: iou\nsteps:\n  - {name: one}\n  - {name: two%s}\n%s"
    bare, own, every = (
        sweep_of(tmp_path, text % given)
        for given in (("", ""), (", beside: 90s", ""), (", beside: 90s", "beside: 20s\nquick: {beside: 5s}\n"))
    )
    least = run_time(steps_of(bare, settings), settings, fresh="shape")
    for sweep, seconds in ((own, 90), (every, 110), (quick(every), 95)):
        found = run_time(steps_of(with_repeats(sweep, 1), settings), settings, fresh="shape")
        assert found.seconds_min - least.seconds_min == found.seconds_max - least.seconds_max == seconds
