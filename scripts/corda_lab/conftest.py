"""Fixtures of the command line's tests: simulated runs, stored in the same files as real runs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corda_lab.steps.entry import CountsEntry
from corda_lab.steps.load import with_limit
from lab_workload.load import ALL_FAILED, Load
from lab_workload.subject import LoadPart
from support import simulation
from support.runs import RUN_IDENTITY, copy_of, plan_of, store
from support.sweeps import SimulatedSweep, store_sweep


@pytest.fixture
def stored_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that stores a simulated run of closed load (20 users, 15 s + 60 s) and returns its folder."""

    def closed(
        *,
        users: int = 20,
        service_seconds: float = 0.055,
        error_every: int = 0,
        failure: str = "failed",
        errors: Sequence[str] = (),
        counted: CountsEntry | None = None,
        parts: tuple[LoadPart, ...] = (),
        with_stages: bool = True,
    ) -> Path:
        def make(folder: Path) -> Path:
            service = simulation.warming(service_seconds, seed=3)
            names = [one.name for one in parts] or ["Iou"]
            simulated = simulation.closed_rows(
                users, 75, service, error_every=error_every, failure=failure, errors=errors, parts=names
            )
            plan = plan_of(Load(workload="iou", users=users, duration_seconds=60, warm_up_seconds=15), *parts)
            end = simulation.end_words(simulated, users, 75)
            return store(folder, plan, simulated, end, counted=counted, with_stages=with_stages)

        about = ("closed", users, service_seconds, error_every, failure, errors, counted, parts, with_stages)
        return copy_of(repr(about), RUN_IDENTITY, make, results=tmp_path / "results")

    return closed


@pytest.fixture
def stored_open_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that stores a simulated run of open load (constant, 15 s + 60 s) and returns its folder."""

    def opened(*, rate: float = 10, service_seconds: float = 0.05, pool: int = 20, lag_seconds: float = 0.0) -> Path:
        def make(folder: Path) -> Path:
            service = simulation.fixed(service_seconds)
            simulated, drops = simulation.open_rows(rate, 75, service, pool=pool, lag_seconds=lag_seconds)
            options = Load(
                workload="iou", users=pool, duration_seconds=60, warm_up_seconds=15, arrivals="constant", rate=rate
            )
            end = simulation.end_words(simulated, pool, 75, rate=rate, drops=drops)
            return store(folder, plan_of(options), simulated, end, drops=drops)

        about = ("open", rate, service_seconds, pool, lag_seconds)
        return copy_of(repr(about), RUN_IDENTITY, make, results=tmp_path / "results")

    return opened


@pytest.fixture
def stored_burst_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that stores a simulated run of bursts of 20 requests, 50 ms each, and returns its folder."""

    def burst(*, bursts: int = 4, pool: int | None = None, exit_reason: str = "completed", **about: Any) -> Path:
        simulated = simulation.burst_rows(20, bursts, simulation.fixed(0.05), pool=pool)
        asked = Load(workload="iou", users=20, arrivals="burst", bursts=bursts, pool=pool)
        options = with_limit(asked, ())
        end = simulation.counted_end(simulated, options.places, exit_reason)
        return store(tmp_path, plan_of(options), simulated, end, **about)

    return burst


@pytest.fixture
def stored_counted_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that stores a simulated run of 40 flows after 5, 100 ms each, and returns its folder."""

    def counted(*, users: int = 1, exit_reason: str = "completed", **about: Any) -> Path:
        simulated = simulation.closed_rows(users, 4.45, simulation.fixed(0.1))[:45]
        options = with_limit(Load(workload="iou", users=users, flows=40, flows_after=5), ())
        end = simulation.counted_end(simulated, users, exit_reason)
        return store(tmp_path, plan_of(options), simulated, end, **about)

    return counted


@pytest.fixture
def failed_run(tmp_path: Path) -> Path:
    """The folder of a simulated run of 15 + 60 seconds that was ended after 11, since every request failed."""
    simulated = simulation.failing_rows(20, 11)
    end = replace(simulation.end_words(simulated, 20, 11), exit_reason=ALL_FAILED)
    return store(
        tmp_path, plan_of(Load(workload="iou", users=20, duration_seconds=60, warm_up_seconds=15)), simulated, end
    )


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a simulated sweep of users and databases, three repeats each, of which step 4 is invalid."""
    return store_sweep(tmp_path_factory.mktemp("sweep"), SimulatedSweep(invalid=[4]))


@pytest.fixture(scope="session")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a simulated search for the highest rate, for each of two databases."""
    folder = tmp_path_factory.mktemp("search")
    return store_sweep(folder, SimulatedSweep(vary={"shape.database": ["h2", "postgres"]}), find_max=True)
