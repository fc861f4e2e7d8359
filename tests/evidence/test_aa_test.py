"""The tables of the A/A test, made from simulated runs whose scatter is known."""

import pytest

import aa_test
from corda_lab.results import stored
from corda_lab.results.stored import StoredRun
from support.sweeps import SimulatedSweep, store_sweep


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    folder = tmp_path_factory.mktemp("runs")
    about = {"vary": {"shape.database": ["h2", "postgres"]}, "x": None, "repeats": 3}
    made = [
        store_sweep(folder, SimulatedSweep(identity=f"2026010{day}T030405Z-a-a", factors=factors, **about))  # type: ignore[arg-type]
        for day, factors in ((1, {}), (2, {}), (3, {"postgres": 0.7}))
    ]
    return [stored.read(one) for one in made]


def test_every_run_compares_its_own_points(runs: list[StoredRun]) -> None:
    heading, *rows = aa_test.within_rows(runs)
    assert all(len(row) == len(heading) for row in rows)
    assert [row[-1] for row in rows] == ["no difference seen", "no difference seen", "slower"]
    assert rows[2][2].startswith("0.7") or rows[2][2].startswith("0.6")


def test_runs_are_compared_in_consecutive_pairs(runs: list[StoredRun]) -> None:
    heading, *rows = aa_test.between_rows(runs)
    assert all(len(row) == len(heading) for row in rows)
    assert [row[:2] for row in rows] == [[runs[1].identity, runs[0].identity]] * 2


def test_scatter_is_given_between_starts_and_between_runs(runs: list[StoredRun]) -> None:
    _, (count, starts, within, beyond) = aa_test.scatter_rows(runs[:2])
    assert (count, starts) == ("2", "6")
    assert within.endswith(" %")
    assert float(beyond.removesuffix(" %")) < 5
